"""`prism.lib.plan` on the GPU: on which stream, what it costs, what a capture refuses; what it gives is in test_algorithms.py."""

from __future__ import annotations

import time

import pytest

from prism import lib
from prism.lang import const, float32, grid, group, id, int32, partition, prism, ptr, requires, thread

try:
    import cupy
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = torch = None


@prism("global")
@requires(grid[1], thread[32])
def doubled(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        mine[0] = 2 * x[i]


def test_a_plan_on_the_streams_of_the_caller() -> None:
    x, y = cupy.ones(1 << 20, cupy.int32), cupy.zeros(1 << 20, cupy.int32)
    plan = lib.plan(lib.scan, x, out=y)
    stream = cupy.cuda.Stream(non_blocking=True)
    for given in (None, stream):
        y[...] = 0
        cupy.cuda.Device().synchronize()
        with stream:
            plan(stream=given)
        stream.synchronize()
        assert int(y[-1]) == 1 << 20


def test_a_plan_costs_its_launch() -> None:
    """No more than a warm call with `out`, which looks up what it does; most of both is the driver's."""
    x, y = cupy.ones(1000, cupy.int32), cupy.zeros(1000, cupy.int32)
    plan = lib.plan(lib.scan, x, out=y)

    def seconds(call: object) -> float:
        found = []
        for _ in range(9):
            cupy.cuda.Device().synchronize()
            start = time.perf_counter()
            for _ in range(200):
                call()  # type: ignore[operator]
            found.append((time.perf_counter() - start) / 200)
        return sorted(found)[4]

    warm, planned = seconds(lambda: lib.scan(x, out=y)), seconds(plan)
    print(f"warm call {warm * 1e6:.2f} us, plan {planned * 1e6:.2f} us")
    assert planned <= 1.1 * warm  # noise of a median of nine


def test_what_is_not_ready_is_refused_and_the_capture_goes_on() -> None:
    """A dtype, an operator and a kernel that no call has made ready; afterwards the graph is whole, and holds the rest."""
    stream = cupy.cuda.Stream(non_blocking=True)
    x, y = cupy.ones(5000, cupy.uint16), cupy.zeros(5000, cupy.uint16)
    v, w = cupy.ones(64, cupy.float32), cupy.zeros(64, cupy.float32)
    with stream:
        ready = lib.plan(lib.scan, x, out=y)
        y[...] = 0
        stream.synchronize()
        stream.begin_capture(0)  # the strictest mode
        try:
            for call in (
                lambda: lib.scan(x, "bitwise_and", out=y),
                lambda: lib.sum(x, out=y[0]),
                lambda: lib.plan(lib.scan, x, "bitwise_and", out=y),
                lambda: doubled[2, 32](v, w),
            ):
                with pytest.raises(RuntimeError, match="is not ready, and a CUDA graph is being captured"):
                    call()
            ready()
        finally:
            graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
    assert int(y[-1]) == 5000
    doubled[2, 32](v, w)
    assert float(w.sum()) == 128
    with stream:
        stream.begin_capture(0)
        doubled[2, 32](v, w)
        graph = stream.end_capture()
        v[...] = 2
        graph.launch(stream)
        stream.synchronize()
    assert float(w.sum()) == 256


def test_a_graph_as_torch_captures_it() -> None:
    """Warmed up on one stream, captured on another, which has no scratch memory as yet; replayed on a third."""
    x, keys = (
        torch.randn(1 << 20, device="cuda"),
        torch.randint(0, 1 << 30, (1 << 20,), device="cuda", dtype=torch.int32),
    )
    y, ranked, total = torch.zeros_like(x), torch.zeros_like(keys), torch.zeros((), device="cuda")

    def calls() -> None:
        lib.scan(x, "maximum", out=y)
        lib.sort(keys, out=ranked)
        lib.sum(x, out=total)

    with torch.cuda.stream(torch.cuda.Stream()):
        calls()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        calls()
    for seed in range(3):
        torch.manual_seed(seed)
        x.copy_(torch.randn_like(x))
        keys.copy_(torch.randint_like(keys, 1 << 30))
        y.zero_()
        ranked.zero_()
        graph.replay()
        assert torch.equal(y, torch.cummax(x, 0).values)
        assert torch.equal(ranked, torch.sort(keys).values)
        assert float(total) == pytest.approx(
            float(x.double().sum()), abs=0.1
        )  # partial sums below 10^4 are rounded to 2^-11
    calls()  # whose scratch memory is not the graph's
    assert torch.equal(ranked, torch.sort(keys).values)
