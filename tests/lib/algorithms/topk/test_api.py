"""`prism.lib.top_k` of NumPy arrays, against a stable sort: NaN, zeros, ties, sizes, axes, errors; random calls; a GPU's plans.

Tests of prism/lib/algorithms/topk: api, calls, long, many, plan, ships, cases.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest
from numpy.exceptions import AxisError

from prism import lib
from prism.kernels.topk import configurations
from prism.lib.algorithms.topk import api, long, plan
from prism.lib.algorithms.topk.plan import Task, bound_rank, configuration
from tests.lib.oracles import top_of
from tests.rarely import rarely

KINDS = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
)  # fmt: skip
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "10000"))


def check(x: Any, k: int, **options: Any) -> None:
    """Compare values, bit for bit, and positions."""
    values, indices = lib.top_k(x, k, **options)
    wanted, places = top_of(x, k, **options)
    assert values.dtype == wanted.dtype and indices.dtype == np.int64
    assert values.shape == wanted.shape
    assert np.array_equal(indices, places), (x.dtype, x.shape, k, options)
    assert values.tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.parametrize("kind", rarely(KINDS, but=["float32", "int8", "uint64"]))
def test_limits_of_types(kind: str) -> None:
    info: Any = np.finfo(kind) if kind.startswith("float") else np.iinfo(kind) if kind != "bool" else None
    x = np.array([True, False, True] if info is None else [info.max, info.min, 1, 0, info.max, info.min], kind)
    for k in range(x.size + 1):
        check(x, k)
        check(x, k, largest=False)


@pytest.mark.parametrize("kind", rarely(["float16", "float32", "float64"], but=["float16"]))
def test_nan_and_zeros(kind: str) -> None:
    """NaN stands last in both orders, whatever its sign and bits; -0.0 equals 0.0, and comes out as it went in."""
    x = np.array([np.nan, -np.nan, -0.0, 0.0, 1, -1, np.inf, -np.inf, 0.0, -0.0, 5e-8, -5e-8], kind)
    x.view(f"uint{8 * x.itemsize}")[1] |= 1
    for k in range(0, x.size + 1, 3):
        check(x, k)
        check(x, k, largest=False)
    many = np.tile(x, 700)
    check(many, 300)
    check(many, 300, largest=False)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 4095, 4096, 4097, 9000])
def test_sizes(n: int) -> None:
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    for k in sorted({0, 1, 257, n} if n > 4096 else {0, 1, 2, 255, 256, 257, 1024, 1025, n - 1, n}):
        if k <= n:
            check(x, k)


DATA = ["equal", "few", "rising", "falling", "periods", "nan"]


@pytest.mark.parametrize("data", rarely(DATA, but=["few", "nan"]))
def test_data(data: str) -> None:
    """All equal, few distinct, sorted, reversed, and the same in periods: more equal ones at the bound than there is room for."""
    random = np.random.default_rng(0)
    x = {
        "equal": np.zeros(9_000, np.int32),
        "few": random.integers(0, 3, 9_000),
        "rising": np.arange(9_000, dtype=np.float32),
        "falling": np.arange(9_000, dtype=np.float32)[::-1],
        "periods": np.arange(9_000, dtype=np.uint16) % 16,
        "nan": np.where(np.arange(9_000) < 8_500, np.float32(np.nan), np.float32(3)),
    }[data]
    check(x, 700, largest=data in ("equal", "few"))


def test_a_bound_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few elements come before it, or too many: then the row is read digit by digit."""
    x = np.random.default_rng(0).integers(0, 50, 9_000)
    monkeypatch.setattr(plan, "_longest", lambda *_: 1 << 20)
    for rank, k, kind in ((0, 900, "uint8"), (2047, 30, "int64")):
        monkeypatch.setattr(plan, "bound_rank", lambda *_, rank=rank: rank)
        lib_forget()
        check(x.astype(kind), k)


def lib_forget() -> None:
    from prism.host import call

    call.forget()


