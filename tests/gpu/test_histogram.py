"""Histograms on a GPU: long arrays, skewed ones, limits of types, graphs, streams, threads, and past 2^31 elements."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prism import lib
from prism.lib.algorithms.histogram import plan
from tests.lib.algorithms.histogram.test_api import random_call

cupy = pytest.importorskip("cupy")
KINDS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")


def same(found, wanted) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype and np.array_equal(cupy.asnumpy(one), other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("skew", [1, 8])
def test_long_arrays(kind: str, skew: int) -> None:
    random = cupy.random.default_rng(0)
    for n in (1 << 18, (1 << 22) + 3):  # of shorter ones tests/gpu/test_algorithms.py has cases
        x = (random.random(n, dtype=np.float32) ** skew * 100).astype(kind)[1:]
        here = cupy.asnumpy(x)
        for bins in (10, 256, 4096, 20_000, 70_000):
            if (
                bins < 20_000 if kind.startswith(("int", "uint")) else kind != "float16" or bins < 300
            ):  # else too many edges
                same(lib.histogram(x, bins, (0, 120)), np.histogram(here, bins, (0, 120)))
        same(lib.histogram(x, 100), np.histogram(here, 100))
        edges = np.sort(np.random.default_rng(1).random(300) * 90)
        same(lib.histogram(x, edges), np.histogram(here, edges))
        if not kind.startswith("float"):
            assert np.array_equal(cupy.asnumpy(lib.bincount(x)), np.bincount(here.astype(np.int64)))


def test_random_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of tests/lib/algorithms/histogram, with what the library is given moved to the GPU."""
    function = lib.histogram

    def moved(x, **options):
        for name in ("bins", "weights"):
            if isinstance(options.get(name), np.ndarray):
                options[name] = cupy.asarray(options[name])
        return tuple(map(cupy.asnumpy, function(cupy.asarray(x), **options)))

    monkeypatch.setattr(lib, "histogram", moved)
    for seed in range(20_000, 20_080):
        random_call(seed)


