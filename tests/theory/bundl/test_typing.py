"""The typing rules, one by one: what each lets through, and what not, as printed and as corrected."""

from __future__ import annotations

import pytest

from theory.bundl import typing
from theory.bundl.judgement import Code, Context, IllTyped
from theory.bundl.perspectives import BLOCK, GRID, THREAD, Level, Shape, at
from theory.bundl.syntax import ArrayOf, Async, Base, Fun, Kind, Param
from theory.bundl.text import parse, parse_statement

SHAPE = Shape(2, 8)
INT, BOOL, FLOAT = Base.INT, Base.BOOL, Base.FLOAT

G = Context()
for name, pi, type_ in [
    ("t", at(THREAD), INT),
    ("w", at(THREAD, 4), INT),
    ("k", at(BLOCK), INT),
    ("g", at(GRID), INT),
    ("flag", at(BLOCK), BOOL),
    ("r", at(THREAD), FLOAT),
    ("loc", at(THREAD, 4), ArrayOf(INT, Kind.LOCAL)),
    ("mine", at(THREAD), ArrayOf(INT, Kind.LOCAL)),
    ("warp", at(THREAD, 4), ArrayOf(INT, Kind.SHARED)),
    ("shr", at(BLOCK), ArrayOf(INT, Kind.SHARED)),
    ("one", at(THREAD), ArrayOf(INT, Kind.SHARED)),
    ("glo", at(GRID), ArrayOf(INT, Kind.GLOBAL)),
    ("out", at(THREAD), ArrayOf(INT, Kind.GLOBAL)),
    ("real", at(THREAD), ArrayOf(FLOAT, Kind.LOCAL)),
    ("f", at(THREAD, 4), Fun((Param("p", INT, at(THREAD, 4)),), at(THREAD, 4), 12)),
    ("h", at(THREAD, 4), Fun((Param("p", ArrayOf(INT, Kind.SHARED), at(THREAD, 4)),) * 2, at(THREAD, 4), 0)),
]:
    G = G.bind(name, pi, type_)
G = G.bind("fly", at(THREAD), Async(ArrayOf(INT, Kind.SHARED), "phi"), frozenset(["mine", "shr"]))

WARP = (THREAD, 4)
ONE, BLK, ALL = (THREAD, 1), (BLOCK, 1), (GRID, 1)

