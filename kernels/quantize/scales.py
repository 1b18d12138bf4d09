"""Arrays rounded to 8 bits, with a scale for each group of elements, by which its largest becomes the largest of 8 bits."""

from prism.kernels.activations.rows import load_piece
from prism.lang import (
    atomic_max, attr, bitcast, block, const, constexpr, count, dtype, float32, float8_e4m3fn, float8_e5m2, float_as_uint, grid,
    group, id, int32, int64, pack_e4m3x4, pack_e5m2x4, partition, prism, ptr, requires, round_, shuffle_xor, store_vector,
    template, thread, uint32, uint_as_float, vector,
)  # fmt: skip

THREADS = 256


@prism.device
@requires(thread[1])
def larger(a: float32 @ thread[1], b: float32 @ thread[1]) -> float32 @ thread[1]:
    """The larger one."""
    return max(a, b)


@prism.device
@requires(thread[1])
def inverse_of(top: float32 @ thread[1], most: float32 @ thread[1]) -> float32 @ thread[1]:
    """What elements are multiplied by: so the largest becomes `most`; 0 where all are 0."""
    return most / top if top != 0 else float32(0)


@prism.device
@requires(thread[1])
def scale_of(top: float32 @ thread[1], most: float32 @ thread[1]) -> float32 @ thread[1]:
    """What the largest magnitude is divided by to become `most`; 1 where all are 0."""
    return top / most if top != 0 else float32(1)