def test_axes_and_strides() -> None:
    x = np.random.default_rng(0).integers(-9, 9, (3, 4, 3, 2))  # each row is a block of its own: few tell as much
    views = (x, x[::2, ::-1, :, 1:], x.transpose(2, 0, 3, 1), np.asfortranarray(x), np.broadcast_to(x[:, :1], x.shape))
    for number, axis in enumerate((0, 1, 2, 3, -1, -4)):  # each of them along an axis
        check(views[number % 5], 2, axis=axis)
    values, indices = lib.top_k(x, 7, axis=None)
    wanted, places = top_of(x.ravel(), 7)
    assert np.array_equal(values, wanted) and np.array_equal(indices, places)


def test_other_arguments() -> None:
    x = np.random.default_rng(0).standard_normal((3, 40))
    for other in ({"sorted": False}, {"mode": "largest"}, {"largest": False, "mode": "largest"}):
        assert np.array_equal(lib.top_k(x, 5, **other)[1], lib.top_k(x, 5)[1])
    assert np.array_equal(lib.top_k(x, 5, mode="smallest")[1], lib.topk(x, 5, largest=False)[1])
    values, indices = np.zeros((3, 10))[:, ::2], np.zeros((5, 3), np.int64).T
    found = lib.top_k(x, 5, out=(values, indices))
    assert found[0] is values and found[1] is indices
    assert np.array_equal(values, top_of(x, 5)[0]) and np.array_equal(indices, top_of(x, 5)[1])
    assert np.array_equal(lib.top_k([3, 1, 2], 2)[0], [3, 2])
    lazy = lib.lazy.map(lambda e: -e, x)
    assert np.array_equal(lib.top_k(lazy, 5)[1], lib.top_k(x, 5, largest=False)[1])
    swapped = x.astype(">f8")
    assert np.array_equal(lib.top_k(swapped, 5)[0], lib.top_k(x, 5)[0])


def test_no_elements() -> None:
    for shape, k in (((0,), 0), ((3, 0), 0), ((0, 3), 2), ((3, 4), 0)):
        values, indices = lib.top_k(np.zeros(shape, np.float32), k)
        assert values.shape == indices.shape == (*shape[:-1], k)
        assert values.dtype == np.float32 and indices.dtype == np.int64


def test_errors() -> None:
    x = np.arange(5)
    for k in (-1, 6):
        with pytest.raises(ValueError, match="`k` must be between 0 and 5"):
            lib.top_k(x, k)
    for k in (1.0, True, None, "1"):
        with pytest.raises(TypeError, match="`k` must be an integer"):
            lib.top_k(x, k)
    with pytest.raises(AxisError):
        lib.top_k(x, 1, axis=1)
    with pytest.raises(AxisError):
        lib.top_k(np.float32(3), 1)
    with pytest.raises(ValueError, match="`mode`"):
        lib.top_k(x, 1, mode="most")
    with pytest.raises(TypeError, match="no order"):
        lib.top_k(x.astype(complex), 1)
    with pytest.raises(TypeError, match="pair"):
        lib.top_k(x, 1, out=np.zeros(1))
    with pytest.raises(ValueError, match="shape"):
        lib.top_k(x, 1, out=(np.zeros(2, x.dtype), np.zeros(1, np.int64)))
    with pytest.raises(TypeError, match="dtype"):
        lib.top_k(x, 1, out=(np.zeros(1, np.float32), np.zeros(1, np.int64)))
    with pytest.raises(ValueError, match="stream"):
        lib.top_k(x, 1, stream=0)
    with pytest.raises(TypeError, match="`x`"):
        lib.top_k("text", 1)


def random_call(seed: int) -> None:
    random = np.random.default_rng(seed)
    kind = KINDS[random.integers(len(KINDS))]
    shape = tuple(random.integers(1, 30, random.integers(1, 4)).tolist())
    if random.random() < 0.3:
        shape = (int(random.integers(1, 9000)),)
    x = (
        (random.standard_normal(shape) * 10.0 ** random.integers(-1, 5)).astype("float64" if kind == "bool" else kind)
        if (kind[0] == "f")
        else random.integers(0, int(random.choice([2, 5, 100])), shape).astype(kind)
    )
    if kind[0] == "f":
        x[random.random(shape) < 0.1] = np.nan
        x[random.random(shape) < 0.1] *= -0.0
    axis = int(random.integers(-x.ndim, x.ndim))
    if random.random() < 0.3:
        x = x[tuple(slice(None, None, int(random.choice([-1, 1, 2]))) for _ in shape)]
    check(x, int(random.integers(0, x.shape[axis] + 1)), axis=axis, largest=bool(random.random() < 0.5))


