"""Soundness of the corrected calculus, on generated programs: see `theory.bundl.soundness` for what is checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tests.theory.bundl.fuzz import FIGURES, ROOTS, empty, every_shard, examine, made, random_shard, run
from theory.bundl import step
from theory.bundl.every import programs
from theory.bundl.generate import program
from theory.bundl.mutants import FATES, fate, mutant
from theory.bundl.perspectives import Shape
from theory.bundl.races import Clocks, Watched
from theory.bundl.soundness import Judge, Report, explore, failures, sample
from theory.bundl.step_data import fence_after
from theory.bundl.syntax import Stmt
from theory.bundl.text import parse, show
from theory.bundl.typing import check_program, corrected, why_not
from theory.bundl.work import Steps

SLOW = 200_000  # seeds from here on: not those of the long runs' first programs
RUN_TIME_RULES = {"T-Arm", "T-Frame", "T-Free", "T-Leave", "T-Scope", "T-Sync-Dec", "T-Sync-Init", "T-Sync-Wait"}
CHUNKS = 8


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_generated_programs(chunk: int) -> None:
    figures, used = empty(), set[str]()
    for seed in range(SLOW + chunk, SLOW + 200, CHUNKS):
        found = examine(seed, figures, used)
        assert not found, f"seed {seed}\n{show(made(seed)[0])}\n" + "\n".join(found)
    assert figures["ends"]["done"] > 0.95 * figures["programs"]


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: f"{root.level}-{root.shape.blocks}x{root.shape.threads}")
@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_program(root: object, size: int) -> None:
    for term in programs(root, size):  # type: ignore[arg-type]
        report = explore(term, root.shape)  # type: ignore[attr-defined]
        assert not failures(report) and not report.race, show(term)


def test_every_program_differs() -> None:
    for root in ROOTS:
        terms = list(programs(root, 3))
        assert len(set(terms)) == len(terms)


def test_all_rules_are_covered() -> None:
    used, rules = set[str](), set[str]()
    for seed in range(SLOW, SLOW + 900):
        term, shape, rng, _ = made(seed)
        assert check_program(corrected, term, shape, used) == term.budget
        if seed < SLOW + 250:
            rules |= sample(term, shape, rng).rules
    assert used == (set(corrected.expressions) | set(corrected.statements)) - RUN_TIME_RULES
    assert rules >= {"S-Function-Call", "S-Async-Partition-Unwind", "S-Memcpy", "S-Alloc-Shared", "S-Claim", "S-While"}


# The checks can fail. ----------------------------------------------------------------------------------------------


def no_fence(psi: str, body: Stmt) -> Stmt:
    return body


PLANTED: dict[str, Steps] = {
    name: step.mix(step.corrected, step.printed, name)
    for name in [
        "E-Partition-Id",
        "S-Partition",
        "S-Claim",
        "S-Lower",
        "S-Function-Call",
        "S-Memcpy",
        "S-Alloc",
        "S-Decl",
    ]
} | {
    "after": replace(step.corrected, fence=fence_after),
    "none": replace(step.corrected, fence=no_fence),
    "sync": step.mix(step.corrected, step.printed, "S-Sync-Init", "S-Sync-Dec", "S-Sync-Wait", "Fence"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    for seed in range(2000):
        rng = Random(seed)
        shape = rng.choice([Shape(1, 2), Shape(1, 4), Shape(2, 2)])
        judge = Judge(program(rng, shape, 4 + int(30 * rng.random() ** 2)), shape, PLANTED[name])
        for _ in range(2):
            judge.sample(rng)
        if failures(judge.report) or judge.report.race:
            return
    pytest.fail("2000 programs, and nothing found")


# Races. ------------------------------------------------------------------------------------------------------------

OVERLAP = parse("""
    input a : int = [0, 0, 0, 0]
    lower g: a as b { destruct { group 1 { lower h: b as c { destruct {
        partition p: c as d by 2 at (0, 1, 2) { split(2, 2) {
            partition q: d as e by 2 { group 2 { e[0] = 1 } } } {
            let v : int @ thread[2] = d[0] { if v == 0 { partition r: d as e by 2 { skip } } else { skip } } } } } } } } }
