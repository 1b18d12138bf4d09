"""Selection on the reference machine, with all its checks."""

import functools
import importlib

import numpy as np
import pytest

import prism
from prism import interpret
from prism.interpret import RaceError, run
from prism.kernels.select import SHORT, fill_rest, is_set, repeat, select, split, split_apart, take_axis
from prism.lang import dtype, requires, template, thread
from prism.lang import prism as mark
from prism.lib.algorithms.select import ships
from prism.lib.algorithms.select.plan import Kind, held_as
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers
from tests.rarely import rarely

KINDS = {
    "mask": Kind("float32", "float32"),
    "own": Kind("uint8", "uint8", own=True),
    "edges": Kind("float32", "float32", compared="float32", own=True, edges=True),
    "places": Kind(places=True),
    "bytes": Kind("uint8", "uint8"),
    "edges of bytes": Kind("uint8", "uint8", compared="uint8", own=True, edges=True),
    "places of bytes": Kind(places=True),
    "complex": Kind("complex64", "complex64", compared="complex64", own=True),
}
SIZES = {"THREADS": 64, "ITEMS": 4, "WIDTH": 2, "BLOCKS": 1, "WORDS": 1}
WORDS = {**SIZES, "ITEMS": 8, "WIDTH": 4}  # rows of four bytes, as they are held


@functools.cache
def program(name: str):
    return prism.check(select, {**KINDS[name].template(SHORT[4]), **sizes_of(name)})


def sizes_of(name: str):
    return WORDS if "bytes" in name else SIZES


def check(
    name: str,
    n: int,
    *,
    share=0.3,
    blocks=3,
    room=None,
    mutant=None,
    scratch=None,
    seed=0,
    y_skew=0,
    skew=-1,
    **options,
) -> None:
    """Select of `n` elements, and compare with the definition; what is before and behind stays."""
    kind, random = KINDS[name], np.random.default_rng(seed)
    mask = (random.random(n) < share).astype(np.uint8)
    x = (
        np.arange(1, n + 1).astype(kind.given)
        if not kind.own
        else mask.astype(kind.given) * random.integers(1, 3, n).astype(np.uint8)
    )
    flags = (x if kind.own else mask) != 0
    if kind.edges:
        flags = np.concatenate([[True], x[1:] != x[:-1]])
    wanted = np.flatnonzero(flags) if kind.places else x[flags]
    room = n if room is None else room
    y, kept = np.full(room + 3, 77, wanted.dtype), np.zeros(1, np.int64)
    words, control = scratch or fresh()
    nothing = np.zeros((), kind.moved)[()], np.zeros((), kind.compared)[()]
    values = (x, mask, y, kept, n, room, skew, skew, y_skew, *nothing, words, 64, control)
    run(mutant or program(name), blocks, 64, values, check=True, **options)
    assert kept[0] == wanted.size
    there = min(room, wanted.size)
    assert np.array_equal(y[:there], wanted[:there]) and (y[there:] == 77).all()


def fresh():
    return np.zeros(64, np.uint64), np.zeros(1, np.uint64)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_kept(name: str) -> None:
    for share in (0, 0.1, 0.9, 1):
        check(name, 1397, share=share)


@pytest.mark.parametrize("name", [name for name in KINDS if "bytes" in name])
def test_bytes_in_words(name: str) -> None:
    """Of whole tiles that are aligned, and of others: what differs from the byte before is found across words and lanes."""
    for n in (511, 512, 513, 2100):
        for share in (0.03, 0.6):
            for skew in (0, 3, -1):
                check(name, n, share=share, skew=skew)


@pytest.mark.parametrize("name", rarely(KINDS, but=["mask", "places"]))
def test_sizes(name: str) -> None:
    for n in (1, 2, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 512, 513):
        check(name, n, seed=n)


def test_no_more_than_there_is_room_for() -> None:
    for name in ("mask", "places"):
        for room in (0, 1, 5, 255, 256, 257, 5000):
            check(name, 1397, room=room, share=0.7)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule: str, seed: int) -> None:
    for blocks in (1, 2, 8):
        check("mask", 2100, blocks=blocks, schedule=schedule, seed=seed)
    check("edges", 2100, resident=1, schedule=schedule, seed=seed)


def test_nothing_is_cleared_between_launches() -> None:
    scratch = fresh()
    for number in range(1, 8):
        check("mask", 200 * number, blocks=number, seed=number, scratch=scratch)
        assert scratch[1][0] == number << 32


@pytest.mark.parametrize("name", rarely(KINDS, but=["mask", "edges", "places"]))
def test_each_inferred_barrier_is_needed(name: str) -> None:
    found = list(without_barriers(program(name)))
    assert found
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                check(name, 2300, share=0.8, blocks=2, mutant=mutant, schedule=schedule, seed=seed)


@pytest.mark.parametrize("blocks", [1, 3])
def test_the_rest_is_filled(blocks: int) -> None:
    code = prism.check(fill_rest, {"T": "float32", "THREADS": 64})
    for n in (1, 63, 64, 65, 1000):
        for kept, each in ((0, 1), (1, 1), (70, 1), (21, 3), (n, 1), (n + 9, 1)):
            y = np.zeros(n, np.float32)
            run(code, blocks, 64, (y, np.array([kept]), n, each, 2.5), check=True)
            assert np.array_equal(y, np.where(np.arange(n) < kept * each, 0, 2.5))


