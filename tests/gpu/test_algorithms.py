"""Every algorithm of the manifest on a GPU, by its cases: as on the CPU; and on streams, in graphs, on a chip that is not free.

tests/lib/test_algorithms.py is the same for NumPy's arrays; tests/gpu/sanitized.py makes these calls under compute-sanitizer.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.host import call as calls
from prism.host import warm
from prism.lib import algorithms
from prism.lib.algorithms.reduce import plan as reduce_plans
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.cases import Case, cases
from prism.runtime import graphs as runtime_graphs
from prism.runtime.driver import driver
from prism.runtime.scratch import SCRATCH
from tests.lib.calls import LAYOUTS, call, check, expected, flat, past, same
from tests.rarely import rarely

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

CASES = cases()
PLANNED = [case for case in CASES if case.planned]
OFTEN = 8
"""Calls at the same places, behind which the last ones are graphs, where there are any."""
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def checked(case: Case, arrays: Any, lay: Any = None, **more: Any) -> None:
    """Make a call on the GPU, of arrays that `lay` puts there, and compare."""
    place = cupy.asarray if lay is None else functools.partial(lay, cupy)
    check(case, arrays, place, cupy.asnumpy, **more)


@pytest.mark.parametrize(
    ("case", "dtype"),
    rarely(
        [(case, dtype) for case in CASES for dtype in case.dtypes],
        but=[(case, dtype) for case in CASES for dtype in {*case.dtypes[:2], case.dtypes[-1]}],
    ),
    ids=str,
)
def test_dtypes(case: Case, dtype: str) -> None:
    for shape in (*case.shapes[:4], *case.large[-2:][:1]):
        checked(case, case.arrays(shape, dtype))


@every_case
def test_sizes(case: Case) -> None:
    for shape in (*case.shapes, *case.large):
        checked(case, case.arrays(shape))


@pytest.mark.parametrize("layout", LAYOUTS)
@every_case
def test_arrays_that_lie_otherwise(case: Case, layout: str) -> None:
    for shape in (case.shapes[0], case.large[-1]):
        checked(case, case.arrays(shape), LAYOUTS[layout])


@pytest.mark.parametrize("elements", [0, 1, 3])
@every_case
def test_out(case: Case, elements: int) -> None:
    """The result is there, and what is beside it stays as it is."""
    if not case.out:
        pytest.skip("it takes no `out`")
    for shape in (*case.shapes[:4], case.large[-1]):
        arrays = case.arrays(shape)
        if (wanted := expected(case, arrays)) is None:
            continue
        wanted = np.asarray(wanted)
        before = np.full(elements + wanted.size + 5, 77).astype(wanted.dtype)
        room = cupy.asarray(before)
        out = room[elements : elements + wanted.size].reshape(wanted.shape)
        assert call(case, [past(cupy, x, elements) for x in arrays], out=out) is out
        same(case, out, wanted, cupy.asnumpy)
        out[...] = before[0].item()
        assert np.array_equal(cupy.asnumpy(room), before)


# -- Plans, streams, graphs -----------------------------------------------------------------------------------------------


class Planned:
    """A plan of a case, on arrays of its own, made on the current stream."""

    def __init__(self, case: Case, number: int, shape: tuple[int, ...] | None = None) -> None:
        """Plan a call of the case; `number` says of which dtype."""
        self.case, self.shape = case, shape or case.large[-1]
        self.dtype = case.dtypes[number % len(case.dtypes)]
        given = self.arrays(0)
        self.given = [cupy.asarray(x) for x in given]
        wanted = np.asarray(expected(case, given)) if case.out else None
        self.out = None if wanted is None else cupy.zeros(wanted.shape, wanted.dtype)
        cupy.cuda.Device().synchronize()  # CuPy copies arrays to the GPU on another stream than what follows
        self.plan = lib.plan(getattr(lib, case.function), *self.given, out=self.out, **case.options)
        self.found = self.plan()

    def arrays(self, seed: int) -> tuple[Any, ...]:
        """Return arrays of NumPy, for a call."""
        return self.case.arrays(self.shape, self.dtype, seed)

    def give(self, seed: int) -> None:
        """Put others in the arrays' places."""
        for x, y in zip(self.given, self.arrays(seed), strict=True):
            x[...] = cupy.asarray(y)

    def may_be_a_graph(self) -> bool | None:
        """Whether the plan becomes a graph where its calls are at the same places; None: it makes the call anew each time."""
        if self.plan._recipe is None:
            return None
        owner = self.plan._recipe.launch.__self__
        return not getattr(owner, "_warm", owner)._cooperative

    def compare(self, seed: int) -> None:
        """Compare what is there with what must be."""
        same(self.case, self.found, expected(self.case, self.arrays(seed)), cupy.asnumpy)


