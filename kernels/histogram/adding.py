"""What a block has found out of its elements, added: one by one in memory, or of each value at once."""

from prism.lang import (
    atomic_add, bitcast, block, const, constexpr, dtype, grid, group, id, int32, int64, prism, ptr, requires, template, thread,
    uint8,
)
from prism.kernels.histogram.bins import EVEN, IDENTITY, Even, edge_bin, exact_bin


@prism.device
@requires(block[1], thread[1])
@template(C=dtype, S=dtype, ITEMS=constexpr(int))
def add_in_memory(
    positions: int32[ITEMS] @ thread[1], weights: C[ITEMS] @ thread[1], counts: ptr(S) @ grid[1], size: int32 @ block[1]
):
    """Add each weight to the count of its bin, in memory of the grid."""
    with group(thread[1]):
        for k in range(ITEMS):
            if positions[k] < size:
                atomic_add(counts[positions[k]], S(weights[k]))


@prism.device
@requires(block[1], thread[1])
@template(
    TI=dtype, TW=dtype, C=dtype, S=dtype, T=dtype, D=dtype, L=dtype, W=dtype, U=dtype, INTEGRAL=constexpr(bool),
    WEIGHTED=constexpr(bool), ROOM=constexpr(bool), COPIES=constexpr(int), ITEMS=constexpr(int), WIDTH=constexpr(int),
)
def add_exactly(
    x: ptr(const(TI)) @ block[1], weights: ptr(const(TW)) @ block[1], bins: ptr(C) @ block[1], counts: ptr(S) @ grid[1],
    first: int64 @ thread[1], n: int64 @ block[1], size: int32 @ block[1], copy: int32 @ thread[1], rule: Even @ block[1],
):
    """Count a thread's elements of a tile by the bins that NumPy computes: in `bins`, where there is `ROOM`, else in `counts`.

    `first`: which element its first one is. One by one: computed for all at once it would be too much text.
    """
    with group(thread[1]):
        for k in range(ITEMS, unroll=False):
            i: int64 = first + (k // WIDTH * (32 * WIDTH) + k % WIDTH)
            b: int32 = size
            if 0 <= i < n:
                b = exact_bin(x[i], size, rule, T=T, D=D, L=L, W=W, U=U, INTEGRAL=INTEGRAL)
            if b < size and ROOM:
                atomic_add(bins[b * COPIES + copy], C(weights[i]) if WEIGHTED else C(1), scope="block")
            elif b < size:
                atomic_add(counts[b], S(weights[i]) if WEIGHTED else S(1))


@prism.device
@requires(block[1], thread[1])
@template(
    TI=dtype, TE=dtype, E=dtype, C=dtype, S=dtype, T=dtype, D=dtype, L=dtype, W=dtype, U=dtype, KIND=constexpr(int),
    INTEGRAL=constexpr(bool), LATE=constexpr(bool), WEIGHTED=constexpr(bool), MOST=constexpr(bool), COPIES=constexpr(int),
    THREADS=constexpr(int),
)
def add_values(
    bins: ptr(const(C)) @ block[1], counts: ptr(S) @ grid[1], edges: ptr(const(TE)) @ block[1], many: int32 @ block[1],
    missing: int64 @ block[1], size: int32 @ block[1], largest: U @ thread[1], rule: Even @ block[1],
) -> U @ thread[1]:
    """Add what the block has counted of each of `many` values to the count of its bin; return the largest value, with `MOST`.

    `missing`: zeros that were counted and are no elements.
    """
    t: int32 @ thread[1] = id()
    found: U @ thread[1] = largest
    with group(thread[1]):
        for v in range(t, many, THREADS):
            number: C = 0
            for c in range(COPIES):
                number = number + bins[v * COPIES + (t + c & COPIES - 1)]
            if LATE and v == 0 and not WEIGHTED:
                number = number - C(missing)
            if number != 0:
                b: int32 = size
                value: TI = bitcast(uint8(v), TI) if LATE else TI(W(rule.least) + W(v))
                if MOST:
                    found = max(found, bitcast(W(value), U))
                if KIND == IDENTITY:
                    b = int32(value) if value >= 0 and int32(value) < size else size
                elif KIND == EVEN:
                    b = exact_bin(value, size, rule, T=T, D=D, L=L, W=W, U=U, INTEGRAL=INTEGRAL)
                else:
                    b = edge_bin(E(value), size, edges)
                if b < size:
                    atomic_add(counts[b], S(number))
    return found
