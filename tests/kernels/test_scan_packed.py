"""The scan of packed rows on the reference machine, with all its checks, beside NumPy's."""
# ruff: noqa: F821 -- names that the kernel declares

import functools

import numpy as np
import pytest

import prism
from prism.interpret import run
from prism.kernels.scan import AND, OR, Configuration, scan_packed
from prism.kernels.scan.rows import scan_row, total_of_row
from prism.lang import (
    const,
    constexpr,
    function,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    template,
    thread,
    uint8,
    uint32,
)  # fmt: skip
from prism.lib import operators
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.lib.operators import BY_NAME, Operator
from tests.lib.oracles import LAST, SCHEDULES
from tests.rarely import rarely

INTEGERS = ("uint8", "int8", "uint16", "int16")
TILES = {
    1: Configuration(threads=64, items=32, width=16, blocks=1),
    2: Configuration(threads=64, items=16, width=8, blocks=1),
}
ACCUMULATE = {"add": np.add, "multiply": np.multiply, "minimum": np.minimum, "maximum": np.maximum}
ACCUMULATE |= {name: getattr(np, name) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")}


@functools.cache
def way(operator: Operator, kind: str, exclusive: bool, reverse: bool):
    """The kernel's program and its template's computed type, as plans make it, for a small tile."""
    task = Task(operator, kind, kind, exclusive, reverse)
    c = TILES[scan_plans.size_of(kind)]
    found = scan_plans.plan_packed(task, Shape(1, 1, 1, True), c)
    return task, prism.check(scan_packed, dict(found.template)), c


def data(kind: str, size: int, seed: int = 0):
    """Any bits of integers; of floats whole numbers, whose sums are exact."""
    random = np.random.default_rng(seed)
    if kind == "float16":
        return aligned(random.integers(-3, 4, size).astype(kind))
    return aligned(random.integers(0, 256, size * np.dtype(kind).itemsize, dtype=np.uint8).view(kind))


def aligned(x):
    """A copy at a multiple of 16 bytes."""
    room = np.zeros(x.size + 16, x.dtype)
    start = -(room.__array_interface__["data"][0] // x.itemsize) % (16 // x.itemsize)
    room[start : start + x.size] = x
    return room[start : start + x.size]


def launch(
    operator,
    x,
    blocks=3,
    exclusive=False,
    reverse=False,
    initial=None,
    in_place=False,
    shift=0,
    y_shift=None,
    **options,
):
    """The scan of `x`, checked."""
    task, program, c = way(operator, str(x.dtype), exclusive, reverse)
    given, _, _ = task.types
    given = "uint8" if given == "bool" else given
    x = aligned(np.concatenate([x[:1].repeat(shift), x]))[shift:]
    y_shift = shift if y_shift is None else y_shift
    room = aligned(np.full(x.size + y_shift + 16, 77, "uint8" if x.dtype == bool else x.dtype))
    y = x if in_place else room[y_shift : y_shift + x.size]
    begin = scan_plans.number_of(task.identity() if initial is None else initial.view(given))
    tiled = Shape(1, x.size, 1, past=(shift, y_shift)).tile(c.width)[:2]
    arguments = (
        x.view(given), y.view(given), len(x), *tiled, scan_plans.number_of(task.identity()), begin,
        np.zeros(256, np.uint64), 256, np.zeros(1, np.uint64),
    )  # fmt: skip
    run(program, blocks, c.threads, arguments, check=True, **options)
    if not in_place:
        y[...], found = 77, y.copy()
        assert np.all(room == 77), "what is beside the result is written"
        return found
    return y


def expected(name, x, exclusive=False, reverse=False, initial=None):
    x = x[::-1] if reverse else x
    first = BY_NAME[name].identity_of(x.dtype) if initial is None else initial
    with np.errstate(over="ignore"):
        whole = ACCUMULATE[name].accumulate(np.concatenate([np.array([first], x.dtype), x]), dtype=x.dtype)
    found = whole[:-1] if exclusive else whole[1:]
    return found[::-1] if reverse else found


BITS = [name for name in ACCUMULATE if name.startswith("bitwise")]


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", [*(name for name in ACCUMULATE if name not in BITS), *rarely(BITS, but=BITS[:1])])
def test_operators(name: str, kind: str) -> None:
    x = data(kind, 3 * TILES[np.dtype(kind).itemsize].tile - 5)
    assert np.array_equal(launch(BY_NAME[name], x), expected(name, x))


@pytest.mark.covering(2)
@pytest.mark.parametrize("kind", [*INTEGERS, "float16"])
@pytest.mark.parametrize("name", ["add", "maximum"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_kinds_of_scan(name: str, kind: str, exclusive: bool, reverse: bool) -> None:
    initial = data(kind, 1, seed=5)[0]
    tile = TILES[np.dtype(kind).itemsize].tile
    for size in (1, 15, tile, 2 * tile + 17):
        x = data(kind, size)
        y = launch(BY_NAME[name], x, exclusive=exclusive, reverse=reverse, initial=initial, in_place=size == tile)
        if kind == "float16" and name == "add":
            initial32, x32 = np.float32(initial), x.astype(np.float32)
            assert np.array_equal(y, expected(name, x32, exclusive, reverse, initial32).astype(kind))
        else:
            assert np.array_equal(y, expected(name, x, exclusive, reverse, initial))


def bools(kind: str, size: int, name: str):
    """Bools of any bytes, and what NumPy takes them for."""
    one = name in ("maximum", "bitwise_or")  # what changes the result
    x = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    if kind == "rarely":
        x = np.zeros(size, np.uint8) if one else np.maximum(x, 1)
        x[size * 3 // 5] = 64 if one else 0
    elif kind == "never":
        x = np.zeros(size, np.uint8) if one else np.maximum(x, 1)
    return x.view(bool), x != 0


@pytest.mark.covering(2)
@pytest.mark.parametrize("kind", ["any", "rarely", "never"])
@pytest.mark.parametrize("name", ["maximum", "minimum", "bitwise_or", "bitwise_and"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_bools(name: str, kind: str, exclusive: bool, reverse: bool) -> None:
    """Bytes of which all but 0 are true; results are 0 and 1."""
    for size in (15, 2 * TILES[1].tile + 17):
        for initial in (None, np.uint8(0), np.uint8(1)):
            x, plain = bools(kind, size, name)
            shift = 0 if initial is None else 3
            y = launch(BY_NAME[name], x, exclusive=exclusive, reverse=reverse, initial=initial, shift=shift)
            first = BY_NAME[name].identity_of(np.dtype("uint8")) if initial is None else initial
            assert np.array_equal(
                y.view(np.uint8), expected(name, plain, exclusive, reverse, first != 0).view(np.uint8)
            )


@prism("global")
@template(OP=function, FORM=constexpr(int))
@requires(grid[1], thread[1])
def each_row(
    x: ptr(const(uint32)) @ grid[1], y: ptr(uint32) @ grid[1], totals: ptr(uint32) @ grid[1], before: uint32 @ grid[1]
):  # fmt: skip
    """Each thread's row by itself: its total, and its scan."""
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 4 * i) as mine, partition(totals, thread[1], i) as total, group(thread[1]):
        row: uint32[4]
        for k in range(4):
            row[k] = x[4 * i + k]
        total[0] = total_of_row(row, TI=uint8, T=uint32, OP=OP, WIDTH=16, FORM=FORM)
        scan_row(row, before, TI=uint8, OP=OP, WIDTH=16, FORM=FORM, EXCLUSIVE=False)
        for k in range(4):
            mine[k] = row[k]


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_each_byte_of_a_row_of_bools(name: str, before: int) -> None:
    """Where the first true, or false, one is, at every place of a row, and what stands before and behind it."""
    some = (1, 2, 64, 127, 128, 255)
    rows = []
    for rest, one in [(0, byte) for byte in some] if name == "maximum" else [(byte, 0) for byte in some]:
        for at in range(17):
            for behind in (0, *some):
                rows.append([rest] * at + [one] + [behind] * (15 - at) if at < 16 else [rest] * 16)
    x = np.array(rows, np.uint8)
    x = np.concatenate([x, np.random.default_rng(0).integers(0, 3, x.shape).astype(np.uint8)])
    x = x[: len(x) // 64 * 64]
    y, totals = np.zeros((len(x), 4), np.uint32), np.zeros(len(x), np.uint32)
    ufunc, form = (np.maximum, OR) if name == "maximum" else (np.minimum, AND)
    template = {"OP": BY_NAME[name].function, "FORM": form}
    run(
        prism.check(each_row, template),
        len(x) // 64,
        64,
        (x.view(np.uint32).ravel(), y.ravel(), totals, np.uint32(before)),
    )
    assert np.array_equal(totals, ufunc.reduce(x != 0, axis=1))
    assert np.array_equal(y.view(np.uint8), ufunc(ufunc.accumulate(x != 0, axis=1), before != 0))


@pytest.mark.parametrize("kind", ["uint8", "int16", "float16"])
@pytest.mark.parametrize(("shift", "y_shift"), [(1, 0), (0, 1), (3, 7), (4, 4), (7, 2), (5, 6)])
def test_unaligned(kind: str, shift: int, y_shift: int) -> None:
    """Vectors are read and written where they are aligned, and handed on from lane to lane; nothing beside a tile is touched."""
    width = 16 // np.dtype(kind).itemsize
    for more in (0, width // 2):
        tile = TILES[np.dtype(kind).itemsize].tile
        x = data(kind, 3 * tile + 100)
        y = launch(operators.add, x, shift=(shift + more) % width, y_shift=(y_shift + more) % width)
        assert np.array_equal(y, expected("add", x))
        if shift == y_shift:
            y = launch(operators.add, x, shift=shift, in_place=True)
            assert np.array_equal(y, expected("add", x))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", ["uint8", "float16"])
def test_where_arrays_begin_and_end(kind: str, reverse: bool) -> None:
    """In a tile's first and last vector, and beside them, with rows from one vector and from two; nothing else is written."""
    width, tile = 16 // np.dtype(kind).itemsize, TILES[np.dtype(kind).itemsize].tile
    for shift, y_shift in ((0, 0), (2, 0), (0, width - 1), (width - 1, 1)):
        whole = 2 * tile - y_shift  # so many end where a tile does
        for size in (1, width, 3 * width - 2, tile - width, whole - 1, whole, whole + 1, whole + width + 3):
            x = data(kind, size, seed=size)
            y = launch(operators.add, x, 2, reverse=reverse, shift=shift, y_shift=y_shift)
            wanted = expected("add", x.astype("float32") if kind == "float16" else x, reverse=reverse)
            assert np.array_equal(y, wanted.astype(kind)), (shift, y_shift, size)


@pytest.mark.parametrize("beside", [-17, -16, -1, 0, 1, 15, 16, 255])
def test_tile_edges(beside: int) -> None:
    for kind in ("uint8", "int16"):
        x = data(kind, 2 * TILES[np.dtype(kind).itemsize].tile + beside)
        for blocks in (1, 4):
            assert np.array_equal(launch(operators.add, x, blocks), expected("add", x))


@pytest.mark.parametrize("kind", ["uint8", "uint16"])
def test_largest_elements(kind: str) -> None:
    """Where a sum of a word's elements is largest, nothing of one reaches its neighbour."""
    x = np.full(2 * TILES[np.dtype(kind).itemsize].tile, np.iinfo(kind).max, kind)
    assert np.array_equal(launch(operators.add, x, initial=x[0]), expected("add", x, initial=x[0]))


@pytest.mark.parametrize("rows", [3, 8, 10])
def test_the_largest_sum_of_a_tile_of_bytes(rows: int) -> None:
    """In tiles as the device has them: two halves whose sums share a word, or, of an odd number of rows, one part."""
    c = Configuration(threads=256, items=16 * rows, width=16, blocks=1)
    task = Task(operators.add, "uint8", "uint8")
    program = prism.check(scan_packed, dict(scan_plans.plan_packed(task, Shape(1, 1, 1, True), c).template))
    x = aligned(np.full(c.tile + 100, 255, np.uint8))
    y = aligned(np.zeros_like(x))
    run(
        program,
        2,
        c.threads,
        (x, y, len(x), 0, 0, 0, 7, np.zeros(256, np.uint64), 256, np.zeros(1, np.uint64)),
        check=True,
    )
    assert np.array_equal(y, expected("add", x, initial=np.uint8(7)))


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_schedules(schedule: str, seed: int) -> None:
    x = data("uint8", 5 * TILES[1].tile + 3)
    assert np.array_equal(launch(operators.add, x, 4, schedule=schedule, seed=seed), expected("add", x))


def test_an_operator_of_ones_own_that_does_not_commute() -> None:
    x = data("uint8", 3 * TILES[1].tile)
    x[np.random.default_rng(1).random(len(x)) < 0.9] = 0
    at = np.maximum.accumulate(np.where(x != 0, np.arange(len(x)), 0))
    assert np.array_equal(launch(LAST, x), x[at])


def test_sums_of_halves_are_made_in_float32_and_rounded_once() -> None:
    """2048 + 1 is no float16: a sum that was rounded on the way would stay at 2048."""
    x = np.ones(6000, np.float16)
    assert np.array_equal(launch(operators.add, x), np.cumsum(x, dtype=np.float32).astype(np.float16))


def test_bfloat16() -> None:
    """As its bits: of whole numbers up to 256 each is exact."""
    task, program, c = way(operators.add, "bfloat16", False, False)
    values = np.random.default_rng(0).integers(-1, 2, 2 * c.tile + 9).astype(np.float32)
    bits = aligned((values.view(np.uint32) >> 16).astype(np.uint16))
    y = aligned(np.zeros_like(bits))
    arguments = (bits, y, len(bits), 0, 0, -0.0, 0.0, np.zeros(256, np.uint64), 256, np.zeros(1, np.uint64))
    run(program, 3, c.threads, arguments, check=True)
    assert np.array_equal((y.astype(np.uint32) << 16).view(np.float32), np.cumsum(values))


def test_who_takes_it() -> None:
    """Long arrays whose results are of their own type, of one or two bytes; not where nothing is known of how they lie."""
    assert (
        scan_plans.on_device(Task(operators.add, "uint8", "uint8"), Shape(1, 1 << 24, 1), 132).kernel is not scan_packed
    )
    for shape in (Shape(1, 1 << 24, 1, True), Shape(1, 1 << 24, 1, past=(1, 0)), Shape(1, 1 << 24, 1, past=(0, 3))):
        for kind in (*INTEGERS, "float16", "bfloat16"):
            assert scan_plans.on_device(Task(operators.add, kind, kind), shape, 132).kernel is scan_packed
        for name in ("maximum", "minimum", "bitwise_or", "bitwise_and"):
            assert scan_plans.on_device(Task(BY_NAME[name], "bool", "bool"), shape, 132).kernel is scan_packed
        others = (
            ("add", "uint8", "uint32"),
            ("add", "int32", "int32"),
            ("bitwise_xor", "bool", "bool"),
            ("add", "bool", "int64"),
        )
        for task in (Task(BY_NAME[name], *types) for name, *types in others):
            assert scan_plans.on_device(task, shape, 132).kernel is not scan_packed


@pytest.mark.parametrize("name", rarely(["add", "minimum", "multiply"], but=["add"]))
@pytest.mark.parametrize("kind", rarely(["uint8", "int16", "float16", "bfloat16"], but=["uint8", "bfloat16"]))
def test_the_kernels_for_the_device_do_not_spill(kind: str, name: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    found = scan_plans.on_device(Task(BY_NAME[name], kind, kind), Shape(1, 1 << 24, 1, True), 132)
    compiled = prism.compile(scan_packed, dict(found.template))
    assert compiled.spills == 0
    assert compiled.registers * found.threads * found.template["BLOCKS"] <= 65536


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ["add", "maximum"])
@pytest.mark.parametrize("kind", ["int8", "float16"])
def test_older_architectures_have_it_too(kind: str, name: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    found = scan_plans.on_device(Task(BY_NAME[name], kind, kind), Shape(1, 1 << 24, 1, True), 80)
    assert prism.compile(scan_packed, dict(found.template), arch="sm_75").cubin