# statement, code, needs when printed, needs when corrected; None where it has no type
CASES: list[tuple[str, tuple[Level, int], int | None, int | None]] = [
    # T-Var, T-Assn, T-Decl
    ("t = t", ONE, 0, 0),
    ("t = w", ONE, None, 0),
    ("w = t", WARP, None, None),
    ("t = k", ONE, None, 0),
    ("t = t", WARP, None, 0),
    ("w = w", ONE, None, None),
    ("k = true", BLK, None, None),
    ("let v : int @ thread[1] = t { skip }", WARP, None, 0),
    ("let v : int @ thread[4] = w { v = 1 }", WARP, 0, 0),
    ("let v : int @ block[1] = 1 { skip }", WARP, None, None),
    ("let v : int @ thread[3] = 1 { skip }", BLK, None, None),
    ("let t : int @ thread[1] = 1 { skip }", ONE, 0, None),
    # T-Int, T-Float, T-Bool, T-Bop, T-Cmp
    ("t = 1 + 2", ONE, 0, 0),
    ("t = 1 + true", ONE, None, None),
    ("r = 1.5 * r", ONE, None, 0),
    ("r = 1.5 * 2", ONE, None, None),
    ("if 1 < t { skip } else { skip }", ONE, 0, 0),
    ("if 1.0 < r { skip } else { skip }", ONE, None, 0),
    ("if true == true { skip } else { skip }", ONE, None, None),
    # T-Partition-Id
    ("t = id", ONE, 0, 0),
    ("w = id", WARP, None, 0),
    ("let v : int @ block[1] = id { skip }", ALL, None, 0),
    # T-Arr-Access, -Shared
    ("t = mine[0]", ONE, 0, 0),
    ("t = loc[t]", ONE, 0, 0),
    ("t = glo[0]", ONE, 0, 0),
    ("t = one[t]", ONE, 0, 0),
    ("w = shr[0]", WARP, None, 0),
    ("w = one[0]", WARP, None, None),
    ("t = (shr + 1)[0]", ONE, None, None),
    ("let v : int @ grid[1] = shr[0] { skip }", ALL, None, None),
    # T-Arr-Assn, -Shared
    ("mine[0] = t", ONE, 0, 0),
    ("loc[t] = 1", WARP, None, None),
    ("loc[w] = w", WARP, 0, 0),
    ("mine[t] = t", WARP, None, 0),
    ("loc[0] = 1", ONE, None, None),
    ("one[0] = t", ONE, 0, 0),
    ("one[0] = 1", WARP, None, None),  # printed, for the order: (Thread,4) <= (Block,1) is not
    ("out[0] = 1", WARP, 0, None),
    ("shr[0] = 1", BLK, 0, None),
    ("shr[0] = 1", ALL, None, None),
    ("mine[0] = true", ONE, None, None),
    # T-Split, T-Destruct, T-Group
    ("split(2, 2) { skip } { skip }", WARP, 0, 0),
    ("split(2, 1) { skip } { skip }", WARP, 0, 0),
    ("split(1, 2) { skip } { skip }", WARP, None, None),
    ("split(3, 1) { skip } { skip }", WARP, None, None),
    ("split(4, 1) { skip } { skip }", WARP, None, None),
    ("split(4, 0) { skip } { skip }", WARP, None, 0),
    ("split(4, 0) { skip } { t = 1 }", WARP, None, None),
    ("destruct { split(6, 2) { split(3, 3) { skip } { skip } } { skip } }", BLK, None, 0),
    ("destruct { split(6, 2) { skip } { split(2, 0) { skip } { skip } } }", BLK, None, 0),
    ("destruct { skip }", BLK, 0, 0),
    ("destruct { destruct { skip } }", ALL, None, None),
    ("destruct { group 2 { destruct { skip } } }", ALL, 0, 0),
    ("destruct { skip }", WARP, None, None),
    ("group 2 { split(1, 1) { skip } { skip } }", WARP, 0, 0),
    ("group 3 { skip }", WARP, None, None),
    ("group 0 { skip }", WARP, None, None),
    # T-If, T-While, T-Seq, T-Skip
    ("if flag { k = 1 } else { k = 2 }", BLK, 0, 0),
    ("if flag { skip } else { skip }", ONE, None, 0),
    ("if k { skip } else { skip }", BLK, None, None),
    ("while flag { flag = false }", BLK, 0, 0),
    ("while t < 3 { skip }", WARP, None, None),
    ("skip; t = true", ONE, None, None),
    # T-Function-Call
    ("f(w)", WARP, 12, 12),
    ("f(t)", WARP, None, None),
    ("f(k)", WARP, None, 12),
    ("f(1)", BLK, None, 12),
    ("f(1)", ONE, None, None),
    ("f(1, 2)", WARP, None, None),
    ("t(1)", ONE, None, None),
    ("h(warp, warp)", WARP, 0, None),
    ("h(warp, shr)", WARP, None, None),
    # T-Alloc, -Shared, T-Free
    ("alloc n : int[3] local { skip }", WARP, 12, 0),
    ("alloc n : bool[3] global { n = 1 }", WARP, None, None),
    ("alloc n : bool[3] shared { alloc m : int[1] shared { skip } }", BLK, 7, 7),
    ("alloc n : int[3] shared { skip }; alloc n : int[1] shared { skip }", BLK, 12, 12),
    ("alloc n : int[3] shared { skip }", WARP, None, None),
    ("alloc n : int[3] local @ thread[1] { n[t] = t }", WARP, None, 0),
    ("alloc n : int[3] local @ thread[1] { w = n[0] }", WARP, None, None),
    ("alloc n : int[3] local @ thread[2] { n[0] = t }", WARP, None, None),
    ("alloc n : int[3] local @ block[1] { skip }", WARP, None, None),
    ("alloc n : int[3] global @ thread[1] { skip }", WARP, None, None),
    ("alloc n : int[3] shared @ thread[1] { skip }", BLK, None, None),
    ("free 5", ONE, 5, 0),
    # T-Partition, T-Claim, T-Lower
    ("partition p: warp as y by 2 { group 2 { w = y[0] } }", WARP, None, None),
    ("partition p: warp as y by 2 { group 2 { let v : int @ thread[2] = y[0] { skip } } }", WARP, None, 0),
    ("partition p: warp as y by 2 { skip }", WARP, 0, 0),
    ("partition p: warp as y by 2 { w = warp[0] }", WARP, None, None),
    ("partition p: warp as y by 3 { skip }", WARP, None, None),
    ("partition p: loc as y by 2 { skip }", WARP, None, None),
    ("partition p: shr as y by 1 { skip }", WARP, None, None),
    ("partition p: warp as t by 2 { skip }", WARP, 0, None),
    ("partition p: warp as y by 2 at (id, w, 3) { skip }", WARP, None, 0),
    ("partition p: warp as y by 2 at (t, 1, 3) { skip }", WARP, None, None),
    ("claim p: warp as y at 2 { let v : int @ thread[2] = y[0] { skip } }", WARP, None, 0),
    ("claim p: warp as y at 2 { skip }", WARP, 0, 0),
    ("claim p: warp as y at 2 arm 1 { skip }", WARP, None, 0),
    ("claim p: warp as y at 2 arm 2 { skip }", WARP, None, None),
    ("claim p: warp as y at 3 { skip }", WARP, 0, None),
    ("claim p: warp as y at 2 { t = warp[0] }", WARP, None, None),
    ("lower p: shr as y { destruct { let v : int @ thread[8] = y[0] { skip } } }", BLK, None, 0),
    ("lower p: shr as y { skip }", BLK, 0, 0),
    ("lower p: warp as y { skip }", WARP, None, None),
    # T-Async-Partition, T-Async-Memcpy, T-Memcpy
    ("async q: one as y { async_memcpy q: y from mine }", ONE, 0, 0),
    ("async q: one as y { t = y[0] }", ONE, None, None),
    ("async q: warp as y { skip }", WARP, None, None),
    ("async phi: one as y { skip }", ONE, 0, None),
    ("async_memcpy phi: fly from mine", ONE, 0, 0),
    ("async_memcpy phi: fly from shr", ONE, None, 0),
    ("async_memcpy q: fly from mine", ONE, None, None),
    ("async_memcpy phi: fly from out", ONE, 0, None),
    ("async_memcpy phi: mine from mine", ONE, None, None),
    ("memcpy mine from one", ONE, 0, 0),
    ("memcpy mine from warp", ONE, None, 0),
    ("memcpy loc from warp", WARP, 0, 0),
    ("memcpy warp from warp", WARP, 0, None),
    ("memcpy loc from one", WARP, None, None),
    ("memcpy mine from real", ONE, None, None),
    # T-Sync-*, T-Arm, T-Scope, T-Frame
    ("init p; dec p; wait p; leave x[2] local", WARP, 0, 0),
    ("arm 1 of 2 { let v : int @ thread[2] = 1 { skip } }", WARP, 0, 0),
    ("arm 2 of 2 { skip }", WARP, None, None),
    ("scope y : int[]shared @ thread[2] hides warp holds 4 { w = warp[0] }", WARP, None, None),
    ("scope y : int @ thread[1] holds 4 { y = 1 }", ONE, 4, 4),
    ("frame (p : int @ thread[1]) @ thread[1] uses 3 { p = p }", ONE, 3, 3),
    ("frame (p : int @ thread[1]) @ thread[1] uses 3 { t = p }", ONE, None, None),
]


