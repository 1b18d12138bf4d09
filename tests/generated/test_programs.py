"""Generated programs: all are legal, run without a race to one result under every schedule, and NVRTC takes them.

A failure names its seed: `python -m tests.generated.show SEED` prints the program. Hypothesis's failures come shrunk.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import get_args

import pytest

import prism.lang
from prism.interpret import RaceError
from prism.lang import tree
from tests.generated.faults_edits import parts
from tests.generated.fuzz import FIRST, examine, fuzz
from tests.generated.numbers import RULES
from tests.generated.programs import HEAD, Generated, loaded, program, strategy
from tests.generated.sites import statements
from tests.generated.verify import Wrong, accepted, verified

hypothesis = pytest.importorskip("hypothesis")
COUNT, RUN, CHUNKS = 300, 32, 8  # programs that are looked at; of them, those that are run
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "100000"))
NODES = {*get_args(tree.AnyStmt), *get_args(tree.AnyExpr)}
NEVER = {
    "Specialise": "made by specialise.py, out of a program that has been checked",
    "Distinct": "what is said of numbers that are drawn: edge_distinct.py has programs of it",
    "Turns": "units of a role one after the other: edge_turns.py has programs of them",
}
"""Nodes of the typed tree that no generated program has, with the reason."""


def shown(failures: list[dict[str, object]]) -> str:
    """Return what failed, for a test's message."""
    return "\n\n".join(f"seed {f['seed']}: {f['found']}" for f in failures[:5])


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_programs_are_legal_and_have_one_result(chunk: int) -> None:
    size = RUN // CHUNKS
    report = examine(range(chunk * size, (chunk + 1) * size))
    assert len(report.seeds) == size and not report.failures, shown(report.failures)


@hypothesis.settings(max_examples=10)
@hypothesis.given(strategy())
def test_derivations_are_legal(generated: Generated) -> None:
    hypothesis.note(generated.text)
    _, result = verified(generated)
    assert result


# -- what they cover ------------------------------------------------------------------------------------------------------


def test_every_rule_is_exercised() -> None:
    programs = Counter[str]()
    for seed in range(COUNT):
        programs.update(set(program(seed).rules))
    assert {rule: programs[rule] for rule in RULES if programs[rule] < 3} == {}


def test_the_rules_are_those_of_the_language() -> None:
    """All of them; of R30, RECURSION, a legal program shows that a function may call others."""
    exercised = {found[0] for rule in RULES if (found := re.match(r"R\d+", rule))}
    assert exercised == {f"R{n}" for n in range(1, 31)}


def test_every_node_of_the_typed_tree_is_exercised() -> None:
    """The derivation's log says what was written; the checker's tree, what was understood."""
    seen: set[type] = set()
    for seed in range(COUNT):
        with loaded(program(seed).text) as names:
            functions = prism.lang.check.check(names["kernel"])
        for function in functions:
            for statement in statements(function.body):
                seen.add(type(statement))
                seen.update(type(part) for part in parts(statement))
        if missing(seen) == set():
            return
    assert missing(seen) == set()


def missing(seen: set[type]) -> set[str]:
    """Return the nodes that no program has, and that some could have."""
    return {node.__name__ for node in NODES - seen} - set(NEVER)


# -- what verification would find -----------------------------------------------------------------------------------------

PROGRAM = """\
@prism("global")
@requires(grid[1], thread[1])
def kernel(out: ptr(int32) @ grid[1], x: ptr(const(int32)) @ grid[1], tally: ptr(uint32) @ grid[1], n: int32 @ grid[1]):
    u: int32 @ thread[1] = id()
    with partition(out, thread[1], offset=u) as p:
        with group(thread[1]):
            p[{}] = {}
"""


def made(index: str, value: str) -> Generated:
    """Return a program that stores this value there, for four blocks of two threads."""
    return Generated(HEAD + PROGRAM.format(index, value), 4, 2, (), Counter())


def test_a_program_of_this_form_is_legal() -> None:
    _, result = verified(made("0", "x[u]"))
    assert any(result)


def test_a_race_is_found() -> None:
    with pytest.raises(RaceError):
        verified(made("-u", "1"))


def test_a_result_that_depends_on_the_schedule_is_found() -> None:
    with pytest.raises(Wrong, match="depends on the schedule"):
        verified(made("0", "int32(atomic_add(tally[0], 1))"))


def test_what_nvrtc_refuses_is_found_among_others() -> None:
    texts = [verified(program(seed))[0].source for seed in range(4)]
    assert accepted(texts) == {}
    wrong = texts[2].replace("blockIdx", "blockIdy").replace("threadIdx", "threadIdy")
    assert set(accepted([*texts[:2], wrong, texts[3]])) == {2}


@pytest.mark.fuzz
def test_many_programs() -> None:
    figures = fuzz(FIRST, FUZZ, float("inf"), os.cpu_count() or 1)
    print({name: figures[name] for name in ("seeds", "programs", "seconds", "programs a second")})
    assert figures["programs"] == FUZZ and not figures["failures"], shown(figures["failures"])


@pytest.mark.fuzz
@hypothesis.settings(max_examples=max(FUZZ // 1000, 20))
@hypothesis.given(strategy())
def test_many_derivations(generated: Generated) -> None:
    """The same by Hypothesis's choices, fewer for its own time: its failures come shrunk."""
    hypothesis.note(generated.text)
    _, result = verified(generated)
    assert result
