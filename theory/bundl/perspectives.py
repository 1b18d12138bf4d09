"""The algebra of perspectives that both versions of Bundl are built on.

A perspective `pi = (h, n)` is `prism.lang.types.perspective.Perspective`; `Shape` fixes how many blocks and threads there are.

- `size`    how many threads one unit has:  size(Thread,n) = n, size(Block,n) = n*T, size(Grid,n) = n*B*T
- `dn`      one unit seen one level lower:  dn(Block,1) = (Thread,T), dn(Grid,1) = (Block,B), else undefined
- `scale`   i x (h,n) = (h, i*n);  `shrink` its inverse, defined where i divides n
- `count`   pi/pi', a number
- orders and alignments: one function for each reading, since the readings differ in what they let through

A unit is a perspective together with its first member: `unit` names it, so two threads share a unit iff the names agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

from prism.lang.types.perspective import Level, Perspective

THREAD, BLOCK, GRID = Level.THREAD, Level.BLOCK, Level.GRID

Unit = tuple[int, int, int]  # level, size, first thread (of the grid) or first block


@dataclass(frozen=True, slots=True)
class Shape:
    """The constants of one instance of the calculus: B blocks of T threads."""

    blocks: int
    threads: int

    def __post_init__(self) -> None:
        if self.blocks < 1 or self.threads < 1:
            raise ValueError("a grid has at least one block of at least one thread")


_INTERNED: dict[int, Perspective] = {}


def at(level: Level, size: int = 1) -> Perspective:
    """Return the one object for `(level, size)`; comparing perspectives is then mostly comparing identities."""
    key = 4 * size + level
    found = _INTERNED.get(key)
    if found is None:
        found = _INTERNED[key] = Perspective(level, size)
    return found


ONE_THREAD, ONE_BLOCK, ONE_GRID = at(THREAD), at(BLOCK), at(GRID)

Order = Callable[[Perspective, Perspective, Shape], bool]
Align = Callable[[int, int, int, int], bool]


def size(pi: Perspective, shape: Shape) -> int:
    """Return how many threads one unit of `pi` has."""
    if pi.level == THREAD:
        return pi.size
    return pi.size * shape.threads * (shape.blocks if pi.level == GRID else 1)


def dn(pi: Perspective, shape: Shape) -> Perspective | None:
    """Return the same unit one level lower, or None where that is undefined."""
    if pi.size != 1 or pi.level == THREAD:
        return None
    return at(THREAD, shape.threads) if pi.level == BLOCK else at(BLOCK, shape.blocks)


def scale(factor: int, pi: Perspective) -> Perspective:
    """Return `factor x pi`."""
    return at(pi.level, factor * pi.size)


def shrink(pi: Perspective, parts: int) -> Perspective | None:
    """Return one of `parts` equal parts of `pi`, or None where `parts` does not divide it."""
    if parts < 1 or pi.size % parts:
        return None
    return at(pi.level, pi.size // parts)


def count(pi: Perspective, other: Perspective, shape: Shape) -> int:
    """Return `pi/other`: how many units of `other` one unit of `pi` holds, rounded down."""
    ratio = 1
    if pi.level > other.level:
        ratio = size(at(pi.level), shape) // size(at(other.level), shape)
    return ratio * pi.size // other.size


# Orders: `narrow <= broad`, four readings. -------------------------------------------------------------------------


def order_printed(narrow: Perspective, broad: Perspective, shape: Shape) -> bool:
    """(h,n) <= (h',n') iff n | n' and h <= h' (appendix)."""
    return broad.size % narrow.size == 0 and narrow.level <= broad.level


def order_main(narrow: Perspective, broad: Perspective, shape: Shape) -> bool:
    """(h,n) <= (h',n') iff h < h', or h = h' and n | n' (main text)."""
    return narrow <= broad


def order_size(narrow: Perspective, broad: Perspective, shape: Shape) -> bool:
    """(h,n) <= (h',n') iff h <= h' and size(h,n) | size(h',n')."""
    return narrow.level <= broad.level and size(broad, shape) % size(narrow, shape) == 0


def order_nested(narrow: Perspective, broad: Perspective, shape: Shape) -> bool:
    """(h,n) <= (h',n') iff h = h' and n | n', or h < h' and n divides how many h one unit of the next level has.

    Every unit of `narrow` then lies inside one unit of `broad`; the three others let through some that straddle two.
    """
    if narrow.level == broad.level:
        return broad.size % narrow.size == 0
    if narrow.level > broad.level:
        return False
    return (shape.threads if narrow.level == THREAD else shape.blocks) % narrow.size == 0


# Alignment of a split's arms. --------------------------------------------------------------------------------------


def divides(part: int, whole: int) -> bool:
    """`part | whole`; only 0 is a multiple of 0."""
    return whole == 0 if part == 0 else whole % part == 0


def align_printed(left: int, right: int, whole: int, base: int) -> bool:
    """n1, n2 align to n:  n1 + n2 <= n, n1 | n, n2 | n, n2 | n1 + n."""
    return left + right <= whole and divides(left, whole) and divides(right, whole) and divides(right, left + whole)


def align_corrected(left: int, right: int, whole: int, base: int) -> bool:
    """n1, n2 align to n at a base known to be a multiple of A (0: the base is 0):  n1 + n2 <= n, n1 | A, n2 | gcd(A, n1).

    `right` may be 0: a split of one arm.
    """
    if left < 1 or right < 0 or left + right > whole or base % left:
        return False
    return right == 0 or gcd(base, left) % right == 0


# Where a thread stands. --------------------------------------------------------------------------------------------


def base(pi: Perspective, p: int, t: int, b: int, shape: Shape) -> int:
    """Return where this thread's unit of `pi` starts, counted in its own level from the next level's first."""
    if pi.level == THREAD:
        return t % shape.threads - p
    return b - p if pi.level == BLOCK else 0


def unit(pi: Perspective, p: int, t: int, b: int) -> Unit:
    """Return the name of the unit of `pi` in which thread `t` of block `b` is at position `p`."""
    if pi.level == THREAD:
        return (0, pi.size, t - p)
    return (1, pi.size, b - p) if pi.level == BLOCK else (2, pi.size, 0)


def offset(pi: Perspective, p: int, t: int, b: int, shape: Shape) -> int:
    """Return this thread's place among the threads of its unit: off(Thread,n) = p, off(Block,n) = p*T + t mod T, ..."""
    if pi.level == THREAD:
        return p
    block = p if pi.level == BLOCK else b
    return block * shape.threads + t % shape.threads


def enter(pi: Perspective, p: int, t: int, b: int, inner: Perspective, shape: Shape) -> int:
    """Return this thread's position inside its unit of `inner <= pi` when it stands at `p` in `pi`."""
    if inner.level == pi.level:
        return p % inner.size
    if inner.level == THREAD:
        return t % shape.threads % inner.size
    return b % inner.size