@pytest.mark.parametrize("case", PLANNED, ids=str)
def test_plans(case: Case) -> None:
    """On their own arrays, filled anew, and on others."""
    for shape in (case.shapes[0], *case.large[-2:]):
        planned = Planned(case, 0, shape)
        for seed in range(3):
            planned.give(seed)
            planned.found = planned.plan()
            assert not case.out or planned.found is planned.out
            planned.compare(seed)
        if case.out:
            others, out = [cupy.asarray(x) for x in planned.arrays(3)], cupy.empty_like(planned.out)
            assert planned.plan(*others, out) is out
            same(case, out, expected(case, planned.arrays(3)), cupy.asnumpy)


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is launched as a graph from here on, one at a time; whatever the GPU takes for one, it stays."""
    launched: list[Any] = []
    wanted = runtime_graphs.function_called

    def counted(name: str) -> Any:
        function = wanted(name)

        def launch(graph: Any, stream: Any) -> int:
            launched.append(graph)
            status: int = function(graph, stream)
            return status

        return launch if name == "cuGraphLaunch" else function

    monkeypatch.setattr(runtime_graphs, "function_called", counted)
    monkeypatch.setattr(runtime_graphs, "_MOST", 1 << 20)
    monkeypatch.setattr(runtime_graphs, "_LOOKS", 1 << 20)  # another process may have the GPU meanwhile
    monkeypatch.setattr(warm, "_SOON", 1e9)
    calls.forget()  # the plans of this test are made here, and have no graphs
    return launched


@pytest.mark.parametrize("case", PLANNED, ids=str)
def test_calls_at_the_same_places(case: Case, graphs: list[Any]) -> None:
    """On the default stream, where plans become graphs: each call computes what is there by then.

    Elsewhere the graph is another one, and each is launched where its arrays are.
    """
    planned = Planned(case, 0, case.large[min(1, len(case.large) - 1)])

    def again() -> None:
        for _ in range(OFTEN):  # with nothing allocated in between: borrowed memory is at the same place, too
            planned.found = planned.plan()
        cupy.cuda.Device().synchronize()  # so that a trial has ended, whatever else the GPU has to do

    again()
    expected_to = planned.may_be_a_graph()
    assert expected_to in (None, bool(graphs))
    for seed in range(1, 7):
        planned.give(seed)
        before = len(graphs)
        again()
        planned.compare(seed)
        assert expected_to in (None, len(graphs) > before)
    if not case.out:
        return
    first, one = planned.given, planned.out
    others, out = [cupy.asarray(x) for x in planned.arrays(7)], cupy.empty_like(one)
    made = {id(graph) for graph in graphs}
    for _ in range(OFTEN):
        assert planned.plan(*others, out) is out
    same(case, out, expected(case, planned.arrays(7)), cupy.asnumpy)
    assert expected_to in (None, bool({id(graph) for graph in graphs} - made))
    for seed in (8, 9):
        for given, result, its in ((first, one, seed), (others, out, seed + 2)):
            for x, y in zip(given, planned.arrays(its), strict=True):
                x[...] = cupy.asarray(y)
            planned.plan(*given, result)
            same(case, result, expected(case, planned.arrays(its)), cupy.asnumpy)


@pytest.mark.parametrize("case", PLANNED[:: len(PLANNED) // 12], ids=str)
def test_graphs_of_threads_at_once(case: Case, graphs: list[Any]) -> None:
    """Of one plan, on the default stream: on arrays of their own, and both on the same, which are read alone."""
    both = [Planned(case, 0, case.large[min(1, len(case.large) - 1)]) for _ in range(2)]

    def work(number: int) -> None:
        with cupy.cuda.Device(0), cupy.cuda.Stream.null:
            for k in range(60):
                both[k // 4 % 2 if k > 40 else number].plan()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    cupy.cuda.Device().synchronize()
    for one in both:
        one.compare(0)
    assert both[0].may_be_a_graph() in (None, bool(graphs))


def test_eight_streams_at_once() -> None:
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(8)]
    work = []
    for number, case in enumerate(PLANNED):
        with streams[number % 8]:
            work.append(Planned(case, number))
    cupy.cuda.Device().synchronize()
    for _ in range(40):
        for number, one in enumerate(work):
            with streams[number % 8]:
                one.plan()
    cupy.cuda.Device().synchronize()
    for one in work:
        one.compare(0)


@pytest.mark.parametrize("case", PLANNED, ids=str)
def test_a_hundred_equal_runs_beside_other_work(case: Case) -> None:
    """Bit for bit, whichever blocks and lanes are first."""
    planned, busy, big = Planned(case, 0), cupy.cuda.Stream(non_blocking=True), cupy.ones(1 << 26, np.float32)
    several = isinstance(planned.found, tuple)

    def found() -> list[Any]:
        results = flat(planned.found) if several else [planned.found]
        if case.cut:  # places behind those that count are left as they were
            many = int(results[-1].ravel()[0])
            results = [*(x[:many] for x in results[:-1]), results[-1]]
        return [x.ravel().view(np.uint8) for x in results if x.size]

    wanted, wrong = [x.copy() for x in found()], cupy.zeros((), bool)
    for _ in range(100):
        with busy:
            big += 1
        planned.found = planned.plan()
        for x, y in zip(found(), wanted, strict=True):
            wrong |= (x != y).any()
    busy.synchronize()  # before its memory is another array's
    assert not bool(wrong)


def test_one_graph_of_all_with_other_inputs() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        work = [Planned(case, number) for number, case in enumerate(PLANNED)]
        stream.synchronize()
        stream.begin_capture()
        for one in work:
            one.plan()
        graph = stream.end_capture()
    for seed in range(4):
        for one in work:
            one.give(seed)
        cupy.cuda.Device().synchronize()
        for _ in range(5):
            graph.launch(stream)
        stream.synchronize()
        for one in work:
            one.compare(seed)


# -- A chip that is not free ------------------------------------------------------------------------------------------------

HOG = r"""
extern "C" __global__ void hog(volatile int* flag, int* running, long long limit) {
    extern __shared__ char room[];
    room[threadIdx.x] = 0;
    if (threadIdx.x == 0) atomicAdd_system(running, 1);
    const long long start = clock64();
    while (*flag == 0 && clock64() - start < limit) __nanosleep(1000);
}
"""


@contextmanager
def half_the_chip() -> Iterator[Any]:
    """Keep half of the multiprocessors busy, each with one block that takes all of its shared memory."""
    device = cupy.cuda.Device()
    most = device.attributes["MaxSharedMemoryPerBlockOptin"]
    blocks = device.attributes["MultiProcessorCount"] // 2
    kernel = cupy.RawKernel(HOG, "hog")
    kernel.max_dynamic_shared_size_bytes = most
    memory = cupy.cuda.alloc_pinned_memory(64)  # which the GPU reads where it lies
    words = np.frombuffer(memory, np.int32, 16)
    words[:] = 0
    stream = cupy.cuda.Stream(non_blocking=True)
    address = int(memory.ptr)
    limit = 20 * 2_000_000_000  # clocks: it ends by itself, whatever a test does
    try:
        with stream:
            kernel((blocks,), (1024,), (address, address + 32, np.int64(limit)), shared_mem=most)
        until = time.monotonic() + 10
        while words[8] < blocks and time.monotonic() < until:
            time.sleep(1e-3)
        assert words[8] == blocks, "the hog did not start"
        yield words
    finally:
        words[0] = 1
        stream.synchronize()


def test_while_a_kernel_hogs_half_the_chip() -> None:
    """Blocks that a launch counts on start late, one after the other: none may wait for one that has not begun."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:  # compiled and loaded: what loads might wait for the chip
        work = [Planned(case, 0, shape) for case in PLANNED for shape in case.large[1:]]
        stream.synchronize()
    for one in work:
        one.give(1)
    cupy.cuda.Device().synchronize()
    with half_the_chip() as words, stream:
        for _ in range(5):
            for one in work:
                one.plan()
        done = cupy.cuda.Event()
        done.record(stream)
        until = time.monotonic() + 15
        while not done.done and time.monotonic() < until:
            time.sleep(1e-3)
        assert done.done and words[0] == 0, "it waits for the chip to be free"
    for one in work:
        one.compare(1)


