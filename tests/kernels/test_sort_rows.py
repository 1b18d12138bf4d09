"""Rows and segments sorted by lanes and by blocks, on the reference machine, with all its checks. Kernels: kernels/sort_rows.

Tests of kernels/sort_rows: elements, segments, lanes, blocks, runs, configurations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.host.plan import Step
from prism.interpret import SCHEDULES, RaceError, run
from prism.kernels import sort_rows as kernels
from prism.kernels.sort_rows import ALONE, BACK, GATHERED, PLACED, ROWS, SEGMENTS, Block, Lanes
from prism.kernels.sort_rows.elements import element_of, key_of
from prism.lang import constexpr, dtype, grid, group, id, int64, partition, ptr, requires, template, thread
from prism.lib.algorithms.sort_rows import plan
from tests.kernels.test_sort import Device
from tests.mutation import without_barriers

THREADS = 64


def elements_of(kind: str, form: int) -> dict[str, Any]:
    """Return the template's types of keys and of what is sorted."""
    size = np.dtype(kind).itemsize
    key = "uint64" if size == 8 else "uint32"
    packed = "uint32" if size <= 2 else "uint64" if size == 4 else kernels.Wide
    return {"T": kind, "U": key, "E": key if form == ALONE else packed, "FORM": form}


def launch(
    x: Any, way: Lanes | Block, starts: Any, ends: Any, *, least: int = 1, most: int = 1 << 40, width: int = 1,
    descending: bool = False, form: int = ALONE, keys: int = BACK, places: bool = False, values: Any = None, mode: int = ROWS,
    columns: int = 0, rows: int = 0, listed: Any = None, mixed: bool = False, blocks: int = 2, **options: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Sort; return what is written: elements, positions and values."""
    y, spots = np.zeros_like(x) - (x.dtype.kind in "iuf"), np.full(x.size, -1, np.int64)
    given = np.zeros(1, np.float32) if values is None else values
    moved = np.zeros_like(given)
    template: dict[str, Any] = {
        **elements_of(x.dtype.name, form), "V": given.dtype, "I": "int64", "O": "int64", "DESCENDING": descending, "KEYS": keys,
        "PLACES": places, "VALUES": values is not None, "MODE": mode, "LISTED": listed is not None, "MIXED": mixed,
        "ITEMS": way.items,
    }  # fmt: skip
    if isinstance(way, Lanes):
        kernel, threads = kernels.sort_rows_by_lanes, THREADS
        template |= {"SIZE": way.size, "THREADS": THREADS, "WIDTH": width}
    else:
        kernel, threads = kernels.sort_rows_by_block, way.threads
        template |= {"THREADS": threads, "BLOCKS": 1}
    names = np.zeros(1, np.int32) if listed is None else np.asarray(listed, np.int32)
    many, cleared = np.array([names.size], np.int32), np.arange(9, dtype=np.int32)
    kernel[blocks, threads](
        x, given, y, spots, moved, starts, ends, names, many, cleared, rows, columns, x.size, least, most, 0, 0,
        template=template, **{"check": True, **options},
    )  # fmt: skip
    clears = mode == SEGMENTS and listed is None  # eight words, for a kernel behind
    assert cleared.tolist() == ([0] * 8 + [8] if clears else list(range(9)))
    return y, spots, moved


def equal_rows(x: Any, way: Lanes | Block, **options: Any) -> tuple[Any, Any, Any]:
    none = np.zeros(1, np.int64)
    found = launch(x.ravel(), way, none, none, rows=x.shape[0], columns=x.shape[1], **options)
    y, places, moved = (one.reshape(x.shape) if one.size == x.size else one for one in found)
    return y, places, moved


def data(kind: str, shape: tuple[int, ...], form: str, seed: int = 0) -> Any:
    """Return rows of some distribution."""
    random, size = np.random.default_rng(seed), int(np.prod(shape))
    found = random.integers(0, 1 << 62, size, dtype=np.int64)
    if np.dtype(kind).kind == "f":
        found = (random.standard_normal(size) * 100).astype(kind)
    elif np.dtype(kind).kind == "u":
        found = (found.astype(np.uint64) * 3).astype(kind)
    else:
        found = (found * 3).astype(kind)
    found = found.reshape(shape)
    match form:
        case "equal":
            found[...] = 1
        case "few":
            found = random.integers(0, 3, shape).astype(kind)
        case "sorted":
            found.sort(axis=-1)
        case "reversed":
            found = np.sort(found, axis=-1)[:, ::-1].copy()
        case "special":
            special = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0] if found.dtype.kind == "f" else [0, 1, 2]
            found = random.choice(np.array(special, kind), shape)
    return found


def order_of(x: Any, descending: bool) -> Any:
    """Return the stable order of rows, NaN last: NumPy's, and by ranks where it descends."""
    if not descending:
        return np.argsort(x, axis=-1, kind="stable")
    last = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
    _, ranks = np.unique(np.where(last, 0, x), return_inverse=True)
    return np.argsort(np.where(last, 1, -ranks.reshape(x.shape).astype(np.int64)), axis=-1, kind="stable")


KINDS = ("float32", "uint32", "int8", "uint16", "int64", "float64", "float16", "int32", "uint64", "int16", "uint8")
FORMS = ("random", "equal", "few", "sorted", "reversed", "special")
WAYS = (
    Lanes(1, 1), Lanes(1, 4), Lanes(2, 4), Lanes(4, 8), Lanes(32, 2), Lanes(32, 8), Block(32, 2, 1), Block(64, 4, 1),
    Block(128, 8, 1),
)  # fmt: skip


@pytest.mark.covering(2)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("short", [0, 1, 2])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_positions_and_values(way: Any, short: int, descending: bool, kind: str, form: str) -> None:
    """Stable, with whole rows and those that are shorter."""
    columns = max(1, way.span - short)
    x = data(kind, (7, columns), form)
    values = np.arange(x.size, dtype=np.int16)
    options: dict[str, Any] = {"form": PLACED, "keys": GATHERED, "places": True, "values": values}
    y, places, moved = equal_rows(x, way, descending=descending, **options)
    wanted = order_of(x, descending)
    assert np.array_equal(places, wanted)
    assert np.array_equal(moved, np.take_along_axis(values.reshape(x.shape), wanted, -1))
    assert y.tobytes() == np.take_along_axis(x, wanted, -1).tobytes()


@pytest.mark.covering(1)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("short", [0, 1])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_elements_alone(way: Any, short: int, descending: bool, kind: str, form: str) -> None:
    """Zeros of both signs in their order; NaN of several bits in the order of these. Every way of every kind: above."""
    x = data(kind, (9, max(1, way.span - short)), form)
    real = x.dtype.kind == "f"
    if real:
        x[::2, ::3] = -0.0
        x[1::3, 1::4] = 0.0
    y = equal_rows(x, way, descending=descending, mixed=real)[0]
    wanted = np.take_along_axis(x, order_of(x, descending), -1)
    assert np.array_equal(y, wanted, equal_nan=real)
    if real:
        numbers = ~np.isnan(wanted)
        assert y[numbers].tobytes() == wanted[numbers].tobytes()


@pytest.mark.parametrize(("kind", "width", "way"), [
    ("float32", 4, Lanes(4, 4)), ("uint8", 8, Lanes(16, 8)), ("float64", 2, Lanes(32, 2)), ("int16", 8, Lanes(2, 8)),
])  # fmt: skip
def test_vectors(kind: str, width: int, way: Lanes) -> None:
    """Rows that are read and written by vectors, whole ones and shorter ones."""
    for columns in {way.span, max(way.span - width, width)}:
        x = data(kind, (5, columns), "few")
        options: dict[str, Any] = {
            "form": PLACED,
            "keys": GATHERED,
            "places": True,
            "values": x.ravel(),
            "width": width,
        }
        y, places, moved = equal_rows(x, way, **options)
        assert (
            np.array_equal(places, order_of(x, False))
            and np.array_equal(y, np.sort(x))
            and np.array_equal(y, moved.reshape(y.shape))
        )
        assert np.array_equal(equal_rows(x, way, width=width)[0], np.sort(x))


@pytest.mark.parametrize("way", [Lanes(4, 4), Lanes(32, 2), Block(64, 2, 1)], ids=str)
@pytest.mark.parametrize("listed", [False, True])
def test_segments(way: Any, listed: bool) -> None:
    """Those in a range of lengths, all of them or those of a list; bounds outside the array are its ends."""
    random = np.random.default_rng(0)
    x = random.integers(0, 9, 300, dtype=np.int32)
    cuts = np.sort(random.integers(0, 301, 40))
    cuts[5:30] = cuts[5:30] // 4 * 4  # segments of whole vectors
    starts, ends = np.concatenate([[-5], cuts]), np.concatenate([cuts, [310]])
    lengths = np.minimum(ends, 300) - np.maximum(starts, 0)
    taken = (lengths >= 2) & (lengths <= way.span)
    names = random.permutation(np.flatnonzero(taken))[::2] if listed else None
    if listed:
        taken = np.isin(np.arange(41), names)
    width = 4 if isinstance(way, Lanes) and way.items >= 4 else 1
    options: dict[str, Any] = {
        "mode": SEGMENTS,
        "width": width,
        "rows": 41,
        "least": 2,
        "most": way.span,
        "listed": names,
    }
    y, places, _ = launch(x, way, starts, ends, form=PLACED, keys=GATHERED, places=True, **options)
    alone = launch(x, way, starts, ends, **options)[0]
    wanted, spots = np.zeros_like(x) - 1, np.full(300, -1)
    for begin, end in zip(np.maximum(starts, 0)[taken], np.minimum(ends, 300)[taken], strict=True):
        spots[begin:end] = np.argsort(x[begin:end], kind="stable")
        wanted[begin:end] = x[begin:end][spots[begin:end]]
    assert np.array_equal(y, wanted) and np.array_equal(places, spots) and np.array_equal(alone, wanted)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_long_rows_in_every_schedule(schedule: str) -> None:
    """Of six tiles: four runs are merged, then those that are made."""
    rows, items, threads = 2, 8, 32
    tile = (threads - 1) * items
    x = data("float32", (rows, 5 * tile + 7), "few")
    values, tiles = np.arange(x.size, dtype=np.int32), 6 * rows
    y, places, moved = np.zeros(x.size, x.dtype), np.full(x.size, -1), np.full(x.size, -1, np.int32)
    none, listed = np.zeros(1, np.int64), np.zeros(1, np.int32)
    template = {
        **elements_of("float32", PLACED), "V": "int32", "I": "int64", "O": "int64", "ITEMS": items, "THREADS": threads,
        "BLOCKS": 1, "DESCENDING": False, "KEYS": GATHERED, "PLACES": True, "VALUES": True, "MODE": ROWS,
    }  # fmt: skip
    sizes = (2 * x.size, "u8"), (3 * tiles, "i8"), (1, "i4"), (1, "i4"), (1, "i8"), (2, "u8")
    kernels.sort_long_rows[3, threads](
        x.ravel(), values, y, places, moved, none, none, listed, listed, *(np.zeros(*size) for size in sizes), rows,
        x.shape[1], x.size, tiles, 0, 0, template=template, check=True, schedule=schedule, seed=1,
    )  # fmt: skip
    order = np.argsort(x, axis=-1, kind="stable")
    assert np.array_equal(places.reshape(x.shape), order)
    assert np.array_equal(y.reshape(x.shape), np.sort(x))
    assert np.array_equal(moved.reshape(x.shape), np.take_along_axis(values.reshape(x.shape), order, -1))


@prism.lang.prism("global")
@template(T=dtype, U=dtype, DESCENDING=constexpr(bool))
@requires(grid[1], thread[1])
def keys(x: ptr(T) @ grid[1], y: ptr(T) @ grid[1], z: ptr(U) @ grid[1], n: int64 @ grid[1]):  # noqa: F821
    i: int64 @ thread[1] = id()
    with partition(y, thread[1], i) as back, partition(z, thread[1], i) as mine, group(thread[1]):
        if i < n:
            mine[0] = key_of(x[i], U=U, DESCENDING=DESCENDING, TIED=False)  # noqa: F821
            back[0] = element_of(mine[0], T=T, DESCENDING=DESCENDING)  # noqa: F821


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", ["float16", "int8", "uint8", "int16", "uint16"])
def test_keys_are_bits(kind: str, descending: bool) -> None:
    """Of every element of a type: a key of its own, in the order of elements, that gives back its bits."""
    size = np.dtype(kind).itemsize
    x = np.arange(1 << 8 * size).astype(f"uint{8 * size}").view(kind)
    y, z = np.zeros_like(x), np.zeros(x.size, np.uint32)
    template = {"U": "uint32", "DESCENDING": descending}
    keys[-(-x.size // 256), 256](x, y, z, x.size, template=template)
    assert x.tobytes() == y.tobytes() and np.unique(z).size == x.size
    found = x[np.argsort(z)]
    wanted = np.sort(x)
    if descending:
        nans = np.isnan(wanted).sum() if kind == "float16" else 0
        wanted = np.concatenate([wanted[: x.size - nans][::-1], wanted[x.size - nans :]])
    assert np.array_equal(found, wanted, equal_nan=kind == "float16")


@pytest.mark.parametrize("way", [Lanes(4, 4), Block(256, 2, 1)], ids=str)
def test_each_inferred_barrier_is_needed(way: Any) -> None:
    rows, columns = 80 if isinstance(way, Lanes) else 3, way.span - 1
    x = data("float32", (rows, columns), "random").ravel()
    kernel = kernels.sort_rows_by_lanes if isinstance(way, Lanes) else kernels.sort_rows_by_block
    template = {
        **elements_of("float32", ALONE), "V": "float32", "I": "int64", "O": "int64", "DESCENDING": False, "KEYS": BACK,
        "PLACES": False, "VALUES": False, "MODE": ROWS, "LISTED": False, "MIXED": False, "ITEMS": way.items, "THREADS": 256,
    }  # fmt: skip
    template |= {"SIZE": way.size, "WIDTH": 1} if isinstance(way, Lanes) else {"BLOCKS": 1}
    found = list(without_barriers(prism.check(kernel, template)))
    assert found
    for barrier, mutant in found:
        if barrier.loop and barrier.first.text.startswith("blocked_to_striped"):
            continue  # from row to row: those of the network stand between, where there is more than one warp
        with pytest.raises((RaceError, AssertionError)):
            for schedule in SCHEDULES:
                y, none, number = np.zeros_like(x), np.zeros(1, np.int64), np.zeros(1, np.int32)
                one = np.zeros(1, np.float32)
                given = (x, one, y, none, one.copy(), none, none, number, number, number)
                run(mutant, 1, 256, (*given, rows, columns, x.size, 1, 1 << 40, 0, 0), check=True, schedule=schedule)
                assert np.array_equal(y.reshape(rows, -1), np.sort(x.reshape(rows, -1)))


def test_the_launches_of_segments() -> None:
    """Of short ones a list less; the sort of those of about the mean clears what counts the others, where there is one.

    The last one begins when all before it have ended, which costs less where it finds nothing to do.
    """

    def launched(mean: int) -> list[str]:
        steps = plan.segments(plan.Kind("uint32"), 1 << 24, (1 << 24) // mean, "int64", Device(), plan.Names()).steps
        assert [step.late for step in steps if isinstance(step, Step)] == [False] * (len(steps) - 1) + [True]
        return [step.instance.kernel.__name__ if isinstance(step, Step) else "clear" for step in steps]

    listed = ["bin_segments", "sort_listed_by_lanes", "sort_rows_by_block"]
    assert launched(16) == ["sort_rows_by_lanes", *listed, "sort_long_rows"]
    assert launched(256) == ["sort_rows_by_lanes", *listed, "sort_rows_by_block", "sort_long_rows"]
    assert launched(4096) == ["sort_rows_by_block", *listed, "sort_rows_by_block", "sort_long_rows"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_three_lists_in_every_schedule(schedule: str) -> None:
    """In one launch, in places for 4, 8 and 32 elements; what is in no list stays as it is."""
    random = np.random.default_rng(0)
    lengths = random.permutation([*range(33), *range(33)])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    x = np.floor(random.standard_normal(int(offsets[-1])) * 2).astype(np.float32)
    x[random.integers(0, x.size, 99)] = -0.0
    lists, wanted = np.zeros((3, lengths.size), np.int32), np.zeros_like(x)
    listed = [np.flatnonzero((lengths > least) & (lengths <= most)) for least, most in ((0, 4), (4, 8), (8, 32))]
    for row, names in zip(lists, listed, strict=True):
        row[: names.size] = random.permutation(names)
        for name in names:
            part = slice(offsets[name], offsets[name + 1])
            wanted[part] = x[part][np.argsort(x[part], kind="stable")]
    template = {
        **elements_of("float32", ALONE), "V": "float32", "I": "int64", "O": "int64", "DESCENDING": False, "KEYS": BACK,
        "PLACES": False, "VALUES": False, "MIXED": True, "SIZE": 1, "ITEMS": 4, "SECOND_SIZE": 2, "SECOND_ITEMS": 4,
        "THIRD_SIZE": 4, "THIRD_ITEMS": 8, "WIDTH": 1, "THREADS": THREADS,
    }  # fmt: skip
    one, none, y = np.zeros(1, np.float32), np.zeros(1, np.int64), np.zeros_like(x)
    many = np.array([names.size for names in listed], np.int32)
    given = (
        x,
        one,
        y,
        none,
        one.copy(),
        offsets[:-1].copy(),
        offsets[1:].copy(),
        lists.ravel(),
        many,
        lengths.size,
        x.size,
    )
    kernels.sort_listed_by_lanes[2, THREADS](*given, template=template, check=True, schedule=schedule, seed=1)
    assert y.tobytes() == wanted.tobytes()


def test_longer_rows_take_more() -> None:
    """Each length has the least that holds it, and a longer one none that holds less."""
    for size in (4, 8, 16):
        spans = [way.span for way in (*kernels.LANES[size], *kernels.BLOCKS[size])]
        assert spans == sorted(spans) and kernels.most_of(size) == spans[-1]
        for columns in {1, *spans, *(span + 1 for span in spans)}:
            found = kernels.way_of(columns, size)
            assert (found is None) == (columns > spans[-1])
            assert found is None or found.span == min(span for span in spans if span >= columns)
