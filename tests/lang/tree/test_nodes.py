"""The kinds of nodes: a `match` knows all of them, and the walkers what each has inside.

Tests of prism/lang/tree: expr, nodes, stmt, walk.
"""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest

from prism.lang import tree
from prism.lang.tree import walk
from prism.lang.types import INT32
from prism.lang.types.perspective import BLOCK
from tests.lang.emit.test_emit import S


def subclasses(cls: type) -> set[type]:
    return {cls} | {inner for one in cls.__subclasses__() for inner in subclasses(one)}


@pytest.mark.parametrize(("base", "kinds"), [(tree.Expr, tree.AnyExpr), (tree.Stmt, tree.AnyStmt)])
def test_a_match_of_all_kinds_knows_each(base: type, kinds: object) -> None:
    known = set(get_args(kinds))
    assert all(known & set(one.__mro__) for one in subclasses(base) - {base})
    assert all(issubclass(one, base) for one in known)


@pytest.mark.parametrize(
    ("kinds", "words", "walkers"),
    [
        (tree.AnyExpr, {"Expr"}, [walk._OPERANDS]),
        (tree.AnyStmt, {"Expr"}, [walk._EXPRESSIONS]),
        (tree.AnyStmt, {"Body", "Arm", "Role"}, [walk._CHILDREN]),
    ],
)
def test_what_a_node_has_inside_is_walked(kinds: object, words: set[str], walkers: list[dict[type, object]]) -> None:
    for kind in get_args(kinds):
        declared = [str(one.type) for one in fields(kind) if one.name not in {"type", "perspective", "span", "inlined"}]
        inside = any(word in text.replace("[", " ").replace(",", " ").split() for text in declared for word in words)
        assert inside <= any(kind in walker for walker in walkers), kind.__name__


def test_what_an_alias_is_another_name_of() -> None:
    memory = tree.Symbol("m", INT32, BLOCK, S)
    alias = tree.Symbol("p", INT32, BLOCK, S, tree.View(memory, BLOCK, (), (), alias=True))
    part = tree.Symbol("q", INT32, BLOCK, S, tree.View(alias, BLOCK, (), ()))
    assert [one.itself() for one in (memory, alias, part)] == [memory, memory, part]
    assert {one.root() for one in (memory, alias, part)} == {memory}