@prism.device
@requires(thread[1])
@template(Q=dtype, MANY=constexpr(int), WIDTH=constexpr(int), WHOLE=constexpr(bool))
def store_scaled(
    q: ptr(Q) @ thread[1], at: int64 @ thread[1], items: float32[MANY] @ thread[1], first: int32 @ thread[1],
    by: float32 @ thread[1],
):
    """Write a vector of elements, which begin at `items[first]`, multiplied and rounded: `WHOLE`, to whole numbers."""
    if WIDTH == 1:
        q[at] = Q(round_(items[first] * by)) if WHOLE else Q(items[first] * by)
    elif WIDTH % 4 == 0 and (Q == float8_e4m3fn or Q == float8_e5m2):
        words: vector(uint32, WIDTH // 4)
        for k in range(WIDTH // 4):
            four: float32[4]
            for j in range(4):
                four[j] = items[first + 4 * k + j] * by
            if Q == float8_e4m3fn:
                words[k] = pack_e4m3x4(four[0], four[1], four[2], four[3])
            else:
                words[k] = pack_e5m2x4(four[0], four[1], four[2], four[3])
        store_vector(q[at], bitcast(words, vector(Q, WIDTH)))
    else:
        word: vector(Q, WIDTH)
        for k in range(WIDTH):
            word[k] = Q(round_(items[first + k] * by)) if WHOLE else Q(items[first + k] * by)
        store_vector(q[at], word)


@prism.kernel
@template(T=dtype, Q=dtype, WHOLE=constexpr(bool), LANES=constexpr(int), EACH=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def quantize_groups(
    x: ptr(const(T)) @ grid[1], q: ptr(Q) @ grid[1], scales: ptr(float32) @ grid[1], groups: int64 @ grid[1],
    per: int64 @ grid[1],
    apart: int64 @ grid[1], most: float32 @ grid[1],
):
    """`q = x / scale` of each group of `LANES * EACH * WIDTH` neighbours, and the scales: largest magnitude / `most`, of zeros 1.

    Perspective: grid, of `LANES` threads, a power of two up to 32, for each group at least.
    Shapes:      rows of x are `apart`, and have `per` groups; q is dense.
    Test:        tests/kernels/test_quantize.py
    """
    b: int64 @ block[1] = id()
    with (
        partition(q, thread[1], lambda i: i, races="none") as mine,
        partition(scales, thread[1], lambda i: i, races="none") as others,
    ):
        with group(block[1]):
            t: int32 @ thread[1] = id()
            number: int64 @ thread[1] = b * (THREADS // LANES) + t // LANES
            part: int32 @ thread[1] = t % LANES
            items: float32[EACH * WIDTH] @ thread[1]
            top: float32 @ thread[1] = 0.0
            with group(thread[1]):
                here: int64 = min(number, groups - 1)
                row: int64 = here // per
                first: int64 = row * apart + (here - row * per) * (LANES * EACH * WIDTH)
                for e in range(EACH):
                    load_piece(x, first + (part + e * LANES) * WIDTH, items, e * WIDTH, WIDTH=WIDTH)
                for k in range(EACH * WIDTH):
                    top = max(top, abs(items[k]))
            for k in range(5):
                if 1 << k < LANES:
                    top = max(top, shuffle_xor(top, 1 << k))
            with group(thread[1]):
                if number < groups:
                    by: float32 = inverse_of(top, most)
                    for e in range(EACH):
                        at: int64 = number * (LANES * EACH * WIDTH) + (part + e * LANES) * WIDTH
                        store_scaled(mine, at, items, e * WIDTH, by, WIDTH=WIDTH, WHOLE=WHOLE)
                    if part == 0:
                        others[number] = scale_of(top, most)


@prism.kernel
@template(T=dtype, EACH=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def find_largest(x: ptr(const(T)) @ grid[1], top_bits: ptr(uint32) @ grid[1], n: int64 @ grid[1]):
    """Find the bits of the largest magnitude of `n` elements; 0 before.

    Perspective: grid, of any number of blocks.
    Test:        tests/kernels/test_quantize.py
    """
    b: int64 @ block[1] = id()
    blocks: int64 @ grid[1] = count(block[1])
    with group(block[1]):
        t: int32 @ thread[1] = id()
        top: float32 @ thread[1] = 0.0
        with group(thread[1]):
            for base in range(b * (THREADS * EACH * WIDTH), n, blocks * (THREADS * EACH * WIDTH)):
                items: float32[EACH * WIDTH] = {0}
                for e in range(EACH):
                    if base + (t + e * THREADS) * WIDTH < n:
                        load_piece(x, base + (t + e * THREADS) * WIDTH, items, e * WIDTH, WIDTH=WIDTH)
                for k in range(EACH * WIDTH):
                    top = max(top, abs(items[k]))
        whole: float32 @ block[1] = block.reduce(top, OP=larger)
        with group(thread[1]):
            if t == 0:
                atomic_max(top_bits[0], float_as_uint(whole))


@prism.kernel
@template(T=dtype, Q=dtype, WHOLE=constexpr(bool), EACH=constexpr(int), WIDTH=constexpr(int))
@requires(grid[1], block[1], thread[THREADS])
@attr("__launch_bounds__(THREADS)")
def quantize_by(
    x: ptr(const(T)) @ grid[1], q: ptr(Q) @ grid[1], scales: ptr(float32) @ grid[1], top_bits: ptr(const(uint32)) @ grid[1],
    n: int64 @ grid[1], most: float32 @ grid[1],
):
    """What `quantize_groups` does, of one group of `n` elements, of what `find_largest` has found.

    Perspective: grid, a block for each `THREADS * EACH * WIDTH` elements.
    Test:        tests/kernels/test_quantize.py
    """
    b: int64 @ block[1] = id()
    with (
        partition(q, thread[1], lambda i: i, races="none") as mine,
        partition(scales, thread[1], lambda i: i, races="none") as others,
    ):
        with group(block[1]):
            t: int32 @ thread[1] = id()
            with group(thread[1]):
                top: float32 = uint_as_float(top_bits[0])
                by: float32 = inverse_of(top, most)
                items: float32[EACH * WIDTH]
                for e in range(EACH):
                    if (b * EACH * THREADS + t + e * THREADS) * WIDTH < n:
                        load_piece(x, (b * EACH * THREADS + t + e * THREADS) * WIDTH, items, e * WIDTH, WIDTH=WIDTH)
                for e in range(EACH):
                    if (b * EACH * THREADS + t + e * THREADS) * WIDTH < n:
                        at: int64 = (b * EACH * THREADS + t + e * THREADS) * WIDTH
                        store_scaled(mine, at, items, e * WIDTH, by, WIDTH=WIDTH, WHOLE=WHOLE)
                if b == 0 and t == 0:
                    others[0] = scale_of(top, most)


EXAMPLES = {
    "quantize_groups": {"T": "bfloat16", "Q": "float8_e4m3fn", "WHOLE": False, "LANES": 16, "EACH": 1, "WIDTH": 8},
    "find_largest": {"T": "bfloat16", "EACH": 4, "WIDTH": 8},
    "quantize_by": {"T": "bfloat16", "Q": "int8", "WHOLE": True, "EACH": 2, "WIDTH": 8},
}
