"""Asynchronous copies of Prism's, for the elaboration: what a copy is, and which scopes are one scope of Bundl's.

    with async_(s) as d:                partition p: s as to by 1 at (i, 1, 4) { partition q: g as from by 1 at (j, 1, 4) {
        ..                                async f: to as d { ..; async_memcpy f: d from from; .. } } }
        cp_async(d[i], g[j], 16)
        ..

Where i and j are not known on entry, or there are several copies, each is a scope by itself:

                                        ..; partition p: s as to by 1 at (i, 1, 4) { .. async f: to as d { .. } }; ..

What is copied at once is not seen before the scope's end either: s goes by d there, which only copies name.
"""

from __future__ import annotations

from typing import NamedTuple

from prism.lang.intrinsics.declaration import Intrinsic
from prism.lang.parse import syntax as s
from tests.theory.bundl.elaborate_code import Code, mentions

BYTES = 4  # of an int32


class Flight(NamedTuple):
    """A name that is open for copies: into which array, and, if a scope of Bundl's is, its phi and what is copied."""

    target: str
    phi: str = ""
    given: str = ""


class Copy(NamedTuple):
    """`cp_async(name[index], source[source_index], bytes)`."""

    name: str
    index: s.Expr
    source: str
    source_index: s.Expr
    length: int


def copy_of(e: s.Expr) -> Copy | None:
    """Return the copy that an expression is, if it is one."""
    match e:
        case s.Call(
            function=s.Resolved(value=Intrinsic(name="cp_async")),
            arguments=(
                s.Subscript(base=s.Name(name=name), indices=(index,)),
                s.Subscript(base=s.Name(name=source), indices=(source_index,)),
                s.Literal(value=int(size)),
            ),
            keywords=(),
        ):
            return Copy(name, index, source, source_index, size // BYTES)
    return None


def lone_copy(st: s.Async, code: Code) -> Copy | None:
    """Return the one copy of a scope in one thread's code, at constant places, of an array that is not used there otherwise."""
    used = [statement for statement in st.body if mentions(statement, st.name)]
    if code.size != 1 or len(used) != 1 or not isinstance(used[0], s.Evaluate):
        return None
    copy = copy_of(used[0].value)
    constant = copy is not None and isinstance(copy.index, s.Literal) and isinstance(copy.source_index, s.Literal)
    others = tuple(statement for statement in st.body if statement is not used[0])
    return copy if copy is not None and constant and not mentions(others, copy.source) else None
