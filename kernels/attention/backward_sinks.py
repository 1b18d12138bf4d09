"""Gradients of attention's sinks: what rows gave to a score that has no value."""

from __future__ import annotations

from prism.kernels.attention.backward_cut import BackwardCut
from prism.kernels.attention.packed import first_tile, start_of
from prism.kernels.attention.softmax import LOG2_E
from prism.lang import (
    attr, block, const, constexpr, dtype, fast_exp2, float32, grid, group, id, int32, int64, partition, prism, ptr, requires,
    template, thread,
)  # fmt: skip
from prism.lib.thread import operators


@prism.kernel
@template(INDEX=dtype, CUT=constexpr(BackwardCut), PACKED=constexpr(bool))
@requires(grid[1], block[1], thread[256])
@attr("__launch_bounds__(256)")
def change_sinks(
    of_rows: ptr(const(float32)) @ grid[1], sinks: ptr(const(float32)) @ grid[1], dsinks: ptr(float32) @ grid[1],
    batches: int32 @ grid[1], heads: int32 @ grid[1], rows: int32 @ grid[1], offsets: ptr(const(INDEX)) @ grid[1],
):
    """`dsinks[h] = -sum(weight of the sink * sum(dout * out))`, over the rows of a head in all batches.

    Perspective: grid, a block for each head.
    Shapes:      `of_rows`: what `prepare` made, logarithms of sums and `sum(dout * out)`; `sinks`, `dsinks`: heads. Where
                 `PACKED`, `batches` are sequences.
    Numerics:    added in float32, in an order that depends on shapes alone.
    Test:        tests/kernels/test_attention_backward.py
    """
    row_tiles: int32 @ grid[1] = (rows + (CUT.rows - 1)) // CUT.rows
    h: int32 @ block[1] = id()
    with partition(dsinks, block[1], h) as mine, group(block[1]):
        sink: float32 @ block[1] = LOG2_E * sinks[h]
        t: int32 @ thread[1] = id()
        total: float32 @ thread[1] = 0
        for b in range(batches):
            with group(thread[1]):
                length: int32 = rows
                first: int32 = (b * heads + h) * row_tiles
                if PACKED:
                    length = start_of(offsets, b + 1, rows) - start_of(offsets, b, rows)
                    before: int32 = first_tile(offsets, b, rows, ROWS=CUT.rows)
                    first = heads * before + h * max(1, first_tile(offsets, b + 1, rows, ROWS=CUT.rows) - before)
                for r in range(t, length, 256):
                    at: int64 = int64(first + r // CUT.rows) * (2 * CUT.rows) + r % CUT.rows
                    total -= fast_exp2(sink - of_rows[at]) * of_rows[at + CUT.rows]
        block.reduce_into(mine, total, OP=operators.add)


EXAMPLES = {"change_sinks": {"INDEX": "int32", "CUT": BackwardCut(128, 128), "PACKED": False}}
