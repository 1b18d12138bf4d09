"""In what order elements are taken: each is read as bits, and mapped to an unsigned integer in whose order they stand.

NaN stands last whatever its sign, in both orders, and -0.0 beside 0.0.
"""

from prism.lang import constexpr, dtype, prism, requires, struct, template, thread, uint32, uint64

UNSIGNED, SIGNED, FLOAT = 0, 1, 2
"""Kinds of numbers, of which an element has the bits."""


@struct
class Narrow:
    """A key of up to 32 bits, and where its element stands."""

    key: uint32
    place: uint32


@struct
class Wide:
    """A key of 64 bits, and where its element stands."""

    key: uint64
    place: uint32


@prism.device
@requires(thread[1])
@template(E=dtype)
def stands_before(a: E @ thread[1], b: E @ thread[1]) -> bool @ thread[1]:
    """Whether one element comes before another one: its key is less, or of two that are equal its place."""
    return a.key < b.key or (a.key == b.key and a.place < b.place)


@prism.device
@requires(thread[1])
@template(B=dtype, U=dtype, KIND=constexpr(int), INFINITY=constexpr(int), LARGEST=constexpr(bool))
def key_of(bits: B @ thread[1]) -> U @ thread[1]:
    """What an element is ordered by, of as many bits as it has; `LARGEST`: the largest is the first, but NaN still the last.

    `INFINITY`: of floats, the bits of infinity.
    """
    SIGN: constexpr(int) = 1 << 8 * B.bytes - 1
    ALL: constexpr(int) = 2 * SIGN - 1
    word: U = U(bits)
    if KIND == FLOAT:
        size: U = word & U(SIGN - 1)
        below: bool = (word >= U(SIGN)) != LARGEST
        key: U = U(SIGN) - size if below else U(SIGN) + size
        return U(ALL) if size > U(INFINITY) else key
    else:
        return word ^ U((SIGN if KIND == SIGNED else 0) ^ (ALL if LARGEST else 0))


@prism.device
@requires(thread[1])
@template(B=dtype, U=dtype, KIND=constexpr(int), LARGEST=constexpr(bool, default=False))
def value_of(key: U @ thread[1]) -> B @ thread[1]:
    """The bits of an element with such a key: of zeros 0.0, of NaN any one."""
    SIGN: constexpr(int) = 1 << 8 * B.bytes - 1
    ALL: constexpr(int) = 2 * SIGN - 1
    if KIND == FLOAT:
        size: U = key - U(SIGN) if key >= U(SIGN) else U(SIGN) - key
        return B(size) if (key >= U(SIGN)) != LARGEST or size == U(0) else B(size | U(SIGN))
    else:
        return B(key ^ U((SIGN if KIND == SIGNED else 0) ^ (ALL if LARGEST else 0)))


__all__ = ["FLOAT", "SIGNED", "UNSIGNED", "Narrow", "Wide", "key_of", "stands_before", "value_of"]
