"""Cross-entropy of rows of scores and labels: the logarithm of each row's sum of exponentials, and gradients from that."""

from prism.kernels.activations.rows import load_piece, rows_below, store_piece
from prism.lang import (
    attr, block, claim, const, constexpr, dtype, exp, fast_exp2_flush, float32, grid, group, id, int32, int64, log, may_alias,
    partition, prism, ptr, requires, split, struct, template, thread, uint_as_float,
)  # fmt: skip

THREADS = 256
LOG2_E = 1.4426950408889634


@struct
class Part32:
    """Of some scores: the highest, the sum of `exp(score - highest)`, and their sum."""

    highest: float32
    total: float32
    plain: float32


@prism.device
@requires(thread[1])
@template(A=dtype, FAST=constexpr(bool))
def power(x: A @ thread[1]) -> A @ thread[1]:
    """e to the x; `FAST`: within 2 ulp and the error of a product, 0 where that is below 2^-126."""
    if FAST:
        return fast_exp2_flush(x * float32(LOG2_E))
    else:
        return exp(x)


@prism.device
@requires(thread[1])
def join(a: Part32 @ thread[1], b: Part32 @ thread[1]) -> Part32 @ thread[1]:
    """What two parts are together."""
    top: float32 = max(a.highest, b.highest)
    over: float32 = 0.0 if top < -3.0e38 else top  # all are minus infinity: their sum is 0
    return Part32(
        top, a.total * power(a.highest - over, FAST=True) + b.total * power(b.highest - over, FAST=True), a.plain + b.plain
    )


@prism.device
@requires(block[1], thread[32])
def store_joined(target: ptr(Part32) @ block[1], part: Part32 @ thread[1]):
    """Store what the parts of all threads are together."""
    whole: Part32 @ block[1] = block.reduce(part, OP=join)
    with claim(target, thread[1]) as mine:
        match split(thread):
            case 1:
                mine[0] = whole


@prism.device
@requires(thread[1])
@template(T=dtype, L=dtype)
def loss_of(
    x: ptr(const(T)) @ grid[1], labels: ptr(const(L)) @ grid[1], row: int64 @ thread[1], n: int64 @ thread[1],
    apart: int64 @ grid[1], sum: float32 @ thread[1], plain: float32 @ thread[1], smoothing: float32 @ grid[1],
    ignored: int64 @ grid[1],
) -> float32 @ thread[1]:
    """The loss of a row, of the logarithm of its sum of exponentials and the sum of its scores: 0 of an `ignored` label."""
    label: int64 = int64(labels[row])
    loss: float32 = 0.0
    if label != ignored:
        loss = sum - (float32(x[row * apart + label]) if label >= 0 and label < n else uint_as_float(0x7FC00000))
        if smoothing > 0:  # else a score of minus infinity would count
            loss = (float32(1.0) - smoothing) * loss + smoothing * (sum - plain / float32(n))
    return loss