def test_random_calls() -> None:
    for seed in range(2):
        random_call(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(10))
def test_many_random_calls(part: int) -> None:
    for seed in range(1000 + part * FUZZ // 10, 1000 + (part + 1) * FUZZ // 10):
        random_call(seed)


class Device:
    """A GPU, as plans ask for one."""

    host, arch, multiprocessors = False, "sm_90a", 132

    def wave(self, instance: Any, threads: int) -> int:
        return 3


GPU = (
    (1000, 7, "float32"),
    (5000, 700, "float16"),
    (70_001, 100, "float32"),
    (40_001, 9, "uint8"),
    (30_001, 1000, "int64"),
)


LONG = (((2, 33_001), 20, "float32"), ((40_001,), 700, "int64"), ((40_001, 2), 5, "uint8"))


@pytest.mark.parametrize(("n", "k", "kind"), rarely(GPU, but=GPU[2:3]))
def test_what_a_gpu_is_given(n: int, k: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU's plans, run by the reference machine: parts, vectors and blocks are not those of the host's plans."""
    given = api.top_rows
    monkeypatch.setattr(api, "top_rows", lambda *arguments: given(*arguments[:-1], Device()))
    x = (np.random.default_rng(0).standard_normal(n) * 50).astype(kind)
    check(x, k)
    check(x[3:], k, largest=False)


def test_rows_and_runs_that_a_gpu_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    given = api.top_rows
    monkeypatch.setattr(api, "top_rows", lambda *arguments: given(*arguments[:-1], Device()))
    x = np.random.default_rng(0).standard_normal((3, 20_000)).astype(np.float32)
    check(x, 5)
    check(x.T, 5, axis=0)
    check(np.ascontiguousarray(x.T), 5, axis=0)
    check(x[0], 5000)


@pytest.mark.parametrize(("shape", "k", "kind"), rarely(LONG, but=LONG[:1]))
def test_long_rows_that_a_gpu_is_given(shape: Any, k: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks read them; and where what was kept is too much, they are done as shorter ones are."""
    given = api.top_rows
    monkeypatch.setattr(api, "top_rows", lambda *arguments: given(*arguments[:-1], Device()))
    monkeypatch.setattr(configurations, "LONG", 1 << 14)
    x = (np.random.default_rng(0).standard_normal(shape) * 50).astype(kind)
    check(x, k, axis=int(np.argmax(shape)))
    monkeypatch.setattr(long, "most_before", lambda *_: -1000.0)  # so that there is hardly any room
    lib_forget()
    check(x, k, axis=int(np.argmax(shape)), largest=False)


@pytest.mark.parametrize("expected", [0.001, 0.3, 2.0, 17.0, 300.0])
def test_bounds_that_are_hardly_ever_wrong(expected: float) -> None:
    """By the sums of Poisson's distribution; and that they are not far off."""

    def up_to(rank: int, mean: float) -> float:
        return math.fsum(math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(rank + 1))

    rank = plan.rank_of(expected, 10.0)
    assert 1 - up_to(rank, expected) < math.exp(-10) and rank < expected + 5 * math.sqrt(expected) + 12
    most = plan.most_before(rank, 10.0)
    assert up_to(rank, most) < math.exp(-10) and most < rank + 6 * math.sqrt(rank) + 20


@pytest.mark.parametrize("arch", ["sm_75", "sm_86", "sm_90a"])
def test_there_is_shared_memory_for_it(arch: str) -> None:
    """And, all but certainly, room for what comes before the bound."""

    class Other(Device):
        pass

    Other.arch = arch
    machine: Any = Other()
    for scalar in ("uint8", "float32", "int64"):
        for log in (4, 10, 13, 17, 28):
            for k in (1, 100, 1000, 4096):
                c = configuration(Task(scalar), 1 << log, min(k, 1 << log), machine)
                if c is None:
                    assert k > 512
                    continue
                assert c.blocks * Task(scalar).bytes(c) <= plan.limit_of(machine)
                assert c.most >= min(k, 1 << log)
                if c.sample:
                    assert bound_rank(c, 1 << log, k) < c.threads // 2
