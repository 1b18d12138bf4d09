"""Structs in C++: one definition for each that a program has values of."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang.place import statements, subexpressions
from prism.lang.plan import Program
from prism.lang.structs import Struct
from prism.lang.tree import Declare, SharedDeclare, expressions


def definitions(program: Program) -> Iterator[str]:
    """Yield the definitions of a program's structs, in the order in which it first has one."""
    for struct in dict.fromkeys(_structs(program)):
        fields = " ".join(f"{scalar.cuda} {name};" for name, scalar in struct.fields)
        yield f"struct __align__({struct.align}) {struct.cuda} {{ {fields} }};"


def _structs(program: Program) -> Iterator[Struct]:
    for function in program.functions:
        types: list[object] = [symbol.type for symbol in function.parameters]
        types.append(function.result)
        for statement in statements(function.body):
            if isinstance(statement, Declare | SharedDeclare):
                types.append(statement.symbol.type)
            types += [part.type for e in expressions(statement) for part in subexpressions(e)]
        for type_ in types:
            while not isinstance(type_, Struct) and hasattr(type_, "element"):
                type_ = type_.element
            if isinstance(type_, Struct):
                yield type_
