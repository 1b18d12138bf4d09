"""Structs and complex numbers in the library: scans, reductions, segments, runs of keys, and the collectives beneath.

Tests of prism/lib/records.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from prism.host.plan import instance_of
from prism.lang import (
    bfloat16,
    block,
    claim,
    const,
    dtype,
    float32,
    float64,
    function,
    grid,
    group,
    id,
    int32,
    partition,
    ptr,
    requires,
    split,
    struct,
    template,
    thread,
    uint8,
    uint16,
    uint32,
    warp,
)  # fmt: skip
from prism.lib import Operator
from prism.lib.algorithms.scan.plan import Shape, Task, many_tiles, on_device
from prism.lib.thread import operators
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin

MULTIPROCESSORS = 132


@struct
class Affine:
    """x -> scale * x + shift, modulo 2^32: exact, and its composition does not commute."""

    scale: uint32
    shift: uint32


@struct
class Short:
    scale: uint16
    shift: uint16


@struct
class Rounded:
    scale: bfloat16
    shift: bfloat16


@struct
class Extent:
    """The first and the last of some numbers, and whether there are any: 16 bytes with 7 of padding."""

    first: float64
    last: float32
    any: uint8


@prism.lang.prism("device")
@requires(thread[1])
@template(T=dtype)
def compose(p: T @ thread[1], q: T @ thread[1]) -> T @ thread[1]:
    """The map `p` and then `q`."""
    return T(p.scale * q.scale, p.shift * q.scale + q.shift)


@prism.lang.prism("device")
@requires(thread[1])
def join(a: Extent @ thread[1], b: Extent @ thread[1]) -> Extent @ thread[1]:
    return Extent(a.first if a.any != 0 else b.first, b.last if b.any != 0 else a.last, a.any | b.any)


COMPOSE, JOIN = Operator(compose, identity=(1, 0)), Operator(join, identity=Extent(0, 0, 0))


def maps(kind: Any, *shape: int, seed: int = 0) -> Any:
    found = np.zeros(shape, kind)
    random = np.random.default_rng(seed)
    for name in kind.names:
        found[name] = random.integers(0, np.iinfo(found[name].dtype).max, shape, endpoint=True)
    return found


def composed(x: Any, before: tuple[int, int] = (1, 0)) -> Any:
    """The inclusive scan, by the definition."""
    found, bits = np.empty_like(x), 8 * x.dtype["scale"].itemsize
    scale, shift = before
    for i, (a, b) in enumerate(x.tolist()):
        scale, shift = scale * a % 2**bits, (shift * a + b) % 2**bits
        found[i] = scale, shift
    return found


@pytest.mark.parametrize("kind", [Affine, Short], ids=str)
@pytest.mark.parametrize("size", [1, 33, 4096, 9000])
def test_an_operator_of_maps(kind: Any, size: int) -> None:
    x = maps(kind, size)
    expected = composed(x)
    assert np.array_equal(prism.lib.scan(x, COMPOSE), expected)
    assert prism.lib.reduce(x, COMPOSE) == expected[-1]
    begin = kind(3, 5)
    exclusive = prism.lib.scan(x, COMPOSE, exclusive=True, initial=begin)
    assert exclusive[0] == begin and np.array_equal(exclusive[1:], composed(x, (3, 5))[:-1])
    out = x.copy()
    assert prism.lib.scan(out, COMPOSE, out=out) is out and np.array_equal(out, expected)


def test_nothing_to_combine() -> None:
    assert prism.lib.reduce(np.zeros(0, Affine), COMPOSE).item() == (1, 0)
    assert prism.lib.scan(np.zeros(0, Affine), COMPOSE).shape == (0,)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("transposed", [False, True])
def test_along_an_axis(axis: int, transposed: bool) -> None:
    x = maps(Affine, 40, 70)
    x = x.T if transposed else x
    rows = [np.ascontiguousarray(row) for row in (x if axis else x.T)]
    expected = np.stack([composed(row) for row in rows], 1 - axis)
    assert np.array_equal(prism.lib.scan(x, COMPOSE, axis=axis), expected)
    assert np.array_equal(prism.lib.reduce(x, COMPOSE, axis=axis), np.take(expected, -1, axis))


def test_backwards() -> None:
    x = maps(Affine, 5000)
    assert np.array_equal(prism.lib.scan(x, COMPOSE, reverse=True)[::-1], composed(x[::-1]))


def test_segments_and_keys() -> None:
    x, keys = maps(Affine, 5000), np.repeat(np.arange(100), 50)
    offsets = np.arange(0, 5001, 50)
    expected = np.concatenate([composed(part) for part in x.reshape(100, 50)])
    assert np.array_equal(prism.lib.segmented_scan(x, offsets, COMPOSE), expected)
    assert np.array_equal(prism.lib.segmented_reduce(x, offsets, COMPOSE), expected[49::50])
    assert np.array_equal(prism.lib.scan_by_key(keys, x, COMPOSE), expected)
    unique, found = prism.lib.reduce_by_key(keys, x, COMPOSE)
    assert np.array_equal(unique, np.arange(100)) and np.array_equal(found, expected[49::50])


def test_a_struct_of_sixteen_bytes_with_padding() -> None:
    """Its totals travel in two words; what is not there is told apart from what is."""
    x = np.zeros(20_000, Extent)
    x["first"] = x["last"] = np.arange(20_000)
    x["any"] = np.random.default_rng(0).random(20_000) < 0.01
    places = np.flatnonzero(x["any"])
    found = prism.lib.scan(x, JOIN)
    behind = np.searchsorted(places, np.arange(20_000), side="right")
    some = behind > 0
    assert np.array_equal(found["any"].astype(bool), some)
    assert (found["first"][some] == places[0]).all() and np.array_equal(found["last"][some], places[behind[some] - 1])
    assert prism.lib.reduce(x, JOIN).item() == (places[0], places[-1], 1)


def test_fields_of_16_bit_floats() -> None:
    """Bits to NumPy, numbers to an operator: 1 is its identity, not the integer 1."""
    x = np.zeros(3000, Rounded)
    x["scale"], x["shift"] = 0x3F80, np.arange(3000) % 2 * 0x3F80  # 1; 0 and 1
    op = Operator(compose, identity=(1, 0))
    found = prism.lib.scan(x, op, exclusive=True)
    assert found[0] == Rounded(1, 0) and found[2] == Rounded(1, 1) and found[101] == Rounded(1, 50)
    assert (
        prism.lib.reduce(x[:200], op) == Rounded(1, 100) == prism.lib.reduce(x[:200], Operator(compose, Rounded(1, 0)))
    )


# -- Complex numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_complex_numbers(kind: str) -> None:
    random = np.random.default_rng(0)
    x = (random.integers(-8, 9, 9000) + 1j * random.integers(-8, 9, 9000)).astype(kind)  # sums are exact, in any order
    m = x.reshape(90, 100)
    for found, expected in (
        (prism.lib.cumsum(x), np.cumsum(x)),
        (prism.lib.sum(x), np.sum(x)),
        (prism.lib.sum(x, initial=2j), np.sum(x) + 2j),
        (prism.lib.cumsum(m, axis=0), np.cumsum(m, axis=0)),
        (prism.lib.cumsum(m, axis=1), np.cumsum(m, axis=1)),
        (prism.lib.sum(m, axis=0), np.sum(m, axis=0)),
        (prism.lib.sum(m.T, axis=(0, 1)), np.sum(m)),
        (prism.lib.scan(x, exclusive=True)[1:], np.cumsum(x)[:-1]),
        (prism.lib.cumulative_sum(m, axis=1, include_initial=True)[:, 1:], np.cumsum(m, axis=1)),
        (prism.lib.sum(x[:0]), np.sum(x[:0])),
    ):
        assert found.dtype == expected.dtype and np.array_equal(found, expected)
    turns = np.exp(1j * random.uniform(0, 7, 300)).astype(kind)
    bound = 300 * 4 * np.finfo(kind).eps  # each product is off by no more than 2 sqrt(2) eps, and all have modulus 1
    assert (np.abs(prism.lib.cumprod(turns) - np.cumprod(turns.astype("complex128"))) <= bound).all()
    assert np.abs(prism.lib.prod(turns) - np.prod(turns.astype("complex128"))) <= bound


# -- What is refused ------------------------------------------------------------------------------------------------------

PACKED = np.dtype([("a", "i4"), ("b", "i8")])
ODD = np.dtype([("a", "i4"), ("b", "i4"), ("c", "i4")])
C = np.ones(3, "complex64")


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda: prism.lib.scan(maps(Affine, 3)), "`add` is for numbers: a struct takes"),
        (lambda: prism.lib.reduce(maps(Affine, 3), "maximum"), "`maximum` is for numbers"),
        (lambda: prism.lib.sum(maps(Affine, 3)), "which sum does not support"),
        (lambda: prism.lib.scan(np.zeros(3, PACKED), COMPOSE), "made with align=True"),
        (lambda: prism.lib.scan(np.zeros(3, ODD), COMPOSE), "has 12: add a field"),
        (lambda: prism.lib.reduce(np.zeros(3, ODD), COMPOSE), "has 12: add a field"),
        (lambda: prism.lib.scan(maps(Affine, 3), COMPOSE, initial=3), "`initial`: 3 is no"),
        (lambda: prism.lib.reduce(maps(Affine, 3), COMPOSE, initial=3), "`initial`: 3 is no"),
        (lambda: prism.lib.scan(maps(Affine, 3), Operator(compose, identity=1)), "the identity of `compose`: 1 is no"),
        (lambda: prism.lib.scan(maps(Affine, 3), COMPOSE, dtype="int32"), "does not convert"),
        (lambda: prism.lib.scan(np.zeros(3), COMPOSE, dtype=Affine), "to which scan does not convert float64"),
        (lambda: prism.lib.reduce(maps(Affine, 3), COMPOSE, dtype="int32"), "does not convert"),
        (lambda: prism.lib.scan(maps(Affine, 3), COMPOSE, out=np.zeros(3, "i8")), "`out` must be of struct"),
        (lambda: prism.lib.scan(C, "bitwise_or"), "`bitwise_or` is not for complex numbers"),
        (lambda: prism.lib.reduce(C, "bitwise_and"), "`bitwise_and` is for integers"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Any, fault: str) -> None:
    with pytest.raises(TypeError, match=fault):
        call()


def test_initial_records_that_are_written_alike() -> None:
    """NumPy 1's text of a record has eight digits: it is no key."""
    x = np.zeros(2, Extent)
    for first in (1.000000001, 1.0000000012):
        begin = np.array((first, 2, 1), Extent)
        for initial in (begin, begin[()]):
            assert prism.lib.reduce(x, JOIN, initial=initial)["first"] == first


