"""Derivations of functions that take whole shared tiles: parts of a program's text that are written as such a function."""

from __future__ import annotations

import re
from collections.abc import Mapping

from prism.lang.types.perspective import Perspective
from tests.generated.derive import indent
from tests.generated.pointers import Pointers
from tests.generated.scope import Memory

Holes = Mapping[str, tuple[str, str]]
"""Words that stand for what a piece of text is given: the type and perspective of the parameter, and the argument."""


class Tiles(Pointers):
    """Pieces of text that stand where they are, or in a function of their own."""

    def whole(self, memory: Memory, *, const: bool = False, swizzle: int = 0) -> str:
        """The type of a parameter that is a whole tile."""
        extents = self.extents(memory)
        text = f"shared({memory.type}[{extents}]{f', swizzle={swizzle}' if swizzle else ''})"
        return f"const({text})" if const else text

    def extents(self, memory: Memory) -> str:
        """A tile's extents, as they are written between one pair of brackets."""
        return ", ".join(map(str, memory.shape))

    def placed(self, lines: list[str], code: Perspective, holes: Holes, percent: int = 40) -> list[str]:
        """A piece of text with holes: filled in, or as the body of a function that is called."""
        if not self.chance(percent):
            return [filled(line, {word: text for word, (_, text) in holes.items()}) for line in lines]
        self.rule("tile")
        name = self.fresh("f")
        names = {word: self.fresh("m") for word in holes}
        parameters = ", ".join(f"{names[word]}: {kind}" for word, (kind, _) in holes.items())
        head = ['@prism("device")', f"@requires({self.spell(code)})", f"def {name}({parameters}):"]
        self.prelude[name] = [*head, *indent([filled(line, names) for line in lines])]
        return [f"{name}({', '.join(text for _, text in holes.values())})"]


def filled(line: str, names: Mapping[str, str]) -> str:
    """Return a line with words in place of its holes."""
    return re.sub(r"\b[A-Z]{4,}\b", lambda word: names.get(word[0], word[0]), line)
