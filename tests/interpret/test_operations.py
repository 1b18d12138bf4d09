"""What the machine reports of plans given by hand: each fault with its kind, its line, and who waits for whom.

Tests of prism/interpret: mbarriers, objects, transfers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prism.interpret import (
    SCHEDULES,
    ArrivalError,
    BytesError,
    DeadlockError,
    FlightError,
    MachineError,
    PhaseError,
    ProxyError,
    RaceError,
    run,
)
from prism.interpret.mbarriers import Phases
from prism.lang.diagnostics import Span
from prism.lang.tree import Batch, Claim, Evaluate, Group
from prism.lang.tree.plan import (
    Advance,
    Arrive,
    Commit,
    Cycle,
    Expect,
    Mbarrier,
    Program,
    ProxyFence,
    Wait,
    WaitGroup,
    WgmmaFence,
)
from tests.interpret.async_kernels import grouped, loaded, product, stations
from tests.interpret.by_hand import Hand, access, statements

TRIPS = 9
SPAN = Span("f", 1, 0, 1, 1)


def ring(copies: int = 2, **changed: Any) -> Program:
    """The ring of `loaded` with a plan by hand; `changed` replaces operations by name, None leaves one out."""
    hand = Hand(loaded, K=copies)
    cycle = hand.cycle("s")
    full = hand.mbarrier("full", cycle, changed.pop("full", 1))
    empty = hand.mbarrier("empty", cycle, changed.pop("empty", 1))
    load, use = hand.at("bulk_load", Evaluate), hand.at("with group(thread[1])", Group)
    written, read = access(hand.object("s"), "write", load), access(hand.object("s"), "read", use)
    operations = {
        "wait_empty": Wait(at=load, barrier=empty, lap=1, first=read, second=written),
        "expect": Expect(at=load, barrier=full, copy=hand.completes(load, full), bytes=128),
        "arrive_full": Arrive(at=load, side="after", barrier=full),
        "wait_full": Wait(at=use, barrier=full, lap=0, first=written, second=read),
        "fence": ProxyFence(at=use, side="after", first=read, second=written),
        "arrive_empty": Arrive(at=use, side="after", barrier=empty, every=32),
        "again": None,
        "advance": Advance(at=hand.at("claim(s, consumer)", Claim), side="after", cycle=cycle),
    }
    for name, change in changed.items():
        if isinstance(change, str):
            operations[name] = operations[change]
        else:
            operations[name] = None if change is None else replace(operations[name], **change)  # type: ignore[type-var]
    hand.add(*[op for op in operations.values() if op is not None])
    return hand.program()


def go(program: Program, trips: int = TRIPS, **options: Any) -> Any:
    """Run it, and compare."""
    x, y = np.arange(12 * 32, dtype=np.int32), np.zeros(12 * 32, np.int32)
    run(program, 1, 64, [x, y, trips], **options)
    wanted = np.zeros_like(y)
    wanted[: trips * 32] = (x.reshape(12, 32)[:trips, ::-1] + 1).ravel()
    return np.array_equal(y, wanted)


def faults(program: Program, **options: Any) -> Iterator[MachineError]:
    """Return what each schedule reports: each must report something."""
    for schedule in SCHEDULES:
        with pytest.raises(MachineError) as caught:
            go(program, schedule=schedule, check=True, **options)
        yield caught.value


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("copies", [1, 2, 7])
def test_a_plan_by_hand(copies: int, schedule: str) -> None:
    for trips in {0, 1, copies - 1, copies, copies + 1}:
        for check in (False, True):
            assert go(ring(copies), trips, schedule=schedule, check=check)


def test_a_wait_that_is_missing() -> None:
    for name in ("wait_full", "wait_empty"):
        for error in faults(ring(**{name: None})):
            assert error.code in ("machine-race", "machine-uninitialised")


def test_the_late_schedule_finds_it_without_checks() -> None:
    """The data come when somebody waits for them: nobody does."""
    assert go(ring(wait_full=None))
    assert not go(ring(wait_full=None), schedule="late")


def test_an_arrival_that_is_missing() -> None:
    """Who waits where for whom. In program order only the reader waits; where warps run by themselves the loader does too."""
    texts = []
    for error in faults(ring(arrive_full=None)):
        assert isinstance(error, DeadlockError)
        texts.append(str(error))
        assert "waits for `full[0]` in round 0, before this statement" in texts[-1]
        assert "thread 0 of block 0 waits at line" in texts[-1]
        assert "for `full[0]`, round 0: missing 1 of 1 arrivals, after line" in texts[-1]
    loader = [text for text in texts if "thread 32 of block 0 waits at line" in text]
    assert len(loader) == 3
    assert all("for `empty[0]`, round 0: missing 1 of 1 arrivals, after line" in text for text in loader)


def test_one_arrival_too_many() -> None:
    for error in faults(ring(again="arrive_empty")):
        assert isinstance(error, ArrivalError)
        assert "an arrival at `empty[0]` for round 0, which ended without it: it takes 1 arrivals" in error.what


def test_a_count_that_is_too_high() -> None:
    for error in faults(ring(empty=2)):
        assert isinstance(error, DeadlockError)
        assert "`empty[0]`, round 0: missing 1 of 2 arrivals" in str(error)


def test_each_thread_where_one_is_counted() -> None:
    for error in faults(ring(arrive_empty={"every": 1})):
        assert isinstance(error, ArrivalError)
        assert "32 arrivals at `empty[0]` in round 0, which takes 1" in error.what


def test_bytes() -> None:
    for error in faults(ring(expect={"bytes": 112})):
        assert isinstance(error, BytesError)
        assert "is told of 112 bytes in round" in error.what and "and 128 come" in error.what
    for error in faults(ring(expect={"bytes": 144})):
        assert isinstance(error, BytesError)
        assert "is told of 144 bytes in round" in error.what and "and 128 come" in error.what
    assert go(ring(expect={"bytes": None}), check=True)


def test_a_fence_that_is_missing() -> None:
    for error in faults(ring(fence=None)):
        assert isinstance(error, ProxyError)
        assert error.other is not None and "mine[i * 32 + t] = a[31 - t]" in str(error)
        assert (error.here, error.there) == (
            "write by the bulk_load of thread 32 of block 0",
            "read by thread 31 of block 0",
        )


def test_the_other_lap() -> None:
    for error in faults(ring(wait_full={"lap": 1})):
        assert error.code in ("machine-race", "machine-uninitialised")
    for error in faults(ring(wait_empty={"lap": 0})):
        assert isinstance(error, DeadlockError)


def test_phases_are_told_apart_by_parity() -> None:
    """As on the hardware: a wait one phase too early passes, one that is two phases late waits for ever. Checked: reported."""
    cycle = Cycle("s", 2, ())
    for checked in (False, True):
        phases = Phases(Mbarrier("full", cycle, 1), 1, 1, checked, alone=True)

        def fault(kind: str, what: str, here: str) -> MachineError:
            return {"phase": PhaseError, "arrival": ArrivalError}[kind](what, SPAN)

        assert not phases.passes(0, fault)
        if checked:
            with pytest.raises(PhaseError, match="for round 3 passes when only round 1 is under way"):
                phases.passes(1, fault)
        else:
            assert phases.passes(1, fault)
        phases.arrive(1, 0, None, fault)
        assert phases.passes(0, fault) and not phases.passes(1, fault)
        phases.arrive(1, 1, None, fault)
        if checked:
            with pytest.raises(PhaseError, match="for round 1 comes when round 3 has ended"):
                phases.passes(0, fault)
            with pytest.raises(ArrivalError, match="for round 7, and round 5 has only 0 of 1"):
                phases.arrive(1, 3, None, fault)
        else:
            assert not phases.passes(0, fault)


def test_bytes_may_come_before_they_are_announced() -> None:
    phases = Phases(Mbarrier("full", Cycle("s", 1, ()), 1), 0, 1, checked=True, alone=True)
    phases.deliver(64, None, never)
    phases.expect(128)
    phases.deliver(64, None, never)
    assert phases.completed == 0
    phases.arrive(1, 0, None, never)
    assert phases.completed == 1 and phases.missing(1) == "`full`, round 1: missing 1 of 1 arrivals"


def never(kind: str, what: str, here: str) -> MachineError:
    raise AssertionError(what)


def test_an_arrival_a_round_later() -> None:
    """With several copies it is late, and right; with one nobody can go on."""
    assert go(ring(2, arrive_empty={"delay": 1}), check=True)
    for error in faults(ring(1, arrive_empty={"delay": 1})):
        assert isinstance(error, DeadlockError)
    for error in faults(ring(2, arrive_full={"delay": 1})):
        assert isinstance(error, DeadlockError)


# -- groups ---------------------------------------------------------------------------------------------------------------


def copies(**changed: Any) -> Program:
    """The two objects of `grouped`, their barriers left to the compiler."""
    from prism import check

    program = check(grouped)
    plan = program.plans[program.entry]
    waits = [op for op in plan.operations if isinstance(op, WaitGroup)]
    operations = tuple(
        replace(op, **changed) if isinstance(op, WaitGroup) and op is waits[0] else op for op in plan.operations
    )
    return program.with_plan(replace(plan, operations=operations))


def test_groups_are_waited_for_in_their_order() -> None:
    def right(program: Program, **options: Any) -> bool:
        x, y = np.arange(12 * 128, dtype=np.int32), np.zeros(12 * 128, np.int32)
        run(program, 1, 64, [x, y, 5], **options)
        return bool((y[:640].reshape(10, 64) == x[:640].reshape(10, 64)[:, ::-1] + 1).all())

    program = copies()
    plan = program.plans[program.entry]
    assert [op.pending for op in plan.operations if isinstance(op, WaitGroup)] == [1, 0]
    assert right(program, schedule="late") and right(program, check=True)
    assert not right(copies(pending=2), schedule="late")
    with pytest.raises(RaceError) as caught:
        right(copies(pending=2), check=True)
    assert "the cp_async of thread" in caught.value.there
    commits = [op for op in plan.operations if isinstance(op, Commit)]
    assert len(commits) == 2
    with pytest.raises(RaceError):
        right(program.with_plan(plan.drop_step(commits[1])), check=True)


def accumulated(change: type, **options: Any) -> None:
    from prism import check

    program = check(product, {"K": 2, "D": 1})
    plan = program.plans[program.entry]
    operations = tuple(op for op in plan.operations if not isinstance(op, change))
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 2**14, (n, 192)).astype(np.uint16) for n in (64, 16))
    run(
        program.with_plan(replace(plan, operations=operations)),
        1,
        256,
        [a, b, np.zeros(1024, np.float32), 192],
        **options,
    )


def test_an_accumulator_in_flight() -> None:
    for schedule in SCHEDULES:
        with pytest.raises((FlightError, RaceError)) as caught:
            accumulated(WaitGroup, check=True, schedule=schedule)
        if isinstance(caught.value, FlightError):
            assert "`acc` is accessed while a wgmma that writes it is under way" in caught.value.what
        with pytest.raises(FlightError) as caught:
            accumulated(WgmmaFence, check=True, schedule=schedule)
        assert "`acc` was accessed, and no wgmma fence" in caught.value.what


def test_a_store_that_nobody_waits_for() -> None:
    from prism import check

    program = check(stations, {"K": 1})
    plan = program.plans[program.entry]
    operations = tuple(op for op in plan.operations if not isinstance(op, WaitGroup))
    mutant = program.with_plan(replace(plan, operations=operations))
    x = np.arange(12 * 32, dtype=np.int32)
    with pytest.raises(FlightError) as caught:
        run(mutant, 1, 96, [x, np.zeros_like(x), 1], check=True)
    assert "this `bulk_store` is still under way when its block ends" in caught.value.what
    assert not any(isinstance(s, Batch) for s in statements(program.entry.body))