def test_one_value_and_many_bins() -> None:
    """All threads meet in one counter; and counts of more bins than there is shared memory for."""
    for kind in ("uint8", "int32", "float32"):
        x = cupy.full((1 << 24) + 5, 7, kind)
        for bins in (1, 256, 4000, 1 << 20):
            counts, _ = lib.histogram(x, bins, (0, 16))
            assert int(counts[7 * bins // 16]) == x.size and int(counts.sum()) == x.size
    u = cupy.random.default_rng(0).random(1 << 22, dtype=np.float32)
    for power in (1, 8):  # all bins alike; few of them frequent
        x = (u**power * (1 << 21)).astype(np.int32)
        assert bool((lib.bincount(x) == cupy.bincount(x)).all())
        assert bool((lib.bincount(cupy.sort(x)) == cupy.bincount(x)).all())


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_what_is_no_number_is_in_no_bin(kind: str) -> None:
    """Nor read outside the edges for: an index out of NaN is not the same on all hardware."""
    x = cupy.random.default_rng(0).random((1 << 18) + 1, dtype=np.float32).astype(kind)
    x[::7], x[1::70], x[2::70] = np.nan, np.inf, -np.inf
    for bins in (7, 100, 70_000 if kind != "float16" else 300):
        same(lib.histogram(x, bins, (0.1, 0.9)), np.histogram(cupy.asnumpy(x), bins, (0.1, 0.9)))


def test_weights() -> None:
    random = cupy.random.default_rng(3)
    x, n = random.random(1 << 20, dtype=np.float32), 1 << 20
    for kind in ("int32", "uint8", "float32", "float64"):
        weights = (random.random(n) * 50).astype(kind)
        for bins in (50, np.linspace(0, 1, 33)):
            found, wanted = (
                lib.histogram(x, bins, weights=weights)[0],
                np.histogram(cupy.asnumpy(x), bins, weights=cupy.asnumpy(weights))[0],
            )
            assert found.dtype == wanted.dtype
            assert kind == "uint8" or np.allclose(
                cupy.asnumpy(found), wanted, rtol=1e-4 if kind == "float32" else 1e-12
            )


def test_complex_weights() -> None:
    random = cupy.random.default_rng(3)
    x, weights = random.random(1 << 20, dtype=np.float32), cupy.zeros(1 << 20, np.complex64)
    weights.real, weights.imag = random.integers(-9, 9, x.size), random.integers(-9, 9, x.size)
    for bins in (50, np.linspace(0, 1, 33)):
        found, _ = lib.histogram(x, bins, weights=weights)
        wanted, _ = np.histogram(cupy.asnumpy(x), bins, weights=cupy.asnumpy(weights))
        assert found.dtype == wanted.dtype and np.array_equal(cupy.asnumpy(found), wanted)


def test_several_dimensions() -> None:
    points = cupy.random.default_rng(4).standard_normal((100_003, 3), dtype=np.float32)
    found, edges = lib.histogramdd(points, (30, 4, 50))
    wanted, others = np.histogramdd(cupy.asnumpy(points), (30, 4, 50))
    same((found, *edges), (wanted, *others))


def test_lengths_that_are_not_known_and_calls_made_again() -> None:
    """By the kernels that guess it, again and again on arrays of one kind, whose largest elements differ."""
    given = np.random.default_rng(0).integers(0, 100, 50_001)
    for kind in ("int64", "int32", "uint8"):
        x = cupy.asarray(given.astype(kind))
        for last in (120, 0, 7166, 7167, 1 << 20, 120):
            x[-1] = last = last if kind != "uint8" else last % 256
            wanted = np.bincount(np.append(given[:-1], last))
            assert np.array_equal(cupy.asnumpy(lib.bincount(x)), wanted), (kind, last)
            assert lib.bincount(x, minlength=8000).size == max(wanted.size, 8000)
        if kind != "uint8":
            for _ in range(2):
                x[7] = -1
                with pytest.raises(ValueError, match="negative"):
                    lib.bincount(x)


def test_graphs() -> None:
    """With a range or a length nothing is waited for; else the capture is left intact."""
    x, whole = cupy.zeros(1_000_003, np.float32), cupy.zeros(1_000_003, np.int32)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
    with stream:
        calls = (lambda: lib.histogram(x, 100, (0.0, 1.0)), lambda: lib.bincount(whole, length=50))
        for call in calls:
            call()
        stream.begin_capture()
        for refused, message in (
            (lambda: lib.histogram(x, 100), "pass range="),
            (lambda: lib.bincount(whole), "pass length="),
        ):
            with pytest.raises(RuntimeError, match=f"{message}|is not ready"):
                refused()
        (counts, edges), integers = [call() for call in calls]
        graph = stream.end_capture()
        for seed in range(3):
            random = cupy.random.default_rng(seed)
            x[...] = random.random(x.size, dtype=np.float32)
            whole[...] = random.integers(-3, 70, x.size, dtype=np.int32)
            graph.launch(stream)
            stream.synchronize()
            same((counts, edges), np.histogram(cupy.asnumpy(x), 100, (0.0, 1.0)))
            here = cupy.asnumpy(whole)
            assert np.array_equal(cupy.asnumpy(integers), np.bincount(here[(here >= 0) & (here < 50)], minlength=50))


def test_streams_and_threads() -> None:
    def work(seed: int) -> None:
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            x = cupy.random.default_rng(seed).random(300_001, dtype=np.float32)
        for _ in range(20):
            found = (
                lib.histogram(x, 64, stream=stream),
                lib.histogram(x, np.linspace(0, 1, 20), stream=stream, density=True),
            )
            stream.synchronize()
            same(found[0], np.histogram(cupy.asnumpy(x), 64))
            assert np.allclose(
                cupy.asnumpy(found[1][0]), np.histogram(cupy.asnumpy(x), np.linspace(0, 1, 20), density=True)[0]
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


@pytest.mark.parametrize("own", [True, False])
def test_integers_are_counted_in_zeros_that_a_stream_keeps(own: bool) -> None:
    """By many threads, each on its own stream, or all on one: a launch leaves zeros for the next one, whoever makes it."""
    common = cupy.cuda.Stream(non_blocking=True)

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        with cupy.cuda.Stream(non_blocking=True) if own else common as stream:
            for _ in range(30):
                x = random.integers(0, int(random.integers(1, 9000)), int(random.integers(1, 200_000)))
                given = cupy.asarray(x.astype(random.choice(["int32", "int64", "uint16"])))
                found, more = lib.bincount(given), lib.bincount(given, minlength=20_000)
                wanted = np.bincount(x)
                assert np.array_equal(cupy.asnumpy(found), wanted) and more.size == 20_000
                assert np.array_equal(cupy.asnumpy(more[: wanted.size]), wanted) and not bool(more[wanted.size :].any())
            stream.synchronize()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(100_001, device="cuda")
    for kind in (torch.float32, torch.bfloat16, torch.float16):
        y = x.to(kind)
        here = y.float().cpu().numpy() if kind == torch.bfloat16 else y.cpu().numpy()
        counts, edges = lib.histogram(y, 50, (-3.0, 3.0))
        wanted, others = np.histogram(here, 50, (-3.0, 3.0))
        assert np.array_equal(counts.cpu().numpy(), wanted) and np.array_equal(edges.cpu().numpy(), others)
        assert lib.histogram(y, [-1.0, 0, 1], weights=x)[0].dtype == torch.float32
    whole = torch.randint(0, 1000, (5000,), device="cuda")
    assert torch.equal(lib.bincount(whole), torch.bincount(whole))


@pytest.mark.slow
def test_more_than_2_to_the_31() -> None:
    x = cupy.arange((1 << 31) + 1023, dtype=np.uint8)
    counts, _ = lib.histogram(x, 256, (0, 256))
    assert int(counts.sum()) == x.size and int(counts.max()) - int(counts.min()) <= 1
    assert bool((lib.bincount(x) == counts).all())
    x[...] = 9
    assert int(lib.bincount(x, length=10)[9]) == x.size


def test_configurations_are_those_of_the_gpu() -> None:
    from prism.host.machine import machine_of
    from prism.runtime.arrays import describe

    assert plan.cuts_of(machine_of(describe(cupy.zeros(1), "x")))


def test_edges_that_a_kernel_looks_at() -> None:
    x = cupy.random.default_rng(0).random((1 << 20) + 3, dtype=np.float32) * 200
    for edges in (
        np.sort(np.random.default_rng(0).random(257) * 180),
        np.array([0, 5, 5, 90]),
        np.arange(30_000) / 150,
    ):
        wanted = np.histogram(cupy.asnumpy(x), edges)[0]
        for given in (x, x.astype(np.uint8), x[::2]):
            wanted = np.histogram(cupy.asnumpy(given), edges)[0]
            for _ in range(3):
                counts, same = lib.histogram(given, cupy.asarray(edges))
                assert np.array_equal(cupy.asnumpy(counts), wanted) and np.array_equal(cupy.asnumpy(same), edges)
    for wrong in (
        np.random.default_rng(0).random(257),
        np.array([5, 3]),
        np.array([1, np.nan, 3]),
        np.full(400, np.nan),
    ):
        with pytest.raises(ValueError, match="`bins` must increase monotonically"):
            lib.histogram(x, cupy.asarray(wrong))
    assert int(lib.histogram(x, cupy.asarray([0.0, 300.0]))[0][0]) == x.size
