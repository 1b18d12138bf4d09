"""Shared objects whose length a launch says: which a kernel has."""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang import tree
from prism.lang.diagnostics import CompileError
from prism.lang.errors import tiles as errors
from prism.lang.facts.assumptions import launch_number
from prism.lang.facts.launch_tests import nodes
from prism.lang.facts.rooms import Sized
from prism.lang.keep.memo import memoize
from prism.lang.tree.walk import statements
from prism.lang.types import Pointer


@memoize
def sized_objects(function: tree.Function) -> Mapping[tree.Symbol, Sized]:
    """Return a function's objects that are sized at launch, in the order of the text. Raises CompileError for other lengths."""
    found: dict[tree.Symbol, Sized] = {}
    for statement in statements(function.body):
        if isinstance(statement, tree.SharedDeclare) and statement.length is not None:
            symbol, span = statement.symbol, statement.length.span
            code = launch_number(function, statement.length)
            if code is None or any(node[0] == "strides_nest" for node in nodes(code)):
                fault = "its length is computed when the kernel runs"
                raise CompileError(errors.SizedPlace(span=span, name=symbol.name, fault=fault))
            assert isinstance(symbol.type, Pointer)
            found[symbol] = Sized(symbol.name, symbol.type.element.bytes, code)
    return found
