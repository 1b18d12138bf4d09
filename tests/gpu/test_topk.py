"""The first elements, medians and partitions on a GPU: long arrays, hard data, dtypes, graphs, streams, equal runs."""

import numpy as np
import pytest

from prism import lib
from prism.host.call import forget
from prism.lib.algorithms.topk import long
from tests.lib.oracles import top_of

cupy = pytest.importorskip("cupy")
KINDS = ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64")


def numbers(kind: str, n: int):
    return (np.random.default_rng(0).standard_normal(n) * 40).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_long_rows(kind: str) -> None:
    x = numbers(kind, 3_000_001)
    if kind.startswith("float"):
        x[::97], x[1::97] = np.nan, -np.nan
    given = cupy.asarray(x)
    for k in (1, 100, 2000, 20_000):
        for largest in (True, False):
            values, indices = lib.top_k(given, k, largest=largest)
            wanted, places = top_of(x, k, largest=largest)
            assert np.array_equal(indices.get(), places)
            assert np.array_equal(values.get(), wanted, equal_nan=kind.startswith("float"))
    value, place = lib.kthvalue(given, 1_000_000)
    assert int(place) == top_of(x, 1_000_000, largest=False)[1][-1] and value == x[int(place)]


@pytest.mark.parametrize("data", ["equal", "few", "sorted", "reversed", "periodic"])
def test_hard_data(data: str) -> None:
    n = (1 << 24) + 3
    x = cupy.arange(n, dtype=np.float32)
    x = {
        "equal": lambda: cupy.ones(n, np.float32),
        "few": lambda: x % 3,
        "sorted": lambda: x,
        "reversed": lambda: x[::-1].copy(),
        "periodic": lambda: x % 256,
    }[data]()
    order = cupy.argsort(-x, kind="stable")
    for k in (10, 1000):
        values, indices = lib.top_k(x, k)
        assert bool((indices == order[:k]).all()) and bool((values == x[order[:k]]).all())
    assert bool(lib.median(x) == cupy.median(x))
    found = lib.partition(x, n // 3)
    middle = found[n // 3]
    assert bool(middle == cupy.sort(x)[n // 3])
    assert bool((found[: n // 3] <= middle).all()) and bool((found[n // 3 :] >= middle).all())


def test_rows_and_axes() -> None:
    x = numbers("float32", 600 * 700).reshape(600, 700)
    given = cupy.asarray(x)
    for axis in (0, 1):
        for one, there in ((given, x), (given.T[::2], x.T[::2])):
            values, indices = lib.top_k(one, 30, axis=axis)
            assert np.array_equal(indices.get(), top_of(there, 30, axis=axis)[1])
            assert np.array_equal(lib.median(one, axis=axis).get(), np.median(there, axis=axis))
            assert np.array_equal(
                lib.quantile(one, [0.1, 0.9], axis=axis).get(), np.quantile(there, [0.1, 0.9], axis=axis)
            )


@pytest.mark.parametrize(("n", "k"), [(8192, 100), (8192, 1000), (8188, 7), (5000, 256), (4096, 300), (2048, 64)])
def test_rows_that_blocks_hold(n: int, k: int) -> None:
    """Rows of all kinds among them, which are done after: infinite, equal, of few values, of many decades, of NaN alone."""
    x = np.random.default_rng(n + k).standard_normal((150, n)).astype(np.float32)
    x[1], x[2, ::5], x[3, ::3], x[4], x[5] = 3, np.inf, np.nan, np.floor(4 * x[4]), np.exp(20 * x[5])
    x[6], x[7], x[8], x[9, ::2], x[9, 1::2] = np.sort(x[6]), -np.sort(x[7]), np.nan, 0.0, -0.0
    for largest in (True, False):
        values, places = lib.top_k(cupy.asarray(x), k, largest=largest)
        order = np.argsort(-x if largest else x, axis=1, kind="stable")[:, :k]
        assert np.array_equal(places.get(), order)
        assert values.get().tobytes() == np.take_along_axis(x, order, 1).tobytes()


@pytest.mark.parametrize("fails", [False, True])
def test_rows_that_all_blocks_read(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And where what is kept of them is too much for its room: then they are done in parts."""
    if fails:
        monkeypatch.setattr(long, "most_before", lambda *_: -1000.0)
    forget()
    for kind in ("float32", "int64", "uint8"):
        x = numbers(kind, 5 * 700_001).reshape(5, 700_001)
        given = cupy.asarray(x)
        for one, there, axis in (
            (given, x, 1),
            (given.T, x.T, 0),
            (given.T.copy(), x.T, 0),
            (given[:, 3:], x[:, 3:], 1),
        ):
            for k in (7, 1500):
                values, indices = lib.top_k(one, k, axis=axis)
                wanted, places = top_of(there, k, axis=axis)
                assert np.array_equal(indices.get(), places) and np.array_equal(values.get(), wanted)
    forget()


def test_graphs_and_streams() -> None:
    """Nothing waits: a call can be captured, and a graph gives what is there when it is launched."""
    x = cupy.asarray(numbers("float32", 1 << 20))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        calls = lib.plan(lib.top_k, x, 50), lib.plan(lib.median, x), lib.plan(lib.kthvalue, x, 77)
        stream.synchronize()
        stream.begin_capture()
        found = [call() for call in calls]
        graph = stream.end_capture()
        for seed in range(3):
            x[...] = cupy.asarray(np.random.default_rng(seed).standard_normal(1 << 20).astype(np.float32))
            graph.launch(stream)
            stream.synchronize()
            y = x.get()
            assert np.array_equal(found[0][1].get(), top_of(y, 50)[1])
            assert found[1].get() == np.median(y)
            assert int(found[2][1]) == top_of(y, 77, largest=False)[1][-1]


def test_a_hundred_equal_runs() -> None:
    x = cupy.asarray(np.floor(numbers("float32", 1 << 22)))
    first = lib.top_k(x, 700), lib.argpartition(x, 1 << 20)
    for _ in range(100):
        values, indices = lib.top_k(x, 700)
        assert bool((indices == first[0][1]).all()) and bool((values == first[0][0]).all())
    assert bool((lib.argpartition(x, 1 << 20) == first[1]).all())
