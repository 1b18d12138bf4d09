"""Answers that are kept: what is asked again is not proved again, and what is known of it otherwise is another question."""
# ruff: noqa: F821 -- names that kernels declare, and template parameters

from __future__ import annotations

from typing import Any

import pytest

from prism.lang import (
    attr,
    block,
    constexpr,
    dtype,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
)
from prism.lang.check import reuse
from prism.lang.diagnostics import CompileError
from prism.lang.facts import disjoint, questions
from prism.lang.facts.questions import Name, Prove, Question, Scene, recall
from prism.lang.facts.touches import Address
from prism.lang.pipeline import build
from prism.lang.safety import verdicts
from prism.lang.surface import Kernel
from prism.runtime.instance import Instance
from tests.lib import ships
from tests.rarely import rarely


@prism("global")
@template(T=dtype, EACH=constexpr(int), APART=constexpr(int))
@requires(grid[1], block[1], thread[32])
@attr("__launch_bounds__(64)")
def several_each(y: ptr(T) @ grid[1]):
    """Each thread of a block writes `EACH` elements, `APART` from the next one's."""
    with partition(y, thread[1], id() * APART) as mine, group(thread[1]):
        for e in range(EACH):
            mine[e] = T(1)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is proved, none being remembered."""
    monkeypatch.setattr(questions, "_kept", questions._Kept())
    tried: list[object] = []

    class Proof(disjoint._Proof):
        def holds(self) -> bool:
            tried.append(self)
            return super().holds()

    monkeypatch.setattr(disjoint, "_Proof", Proof)
    return tried


def is_apart(kernel: Kernel, **arguments: object) -> bool:
    """Whether parts are proved to be apart."""
    try:
        (found,) = (one.status for one in verdicts(build(kernel, arguments)) if one.what == "partition `mine`")
    except CompileError as error:
        assert error.code == "race"
        return False
    return found == "proved"


def test_another_instance_is_asked_nothing_anew(asked: list[object]) -> None:
    assert is_apart(several_each, T="int32", EACH=4, APART=4)
    assert asked
    asked.clear()
    assert is_apart(several_each, T="float64", EACH=4, APART=4)
    assert not asked


@pytest.mark.parametrize("first", [4, 5])
def test_the_trips_of_a_loop_are_part_of_a_question(first: int, asked: list[object]) -> None:
    for each in (first, 9 - first):
        asked.clear()
        assert is_apart(several_each, T="int32", EACH=each, APART=4) == (each == 4)
        assert asked


def threads_of(bound: str) -> Kernel:
    @prism("global")
    @requires(grid[1], block[1], thread[32])
    @attr(bound)
    def in_rows(y: ptr(int32) @ grid[1]):
        b: int32 @ block[1] = id()
        with partition(y, thread[1], offset=lambda i: i) as mine, group(block[1]):
            t: int32 @ thread[1] = id()
            with group(thread[1]):
                mine[b * 64 + t] = 1

    return in_rows


@pytest.mark.parametrize("first", [64, 128])
def test_so_are_the_threads_of_a_block(first: int, asked: list[object]) -> None:
    for threads in (first, 192 - first):
        assert is_apart(threads_of(f"__launch_bounds__({threads})")) == (threads == 64)


def test_what_is_kept_is_forgotten_where_it_is_much(asked: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "MOST", 1)
    for _ in range(2):
        assert is_apart(several_each, T="int32", EACH=4, APART=4)
        assert not is_apart(several_each, T="int32", EACH=5, APART=4)
    assert len(questions._kept.answers) == 1


def parts(value: Any) -> list[object]:
    """Return all that can be reached from what a proof is given, but for what values of the language consist of."""
    if isinstance(value, Address):
        return [value, *parts((value.indices, value.guards, value.width, value.aligned, value.rows, value.distinct))]
    if isinstance(value, Question):
        return parts((value.source, value.unit, value.index, tuple(value.free)))
    if isinstance(value, dict):
        return parts(tuple(value.items()))
    if isinstance(value, tuple | frozenset):
        return [one for part in value for one in parts(part)]
    return [value, *parts(value.base)] if isinstance(value, disjoint.Digit) else [value]


def test_a_proof_is_given_nothing_of_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """No facts, no function, none of its names or nodes: all that it can read is in what answers are kept by."""
    given: list[object] = []

    def watched(known: Any, one: Address, two: Address, question: Question, prove: Prove) -> bool:
        if one.distinct or two.distinct:  # nothing is kept
            return recall(known, one, two, question, prove)

        def proved(*asked: Any) -> bool:
            for part in parts(asked[1:]):
                own = isinstance(part, Name | Address | disjoint.Digit | str | int | None)
                assert own or type(part).__module__.startswith("prism.lang.types"), part
                given.append(part)
            given.append(asked)
            return prove(*asked)

        found = recall(known, one, two, question, proved)
        assert not given or given[-1] in questions._kept.answers
        return found

    monkeypatch.setattr(questions, "_kept", questions._Kept())
    monkeypatch.setattr(disjoint, "recall", watched)
    for name in ("scan", "select", "hgemm"):
        one = one_of_each()[name]
        reuse._earlier_checks.cache_clear()
        build(one.kernel, dict(one.template))
    assert any(isinstance(part, Name) for part in given)
    assert all(isinstance(part[0], Scene) for part in given if isinstance(part, tuple))


def one_of_each() -> dict[str, Instance]:
    found: dict[str, Instance] = {}
    for one in ships.kernels("sm_90a"):
        found.setdefault(one.kernel.__name__, one)
    return found


@pytest.mark.parametrize("part", rarely(range(240), but=[0]))
def test_each_answer_is_as_it_is_without_those_that_are_kept(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every question about every kernel that ships: what is kept, against a proof that is given the function itself."""
    count = 0

    def compared(known: Any, one: Address, two: Address, question: Question, prove: Prove) -> bool:
        nonlocal count
        count += 1
        found = recall(known, one, two, question, prove)
        assert found == prove(known, one, two, question), (one, two, question)
        return found

    monkeypatch.setattr(disjoint, "recall", compared)
    reuse._earlier_checks.cache_clear()
    kernels = sorted(ships.kernels("sm_90a"), key=lambda one: (one.kernel.__name__, repr(one.template)))
    for one in kernels[part::240]:
        build(one.kernel, dict(one.template))
    assert count > 50
