"""What a row of bfloat16 and its gradients come to, added up by tensor cores: see `Slopes`.

Rounded products of two numbers of 16 bits, and what rounding left of them, are numbers of 16 bits again. So sums of them, and of
their products with others, are products of matrices, whose sums are of float32. Of a matrix that a warp has multiplied what is on
the diagonal counts, or its first column.
"""

from prism.lang import (
    constexpr, dtype, float32, fma_bf16x2, group, int32, mma_m16n8k16_bf16, mul_bf16x2, prism, requires,
    template, thread, uint32, unpack_bf16x2,
)

WORDS = 4  # of a vector of 8 elements
PARTS = 13  # numbers that a thread adds up
_ONES = 0x3F803F80  # two of bfloat16
_SIGNS = 0x80008000


@prism.device
@requires(thread[32])
@template(CENTRED=constexpr(bool), WEIGHT=constexpr(bool))
def add_products(
    x: uint32[WORDS] @ thread[1], dy: uint32[WORDS] @ thread[1], weights: uint32[WORDS] @ thread[1], near: float32 @ thread[1],
    sums: float32[PARTS] @ thread[1],
):
    """Add what a vector of each lane comes to: of elements `x`, of gradients `dy`, and of weights.

    Shapes:   `sums` has three matrices' parts: of products with elements; of weighed gradients; of elements, or, where not
              `CENTRED`, of their squares. Behind them it has the squares of what elements are off `near`, where `CENTRED`.
    Numerics: products of gradients and weights are exact, as two numbers of bfloat16; sums are of float32.
    """
    rounded: uint32[WORDS] @ thread[1]
    left: uint32[WORDS] @ thread[1]
    ones: uint32[2] @ thread[1]
    of_x: float32[4] @ thread[1]
    all: float32[4] @ thread[1]
    others: float32[4] @ thread[1]
    with group(thread[1]):
        for k in range(4):
            of_x[k] = sums[k]
            all[k] = sums[4 + k]
            others[k] = sums[8 + k]
        for k in range(2):
            ones[k] = _ONES
        for k in range(WORDS):
            rounded[k] = mul_bf16x2(dy[k], weights[k]) if WEIGHT else dy[k]
            left[k] = fma_bf16x2(dy[k], weights[k], rounded[k] ^ _SIGNS) if WEIGHT else 0
            if CENTRED:
                low: float32 = unpack_bf16x2(x[k], 0) - near
                high: float32 = unpack_bf16x2(x[k], 1) - near
                sums[12] = sums[12] + low * low
                sums[12] = sums[12] + high * high
    for h in range(0, WORDS, 2):
        both: uint32[4] @ thread[1]
        elements: uint32[2] @ thread[1]
        again: uint32[4] @ thread[1]
        with group(thread[1]):
            for k in range(2):
                elements[k] = x[h + k]
                both[2 * k] = rounded[h + k]
                both[2 * k + 1] = left[h + k]
                again[2 * k] = x[h + k]
                again[2 * k + 1] = 0
        mma_m16n8k16_bf16(both, elements, of_x)
        if CENTRED:
            mma_m16n8k16_bf16(both, ones, all)
        else:
            mma_m16n8k16_bf16(again, elements, others)
    if CENTRED:
        whole: uint32[4] @ thread[1]
        with group(thread[1]):
            for k in range(4):
                whole[k] = x[k]
        mma_m16n8k16_bf16(whole, ones, others)
    with group(thread[1]):
        for k in range(4):
            sums[k] = of_x[k]
            sums[4 + k] = all[k]
            sums[8 + k] = others[k]


@prism.device
@requires(thread[1])
@template(S=dtype, CENTRED=constexpr(bool))
def take_slopes(sums: float32[PARTS] @ thread[1], lane: int32 @ thread[1]) -> S @ thread[1]:
    """What a lane has of what its warp's vectors come to: parts, of which the sum counts; of `add_products`.

    Where not `CENTRED`, of squares and of products. Else `total` is the elements' sum, and products are not off anything.
    """
    place: int32 = lane // 4 - lane % 4 * 2  # of a row's diagonal in a lane's columns
    products: float32 = 0
    squares: float32 = 0
    for k in range(2):
        if place == k:
            products = sums[k] + sums[2 + k]
            squares = sums[8 + k]
    if CENTRED:
        first: bool = lane % 4 == 0
        return S(sums[8] + sums[10] if first else 0, sums[4] + sums[6] if first else 0, sums[12], products)
    else:
        return S(squares, products)