@prism.kernel
@template(T=dtype, VECTORS=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def sum_exponentials(
    x: ptr(const(T)) @ grid[1], parts: ptr(Part32) @ grid[1], n: int64 @ grid[1], apart: int64 @ grid[1], chunks: int32 @ grid[1],
):
    """Find the highest score of each part of each row, the sum of exponentials beside it, and the sum of scores.

    Perspective: grid, a block for each of `chunks` parts of each row of `n` scores; rows are `apart`.
    Shapes:      `parts`: `chunks` for each row. Rows begin at multiples of `WIDTH`, and so do parts of rows.
    Numerics:    computes in float32; a thread adds up what it reads, in its order, then threads are joined, in a fixed order.
    Test:        tests/kernels/test_cross_entropy.py
    """
    b: int64 @ block[1] = id()
    row: int64 @ block[1] = b // chunks
    each: int64 @ grid[1] = ((n // WIDTH - 1) // chunks + 1) * WIDTH
    first: int64 @ block[1] = (b - row * chunks) * each
    end: int64 @ block[1] = min(first + each, n)
    with partition(parts, block[1], b) as target, group(block[1]):
        t: int32 @ thread[1] = id()
        part: Part32 @ thread[1] = Part32(-3.4028234663852886e38, 0.0, 0.0)
        with group(thread[1]):
            for base in range(first, end, THREADS * VECTORS * WIDTH):
                items: float32[VECTORS * WIDTH] = {0}
                for v in range(VECTORS):  # all loads before the first use
                    if base + (t + v * THREADS) * WIDTH < end:
                        load_piece(x, row * apart + base + (t + v * THREADS) * WIDTH, items, v * WIDTH, WIDTH=WIDTH)
                top: float32 = part.highest
                for v in range(VECTORS):
                    there: bool = base + (t + v * THREADS) * WIDTH < end
                    for k in range(WIDTH):
                        part.plain = part.plain + items[v * WIDTH + k]
                        items[v * WIDTH + k] = items[v * WIDTH + k] if there else float32(-3.4028234663852886e38)
                        top = max(top, items[v * WIDTH + k])
                sum: float32 = part.total * power(part.highest - top, FAST=True)
                for k in range(VECTORS * WIDTH):
                    sum = sum + power(items[k] - top, FAST=True)
                part = Part32(top, sum, part.plain)
        store_joined(target, part)


@prism.kernel
@template(T=dtype, L=dtype)
@requires(grid[1], thread[1])
@attr("__launch_bounds__(256)")
def losses_of(
    x: ptr(const(T)) @ grid[1], labels: ptr(const(L)) @ grid[1], parts: ptr(const(Part32)) @ grid[1],
    losses: ptr(float32) @ grid[1],
    logs: ptr(float32) @ grid[1], rows: int64 @ grid[1], n: int64 @ grid[1], apart: int64 @ grid[1], chunks: int32 @ grid[1],
    smoothing: float32 @ grid[1], ignored: int64 @ grid[1],
):
    """Write each row's loss and the logarithm of its sum of exponentials, of the parts that `sum_exponentials` has found.

    Perspective: grid, of a thread for each row at least.
    Shapes:      `labels`, `losses`, `logs`: one a row. A label that is `ignored` has no loss; one that no score has NaN.
    Test:        tests/kernels/test_cross_entropy.py
    """
    me: int64 @ thread[1] = id()
    with partition(losses, thread[1], me) as mine, partition(logs, thread[1], me) as other, group(thread[1]):
        if me < rows:
            whole: Part32 = parts[me * chunks]
            for k in range(1, chunks):
                whole = join(whole, parts[me * chunks + k])
            sum: float32 = whole.highest + log(whole.total)
            mine[0] = loss_of(x, labels, me, n, apart, sum, whole.plain, smoothing, ignored)
            other[0] = sum


@prism.kernel
@template(T=dtype, L=dtype, EACH=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
@may_alias("x", "dx")
def cross_entropy_backward(
    d: ptr(const(float32)) @ grid[1], x: ptr(const(T)) @ grid[1], labels: ptr(const(L)) @ grid[1],
    logs: ptr(const(float32)) @ grid[1],
    dx: ptr(T) @ grid[1], rows: int64 @ grid[1], n: int64 @ grid[1], d_apart: int64 @ grid[1], apart: int64 @ grid[1],
    dx_apart: int64 @ grid[1], smoothing: float32 @ grid[1], ignored: int64 @ grid[1],
):
    """`dx[i, j] = d[i] * (exp(x[i, j] - logs[i]) - target)`, and 0 in rows whose label is ignored; dx may be x.

    Perspective: grid, a block for each `THREADS * EACH` vectors of `WIDTH` scores.
    Shapes:      `d`: one for each row, `d_apart` apart, which may be 0. `target`: what `smoothing` leaves at the label, and its
                 share of each score.
    Test:        tests/kernels/test_cross_entropy.py
    """
    b: int64 @ block[1] = id()
    per: int64 @ grid[1] = n // WIDTH
    top: int64 @ block[1] = b * (THREADS * EACH) // per
    left: int64 @ block[1] = b * (THREADS * EACH) - top * per
    with partition(dx, thread[1], lambda i: i, races="allow") as mine, group(block[1]):  # it may be x
        t: int32 @ thread[1] = id()
        with group(thread[1]):
            values: float32[EACH * WIDTH]
            labelled: int64[EACH]
            scales: float32[EACH]
            sums: float32[EACH]
            for v in range(EACH):  # all loads before the first use
                below: int64 = rows_below(left + t + v * THREADS, per)
                if top + below < rows:
                    column: int64 = (left + t + v * THREADS - below * per) * WIDTH
                    load_piece(x, (top + below) * apart + column, values, v * WIDTH, WIDTH=WIDTH)
                    labelled[v] = int64(labels[top + below])
                    scales[v] = d[(top + below) * d_apart]
                    sums[v] = logs[top + below]
            share: float32 = smoothing / float32(n)
            for v in range(EACH):
                below: int64 = rows_below(left + t + v * THREADS, per)
                row: int64 = top + below
                if row < rows:
                    column: int64 = (left + t + v * THREADS - below * per) * WIDTH
                    counts: bool = labelled[v] != ignored
                    off: int64 = labelled[v] - column
                    place: int32 = int32(off) if off >= 0 and off < WIDTH else -1  # of the label, in the vector
                    scale: float32 = scales[v] if counts else float32(0.0)
                    for k in range(WIDTH):
                        found: float32 = power(values[v * WIDTH + k] - sums[v], FAST=True) - share
                        found = found - (float32(1.0) - smoothing) if k == place else found
                        values[v * WIDTH + k] = scale * found if counts else float32(0.0)
                    store_piece(mine, row * dx_apart + column, values, v * WIDTH, WIDTH=WIDTH)


EXAMPLES = {
    "sum_exponentials": {"T": "bfloat16", "VECTORS": 4, "WIDTH": 8},
    "losses_of": {"T": "bfloat16", "L": "int64"},
    "cross_entropy_backward": {"T": "bfloat16", "L": "int64", "EACH": 2, "WIDTH": 8},
}
