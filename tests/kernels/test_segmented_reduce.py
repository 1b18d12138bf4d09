"""Reductions of segments on the reference machine, with all its checks: by thread, by warp and by block."""

import functools

import numpy as np
import pytest

import prism
from prism.interpret import run
from prism.kernels.reduce import reduce_segments_by_block, reduce_segments_by_thread, reduce_segments_by_warp
from prism.lib.algorithms.scan.plan import Task
from prism.lib.algorithms.segments.api import MEDIUM, NARROW, way_of
from prism.lib.operators import BY_NAME
from tests.lib.oracles import CASES, SCHEDULES, Case
from tests.rarely import rarely

WAYS = {
    "thread": (reduce_segments_by_thread, {"ITEMS": 2, "LONG": 150, "BLOCKS": 1, "COMMUTATIVE": False}),
    "thread-commutative": (reduce_segments_by_thread, {"ITEMS": 2, "LONG": 150, "BLOCKS": 1, "COMMUTATIVE": True}),
    "warp": (reduce_segments_by_warp, {"ITEMS": 2, "LONG": 191, "BLOCKS": 1, "COMMUTATIVE": False}),
    "warp-commutative": (reduce_segments_by_warp, {"ITEMS": 2, "LONG": 191, "BLOCKS": 1, "COMMUTATIVE": True}),
    "block": (reduce_segments_by_block, {"ITEMS": 3, "COMMUTATIVE": False}),
    "block-commutative": (reduce_segments_by_block, {"ITEMS": 3, "COMMUTATIVE": True}),
}


@functools.cache
def program(way: str, kind: str, function, offsets: str):
    kernel, template = WAYS[way]
    return prism.check(
        kernel, {"T": kind, "TI": kind, "TO": kind, "O": offsets, "OP": function, "THREADS": 64, **template}
    )


def check(way: str, case: Case, x, starts, ends, *, initial=None, blocks=3, **options) -> None:
    kind = str(case.dtype)
    y = np.zeros(len(starts), case.dtype)
    begin = case.identity if initial is None else initial
    values = (x, y, starts, ends, len(starts), len(x), case.identity, begin)
    run(program(way, kind, case.function, str(starts.dtype)), blocks, 64, values, check=True, **options)
    for s, (start, end) in enumerate(zip(starts, ends, strict=True)):
        part = x[max(start, 0) : max(end, 0)]
        assert y[s] == case.inclusive(np.concatenate([np.array([begin], case.dtype), part]))[-1]


@pytest.mark.covering(1)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_operators(case: Case, way: str) -> None:
    if way.endswith("commutative") and not case.operator.commutative:
        pytest.skip("reads elements in another order")
    random = np.random.default_rng(0)
    for kind in ("int32", "int64"):
        offsets = np.sort(random.integers(0, 2000, 12)).astype(kind)
        check(way, case, case.data(2000), offsets[:-1].copy(), offsets[1:].copy())


@pytest.mark.parametrize("way", WAYS)
def test_segments_anywhere(way: str) -> None:
    starts = np.array([0, 5, 5, 900, -10, 998, 2000, 0, 64], np.int64)
    ends = np.array([0, 6, 5, 100, 70, 5000, 3000, 1000, 64 + 192], np.int64)
    for schedule, seed in SCHEDULES:
        check(way, CASES[0], CASES[0].data(1000), starts, ends, initial=7, schedule=schedule, seed=seed)


@pytest.mark.parametrize("way", WAYS)
def test_each_length(way: str) -> None:
    for length in (1, 2, 31, 32, 33, 63, 64, 65, 191, 192, 193, 384, 385):
        starts = np.arange(4, dtype=np.int32) * length
        check(way, CASES[0], CASES[0].data(4 * length), starts, starts + np.int32(length), blocks=2)


@pytest.mark.parametrize("way", WAYS)
def test_a_few_are_much_longer(way: str) -> None:
    """They lie where several blocks come by, more than once, and more than one in what a block takes at once."""
    lengths = np.full(700, 3, np.int32)
    lengths[[0, 1, 69, 300, 301, 699]] = 500, 192, 151, 1000, 191, 800
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    check(way, CASES[0], CASES[0].data(int(bounds[-1])), bounds[:-1].copy(), bounds[1:].copy(), initial=5)


@pytest.mark.parametrize("kind", rarely(["int8", "int64", "float32", "float64"], but=["float64"]))
@pytest.mark.parametrize("way", WAYS)
def test_the_kernels_for_the_device_do_not_spill(way: str, kind: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    kernel, template = WAYS[way]
    template = template | {"ITEMS": 8}
    common = {"T": kind, "TI": kind, "TO": kind, "O": "int64", "OP": BY_NAME["add"].function, "THREADS": 256}
    assert prism.compile(kernel, {**common, **template}).spills == 0


@pytest.mark.parametrize(
    "kind", rarely(["int8", "float16", "float32", "int64", "complex128"], but=["int8", "complex128"])
)
@pytest.mark.parametrize("length", [1, NARROW, MEDIUM, MEDIUM + 1])
def test_those_that_the_library_chooses_do_not_spill(length: int, kind: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    kernel, template, _ = way_of(Task(BY_NAME["add"], kind, kind, exclusive=True), 100 * length, 100, 1)
    assert prism.compile(kernel, {**template, "O": "int64"}).spills == 0


# Which was faster on one H200, of 132 multiprocessors: segments of so many float32 on average, of 2^log.
CHOSEN = [
    (16, 250, "block"), (18, 250, "warp"), (18, 500, "block"), (18, 1000, "block"), (20, 250, "warp"), (20, 500, "warp"),
    (20, 1000, "block"), (20, 2000, "block"), (22, 500, "warp"), (22, 1000, "warp"), (22, 2000, "block"), (24, 1000, "warp"),
    (24, 2000, "warp"), (26, 51, "warp"), (26, 4417, "block"),
]  # fmt: skip


@pytest.mark.parametrize(("log", "length", "way"), CHOSEN)
def test_what_is_chosen(log: int, length: int, way: str) -> None:
    task = Task(BY_NAME["add"], "float32", "float32", exclusive=True)
    kernel, _, _ = way_of(task, 1 << log, (1 << log) // length, 132)
    assert kernel.__name__ == f"reduce_segments_by_{way}"