def test_an_operator_with_a_list_of_fields_for_identity() -> None:
    x, wanted = maps(Affine, 5), prism.lib.reduce(maps(Affine, 5), COMPOSE)
    assert prism.lib.reduce(x, Operator(compose, identity=[1, 0])) == wanted
    with pytest.raises(TypeError, match="the identity of `compose`"):
        prism.lib.reduce(x, Operator(compose, identity={}))


def test_an_operator_with_a_struct_for_identity_can_be_a_key() -> None:
    one, other = Operator(compose, identity=Affine(1, 0)), Operator(compose, identity=np.array((1, 0), Affine)[()])
    assert hash(one) == hash(other) and one == other


# -- On a GPU -------------------------------------------------------------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    "shape",
    [Shape(1, 9, 1), Shape(1, 1 << 18, 1, True), Shape(1 << 12, 1 << 12, 1, True), Shape(1, 4096, 64, True)],
    ids=str,
)
@pytest.mark.parametrize("key", [Affine.key, "complex128"], ids=["affine", "complex128"])
def test_the_kernels_of_a_gpu_compile(key: str, shape: Shape) -> None:
    """Words of 16 bytes, and pairs of them; nothing is spilled."""
    task = Task(COMPOSE if key == Affine.key else prism.lib.operators.add, key, key)
    for way in (on_device(task, shape, MULTIPROCESSORS), many_tiles(task, shape)):
        entry = entry_of(instance_of(way.kernel, way.template).program, "sm_90a")
        assert [p.dtype for p in entry.parameters[:2]] == [key, key]
        assert compile_cubin(entry.source, entry.arch).spills == 0