@pytest.mark.parametrize("index", ["uint32", "int64"])
def test_indices_along_an_axis(index: str) -> None:
    places = np.random.default_rng(0).integers(0, 5 * 7 * 11, 300)
    for counted, kept in ((False, 0), (True, 200), (True, 1000)):
        code = prism.check(take_axis, {"I": index, "COUNTED": counted, "THREADS": 64})
        for step in (1, 3):
            y = np.full(300 * step, -1)
            run(code, 2, 64, (places, np.array([kept]), y, 300, 11, 7, step), check=True)
            many = min(kept, 300) if counted else 300
            wanted = np.full((300, step), -1)
            wanted[:many, 0] = places[:many] // 11 % 7
            assert np.array_equal(y, wanted.ravel())


@pytest.mark.parametrize("number", rarely(range(sum(1 for _ in ships.instances(None))), but=[1, 3, 5, 11]))
def test_the_kernels_for_the_device_do_not_spill(number: int) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    one = [*ships.instances(None)][number]
    template = dict(one.template)
    assert prism.compile(one.kernel, template).spills == 0


@functools.cache
def in_halves():
    return prism.check(split, {"T": "float32", "TI": "float32", "M": "uint8", "C": "uint8", "TEST": is_set, **SIZES})


def halves(n: int, blocks: int, code=None, **options) -> None:
    random = np.random.default_rng(n)
    x, mask, y = np.arange(n, dtype=np.float32), (random.random(n) < 0.4).astype(np.uint8), np.zeros(n, np.float32)
    tiles = -(-n // 256)
    words, control = np.zeros(2 * tiles + 2, np.uint64), np.zeros(1, np.uint64)
    given = (x, mask, y, np.array([mask.sum()], np.int64), n, -1, -1, np.float32(0), 0, words, tiles, control)
    run(code or in_halves(), blocks, 64, given, check=True, **options)
    assert np.array_equal(y, [*x[mask != 0], *x[mask == 0]])


@pytest.mark.parametrize("n", [1, 255, 256, 257, 3000])
def test_a_split(n: int) -> None:
    halves(n, 3)


@pytest.mark.parametrize("schedule", interpret.SCHEDULES)
def test_a_split_in_every_schedule(schedule: str) -> None:
    halves(2000, 3, schedule=schedule)


def test_each_inferred_barrier_of_a_split_is_needed() -> None:
    found = list(without_barriers(in_halves()))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                halves(2300, 2, mutant, schedule=schedule, seed=seed)


@functools.cache
def repeated():
    return prism.check(repeat, {"T": "float32", "TI": "float32", "I": "int32", "THREADS": 64, "ITEMS": 4, "WIDTH": 2})


def runs_of(n: int, most: int, code=None, **options) -> None:
    """Write runs of up to so many elements, empty ones too, and compare with NumPy's."""
    random = np.random.default_rng(n)
    lengths, x = random.integers(0, most + 1, n) * (random.random(n) < 0.7), random.random(n).astype(np.float32)
    ends = np.cumsum(lengths)
    m = int(ends[-1]) + 5
    tiles = -(-m // 256)
    runs, y = np.searchsorted(ends, np.arange(tiles + 1) * 256, "right"), np.zeros(m, np.float32)
    run(code or repeated(), tiles, 64, (x, ends, runs, y, n, m, False, np.float32(-1)), check=True, **options)
    assert np.array_equal(y, [*np.repeat(x, lengths), *[-1] * 5])


@pytest.mark.parametrize(("n", "most"), [(1, 5), (3, 2000), (2000, 1), (700, 40)])
def test_runs_are_written_whatever_their_lengths(n: int, most: int) -> None:
    """Also where a tile has more than it has elements."""
    runs_of(n, most)


def test_each_inferred_barrier_of_runs_is_needed() -> None:
    found = list(without_barriers(repeated()))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                runs_of(700, 40, mutant, schedule=schedule, seed=seed)


@functools.cache
def apart(
    ways: int,
    kind: str = "uint16",
    *,
    own: bool = False,
    sizes: tuple[int, int] = (4, 2),
    placed: bool = False,
):
    mask = kind if own else "uint8"
    kinds = {
        "T": kind,
        "H": held_as(kind),
        "TI": kind,
        "M": mask,
        "C": mask,
        "O": mask,
        "D": mask,
        "OWN": own,
        "WAYS": ways,
    }
    tests = {"TEST": is_odd if own else is_set, "OTHER": is_large if own else is_set}
    shape = {**SIZES, "ITEMS": sizes[0], "WIDTH": sizes[1], "BLOCKS": 3 if placed else 1}
    return prism.check(split_apart, {**kinds, **tests, "W": "uint32" if ways == 2 else "uint64", **shape})


@mark("device")
@requires(thread[1])
@template(T=dtype)
def is_odd(x: T @ thread[1]) -> bool @ thread[1]:
    return x % 2 != 0


@mark("device")
@requires(thread[1])
@template(T=dtype)
def is_large(x: T @ thread[1]) -> bool @ thread[1]:
    return x > 900


def parts(
    n: int,
    blocks: int,
    ways: int,
    own: bool = False,
    code=None,
    times: int = 1,
    skew: int = 0,
    kind="uint16",
    **options,
) -> None:
    """Each part is where it must be, and nothing behind it is written."""
    random = np.random.default_rng(n)
    x, first, second = np.arange(n).astype(kind), *((random.random(n) < part).astype(np.uint8) for part in (0.4, 0.5))
    if own:
        first, second = (x < 40, x > 200) if kind == "uint8" else (x % 2, x > 900)
        first, second = first.astype(kind), second.astype(kind)
    outs = [np.full(n + 16, 77, kind)[max(skew, 0) :] for _ in range(3)]
    kept, tiles = np.full(2, -5), -(-n // 192)  # of the least tiles
    words, control = np.zeros(2 * tiles + 2, np.uint64), np.zeros(1, np.uint64)
    for _ in range(times):
        numbers = (n, -1, -1, -1, skew, x.dtype.type(0), 0, 0, words, tiles, control)
        given = (x, x if own else first, second, *outs, kept[:1], kept[1:], *numbers)
        run(code or apart(ways, own=own), blocks, 64, given, check=True, **options)
    one = first != 0
    other = (second != 0) & ~one & (ways == 3)
    wanted = [x[one], x[other], x[~one & ~other]]
    for k, (out, part) in enumerate(zip(outs, wanted, strict=True)):
        assert np.array_equal(out[: part.size], part), k
        assert (out[part.size :] == 77).all()
    assert kept.tolist() == [one.sum(), other.sum() if ways == 3 else -5]


@pytest.mark.parametrize("ways", [2, 3])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("n", [1, 255, 256, 257, 3000])
def test_parts(n: int, own: bool, ways: int) -> None:
    parts(n, 3, ways, own)


@pytest.mark.parametrize("ways", [2, 3])
def test_parts_at_any_place(ways: int) -> None:
    for skew in (-1, *range(8)):
        parts(700, 2, ways, skew=skew)
        parts(700, 2, ways, code=apart(ways, "uint8"), kind="uint8", skew=skew)
    parts(2000, 2, ways, times=4)


@pytest.mark.parametrize("ways", [2, 3])
@pytest.mark.parametrize("sizes", [(3, 1), (12, 4), (16, 8)])
def test_parts_moved_by_one_and_by_four(sizes: tuple[int, int], ways: int) -> None:
    for n in (255, 2900):
        parts(n, 2, ways, code=apart(ways, sizes=sizes), skew=n % 8)


@pytest.mark.parametrize("ways", [2, 3])
@pytest.mark.parametrize("schedule", rarely([one for one, _ in SCHEDULES], but=[SCHEDULES[0][0]]))
def test_parts_whatever_runs_first(schedule: str, ways: int) -> None:
    parts(2000, 3, ways, schedule=schedule)


@pytest.mark.parametrize("ways", [2, 3])
@pytest.mark.parametrize("kind", rarely(["uint32", "uint64"], but=["uint32"]))
def test_parts_that_stand_in_shared_memory(kind: str, ways: int) -> None:
    for own, sizes in ((False, (4, 2)), (False, (12, 4)), (True, (3, 1))):
        code = apart(ways, kind, own=own, sizes=sizes, placed=True)
        for n, skew in ((1, 0), (255, 1), (2900, -1), (3000, 33)):
            parts(n, 2, ways, own, code=code, kind=kind, skew=skew)
        parts(2000, 3, ways, own, code=code, kind=kind, times=3)
    for schedule, seed in SCHEDULES:
        parts(2000, 3, ways, code=apart(ways, kind, placed=True), kind=kind, schedule=schedule, seed=seed)


@pytest.mark.parametrize("ways", [2, 3])
@pytest.mark.parametrize("kind", ["uint16", "uint32"])
def test_each_inferred_barrier_of_parts_is_needed(ways: int, kind: str) -> None:
    found = list(without_barriers(apart(ways, kind, placed=kind == "uint32")))
    assert found
    for _, mutant in found:
        with pytest.raises((RaceError, AssertionError)):
            for schedule, seed in SCHEDULES:
                parts(2300, 2, ways, code=mutant, schedule=schedule, seed=seed, kind=kind)


def test_the_kernels_of_parts_do_not_spill() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    for size, items, width in ((1, 32, 16), (4, 24, 4)):
        moved = f"uint{8 * size}"
        shape = {"THREADS": 256, "ITEMS": items, "WIDTH": width, "BLOCKS": 2, "WORDS": 2, "T": moved, "TI": moved}
        for ways in (2, 3):
            word = {"W": "uint32" if ways == 2 else "uint64", "WAYS": ways, "H": held_as(moved)}
            assert prism.compile(split_apart, {**apart_example(), **shape, **word}).spills == 0


def apart_example() -> dict[str, object]:
    return dict(importlib.import_module("prism.kernels.select.parts").EXAMPLES["split_apart"])
