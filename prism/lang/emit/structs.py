"""Structs in C++: one definition for each that a program has values of."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang.cuda.names import field_names
from prism.lang.cuda.raw_text import element_of
from prism.lang.keep.memo import memoize
from prism.lang.tree import Declare, Function, SharedDeclare
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import statements, terms
from prism.lang.types.structs import Struct


def definitions(program: Program) -> Iterator[str]:
    """Yield the definitions of a program's structs, in the order in which it first has one."""
    for struct in dict.fromkeys(struct for function in program.functions for struct in _structs(function)):
        fields = " ".join(
            f"{scalar.cuda} {name};" for name, (_, scalar) in zip(field_names(struct), struct.fields, strict=True)
        )
        yield f"struct __align__({struct.align}) {struct.cuda} {{ {fields} }};"


@memoize
def _structs(function: Function) -> tuple[Struct, ...]:
    types: list[object] = [symbol.type for symbol in function.parameters]
    types.append(function.result)
    for statement in statements(function.body):
        if isinstance(statement, Declare | SharedDeclare):
            types.append(statement.symbol.type)
        types += [part.type for part in terms(statement)]
    found = (element_of(type_) for type_ in dict.fromkeys(types))
    return tuple(type_ for type_ in found if isinstance(type_, Struct))