# -- Collectives ------------------------------------------------------------------------------------------------------------


@prism.lang.prism("global")
@template(T=dtype, OP=function)
@requires(grid[1], block[1], thread[64])
def collectives(
    x: ptr(const(T)) @ grid[1],
    y: ptr(T) @ grid[1],
    z: ptr(T) @ grid[1],
    w: ptr(T) @ grid[1],
    identity: T @ grid[1],
    n: int32 @ grid[1],
):
    b: int32 @ block[1] = id()
    tile: int32 @ block[1] = 256 * b
    with (
        partition(y, block[1], tile) as target,
        partition(z, block[1], 2 * b) as totals,
        partition(w, block[1], b) as total,
    ):
        with group(block[1]):
            items: T[4] @ thread[1]
            with partition(x, block[1], tile) as source:
                block.load_transposed(source, items, n - tile, identity, THREADS=64)
            mine: T @ thread[1] = thread.reduce(items, OP=OP)
            block.reduce_into(total, mine, OP=OP)
            block.scan(items, identity, WIDTH=4, OP=OP, EXCLUSIVE=False)
            block.store_transposed(target, items, n - tile, THREADS=64)
            with partition(totals, warp[1], id()) as part, group(warp[1]):
                whole: T @ thread[32] = warp.reduce(mine, OP=OP)
                with claim(part, thread[1]) as own:
                    match split(thread):
                        case 1:
                            own[0] = whole


def test_collectives_of_threads_warps_and_blocks() -> None:
    x = maps(Affine, 512)
    y, z, w = np.zeros_like(x), np.zeros(4, Affine), np.zeros(2, Affine)
    collectives[2, 64](x, y, z, w, Affine(1, 0), 500, template={"OP": compose}, check=True)
    padded = x.copy()
    padded[500:] = Affine(1, 0)
    blocks = [composed(part) for part in padded.reshape(2, 256)]
    assert np.array_equal(y[:500], np.concatenate(blocks)[:500])
    assert np.array_equal(z, np.stack([composed(part)[-1] for part in padded.reshape(4, 128)]))
    assert np.array_equal(w, np.stack([part[-1] for part in blocks]))
    assert prism.compile(collectives, template={"T": Affine, "OP": compose}).cubin


def test_a_usual_operator_of_a_struct_is_an_error_of_the_program() -> None:
    with pytest.raises(prism.CompileError, match="`wrapping_add` takes numbers, and `struct` is a struct"):
        collectives[1, 64](*(maps(Affine, 256) for _ in range(4)), Affine(1, 0), 256, template={"OP": operators.add})
