"""Products of groups on the reference machine, with all its checks: groups of every length, in every form; edges of tiles.

`made` runs what a GPU would be given, and the same tiles: those of few rows, and those of many, where a warpgroup may have none.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from prism.host.machine import run_step
from prism.host.plan import OUT, WORDS, Buffer
from prism.interpret import SCHEDULES, schedules
from prism.kernels.hgemm import Configuration
from prism.lang.types.structs import dtype_called
from prism.lib.algorithms.grouped.api import decide_grouped
from prism.lib.algorithms.hgemm.epilogue import SECOND, asked_for
from prism.runtime.arrays import describe

SMALL = Configuration(64, 64, 3, 1, slabs=1)
LOW = Configuration(128, 64, 3, ahead=0, slabs=1)
DEEP = Configuration(64, 64, 4, 1, slabs=2)
LENGTHS = (5, 0, 70, 1, 64, 130)
GPU = SimpleNamespace(host=False, arch="", multiprocessors=2, wave=lambda *_: 2)
NOT_WRITTEN = 77


def made(arrays, out, cut, *, epilogue=None, extra=(), second=None, **options) -> None:
    """Run what a GPU would be given, on NumPy arrays and parts of them, which lie in memory as they do; `second`: of two."""
    infos = {name: describe(x, name) for name, x in arrays.items()}
    how = {} if epilogue is None else {"epilogue": asked_for(epilogue), "extra": extra, "out_dtype": out.dtype.name}
    decision = decide_grouped(infos, describe(out) if second is None else None, GPU, cut=cut, **how)
    assert decision.plan is not None, decision.copied
    room = np.full(decision.plan.scratch, 255, np.uint8)
    words = np.zeros(decision.plan.words, np.uint8)

    def found(buffer: Buffer, scalar: str):
        given = {**arrays, OUT: out, SECOND: second, WORDS: words}.get(buffer.name, room)
        base = given if given.base is None else given.base
        begin = given.__array_interface__["data"][0] - base.__array_interface__["data"][0] + buffer.offset
        return base.reshape(-1).view(np.uint8)[begin:].view(dtype_called(scalar))

    for step in decision.plan.steps:
        run_step(step, found, check=True, **options)
    assert not words.any(), "the next launch begins with numbers that were drawn"


def small(rng, *shape, kind=np.float16):
    return rng.integers(-2, 3, shape).astype(kind)


def bounds(lengths, index=np.int32):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(index)


def products(a, b, ends, out):
    """What `out` is, once rows up to each end have been multiplied by its matrix."""
    wanted = out.astype(np.float32)
    for g, matrix in enumerate(b):
        rows = slice(ends[g], ends[g + 1])
        wanted[rows] = a[rows].astype(np.float32) @ matrix.astype(np.float32)
    return wanted.astype(out.dtype)


def exact(
    lengths, n, k, cut=SMALL, *, inside=True, behind=9, index=np.int32, result=np.float16, ends=False, **options
) -> bool:
    """Whether groups have their products, and rows behind them are neither read nor written."""
    rng, offsets = np.random.default_rng(n + k), bounds(lengths, index)
    m = int(offsets[-1]) + behind
    a, b = small(rng, m, (k + 7) // 8 * 8 + 8)[:, :k], small(rng, len(lengths), k, n)
    wide = np.full((len(lengths), *((n, (k + 7) // 8 * 8) if inside else (k, (n + 7) // 8 * 8))), np.nan, np.float16)
    wide[:, :, : k if inside else n] = b.swapaxes(1, 2) if inside else b
    b = wide[:, :, :k].swapaxes(1, 2) if inside else wide[:, :, :n]
    if k:
        a[m - behind :] = np.nan
    out = np.full((m, (n + 7) // 8 * 8), NOT_WRITTEN, result)[:, :n]
    made({"a": a, "b": b, "offsets": offsets[1:] if ends else offsets}, out, cut, **options)
    return np.array_equal(out, products(a, b, offsets, np.full((m, n), NOT_WRITTEN, result)))


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES) + 1))
def test_schedules(schedule: str, seed: int) -> None:
    assert exact(LENGTHS, 72, 200, schedule=schedule, seed=seed)


@pytest.mark.parametrize("lengths", [LENGTHS, (0, 0, 3), (64,), (63, 65), (128, 0, 129), (1,) * 40, (0,) * 70 + (2, 1)])
@pytest.mark.parametrize("cut", [SMALL, LOW], ids=["few", "many"])
def test_lengths(lengths: tuple[int, ...], cut: Configuration) -> None:
    """Groups of every length; more of them than a warp looks at once."""
    assert exact(lengths, 40, 64, cut, schedule="random")


@pytest.mark.parametrize("n, k", [(8, 8), (64, 64), (72, 65), (63, 63), (130, 200), (16, 0)])
@pytest.mark.parametrize("inside", [True, False])
def test_edges(n: int, k: int, inside: bool) -> None:
    """Extents that tiles stick out of; rows that no tensor copy can write; no K."""
    assert exact((5, 0, 70), n, k, LOW, inside=inside and k > 1, behind=3)


@pytest.mark.parametrize("result", [np.float16, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_dtypes(result: type, index: type) -> None:
    assert exact(LENGTHS, 72, 72, result=result, index=index, ends=index is np.int32)


@pytest.mark.parametrize(
    "offsets", [(0, 70, 5, 99), (-5, 10, 3, 50), (50, 20, 60, 75), (75, 75, 75, 75), (9, 9, 9, 9), (0, 75, 0, 75)]
)
def test_any_offsets(offsets: tuple[int, ...]) -> None:
    """What leads out is taken as the end, and what falls as an empty group: nothing is written twice, or beside the result."""
    rng, given = np.random.default_rng(0), np.array(offsets)
    a, b, out = small(rng, 75, 72), small(rng, 3, 72, 40), np.full((75, 40), NOT_WRITTEN, np.float16)
    made({"a": a, "b": b, "offsets": given}, out, SMALL)
    rising = np.maximum.accumulate(np.clip(given, 0, 75))
    assert np.array_equal(out, products(a, b, rising, np.full((75, 40), NOT_WRITTEN, np.float16)))


@pytest.mark.parametrize("cut", [SMALL, LOW], ids=["few", "many"])
@pytest.mark.parametrize("counts", [(3, 0, 70, 99, -4), (70,) * 5, (0,) * 5])
def test_room_of_their_own(cut: Configuration, counts: tuple[int, ...]) -> None:
    rng, room = np.random.default_rng(0), 70
    a, b, out = small(rng, 5, room, 72), small(rng, 5, 72, 40), np.full((5, room, 40), NOT_WRITTEN, np.float16)
    made({"a": a, "b": b, "counts": np.array(counts)}, out, cut)
    for g, count in enumerate(np.clip(counts, 0, room)):
        assert np.array_equal(
            out[g, :count], (a[g, :count].astype(np.float32) @ b[g].astype(np.float32)).astype(np.float16)
        )
        assert (out[g, count:] == NOT_WRITTEN).all()


@pytest.mark.parametrize("lengths", [LENGTHS, (0, 3), (200, 0, 64)])
@pytest.mark.parametrize("m, n", [(72, 136), (8, 8), (136, 40)])
def test_along_k(lengths: tuple[int, ...], m: int, n: int) -> None:
    """Groups of K: what is behind a group's is not read, and a group of none has zeros."""
    rng, offsets = np.random.default_rng(m), bounds(lengths)
    depth = int(offsets[-1])
    x, y, out = (
        small(rng, depth + 5, m),
        small(rng, depth + 5, n),
        np.full((len(lengths), m, n), NOT_WRITTEN, np.float32),
    )
    x[depth:], y[depth:] = np.nan, np.inf
    made({"a": x.T, "b": y, "offsets": offsets}, out, LOW)
    for g in range(len(lengths)):
        rows = slice(offsets[g], offsets[g + 1])
        assert np.array_equal(out[g], x[rows].astype(np.float32).T @ y[rows].astype(np.float32))


