"""The single-pass scan of segments on the reference machine, with all its checks: rows, bits and keys, on every schedule."""

import functools
import math

import numpy as np
import pytest

import prism
from prism.interpret import RaceError, run
from prism.kernels.scan import BITS, KEYS, ROWS, Configuration, for_segments, mark, scan_segments
from prism.lib.operators import BY_NAME
from tests.lib.oracles import CASES, SCHEDULES, Case
from tests.mutation import without_barriers
from tests.rarely import rarely

SMALL = Configuration(threads=64, items=4, width=2, blocks=1)
ADD = CASES[0]
HOWS = {"rows": ROWS, "bits": BITS, "keys": KEYS}


@functools.cache
def program(kind: str, function, how: int, exclusive=False, reverse=False, configuration=SMALL, keyed=1):
    template = {
        "T": kind,
        "TI": kind,
        "TO": kind,
        "K": "int32" if how == KEYS else "uint32",
        "OP": function,
        "HEADS": how,
        "KEYED": keyed,
    }
    template |= {"EXCLUSIVE": exclusive, "REVERSE": reverse, **configuration.template()}
    return prism.check(scan_segments, template)


class Scratch:
    """What launches leave to one another: the words, the marks and the control word, zero at first."""

    def __init__(self, kind: str, capacity: int = 64) -> None:
        self.words = np.zeros(capacity * (1 if np.dtype(kind).itemsize <= 4 else 2), np.uint64)
        self.marks = np.zeros(capacity, np.uint64)
        self.control = np.zeros(1, np.uint64)
        self.capacity = capacity