# -- Scratch memory ---------------------------------------------------------------------------------------------------------


def poison(stream: int) -> int:
    """Fill the stream's scratch memory with ones, but for the counters and numbers of launches; return how many bytes.

    Words of attention are counters alone, which each launch leaves 0.
    """
    filled = 0
    for (_, of, tag, _), block in SCRATCH._blocks.items():
        if of != stream or tag.startswith("attention"):
            continue
        control = {"columns": 8 * scan_plans._STRIPS, "reduce": 0}.get(tag.split(" ")[0] if " " in tag else tag)
        if control is None or tag.startswith("reduce "):
            control = max(scan_plans._CONTROL, reduce_plans.CONTROL)
        driver().cuMemsetD8Async(block.pointer + control, 0xFF, block.nbytes - control, stream)
        filled += block.nbytes - control
    return filled


def test_scratch_memory_that_holds_anything() -> None:
    """Words of other launches, whatever they are, are not taken for this one's; partial results are written before read.

    Not of products: they keep no words in it that `poison` knows.
    """
    products = {
        name for one in algorithms.MANIFEST for name in one.functions if one.name in ("matmul", "sgemm", "hgemm")
    }
    some = [case for case in PLANNED if case.function not in products]
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        work = [Planned(case, number, shape) for number, case in enumerate(some) for shape in case.large[1:]]
        stream.synchronize()
        for seed in range(10):
            for one in work:
                one.give(seed % 2)
            stream.synchronize()
            assert poison(stream.ptr) > 0
            for one in work:
                one.plan()
            stream.synchronize()
            for one in work:
                one.compare(seed % 2)