@pytest.mark.parametrize("cut", [SMALL, LOW, DEEP], ids=["few", "many", "deep"])
@pytest.mark.parametrize("k", [64, 72, 200])
def test_gathered(cut: Configuration, k: int) -> None:
    """Rows are taken by an index, those that lead out as the first and the last; what is behind K is zero, whatever is there."""
    rng, offsets = np.random.default_rng(k), bounds(LENGTHS)
    wide, b = np.full((50, k + 8), np.nan, np.float16), small(rng, len(LENGTHS), k, 40)
    x, taken = wide[:, :k], rng.integers(0, 50, int(offsets[-1])).astype(np.int32)
    x[...], taken[3], taken[4] = small(rng, 50, k), -1, 99
    out = np.full((len(taken), 40), NOT_WRITTEN, np.float16)
    made({"a": x, "b": b, "offsets": offsets, "rows": taken}, out, cut, schedule="random")
    assert np.array_equal(out, products(x[np.clip(taken, 0, 49)], b, offsets, out))


@pytest.mark.parametrize("n", [72, 69])
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("cut", [SMALL, LOW], ids=["few", "many"])
def test_two_results(n: int, rows: bool, cut: Configuration) -> None:
    """A second one is stored as the first, slab by slab, by tensor copies or element by element."""
    rng, offsets = np.random.default_rng(n), bounds(LENGTHS)
    m = int(offsets[-1])
    a, b = small(rng, m, 64), small(rng, 6, 64, n)
    arrays = {"a": a, "b": np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2), "offsets": offsets}
    if rows:
        arrays["rows"] = np.arange(m, dtype=np.int32)
    epilogue = (lambda x: max(x, 0.0), lambda x: x + 1.0)
    for result in (np.float16, np.float32):  # in one slab, and in two
        out, second = (np.full((m, n), NOT_WRITTEN, result) for _ in range(2))
        made(arrays, out, cut, epilogue=epilogue, second=second, schedule="random")
        wanted = products(a, b, offsets, out)
        assert np.array_equal(out, np.maximum(wanted, 0)) and np.array_equal(second, wanted + 1)


@pytest.mark.parametrize("each", [True, False])
def test_epilogue(each: bool, k: int = 64) -> None:
    """Extras by element and by row lie as the whole result; by column there are some for each group, or for all."""
    rng, offsets = np.random.default_rng(0), bounds(LENGTHS)
    m, n = int(offsets[-1]), 72
    a, b, scale, more = small(rng, m, k), small(rng, 6, k, n), small(rng, m, 1, kind=np.float32), small(rng, m, n)
    bias = small(rng, 6, 1, n) if each else small(rng, n)
    out = np.zeros((m, n), np.float16)
    arrays = {"a": a, "b": b, "offsets": offsets, "extra[0]": bias, "extra[1]": scale, "extra[2]": more}
    made(
        arrays,
        out,
        LOW,
        epilogue=lambda x, i, j, b, s, r, by: max(x + b, 0.0) * s + r + by * i - j,
        extra=(None, None, None, 2),
    )
    for g in range(6):
        rows = slice(offsets[g], offsets[g + 1])
        sums = a[rows].astype(np.float32) @ b[g].astype(np.float32) + (bias[g] if each else bias)
        places = 2 * np.arange(len(sums))[:, None] - np.arange(n)
        assert np.array_equal(out[rows], (np.maximum(sums, 0) * scale[rows] + more[rows] + places).astype(np.float16))
