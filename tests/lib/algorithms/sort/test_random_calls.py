"""Random calls of the sorts, segmented sorts, merges and orders of several keys, against NumPy.

Sizes about those at which another kernel, or another tile, begins; all dtypes and distributions; axes, gaps, `out`, keys, bits
and comparators. `make test` makes few calls, `make fuzz` 10,000.
"""

from __future__ import annotations

import os
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from prism.lang import uint8, uint32, uint64
from prism.lib import (
    argsort,
    lexsort,
    merge,
    merge_by_key,
    segmented_argsort,
    segmented_sort,
    sort,
    sort_by_key,
    sort_complex,
)  # fmt: skip
from tests.kernels.test_sort import hard

CALLS, PARTS = int(os.environ.get("SORT_CALLS", "10000")), 100
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
VALUES = ("bool", "int8", "uint16", "float32", "int64", "complex64", "complex128")
ENDS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 448, 512, 896, 1024, 2048, 4096)
LONG = (8192, 16_384, 17_408)


class Random:
    """What a call is made of, from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one(self, values: Any) -> Any:
        return values[int(self.random.integers(len(values)))]

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def size(self) -> int:
        if self.chance(0.04):
            return 0
        end = self.one(LONG if self.chance(0.1) else ENDS)
        return max(1, int(end + self.random.integers(-2, 3)))

    def numbers(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Return an array of some distribution: all bits, few or one value, in order or nearly, one value often."""
        n, kind = (
            int(np.prod(shape)),
            self.one(("all", "few", "one", "sorted", "reversed", "nearly", "often", "narrow")),
        )
        if dtype == "bool":
            x = self.random.random(n) < self.random.random()
        elif dtype.startswith("complex"):
            part = "float32" if dtype == "complex64" else "float64"
            parts = self.random.integers(-3, 4, (2, n)).astype(part) if self.chance(0.5) else self.real(n, part, 2)
            x = np.empty(n, dtype)
            x.real, x.imag = parts[0], parts[1]
        elif dtype == "bfloat16":
            x = self.real(n, "float32", 1)[0].astype(ml_dtypes.bfloat16)
        else:
            x = self.real(n, dtype, 1)[0]
        if kind in ("few", "one", "often", "narrow") and n:
            some = x[self.random.integers(0, n, {"few": 5, "one": 1, "often": 1, "narrow": 40}[kind])]
            often = some[self.random.integers(0, len(some), n)]
            x = np.where(self.random.random(n) < 0.7, often, x).astype(x.dtype) if kind == "often" else often
        elif kind in ("sorted", "reversed", "nearly"):
            x = x[order_of(x)]
            x = x[::-1].copy() if kind == "reversed" else x
            if kind == "nearly" and n:
                places = self.random.integers(0, n, (2, 5))
                x[places[0]] = x[places[1]]
        return self.lying(x.reshape(shape))

    def real(self, n: int, dtype: str, many: int) -> list[Any]:
        return [hard(dtype, n, int(self.random.integers(1 << 30))) for _ in range(many)]

    def lying(self, x: Any) -> Any:
        """Return an array as it lies at times: with gaps, backwards, past an aligned address, or in the other byte order."""
        how = self.one(("plain", "plain", "plain", "gaps", "backwards", "past", "fortran", "swapped"))
        if not x.ndim or how == "plain":
            return x
        if how == "gaps" and x.size:
            return np.repeat(x, 2, axis=-1)[..., ::2]
        if how == "backwards":
            return x[::-1].copy()[::-1]
        if how == "past":
            return np.concatenate([x.reshape(-1)[:1], x.reshape(-1)])[1:].reshape(x.shape) if x.size else x
        if how == "swapped" and x.dtype.kind in "iuf" and x.dtype.name != "bfloat16":
            return x.astype(x.dtype.newbyteorder(">"))
        return np.asfortranarray(x)