def heads_data(how: int, heads):
    """What the kernel is given, for heads at these elements."""
    if how == BITS:
        bits = np.zeros(-(-len(heads) // 32) * 32, bool)
        bits[: len(heads)] = heads
        return np.packbits(bits, bitorder="little").view(np.uint32)
    return np.cumsum(heads, dtype=np.int32) % 3 if how == KEYS else np.zeros(1, np.uint32)


def launch(
    case: Case, x, heads, how, *, period=1, blocks=3, initial=None, scratch=None, mutant=None, exclusive=False, reverse=False,
    **options,
):  # fmt: skip
    """The scan of `x`, beginning anew at `heads`, checked."""
    kind = str(case.dtype)
    scratch = scratch or Scratch(kind)
    y = np.zeros_like(x)
    begin = case.identity if initial is None else initial
    code = mutant or program(kind, case.function, how, exclusive, reverse)
    values = (x, y, heads_data(how, heads), len(x), period, False, case.identity, begin)
    run(
        code, blocks, SMALL.threads, (*values, scratch.words, scratch.marks, scratch.capacity, scratch.control),
        check=True, **options,
    )  # fmt: skip
    return y


def expected(case: Case, x, heads, *, initial=None, exclusive=False):
    """The scan of each segment, by the definition."""
    begin = np.full(1, case.identity if initial is None else initial, case.dtype)
    found = []
    for part in np.split(x, np.flatnonzero(heads)):
        whole = case.inclusive(np.concatenate([begin, part]))
        found.append(whole[:-1] if exclusive else whole[1:])
    return np.concatenate(found).astype(case.dtype)


def some_heads(how: int, size: int, gap: int, seed: int = 0):
    """Heads at about every `gap`-th element; with rows, at each."""
    if how == ROWS:
        return np.arange(size) % gap == 0
    heads = np.random.default_rng(seed).random(size) < 1 / gap
    heads[:1] |= how == KEYS
    return heads


@pytest.mark.covering(1)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators(how: str, case: Case) -> None:
    exclusive = (list(HOWS).index(how) + CASES.index(case)) % 2 == 1  # each way and each operator has both
    for gap in (3, 100, 350):
        size = 700 if how == "rows" else 697
        x, heads = case.data(size), some_heads(HOWS[how], size, gap)
        if how == "rows":
            x, heads = x[: size // gap * gap], heads[: size // gap * gap]
        y = launch(case, x, heads, HOWS[how], period=gap, exclusive=exclusive)
        assert np.array_equal(y, expected(case, x, heads, exclusive=exclusive))


@pytest.mark.parametrize("period", [1, 2, 3, 5, 8, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 512, 513, 2000])
@pytest.mark.parametrize("reverse", [False, True])
def test_rows(period: int, reverse: bool) -> None:
    for rows in {1, 2, -(-800 // period)}:
        x = ADD.data(rows * period)
        heads = np.arange(x.size) % period == 0
        y = launch(ADD, x, heads, ROWS, period=period, initial=7, reverse=reverse)
        wanted = np.cumsum(x.reshape(rows, period)[:, :: -1 if reverse else 1], axis=1, dtype=np.int32) + np.int32(7)
        assert np.array_equal(y.reshape(rows, period), wanted[:, :: -1 if reverse else 1])


@pytest.mark.covering(2)
@pytest.mark.parametrize("how", ["bits", "keys"])
@pytest.mark.parametrize("size", [1, 31, 32, 33, 255, 256, 257, 512, 1000])
@pytest.mark.parametrize("gap", [1, 2, 40, 5000])
def test_sizes(how: str, size: int, gap: int) -> None:
    x, heads = ADD.data(size), some_heads(HOWS[how], size, gap, seed=size)
    assert np.array_equal(launch(ADD, x, heads, HOWS[how], initial=5), expected(ADD, x, heads, initial=5))


@pytest.mark.parametrize("how", ["bits", "keys"])
def test_single_heads_at_the_edges_of_tiles(how: str) -> None:
    tile = SMALL.tile
    for at in (1, 31, 32, tile - 1, tile, tile + 1, 3 * tile - 1, 3 * tile):
        x, heads = ADD.data(4 * tile), np.zeros(4 * tile, bool)
        heads[[0, at]] = True
        assert np.array_equal(launch(ADD, x, heads, HOWS[how]), expected(ADD, x, heads))


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
@pytest.mark.parametrize("how", HOWS)
def test_schedules(how: str, schedule: str, seed: int) -> None:
    x, heads = ADD.data(2100), some_heads(HOWS[how], 2100, 700)
    for blocks in (2, 8):
        y = launch(ADD, x, heads, HOWS[how], period=700, blocks=blocks, schedule=schedule, seed=seed)
        assert np.array_equal(y, expected(ADD, x, heads))
    y = launch(ADD, x, heads, HOWS[how], period=700, blocks=4, resident=1, schedule=schedule, seed=seed)
    assert np.array_equal(y, expected(ADD, x, heads))


@pytest.mark.parametrize("how", HOWS)
def test_nothing_is_cleared_between_launches(how: str) -> None:
    scratch, random = Scratch("int32"), np.random.default_rng(0)
    for words in (scratch.words, scratch.marks):
        words.view(np.uint32)[1::2] = random.integers(100, 2**32, words.size, dtype=np.uint32)
    for number in range(1, 7):
        size = 300 * int(random.integers(1, 9))
        x, heads = ADD.data(size, seed=number), some_heads(HOWS[how], size, 300, number)
        y = launch(ADD, x, heads, HOWS[how], period=300, blocks=int(random.integers(1, 6)), scratch=scratch)
        assert np.array_equal(y, expected(ADD, x, heads))
        assert scratch.control[0] == number << 32


def test_in_place() -> None:
    x, heads = ADD.data(1200), some_heads(ROWS, 1200, 300)
    wanted, scratch = expected(ADD, x, heads), Scratch("int32")
    values = (x, x, np.zeros(1, np.uint32), len(x), 300, False, 0, 0)
    run(
        program("int32", ADD.function, ROWS), 3, SMALL.threads,
        (*values, scratch.words, scratch.marks, scratch.capacity, scratch.control), check=True,
    )  # fmt: skip
    assert np.array_equal(x, wanted)


@pytest.mark.parametrize("how", HOWS)
def test_each_inferred_barrier_is_needed(how: str) -> None:
    found = list(without_barriers(program("int32", ADD.function, HOWS[how])))
    assert found
    x, heads = ADD.data(9 * SMALL.tile), some_heads(HOWS[how], 9 * SMALL.tile, 768)
    for _, mutant in found:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                launch(ADD, x, heads, HOWS[how], period=768, blocks=2, mutant=mutant, schedule=schedule, seed=seed)


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 1000])
def test_keys_in_vectors(size: int) -> None:
    code = program("int32", ADD.function, KEYS, keyed=2)
    for gap in (1, 2, 40):
        heads = np.random.default_rng(gap).random(size) < 1 / gap
        heads[0] = True
        x = ADD.data(size)
        assert np.array_equal(launch(ADD, x, heads, KEYS, mutant=code), expected(ADD, x, heads))


def test_marks() -> None:
    starts = np.array([0, 31, 32, 99, -1, 100, 2**40, 31, 64], np.int64)
    bits = np.zeros(4, np.uint32)
    run(prism.check(mark, {"TI": "int64", "THREADS": 32}), 2, 32, (starts, len(starts), bits, 100), check=True)
    assert np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist() == [0, 31, 32, 64, 99]


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_schedules_of_marks(kind: str, schedule: str, seed: int) -> None:
    """Many in one word, of threads of different blocks; and numbers that are none of an element."""
    n = 200
    starts = np.random.default_rng(seed).integers(-9, n + 9, 300).astype(kind)
    bits = np.zeros(-(-n // 32), np.uint32)
    code = prism.check(mark, {"TI": kind, "THREADS": 32})
    run(code, 4, 32, (starts, len(starts), bits, n), check=True, schedule=schedule, seed=seed)
    wanted = np.unique(starts[(starts >= 0) & (starts < n)])
    assert np.array_equal(np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")), wanted)


# Bytes, by NVRTC 13.5. The tiles were measured so: kernels/scan/configurations.py. Keys of 8 bytes don't ship.
SPILLS = {("float32", "rows"): 8, ("int64", "bits"): 12, ("int16", "keys"): 26, ("int64", "keys"): 16}


@pytest.mark.covering(1)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    "kind", rarely(["int8", "int16", "int32", "int64", "float32", "float64"], but=["int8", "float32", "float64"])
)
def test_the_kernels_for_the_device_do_not_spill(kind: str, how: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    template = {
        "T": kind,
        "TI": kind,
        "TO": kind,
        "K": "int64" if how == "keys" else "uint32",
        "OP": BY_NAME["add"].function,
    }
    template |= {"EXCLUSIVE": False, "REVERSE": False, "HEADS": HOWS[how]}
    c = for_segments(np.dtype(kind).itemsize, HOWS[how])
    template["KEYED"] = math.gcd(2, c.width) if how == "keys" else 1
    assert prism.compile(scan_segments, {**template, **c.template()}).spills <= SPILLS.get((kind, how), 0)
