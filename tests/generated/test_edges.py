"""Programs at the edges (edges.py): a sample of each kind, many in the long runs, and that the driver tells what it finds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from prism.runtime.compile import SlowCodeError
from tests.generated import edges, edges_verify
from tests.generated.edges import KINDS, Report, report
from tests.generated.edges_verify import FAILED, Edge, Outcome, verify

CHUNKS = 8
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "100000"))
SAMPLE = 10
"""Programs of each kind in the ordinary run; a module may have a `SAMPLE` of its own."""


def told(found: Report) -> str:
    return "\n".join([*found.lines(), *(failure["found"][:2000] for failure in found.failures[:3])])


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample(kind: str) -> None:
    found = Report(kind, 0)
    for seed in range(getattr(edges_verify.module_of(kind), "SAMPLE", SAMPLE)):
        found.add(seed, verify(kind, seed))
    assert not found.failures and found.outcomes["right"] > 0, told(found)


@pytest.mark.fuzz
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("kind", KINDS)
def test_many(kind: str, chunk: int) -> None:
    count = max(FUZZ // CHUNKS, 1)
    found = report(kind, 1_000_000 + chunk * count, count)
    assert found.count == count and not found.failures, told(found)


def test_each_kind_is_described() -> None:
    """What each kind draws, docs/proved.md says."""
    described = (
        (Path(__file__).parents[2] / "docs/proved.md").read_text(encoding="utf-8").partition("| kind | programs |")[2]
    )
    assert [kind for kind in KINDS if f"| `{kind}` | " not in described] == []


# -- the driver -----------------------------------------------------------------------------------------------------------


def edge(text: str = "", **facts: object) -> Edge:
    """A program that is right unless told otherwise."""
    plain = """\
@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = n
"""
    facts = {"expected": [np.full(32, 3, np.int32)], **facts}
    return Edge(text or plain, 1, 32, lambda: [np.zeros(32, np.int32), np.int32(3)], **facts)  # type: ignore[arg-type]


RACE = edge().text.replace("i: int32 @ thread[1] = id()", "i: int32 @ thread[1] = id() // (n - 1)")
ILL = edge().text.replace("mine[0] = n", "mine[0] = m")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, object]]:
    """A kind whose programs a test gives, by seed; what is no program is called."""
    programs: dict[int, object] = {}

    def program(seed: int) -> object:
        one = programs.get(seed, edge())
        return one if isinstance(one, Edge) else one()  # type: ignore[operator]

    module = SimpleNamespace(program=program)
    monkeypatch.setattr(edges_verify, "module_of", lambda kind: module)
    yield programs


@pytest.mark.parametrize(
    ("program", "named"),
    [
        (edge(), "right"),
        (edge(expected=None), "right"),
        (edge(legal=True), "right"),
        (edge(legal=False, why="of a test"), FAILED),
        (edge(expected=[np.zeros(32, np.int32)]), FAILED),
        (edge(ILL), "refused: name"),
        (edge(ILL, legal=True), "too strict: name"),
        (edge(RACE, expected=None), FAILED),
        (edge(RACE, expected=None, reported=True), "reported: machine-race"),
    ],
)
def test_what_becomes_of_a_program(made: dict[int, object], program: Edge, named: str) -> None:
    made[0] = program
    assert verify("made", 0).named == named


def test_an_error_that_is_none_of_prism_is_a_failure(made: dict[int, object]) -> None:
    made[0] = lambda: 1 // 0
    found = verify("made", 0)
    assert found.kind == FAILED and "ZeroDivisionError" in found.found


def test_counts_and_seeds(made: dict[int, object]) -> None:
    made.update({5: edge(ILL), 6: edge(RACE, expected=None), 7: edge(ILL, legal=True)})
    found = report("made", 4, 6, 2)
    assert found.outcomes == {"right": 3, "refused: name": 1, FAILED: 1, "too strict: name": 1}
    assert [failure["seed"] for failure in found.failures] == [6] and "machine-race" in found.failures[0]["found"]
    assert found.listed == {"too strict: name": [7]}
    assert any(line.startswith("  FAILURE seed 6: accepted, and machine-race") for line in found.lines())


def test_it_stops_in_time(made: dict[int, object]) -> None:
    made[2] = lambda: time.sleep(60)
    found = report("made", 0, 100, 1, seconds=2)
    assert (
        2 <= found.count < 100 and found.next == 2 and found.seconds < 20 and found.outcomes == {"right": found.count}
    )
    assert any(line.startswith(f"  stopped in time: {100 - found.count} programs are left") for line in found.lines())


def test_a_process_that_ends_or_hangs_is_its_program_s_failure(
    made: dict[int, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edges, "PATIENCE", 2)
    made.update({2: lambda: os._exit(7), 5: lambda: time.sleep(60)})
    found = report("made", 0, 8, 2)
    assert found.count == 8 and found.outcomes == {"right": 6, FAILED: 2}
    said = {failure["seed"]: failure["found"] for failure in found.failures}
    assert said == {2: "it ends the process, with status 7", 5: "it is not done after 2 seconds"}


def test_what_stops_the_gpu_ends_its_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("own")
    module.verify = lambda seed: Outcome(FAILED if seed == 2 else "right", "it hangs", lost=seed == 2)  # type: ignore[attr-defined]
    monkeypatch.setattr(edges_verify, "module_of", lambda kind: module)
    found = report("own", 0, 6)
    assert found.count == 6 and found.outcomes == {"right": 5, FAILED: 1}
    assert found.failures == [{"seed": 2, "found": "it hangs"}]


@pytest.mark.parametrize(("raised", "kind"), [(SlowCodeError("slow"), "refused"), (RuntimeError("lost"), FAILED)])
def test_what_the_assembler_would_make_slow_is_refused(
    raised: Exception, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = SimpleNamespace(synchronize=lambda: None)
    cuda = SimpleNamespace(Stream=lambda non_blocking: nullcontext(), get_current_stream=lambda: current)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, asarray=lambda value: value))

    def kernel(*arguments: object) -> None:
        raise raised

    found = edges_verify.on_gpu(edge(), {(1, 32): kernel}, [])
    assert found.kind == kind and found.lost == (kind == FAILED)


def test_a_kind_may_verify_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("own")
    module.verify = lambda seed: Outcome("right" if seed else "refused", code="" if seed else "race")  # type: ignore[attr-defined]
    monkeypatch.setattr(edges_verify, "module_of", lambda kind: module)
    assert report("own", 0, 3).outcomes == {"right": 2, "refused: race": 1}


def test_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setattr("sys.argv", ["edges", "--kind", "roles", "--show", "3"])
    assert edges.main() == 0 and "def kernel(" in capsys.readouterr().out
    monkeypatch.setattr(
        "sys.argv", ["edges", "--kind", "roles", "--count", "3", "--jobs", "1", "--json", f"{tmp_path}/x"]
    )
    assert edges.main() == 0 and "roles: 3 programs, seeds 0 to 2" in capsys.readouterr().out