def order_of(x: Any, axis: int = -1, descending: bool = False) -> Any:
    """Return the positions of a stable sort: NaN last, whichever way the others go."""
    x = np.moveaxis(x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x, axis, -1)
    if not descending:
        return np.moveaxis(np.argsort(x, axis=-1, kind="stable"), -1, axis)
    ranks = np.empty(x.shape, np.int64)
    for at in np.ndindex(x.shape[:-1]):
        values, number = np.unique(x[at], return_inverse=True)
        last = values != values
        ranks[at] = np.where(last[number], len(values), -number)
    return np.moveaxis(np.argsort(ranks, axis=-1, kind="stable"), -1, axis)


def same(found: Any, wanted: Any, *, alone: bool = False) -> None:
    """Compare all bits; of floats that were sorted alone, NaNs may stand in another order.

    So may those of bfloat16, which are all the same on the reference machine.
    """
    assert found.shape == wanted.shape and found.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("=")
    wanted, found = np.ascontiguousarray(wanted.astype(found.dtype)), np.ascontiguousarray(found)
    alone = alone or found.dtype == ml_dtypes.bfloat16
    shape = (*found.shape, found.dtype.itemsize)
    bits, there = (one.reshape(-1).view(np.uint8).reshape(shape) for one in (found, wanted))
    differs = (bits != there).any(axis=-1)
    if alone and differs.any():
        differs &= ~((found != found) & (wanted != wanted))
    assert not differs.any(), f"{int(differs.sum())} of {differs.size} differ, the first at {np.argwhere(differs)[0]}"


def call(seed: int) -> str:
    """Make a call, and compare it with NumPy; return what it was."""
    r = Random(seed)
    function = r.one(
        (
            "sort",
            "argsort",
            "sort_by_key",
            "sort",
            "argsort",
            "sort_by_key",
            "lexsort",
            "segments",
            "merge",
            "complex",
            "structs",
        )
    )
    return f"{function}: {globals()[f'call_{function}'](r)}"


