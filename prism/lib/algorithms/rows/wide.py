"""Gradients of norms of rows that no cluster holds: of lazy arrays and reductions, each of which reads the rows again."""

from __future__ import annotations

from typing import Any

from prism.lang import rsqrt
from prism.lang.types import SCALARS
from prism.lib.algorithms.reduce.api import sum as sum_along
from prism.lib.algorithms.transform.api import evaluate
from prism.lib.lazy.array import Lazy, convert, of
from prism.lib.lazy.closures import Applied


def wide_backward(
    x: Any, dout: Any, weight: Any, centred: bool, bias: bool, eps: float, kind: str, weighed: str, stream: Any
) -> tuple[Any, ...]:
    """Return the gradients of a norm, as `norm_backward` does, computed in the type `kind`; `weighed`: that of the weight's."""
    wide, n = SCALARS[kind], x.shape[-1]
    given = of(x, "x")

    def mean(lazy: Lazy) -> Any:
        return of(sum_along(lazy, axis=-1, keepdims=True, stream=stream)) * (1 / n)

    rows, gradient = convert(given, wide), convert(of(dout, "dout"), wide)
    scaled = gradient if weight is None else gradient * convert(of(weight, "weight"), wide)
    off = rows - evaluate(mean(rows), stream=stream) if centred else rows
    factor = evaluate(Applied(rsqrt).map_over(mean(off * off) + eps), stream=stream)
    slope = evaluate(mean(scaled * off) * factor * factor, stream=stream)
    rest = scaled - off * slope
    if centred:
        rest = rest - evaluate(mean(scaled), stream=stream)
    found = [evaluate(convert(rest * factor, given.scalar), stream=stream)]
    sums = ([gradient * off * factor] if weight is not None else []) + ([gradient] if bias else [])
    for one in sums:
        total = sum_along(one, axis=tuple(range(len(x.shape) - 1)), stream=stream)
        found.append(evaluate(convert(of(total), SCALARS[weighed]), stream=stream))
    return tuple(found)


__all__ = ["wide_backward"]
