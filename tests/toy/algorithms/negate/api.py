"""`prism.lib.negate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.plan import Machine
from prism.lib.algorithms.negate.plan import plan
from prism.lib.cases import NUMBERS
from prism.runtime.arrays import ArrayInfo


def negate(x: Any, *, out: Any = None, stream: Any = None) -> Any:
    """Return an array's elements with the other sign, as `numpy.negative` does.

    Examples
    --------
    >>> prism.lib.negate(np.array([3, -1, 4]))
    array([-3,  1, -4])
    """
    asked = ("negate",)
    if stream is None and (known := repeat.run(asked, x, out)) is not None:
        return known

    def decide(arrays: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        given = arrays["x"]
        if given.scalar not in NUMBERS:
            raise TypeError(f"`x` has dtype {given.dtype}, which negate does not support")
        if result is not None:
            arguments.require_result(result, given.scalar, given.shape)
        if copied := arguments.not_plain(arrays):
            return Decision(copied=copied)
        made = Result(given.shape, given.dtype)
        return Decision((made,), plan=plan(given.scalar, given.size) if given.size else None, in_place=("x",))

    return call("negate", asked, {"x": x}, decide, out, stream)