""")


def test_views_that_overlap_race() -> None:
    shape = Shape(1, 4)
    ends: set[str] = set()
    for seed in range(12):
        report = sample(OVERLAP, shape, Random(seed))
        assert report.race  # on each schedule: there is no barrier between the store and the load
        assert not failures(report)
        ends |= report.ends
    assert ends == {"done", "deadlock"}


@pytest.mark.parametrize(
    ("body", "races"),
    [
        ("partition p: c as d by 2 at (0, 1, 1) { group 2 { d[0] = 1 } }", True),
        ("partition p: c as d by 2 { group 2 { d[0] = 1 } }", False),
        ("partition p: c as d by 2 at (id, 2, 1) { group 2 { d[0] = 1 } }", False),
        ("partition p: c as d by 2 { group 2 { d[0] = 1 } }; let v : int @ thread[1] = c[1] { skip }", False),
        ("partition p: c as d by 2 at (0, 1, 2) { group 2 { let v : int @ thread[1] = d[0] { skip } } }", False),
        ("claim p: c as d at 1 { d[0] = 1 }; claim p: c as d at 1 arm 1 { d[0] = 2 }", False),
    ],
)
def test_what_races(body: str, races: bool) -> None:
    shape = Shape(1, 2)
    outside = (
        "input a : int = [0, 0, 0] lower g: a as b { destruct { group 1 { lower h: b as c { destruct { BODY } } } } }"
    )
    term = parse(outside.replace("BODY", body))
    assert why_not(corrected, term, shape) is None
    assert [sample(term, shape, Random(seed)).race for seed in range(4)] == [races] * 4
    judge = Judge(term, shape)
    judge.report.race = False
    judge.sample = _nothing(judge)  # type: ignore[method-assign]
    assert judge.explore().race == races  # by what is about to happen, without the clocks


def _nothing(judge: Judge) -> Callable[..., Report]:
    return lambda *_, **__: judge.report


def test_clocks_order_by_barriers_only() -> None:
    machine = Watched(step.corrected, parse("input a : int = [0] lower g: a as b { skip }"), Shape(1, 2))
    state, clocks = machine.start(), Clocks(2)
    for thread in (0, 0, 1, 1, 1, 0, 0):
        (move, log), *_ = machine.moves(state, thread)
        clocks.follow(thread, log)
        state = move.state
    assert not clocks.race


def test_a_view_may_reach_beyond_its_array() -> None:
    # Found by the elaboration of Prism's partitions, which have no length: the machine took such a view for the array itself.
    shape = Shape(1, 1)
    for index, end in [(0, "done"), (2, "bounds")]:
        term = parse(
            "input a : int = [0, 0] lower g: a as b { destruct { lower h: b as c { destruct {"
            f" partition p: c as d by 1 at (0, 1, 9) {{ d[{index}] = 1 }} }} }} }} }}"
        )
        report = explore(term, shape)
        assert report.ends == {end} and not failures(report)


# Ill-typed neighbours. ---------------------------------------------------------------------------------------------


def test_mutants_get_stuck_or_are_lucky() -> None:
    fates: Counter[str] = Counter()
    for seed in range(SLOW, SLOW + 300):
        term, shape, rng, _ = made(seed)
        other = mutant(term, shape, rng)
        if other is not None:
            assert why_not(corrected, other[0], shape) is not None
            fates[fate(other[0], shape, rng)] += 1
    assert set(fates) <= set(FATES) and fates["stuck"] > 2 * fates["lucky"] > 0


# The long runs: `make fuzz`. ---------------------------------------------------------------------------------------


@pytest.mark.fuzz
@pytest.mark.xdist_group("bundl")
def test_a_million_programs() -> None:
    total = run("random", 2, FIGURES, lambda k, save: random_shard(k, 2, 0, 1_000_000, 1e9, save))
    assert total["failures"] == [] and total["programs"] == 1_000_000


@pytest.mark.fuzz
@pytest.mark.xdist_group("bundl")
def test_every_program_of_an_hours_size() -> None:
    # 272,175 programs of size 6: 97 minutes of one core, so within an hour on two. Size 7 would be ten times that.
    total = run("every", 2, FIGURES, lambda k, save: every_shard(k, 2, 6, 1e9, save))
    assert total["failures"] == [] and len(total["complete"]) == 6 * len(ROOTS)