def need(rules: typing.Rules, text: str, code: tuple[Level, int]) -> int | None:
    try:
        return typing.check(rules, G, Code(at(*code), code[1]), parse_statement(text), SHAPE)
    except IllTyped:
        return None


@pytest.mark.parametrize(("text", "code", "printed", "corrected"), CASES)
def test_rule(text: str, code: tuple[Level, int], printed: int | None, corrected: int | None) -> None:
    assert (need(typing.printed, text, code), need(typing.corrected, text, code)) == (printed, corrected)


def test_the_cases_use_every_rule() -> None:
    for rules in (typing.printed, typing.corrected):
        used: set[str] = set()
        for text, code, *_ in CASES:
            try:
                typing.Checker(rules, SHAPE, used).stmt(G, Code(at(*code), code[1]), parse_statement(text))
            except IllTyped:
                continue
        assert used == set(rules.expressions) | set(rules.statements)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("free 3", "run-time form"),
        ("alloc x : int[1] local { skip }\n", None),
        ("budget 3 destruct { group 2 { alloc x : int[1] shared { skip } } }", "needs 4 bytes"),
        ("fun f() @ grid[1] uses 0 { f() } skip", "f is not a function"),
        ("fun f() @ grid[1] uses 0 { g() } fun g() @ grid[1] uses 0 { skip } skip", "g is not a function"),
        ("fun f() @ grid[1] uses 0 { skip } fun f() @ grid[1] uses 0 { skip } skip", "given twice"),
        ("input a : int = [1] fun f() @ grid[1] uses 0 { let v : int @ grid[1] = a[0] { skip } } f()", "not an array"),
        ("input a : int = [1] let v : int @ grid[1] = a[0] { skip }", None),
    ],
)
def test_programs(text: str, why: str | None) -> None:
    found = typing.why_not(typing.corrected, parse(text), SHAPE)
    assert (found is None) if why is None else (found is not None and why in found[1])
