"""What often comes after a product: functions for the `epilogue` of `prism.lib.hgemm`, and for functions of one's own.

    from prism.lib.epilogues import gelu

    prism.lib.hgemm(a, b, epilogue=lambda x, bias, before: gelu(x + bias) + before, extra=(bias, before))

They are device functions of float32, within a few units of its last place where nothing else is said, and stand wherever one
does, as in `prism.lib.lazy.map`. `reduce` says what is combined along rows, or columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prism.lib.operators import Operator, operator_of
from prism.lib.thread.activations import (
    clamp,
    dropout,
    geglu,
    gelu,
    gelu_fast,
    gelu_tanh,
    random_bits,
    relu,
    relu_squared,
    sigmoid,
    silu,
    silu_fast,
    swiglu,
)


@dataclass(frozen=True)
class Reduction:
    """What `reduce` gives."""

    function: Any
    op: Operator
    axis: int


def reduce(function: Any = None, op: Any = "add", axis: int = 1) -> Reduction:
    """Return an epilogue whose values are combined: a result of one number a row, or a column.

    Parameters
    ----------
    function : device function or lambda, optional
        Of what any epilogue of the call is a function of; by default the sum as it is. Its value is taken as float32, and not
        rounded.
    op : str or Operator, default "add"
        By name, or a `prism.lib.Operator` of floats that is commutative.
    axis : int, default 1
        1, or -1: along a row, a number for each; 0, or -2: along a column.

    Returns
    -------
    Reduction
        To stand behind a function in the tuple that is an `epilogue`. Its result is of float32, of one axis.

    Raises
    ------
    TypeError
        `op` is neither, or of integers.
    ValueError
        `op` names none, or is not commutative; another axis.

    Examples
    --------
    >>> import numpy as np, prism
    >>> a, b = np.array([[1, 2], [3, 4]], np.float16), np.eye(2, dtype=np.float16)
    >>> y, squares = prism.lib.hgemm(a, b, epilogue=(None, prism.lib.epilogues.reduce(lambda x: x * x)))
    >>> squares
    array([ 5., 25.], dtype=float32)
    """
    operator = operator_of(op)
    if operator.integral:
        raise TypeError(f"`op` is {operator.name}, which is for integers")
    if not operator.commutative:
        raise ValueError(f"`op` must be commutative, which {operator.name} is not said to be")
    if axis not in (1, 0, -1, -2):
        raise ValueError(f"`axis` must be 0 or 1, not {axis}")
    return Reduction(function, operator, axis % 2)


__all__ = [
    "Reduction", "clamp", "dropout", "geglu", "gelu", "gelu_fast", "gelu_tanh", "random_bits", "reduce", "relu", "relu_squared",
    "sigmoid", "silu", "silu_fast", "swiglu",
]  # fmt: skip
