"""What is asked of strides: whether elements that lie so far apart along each axis are all at places of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.types import BOOL, INT64

AXES = 4
"""The most axes."""

_NEST = """\
static __device__ __forceinline__ bool px_strides_nest(
    long long n0, long long s0, long long n1 = 1, long long s1 = 0, long long n2 = 1, long long s2 = 0, long long n3 = 1,
    long long s3 = 0) {
    const long long n[4] = {n0, n1, n2, n3}, s[4] = {s0, s1, s2, s3};
    unsigned long long far = 0, last = 0;  // what the axes so far reach; 2^64 - 1: more than any stride
    bool nest = true;
    int done = 0;
    for (int k = 0; k < 4; ++k) if (n[k] <= 0) return true;
    for (int turn = 0; turn < 4; ++turn) {  // the axes, by their strides
        int next = -1;
        unsigned long long least = 0;
        for (int k = 0; k < 4; ++k) {
            unsigned long long apart = s[k] < 0 ? 0ull - (unsigned long long)s[k] : (unsigned long long)s[k];
            if (n[k] > 1 && !(done >> k & 1) && (next < 0 || apart < least)) { next = k; least = apart; }
        }
        if (next < 0) break;
        done |= 1 << next;
        nest = nest && least > far;
        unsigned long long steps = (unsigned long long)n[next] - 1;
        last = least * steps;
        far = __umul64hi(least, steps) || far + last < far ? ~0ull : far + last;
    }
    return nest;
}
"""


def nest(axes: tuple[tuple[int, int], ...]) -> bool:
    """Whether each stride is larger, without its sign, than all the smaller ones reach; `axes`: extents and strides.

    Then no two elements are at one place. Axes of one element count for nothing; where one has none, there are no elements.
    """
    far = 0
    if any(extent <= 0 for extent, _ in axes):
        return True
    for stride, extent in sorted((abs(stride), extent) for extent, stride in axes if extent > 1):
        if stride <= far:
            return False
        far += stride * (extent - 1)
    return True


def _meaning(_: Binding, *values: Any) -> Any:
    rows = np.broadcast_arrays(*values)
    found = [
        nest(tuple(zip(row[::2], row[1::2], strict=True)))
        for row in zip(*(r.ravel().tolist() for r in rows), strict=True)
    ]
    return np.array(found, bool).reshape(rows[0].shape)


def _problem(binding: Binding) -> str:
    given = [f"n{k}" in binding.given for k in range(1, AXES)], [f"s{k}" in binding.given for k in range(1, AXES)]
    return "" if given[0] == given[1] else "it takes an extent and a stride for each axis, one after the other"


def _parameters() -> tuple[Parameter, ...]:
    pairs = ((f"n{k}", f"s{k}") for k in range(AXES))
    return tuple(Parameter(name, "value", INT64, optional=k > 0) for k, pair in enumerate(pairs) for name in pair)


strides_nest = Intrinsic(
    name="strides_nest",
    doc=(
        "strides_nest(n0, s0, n1, s1, ...): whether the strides `s0`, ... of up to four axes nest: each is larger, without its "
        "sign, than all smaller ones reach in axes of `n0`, ... elements. Then elements of different indices are at different "
        "places, and the compiler knows. In an `assume`, mostly."
    ),
    parameters=_parameters(),
    result=BOOL,
    cuda=lambda binding, *texts: f"px_strides_nest({', '.join(texts)})",
    preamble=lambda binding: _NEST,
    meaning=_meaning,
    result_unit=None,
    problem=_problem,
    source="C++ standard, mdspan.layout.stride: what makes such a mapping unique, and so injective",
)

LAYOUTS = (strides_nest,)
