"""What a reader can do about a partition of which nothing is proved: the names in its index of which too little is known."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import tree
from prism.lang.facts.definitions import Facts
from prism.lang.tree.walk import subexpressions
from prism.lang.types import Scalar

AGAIN = (
    "; `{name}` is assigned again, and so nothing is known of it: copy it before the partition, "
    "`now: {type} @ {perspective} = {name}`, and use `now` from there on"
)
AXES = "; the launch says how long each axis of a block is: bound {names}, as by `assume({example})`"
GIVEN = "; if what you know of {names} keeps them apart, say so with `assume`"


def mend(known: Facts, partition: tree.Partition) -> str:
    """Return what may make the proof, to follow the reason; nothing where nothing comes to mind."""
    names = list(_names(known, partition))
    again = next((name for name in names if name in known.changed and name not in known.loops), None)
    if again is not None:
        return AGAIN.format(name=again.name, type=again.type, perspective=again.perspective)
    along = [name for name in names if name in known.definitions and _of_a_block(known.definitions[name])]
    if along:
        example = " and ".join(f"{name.name} < {8 * 4**k}" for k, name in enumerate(along))
        return AXES.format(names=_listed(along), example=example)
    given = [name for name in names if name.parameter and name.along is None]
    return GIVEN.format(names=_listed(given)) if given else ""


def _listed(names: list[tree.Symbol]) -> str:
    return " and ".join(f"`{name.name}`" for name in names)


def _of_a_block(definition: tree.Expr) -> bool:
    """Whether it is an index of a thread along an axis of its block."""
    along = [e.symbol.along for e in subexpressions(definition) if isinstance(e, tree.Var) and e.symbol.along]
    return bool(along) and all(what == "threads" for what, _, _ in along)


def _names(known: Facts, partition: tree.Partition) -> Iterator[tree.Symbol]:
    """Yield the integers in a partition's index, and in what they are defined as, each once."""
    view = partition.view.view
    assert view is not None
    seen: set[tree.Symbol] = set(view.params)
    around = [*view.index[::-1]] if view.offset is None else [view.offset[1]]
    while around:
        for e in subexpressions(around.pop()):
            if isinstance(e, tree.Var) and e.symbol not in seen and isinstance(e.symbol.type, Scalar):
                seen.add(e.symbol)
                yield e.symbol
                if e.symbol in known.definitions:
                    around.append(known.definitions[e.symbol])
