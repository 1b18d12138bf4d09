"""Text in C++ that users write themselves, in `unsafe`, `extern` and `intrinsic`: where names of the program's stand in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping

from prism.lang.types.structs import Struct

_TOKEN = re.compile(
    r"""(?P<skip> [LuU]?8?R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)" | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\\n])*' | //[^\n]*
                | /\*.*?\*/ | \.?[0-9](?:'?[\w.])* )
      | (?P<name> [^\W\d]\w* ) | (?P<member> \.(?!\.) | -> ) | (?P<scope> :: ) | (?P<space> \s+ ) | .""",
    re.S | re.X,
)
_BUILT_IN = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a piece of C++ that may be names of the kernel's, each once, in order."""
    return tuple(dict.fromkeys(_python(word) for _, word, kind in _words(text) if kind == "name"))


def rename_words(text: str, names: Mapping[str, Callable[[], str]], fields: Mapping[str, str]) -> str:
    """Return the text with other words for the names of the kernel's, and for the fields of their structs behind `.` and `->`."""
    parts, end = [], 0
    for start, word, kind in _words(text):
        name = _python(word)
        new = names[name]() if kind == "name" and name in names else fields.get(name, word) if kind == "field" else word
        parts += [text[end:start], new]
        end = start + len(word)
    return "".join([*parts, text[end:]])


def _python(word: str) -> str:
    """Return the name that Python takes a word for."""
    return word if word.isascii() else unicodedata.normalize("NFKC", word)


def _words(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield each word outside of literals and comments: where it begins, the word, `name`, `field` or `other`."""
    before, word = "", ""
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup if found.lastgroup != "mark" else "skip"
        if kind == "space":
            continue
        if kind == "name":
            yield found.start(), found[0], _KINDS.get(before, "name") if word not in _BUILT_IN else "other"
        if kind != "member":
            word = found[0] if kind == "name" else ""
        before = kind or ""


_KINDS = {"member": "field", "scope": "other"}


def field_words(types: Iterable[object], spelled: Callable[[Struct], tuple[str, ...]]) -> Mapping[str, str]:
    """Return what the fields of some values' structs are called in C++; without those for which two structs differ."""
    found: dict[str, set[str]] = {}
    for type_ in types:
        struct = element_of(type_)
        if isinstance(struct, Struct):
            for name, new in zip(struct.names, spelled(struct), strict=True):
                found.setdefault(name, set()).add(new)
    return {name: next(iter(new)) for name, new in found.items() if len(new) == 1}


def element_of(type_: object) -> object:
    """Return what a type is made of, in the end."""
    while not isinstance(type_, Struct) and hasattr(type_, "element"):
        type_ = type_.element
    return type_
