"""Statements that a walk passes by: what they are, and that plans are those of walks that pass none by."""

import pytest

import prism
from prism.lang import sync
from prism.lang.barriers import walk_context
from prism.lang.barriers.inert import inert
from prism.lang.check import reuse
from prism.lang.facts.definitions import facts
from prism.lang.tree.walk import statements
from prism.runtime.build import entry_of
from tests.lang.from_text import kernel_of
from tests.lib import ships

TEXT = """import prism
from prism.lang import *

@prism("global")
@requires(grid[1], block[1], thread[64])
def k(m: ptr(int32) @ grid[1], c: int32 @ grid[1]):
    with partition(m, block[1], 64 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 0
        for i in range(c):  # passed by
            if i == 3:
                break
            total += i * i
        for i in range(c):
            with partition(s, thread[1], t) as p, group(thread[1]):
                p[0] = total
            u: int32 @ thread[1] = total + 1  # passed by
            total = u + s[(t + i) % 64]
        with group(thread[1]):
            while total < c:  # passed by
                total += 1
            if total > 64:  # passed by
                total = total * 2
        for i in range(c):
            if i > 64:
                m_of: int32 @ thread[1] = s[t]
                break
        with partition(out, thread[1], t) as p, group(thread[1]):
            p[0] = total
"""
PASSED = "# passed by"


def test_what_is_passed_by(tmp_path):
    program = prism.check(kernel_of(tmp_path, TEXT))
    quiet = inert(facts(program.entry), ())
    lines = TEXT.splitlines()
    for statement in statements(program.entry.body):
        if PASSED in lines[statement.span.line - 1]:
            assert statement in quiet
    left = "\n".join(lines[s.span.line - 1] for s in statements(program.entry.body) if s not in quiet)
    assert "s: shared" in left and "p[0]" in left and "% 64]" in left and "break" in left and "range(c):\n" in left
    assert PASSED not in left


def test_what_is_marked_is_not_passed_by_nor_what_is_around_it(tmp_path):
    """As where an operation of the plan stands, or a condition is asked that the walk tells apart."""
    program = prism.check(kernel_of(tmp_path, TEXT))
    known = facts(program.entry)
    for statement in inert(known, ()):
        quiet = inert(known, {statement})
        assert statement not in quiet and quiet < inert(known, ())


KERNELS = ("scan_packed", "find_ranks", "hgemm")


@pytest.mark.parametrize("name", ["top_rows", "find_ranks"])
def test_a_barrier_that_comes_back_is_not_moved_whatever_else_is_tried(monkeypatch, name):
    """Out of a loop, where a trip asks for another as broad: that is seen without trying all others, and the plan is the same."""
    one = next(one for one in ships.kernels("sm_90a") if one.kernel.__name__ == name)
    asked, ask = [], sync.wants_as_broad
    monkeypatch.setattr(sync, "wants_as_broad", lambda *given: asked.append(ask(*given)) or asked[-1])
    found = plans_of(one)
    monkeypatch.setattr(sync, "wants_as_broad", lambda *given: False)
    assert plans_of(one) == found and any(asked)


@pytest.mark.parametrize("name", KERNELS)
def test_plans_are_the_same_without(monkeypatch, name):
    """Barriers, the accesses that force them, and the machine's text."""
    one = next(one for one in ships.kernels("sm_90a") if one.kernel.__name__ == name)
    monkeypatch.setattr(walk_context, "inert", lambda known, marked: frozenset())
    every = plans_of(one)
    passed = []
    monkeypatch.setattr(walk_context, "inert", lambda known, marked: passed.append(inert(known, marked)) or passed[-1])
    assert plans_of(one) == every and any(passed)


def plans_of(one):
    """Return what is made of a kernel whose device functions nobody has looked at yet."""
    reuse._earlier_checks.cache_clear()
    program = prism.check(one.kernel, dict(one.template))
    pair = lambda found: (found.first.span.line, found.first.text, found.second.span.line, found.second.text)
    told = [
        (
            plan.function.name,
            [(b.unit, b.before.span.line, b.loop, pair(b)) for b in plan.barriers],
            [(type(op), op.side, op.at.span.line) for op in plan.operations],
            [(e.reason, pair(e)) for e in plan.elided],
        )
        for plan in program.plans.values()
    ]
    return told, entry_of(program, "sm_90a").source
