"""What the library's tests share: operators that commute or not, each with what it means in NumPy, and scans to compare with."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.lang import Kernel, dtype, prism, requires, template, thread, uint64
from prism.lib.operators import BY_NAME, Operator

SCHEDULES = [("round-robin", 0), ("reversed", 0), ("random", 1), ("random", 2)]


@prism("device")
@requires(thread[1])
@template(T=dtype)
def last(a: T @ thread[1], b: T @ thread[1]) -> T @ thread[1]:
    """The last that is not zero."""
    return b if b != 0 else a


@prism("device")
@requires(thread[1])
def affine(p: uint64 @ thread[1], q: uint64 @ thread[1]) -> uint64 @ thread[1]:
    """The map `p` and then the map `q`, where `a << 32 | b` is the map x -> a * x + b modulo 2^32."""
    a: uint64 = q >> 32
    return ((p >> 32) * a << 32) | (((p & 0xFFFFFFFF) * a + (q & 0xFFFFFFFF)) & 0xFFFFFFFF)


@dataclass(frozen=True)
class Case:
    """An operator on a dtype, with its meaning on two NumPy arrays."""

    operator: Operator
    dtype: np.dtype[Any]
    meaning: Any

    @property
    def function(self) -> Kernel:
        return self.operator.function

    @property
    def identity(self) -> Any:
        return self.operator.identity_of(self.dtype)

    def data(self, size: int, seed: int = 0) -> Any:
        """Random elements; for `last`, most of them zero."""
        random = np.random.default_rng(seed)
        if self.dtype.kind == "f":
            return random.integers(-8, 8, size).astype(self.dtype)  # sums are exact, in any order
        information = np.iinfo(self.dtype)
        found = random.integers(information.min, information.max, size, dtype=self.dtype, endpoint=True)
        return np.where(random.random(size) < 0.1, found, 0).astype(self.dtype) if self.operator is LAST else found

    def inclusive(self, x: Any) -> Any:
        """The scan, by the definition."""
        found = x.copy()
        with np.errstate(over="ignore"):
            for i in range(1, len(x)):
                found[i] = self.meaning(found[i - 1], x[i])
        return found

    def exclusive(self, x: Any) -> Any:
        """The scan without each element itself."""
        return np.concatenate([[self.identity], self.inclusive(x)[:-1]]).astype(self.dtype)[: len(x)]

    def segmented(self, x: Any, heads: Any, before: Any, exclusive: bool = False) -> tuple[Any, Any]:
        """The scan segment by segment, and what the last segment comes to; what stands before the first head adds to `before`."""
        found, running = np.empty_like(x), before
        with np.errstate(over="ignore"):
            for i, (value, head) in enumerate(zip(x, heads, strict=True)):
                ahead = self.identity if head else running
                running = value if head else self.meaning(running, value)
                found[i] = ahead if exclusive else running
        return found, running

    def of_segments(self, x: Any, heads: Any) -> Any:
        """For each element the combination of its segment; the first element begins one."""
        starts = [0, *(i for i in range(1, len(x)) if heads[i]), len(x)]
        parts = [np.full(stop - start, self.inclusive(x[start:stop])[-1]) for start, stop in itertools.pairwise(starts)]
        return np.concatenate(parts).astype(x.dtype)

    def __str__(self) -> str:
        return f"{self.operator.name}-{self.dtype}"


LAST = Operator(last, identity=0)
AFFINE = Operator(affine, identity=1 << 32)
_MASK = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def _affine(p: Any, q: Any) -> Any:
    a = q >> _32
    return ((p >> _32) * a << _32) | (((p & _MASK) * a + (q & _MASK)) & _MASK)


def heads_of(size: int, density: float, seed: int = 0) -> Any:
    """Which elements begin a segment, as uint8."""
    return (np.random.default_rng(seed).random(size) < density).astype(np.uint8)


def case(name: str, kind: str) -> Case:
    return Case(BY_NAME[name], np.dtype(kind), getattr(np, name))


CASES = [
    case("add", "int32"),
    case("add", "uint8"),
    case("add", "float64"),
    case("multiply", "int64"),
    case("maximum", "float32"),
    case("minimum", "int16"),
    case("bitwise_xor", "uint32"),
    Case(LAST, np.dtype("int32"), lambda a, b: np.where(b != 0, b, a)),
    Case(AFFINE, np.dtype("uint64"), _affine),
]
SOME = [CASES[0], case("add", "float16"), *CASES[-2:]]
"""Fewer of them: a sum, one in half precision, and the two that do not commute."""


def top_of(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    """Return the first `k` elements along an axis and where they stand: NaN last, equal ones as they lie."""
    rows = np.moveaxis(x, axis, -1)
    ranks = np.unique(rows, return_inverse=True)[1].reshape(rows.shape).astype(np.int64)
    places = np.lexsort((-ranks if largest else ranks, rows != rows), axis=-1)[..., :k]
    return np.moveaxis(np.take_along_axis(rows, places, -1), -1, axis), np.moveaxis(places, -1, axis)
