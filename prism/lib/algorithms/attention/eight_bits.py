"""What goes before attention of 8-bit floats: values are transposed, and the three factors become two for each head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism.host.plan import Buffer, Map, Scratch, Step, instance_of, nothing
from prism.kernels.attention import transpose_values
from prism.lib.views import View
from prism.runtime.arrays import ArrayInfo

DTYPES = ("float8_e4m3fn", "float8_e5m2")
WEIGHTS = "float8_e4m3fn"
"""What weights are rounded to: no larger than 1, they need no more powers of two, and one bit more is twice as near."""
RESULTS = ("bfloat16", "float16")
SCALES = ("q_scale", "k_scale", "v_scale")
STEP = 16
"""Elements of a head come so many at a time: 16 bytes."""


def steps_before(q: View, v: View, scales: tuple[int, ...], scratch: Scratch) -> tuple[Step, Map, Buffer]:
    """Return the launch, the map of the values as it makes them, and the factors: 2 x batches * heads.

    `scales`: of how many elements `SCALES` are.
    """
    (batches, heads, _, _), (_, own_heads, keys, dim) = q.shape, v.shape
    wide, share = max(4, -(-keys // 16) * 4), heads // own_heads
    transposed = scratch.take("uint32", batches * own_heads * dim * wide)
    factors = scratch.take("float32", 2 * batches * heads)
    arguments: dict[str, Any] = {
        "v": v.buffer, "out": transposed, "scales": factors, "pairs": batches * heads, "heads": heads, "share": share,
        "keys": keys, "wide": wide,
    }  # fmt: skip
    for name, count in zip(SCALES, scales, strict=True):
        arguments[name] = Buffer(name, 0, "float32", count) if count else nothing("float32")
        arguments[f"{name}s"] = min(count, 2)
    for name, apart in zip(("batch_step", "head_step", "row_step"), v.strides, strict=False):
        arguments[name] = apart // 4
    blocks = batches * own_heads * -(-wide // 32) * -(-dim // 64)
    row = 4 * wide
    shape, strides = (batches, own_heads, dim, row), (own_heads * dim * row, dim * row, row, 1)
    step = Step(instance_of(transpose_values, {"WORDS": dim // STEP}), blocks, 128, arguments)
    return step, Map(transposed, shape, strides), factors


def count_scales(arrays: Mapping[str, ArrayInfo], q: View, k: View, batched: bool) -> tuple[int, ...]:
    """Return of how many elements `SCALES` are; 0: it is not given.

    Raises:
        TypeError: arrays that are scaled are not of 8 bits, or a scale is not of float32.
        ValueError: a scale is neither one number nor one of each batch and head.
    """
    counts = []
    for name, view in zip(SCALES, (q, k, k), strict=True):
        info = arrays.get(name)
        if info is None:
            counts.append(0)
            continue
        if q.scalar not in DTYPES:
            raise TypeError(f"`{name}` is for arrays of {' or '.join(DTYPES)}, and `q` has dtype {q.scalar}")
        if info.scalar != "float32":
            raise TypeError(f"`{name}` has dtype {info.dtype}: a scale is of float32")
        each = view.shape[0 if batched else 1 : 2]
        if info.size != 1 and info.shape != each:
            raise ValueError(f"`{name}` has shape {info.shape}: it is one number, or has one of each head, {each}")
        counts.append(info.size)
    return tuple(counts)


__all__ = ["DTYPES", "RESULTS", "SCALES", "STEP", "WEIGHTS", "count_scales", "steps_before"]
