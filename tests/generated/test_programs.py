"""Generated programs: all are legal, run without a race to one result under every schedule, and NVRTC takes them.

A failure names its seed: `python -m tests.generated.show SEED` prints the program. Hypothesis's failures come shrunk.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

import prism
from prism.interpret import run
from prism.lang import tree
from prism.lang.plan import Program
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.generated.derive import RULES
from tests.generated.mutants import parts_of
from tests.generated.programs import Generated, loaded, program, strategy
from tests.generated.sites import statements

hypothesis = pytest.importorskip("hypothesis")
SCHEDULES = ("round-robin", "random", "reversed")
COUNT, CHUNKS, SAMPLE = 300, 10, 8
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "10000"))
NODES = set(tree.Stmt.__args__) | set(tree.Expr.__args__)  # type: ignore[attr-defined]
NEVER = {
    "Component": "vectors are not generated",
    "Unsafe": "text that nobody checks",
    "Assert": "new, not generated yet",
    "Print": "new, not generated yet",
}


def results(built: Program, generated: Generated, schedule: str, *, check: bool, n: int = 2) -> bytes:
    """Return the bytes of all results of a run."""
    arguments = generated.inputs(n)
    run(built, generated.blocks, generated.threads, arguments, check=check, schedule=schedule, seed=n)
    return bytes(arguments[0].tobytes() + arguments[2].tobytes())


def verify(generated: Generated, *, compiled: bool, n: int = 2) -> Program:
    """Check, synchronise, run and emit a program; fail where anything of it goes wrong."""
    with loaded(generated.text) as names:
        built = prism.check(names["kernel"])
        again = prism.check(names["kernel"])
    texts = [entry_of(one, "sm_90a").source for one in (built, again)]
    assert texts[0] == texts[1], "the emitted text depends on more than the program"
    found = [results(built, generated, schedule, check=True, n=n) for schedule in SCHEDULES]
    found.append(results(built, generated, "round-robin", check=False, n=n))
    assert len(set(found)) == 1, "the result depends on the schedule, or on being checked"
    if compiled:
        assert compile_cubin(texts[0], "sm_90a").cubin
    return built


def seeds(chunk: int, count: int, first: int = 0) -> range:
    """Return one chunk's seeds."""
    return range(first + chunk, first + count, CHUNKS)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_programs_are_legal_and_have_one_result(chunk: int) -> None:
    for seed in seeds(chunk, COUNT):
        try:
            verify(program(seed), compiled=seed // CHUNKS % SAMPLE == 0, n=seed % 4)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@hypothesis.settings(max_examples=20)
@hypothesis.given(strategy())
def test_derivations_are_legal(generated: Generated) -> None:
    hypothesis.note(generated.text)
    verify(generated, compiled=False)


def test_every_rule_is_exercised() -> None:
    programs = Counter[str]()
    for seed in range(COUNT):
        programs.update(set(program(seed).rules))
    assert {rule: programs[rule] for rule in RULES if programs[rule] < 5} == {}


def test_every_node_of_the_typed_tree_is_exercised() -> None:
    """The derivation's log says what was written; the checker's tree, what was understood."""
    seen: set[type] = set()
    for seed in range(COUNT):
        with loaded(program(seed).text) as names:
            functions = prism.lang.check.check(names["kernel"])
        for function in functions:
            for statement in statements(function.body):
                seen.add(type(statement))
                seen.update(type(part) for part in parts_of(statement))
        if missing(seen) == set():
            return
    assert missing(seen) == set()


def missing(seen: set[type]) -> set[str]:
    """Return the nodes that no program has, and that some could have."""
    return {node.__name__ for node in NODES - seen} - set(NEVER)


@pytest.mark.fuzz
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_programs(chunk: int) -> None:
    for seed in seeds(chunk, FUZZ, first=1_000_000):
        try:
            verify(program(seed), compiled=True, n=seed % 4)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.fuzz
@hypothesis.given(strategy())
def test_many_derivations(generated: Generated) -> None:
    hypothesis.note(generated.text)
    verify(generated, compiled=True)