def shape_of(r: Random) -> tuple[int, ...]:
    columns = r.size()
    if r.chance(0.5):
        return (columns,)
    most = max(1, min(40, 20_000 // max(columns, 1)))
    rows = int(r.random.integers(0 if r.chance(0.05) else 1, most + 1))
    return (rows, columns) if r.chance(0.7) else (2, max(rows // 2, 1), columns)


def sorting(r: Random, keys: bool = False) -> tuple[Any, Any, Any, dict[str, Any], bool]:
    """Return an array, an axis, the order that NumPy finds, and what is asked for; whether numbers are sorted alone."""
    shape, dtype = shape_of(r), r.one(DTYPES)
    if len(shape) > 1 and r.chance(0.5):
        shape = (shape[-1], *shape[1:-1], shape[0])
    x = r.numbers(shape, dtype)
    axis = r.one((None, *range(-len(shape), len(shape)))) if r.chance(0.6) else -1
    flat, last = (x.reshape(-1), -1) if axis is None else (x, axis)
    how: dict[str, Any] = {}
    own: Any = flat
    way = r.one(("plain", "plain", "descending", "key", "bits", "less"))
    whole = dtype.startswith(("int", "uint"))
    if way == "bits" and dtype.startswith("uint"):
        size = 8 * x.dtype.itemsize
        low, high = sorted(r.random.choice(size + 1, 2, replace=False).tolist())
        how["bits"], own = (low, high), flat.astype(flat.dtype.newbyteorder("=")) >> low & ((1 << (high - low)) - 1)
    elif way == "key" and whole:
        how["key"] = lambda one: uint32(one & 15) ^ 5
        own = (flat & 15).astype(np.uint32) ^ 5
    elif way == "less" and whole:
        by_key, merging = (lambda a, b: uint8(a & 7) > uint8(b & 7)), (lambda a, b: not uint8(a & 7) <= uint8(b & 7))
        how["less"], own = r.one((by_key, merging)), 7 - (flat & 7)
    elif way == "descending" and not (dtype.startswith("complex") and bool((x != x).any())):
        how["descending"] = True
    if r.chance(0.3) and "less" not in how and ("key" in how or "bits" in how):
        how["descending"] = True
    return x, axis, order_of(own, last, how.get("descending", False)), how, not ({"key", "bits", "less"} & how.keys())


def call_sort(r: Random) -> str:
    x, axis, order, how, alone = sorting(r)
    flat, last = (x.reshape(-1), -1) if axis is None else (x, axis)
    wanted = np.take_along_axis(flat, order, last)
    text = f"{x.dtype} {x.shape} {axis} {sorted(how)}"
    if r.chance(0.3):
        out = r.lying(np.zeros(wanted.shape, x.dtype.newbyteorder("=")))
        assert sort(x, axis, out=out, **how) is out
        same(out, wanted, alone=alone)
        text += " out"
    elif r.chance(0.2) and axis is not None and x.dtype.isnative:
        assert sort(x, axis, out=x, **how) is x
        same(x, wanted, alone=alone)
        text += " in place"
    else:
        same(sort(x, axis, **how), wanted, alone=alone)
    return text


def call_argsort(r: Random) -> str:
    x, axis, order, how, _ = sorting(r)
    dtype = r.one(("int64", "int32"))
    if r.chance(0.3):
        out = r.lying(np.zeros(order.shape, dtype))
        if out.dtype.isnative:
            assert argsort(x, axis, dtype=dtype, out=out, **how) is out
            same(out, order.astype(dtype))
            return f"{x.dtype} {x.shape} {axis} {sorted(how)} out"
    same(argsort(x, axis, dtype=dtype, **how), order.astype(dtype))
    return f"{x.dtype} {x.shape} {axis} {sorted(how)}"


def call_sort_by_key(r: Random) -> str:
    x, axis, order, how, _ = sorting(r)
    kind = r.one(VALUES)
    some = r.random.integers(0, 2 if kind == "bool" else 256, (x.size, 16), dtype=np.uint8)
    values = r.lying(some.view(kind)[:, 0].reshape(x.shape))
    flat, last = ((x.reshape(-1), values.reshape(-1)), -1) if axis is None else ((x, values), axis)
    wanted = [np.take_along_axis(one, order, last) for one in flat]
    out: list[Any] = [None, None]
    for k in range(2):
        if r.chance(0.3):
            out[k] = r.lying(np.zeros(wanted[k].shape, wanted[k].dtype.newbyteorder("=")))
        elif r.chance(0.2) and axis is not None and flat[k].dtype.isnative:
            out[k] = flat[k]
    found = sort_by_key(x, values, axis, out=out, **how)
    for one, target, there in zip(found, out, wanted, strict=True):
        assert target is None or one is target
        same(one, there)
    return f"{x.dtype} {x.shape} {values.dtype} {axis} {sorted(how)}"


def call_lexsort(r: Random) -> str:
    shape, many = shape_of(r), int(r.random.integers(1, 5))
    keys = [r.numbers(shape, r.one(DTYPES)) for _ in range(many)]
    axis = int(r.random.integers(-len(shape), len(shape)))
    plain = [key.astype(np.float32) if key.dtype == ml_dtypes.bfloat16 else key for key in keys]
    same(lexsort(keys, axis), np.lexsort(plain, axis))
    return f"{[key.dtype for key in keys]} {shape} {axis}"


def call_segments(r: Random) -> str:
    n, dtype = r.size(), r.one([dtype for dtype in DTYPES if dtype != "complex128"])
    x = r.numbers((n,), dtype)
    many = int(r.random.integers(1, 40))
    offsets = np.sort(r.random.integers(0, n + 1, many)).astype(r.one(("int32", "int64")))
    descending = r.chance(0.4) and not (dtype == "complex64" and bool((x != x).any()))
    wanted, places = x.astype(x.dtype.newbyteorder("=")), np.full(n, -1)
    for begin, end in zip(offsets[:-1], offsets[1:], strict=True):
        order = order_of(x[begin:end], -1, descending)
        wanted[begin:end], places[begin:end] = x[begin:end][order], order
    same(segmented_sort(x, offsets, descending=descending), wanted, alone=True)
    same(segmented_argsort(x, offsets, descending=descending), places)
    return f"{x.dtype} {n} {many} {descending}"


def call_merge(r: Random) -> str:
    dtype, sizes, descending = r.one(DTYPES), (r.size(), r.size()), r.chance(0.3)
    runs = [r.numbers((n,), dtype) for n in sizes]
    descending = descending and not (dtype.startswith("complex") and any(bool((x != x).any()) for x in runs))
    runs = [r.lying(x[order_of(x, -1, descending)]) for x in runs]
    both = np.concatenate([x.astype(x.dtype.newbyteorder("=")) for x in runs])
    order = order_of(both, -1, descending)
    same(merge(*runs, descending=descending), both[order])
    places = np.arange(both.size)
    keys, values = merge_by_key(runs[0], places[: sizes[0]], runs[1], places[sizes[0] :], descending=descending)
    same(keys, both[order])
    same(values, order)
    return f"{dtype} {sizes} {descending}"


def call_structs(r: Random) -> str:
    """By the second field, and then by the first one."""
    shape, kind = shape_of(r), r.one(("u2,u2", "u4,u4", "u4,u4,f8", "u1,u1"))
    x = np.zeros(shape, kind)
    for name in x.dtype.names or ():
        x[name] = r.random.integers(0, r.one((3, 40, 250)), shape)
    x, axis = r.lying(x), int(r.random.integers(-len(shape), len(shape)))
    ranks = x["f1"].astype(np.int64) * 1000 + x["f0"]
    descending, narrow = r.chance(0.3), r.chance(0.5)
    how: dict[str, Any] = {"key": lambda one: uint64(one.f1) << 32 | uint64(one.f0)}
    if narrow:
        how = {"key": lambda one: uint32(one.f1) << 16 | uint32(one.f0)}
    if descending:
        how["descending"] = True
    elif r.chance(0.4):
        how = {"less": lambda a, b: a.f1 < b.f1 or (a.f1 == b.f1 and a.f0 < b.f0)}
    order = np.argsort(-ranks if descending else ranks, axis=axis, kind="stable")
    wanted, out = np.take_along_axis(x, order, axis), r.one((None, np.zeros_like(x), x.copy() if r.chance(0.5) else x))
    values = np.arange(x.size, dtype=r.one(("int16", "float64", "complex128"))).reshape(shape)
    moved = np.take_along_axis(values, order, axis)
    same(argsort(x, axis, **how), order)
    keys, beside = sort_by_key(x, values, axis, **how)
    found = sort(x, axis, out=out, **how)
    assert keys.tobytes() == found.tobytes() == wanted.tobytes() and (out is None or found is out)
    same(beside, moved)
    return f"{kind} {shape} {axis} {sorted(how)}"


def call_complex(r: Random) -> str:
    x = r.numbers(shape_of(r), r.one([dtype for dtype in DTYPES if dtype != "bfloat16"]))
    x = x.astype(x.dtype.newbyteorder("="))
    found, wanted = sort_complex(x), np.sort_complex(x)
    if x.dtype.kind != "c":  # NumPy 2.4's quicksort of float16 by AVX-512 may lose a number beside NaNs: call 1020
        wanted = np.sort(x, kind="stable").astype(wanted.dtype)
    assert found.dtype == wanted.dtype and np.array_equal(found.real, wanted.real, equal_nan=True)
    assert np.array_equal(found.imag, wanted.imag, equal_nan=True)
    return f"{x.dtype} {x.shape}"


def calls(first: int, many: int) -> None:
    for seed in range(first, first + many):
        try:
            call(seed)
        except Exception as error:
            error.add_note(f"call({seed})")
            raise


def test_some_calls() -> None:
    calls(0, 5)


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(PARTS))
def test_many_calls(part: int) -> None:
    calls(part * (CALLS // PARTS), CALLS // PARTS)
