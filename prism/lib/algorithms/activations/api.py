"""`prism.lib.gelu`, `prism.lib.swiglu`, and their gradients: each one kernel that reads and writes each element once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.matrices import rows_of, width_of
from prism.host.plan import OUT, Machine, Plan, Reach, Step, instance_of
from prism.kernels.activations import GELU, GELU_TANH, SILU, activate, activate_backward
from prism.runtime.arrays import ArrayInfo

DTYPES = ("bfloat16", "float16", "float32", "float64")
_THREADS, _EACH = 256, 2
_GELU = {"none": GELU, "tanh": GELU_TANH}
_GATES = {"silu": SILU, "gelu": GELU, "gelu_tanh": GELU_TANH}
_SECOND = "second"  # the second result


def gelu(x: Any, *, approximate: str = "none", out: Any = None, stream: Any = None) -> Any:
    """Return `x` times the normal distribution's function of it, element by element: `torch.nn.functional.gelu`.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Of any shape, of float16, bfloat16, float32 or float64. Rows (the last axis) that lie at equal distances are read where
        they lie; other arrays are copied first.
    approximate : {"none", "tanh"}, default "none"
        "tanh": `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2`.
    out : array, optional
        Where to put the result: of the library, device, shape and dtype of `x`. It may be `x`.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        Of the shape and dtype of `x`. `out`, if given.

    Raises
    ------
    TypeError
        `x` is no array of these dtypes; `out` is of another dtype.
    ValueError
        `approximate` is none of these; `out` has another shape, or is read-only; `stream` for arrays on the host.

    Notes
    -----
    Computed in float32, of float64 in float64, and rounded once. Of 16 bits the normal distribution's function is within 10^-7 of
    the true one, else within a few ulp, also far below 0.

    Examples
    --------
    >>> prism.lib.gelu(np.array([-1.0, 0, 1], np.float32)).round(3)
    array([-0.159,  0.   ,  0.841], dtype=float32)
    """
    return _forward("gelu", _kind(_GELU, approximate, "approximate"), {"x": x}, out, stream)


def gelu_backward(dy: Any, x: Any, *, approximate: str = "none", out: Any = None, stream: Any = None) -> Any:
    """Return the gradient of `gelu`: of a loss by `x`, of its gradient `dy` by the result.

    Parameters
    ----------
    dy, x : arrays of NumPy, CuPy or torch, or lazy arrays
        Of one shape and dtype; `x` as of `gelu`.
    approximate, out, stream
        As of `gelu`; `out` may be `dy` or `x`.

    Returns
    -------
    array
        Of the shape and dtype of `x`. `out`, if given.

    Raises
    ------
    TypeError, ValueError
        As `gelu`; `dy` has another shape or dtype than `x`.

    Examples
    --------
    >>> x = np.array([-1.0, 0, 1], np.float32)
    >>> prism.lib.gelu_backward(np.ones_like(x), x).round(3)
    array([-0.083,  0.5  ,  1.083], dtype=float32)
    """
    return _backward("gelu_backward", _kind(_GELU, approximate, "approximate"), {"dy": dy, "x": x}, out, stream)


def swiglu(x: Any, up: Any = None, *, gate: str = "silu", out: Any = None, stream: Any = None) -> Any:
    """Return `x * sigmoid(x) * up`, element by element: the gated unit SwiGLU.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        As of `gelu`. Without `up` its last axis has an even extent: the gates, and then as many of what they let through.
    up : array, optional
        Of the shape and dtype of `x`, which are the gates then.
    gate : {"silu", "gelu", "gelu_tanh"}, default "silu"
        What the gates go through: with "gelu" and "gelu_tanh", as `gelu` has them, it is GEGLU.
    out, stream
        As of `gelu`; `out` may be `x` or `up`, where they are two.

    Returns
    -------
    array
        Of the dtype of `x`, and of its shape; without `up` the last axis is half as long. `out`, if given.

    Raises
    ------
    TypeError, ValueError
        As `gelu`; `up` has another shape or dtype than `x`; without it the last axis has no even extent.

    Notes
    -----
    Source: Shazeer, "GLU Variants Improve Transformer".

    Examples
    --------
    >>> prism.lib.swiglu(np.array([[1.0, -1, 2, 2]], np.float32)).round(3)
    array([[ 1.462, -0.538]], dtype=float32)
    """
    arrays = {"x": x} if up is None else {"x": x, "up": up}
    return _forward("swiglu", _kind(_GATES, gate, "gate"), arrays, out, stream)


def swiglu_backward(dy: Any, x: Any, up: Any = None, *, gate: str = "silu", out: Any = None, stream: Any = None) -> Any:
    """Return the gradients of `swiglu`: of a loss by `x`, and by `up` where it is given, of its gradient `dy` by the result.

    Parameters
    ----------
    dy : array of NumPy, CuPy or torch, or lazy array
        Of the shape of the result of `swiglu`, and of the dtype of `x`.
    x, up, gate, stream
        As of `swiglu`.
    out : array, optional
        As of `gelu`, without `up` alone; it may be `x`.

    Returns
    -------
    array or tuple of arrays
        Of the shape and dtype of `x`; with `up` one for each of the two.

    Raises
    ------
    TypeError, ValueError
        As `swiglu`; `dy` has another shape or dtype; `out` with `up`.

    Examples
    --------
    >>> dx = prism.lib.swiglu_backward(np.ones((1, 2), np.float32), np.array([[1.0, -1, 2, 2]], np.float32))
    >>> dx.round(3)
    array([[ 1.855,  0.145,  0.731, -0.269]], dtype=float32)
    """
    if up is not None and out is not None:
        raise ValueError("`out` is one array, and with `up` there are two results")
    arrays = {"dy": dy, "x": x} if up is None else {"dy": dy, "x": x, "up": up}
    return _backward("swiglu_backward", _kind(_GATES, gate, "gate"), arrays, out, stream)


def _kind(kinds: Mapping[str, int], asked: Any, name: str) -> int:
    if not isinstance(asked, str) or asked not in kinds:
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, kinds))}, not {asked!r}")
    return kinds[asked]


def _forward(function: str, kind: int, arrays: dict[str, Any], out: Any, stream: Any) -> Any:
    asked = (function, kind, len(arrays))
    first, *others = arrays.values()
    if stream is None and (known := repeat.run(asked, first, out, *others)) is not None:
        return known

    def decide(infos: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        x, up = infos["x"], infos.get("up")
        halves = function == "swiglu" and up is None
        shape = _shape(x, halves)
        same = {} if up is None else {"up": up}
        if copied := _copied(infos, x, {name: (one, x.shape) for name, one in same.items()}):
            return Decision(copied=copied)
        if result is not None:
            arguments.require_scalar(result, x.scalar)
            arguments.require_shape(result, shape)
        results, beside = (Result(shape, x.dtype),), result is not None and not (result.contiguous and result.natural)
        if 0 in shape:
            return Decision(results)
        apart = {name: rows_of(one) or 0 for name, one in infos.items()}
        gates = Reach("x", shape[-1] * x.dtype.itemsize) if halves else Reach("up") if up is not None else Reach("x")
        rows, n = _matrix(shape, [x] if up is None else [x, up], halves)
        starts = [one.pointer for one in infos.values()] + [0 if result is None or beside else result.pointer]
        width = (
            width_of([x.dtype.itemsize], [n, *(apart.values() if rows > 1 else ())], starts)
            if not machine.host or result is not None
            else 1
        )
        template = {**_template(x, kind, halves or up is not None, width), "FLAT": rows == 1}
        numbers = {"rows": rows, "n": n, "x_apart": apart["x"], "up_apart": apart["up" if up is not None else "x"]}
        step = _step(activate, template, rows * n, {"x": Reach("x"), "up": gates, "y": Reach(OUT), **numbers})
        return Decision(results, plan=Plan((step,)), in_place=() if halves else tuple(infos), beside=beside)

    return call(function, asked, arrays, decide, out, stream)


def _backward(function: str, kind: int, arrays: dict[str, Any], out: Any, stream: Any) -> Any:
    asked = (function, kind, len(arrays))
    first, *others = arrays.values()
    if stream is None and (known := repeat.run(asked, first, out, *others)) is not None:
        return known

    def decide(infos: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        x, dy, up = infos["x"], infos["dy"], infos.get("up")
        halves = function == "swiglu_backward" and up is None
        shape = _shape(x, halves)
        same = {"dy": (dy, shape)} if up is None else {"dy": (dy, shape), "up": (up, shape)}
        if copied := _copied(infos, x, same):
            return Decision(copied=copied)
        if result is not None:
            arguments.require_scalar(result, x.scalar)
            arguments.require_shape(result, x.shape)
        one = Result(x.shape, x.dtype)
        results, names = ((one,), (OUT,)) if up is None else ((one, one), (OUT, _SECOND))
        beside = result is not None and not (result.contiguous and result.natural)
        if 0 in shape:
            return Decision(results, names)
        apart = {name: rows_of(given) or 0 for name, given in infos.items()}
        rows, n = _matrix(shape, list(infos.values()), halves)
        behind = n * x.dtype.itemsize if halves else 0
        starts = [one.pointer for one in infos.values()] + [0 if result is None or beside else result.pointer]
        width = (
            width_of([x.dtype.itemsize], [n, *(apart.values() if rows > 1 else ())], starts)
            if not machine.host or result is not None
            else 1
        )
        steps = {"dx_apart": 2 * n, "dup_apart": 2 * n} if halves else {"dx_apart": n, "dup_apart": n}
        numbers = {"rows": rows, "n": n, "dy_apart": apart["dy"], "x_apart": apart["x"], **steps}
        numbers["up_apart"] = apart["x" if up is None else "up"]
        buffers = {"dy": Reach("dy"), "x": Reach("x"), "up": Reach("x", behind) if up is None else Reach("up")}
        buffers |= {"dx": Reach(OUT), "dup": Reach(OUT, behind) if up is None else Reach(_SECOND)}
        template = {**_template(x, kind, halves or up is not None, width), "FLAT": rows == 1}
        step = _step(activate_backward, template, rows * n, {**buffers, **numbers})
        in_place = ("x",) if halves else ("x", "dy")
        return Decision(results, names, plan=Plan((step,)), in_place=in_place, beside=beside)

    return call(function, asked, arrays, decide, out, stream)


def _shape(x: ArrayInfo, halves: bool) -> tuple[int, ...]:
    """Return the shape of what is computed of `x`."""
    if x.scalar not in DTYPES:
        raise TypeError(f"`x` must be of {', '.join(DTYPES)}, not of {x.scalar}")
    if not halves:
        return x.shape
    if not x.shape or x.shape[-1] % 2:
        raise ValueError(
            f"without `up` the last axis of `x` has gates and as many more elements: its shape is {x.shape}"
        )
    return (*x.shape[:-1], x.shape[-1] // 2)


def _copied(
    infos: Mapping[str, ArrayInfo], x: ArrayInfo, same: Mapping[str, tuple[ArrayInfo, tuple[int, ...]]]
) -> tuple[str, ...]:
    """Check arrays, and return those that must be copied first: whose rows are not at one distance."""
    for name, (one, shape) in same.items():
        if one.scalar != x.scalar:
            raise TypeError(f"`{name}` must be of {x.scalar}, as `x` is, not of {one.scalar}")
        if one.shape != shape:
            raise ValueError(f"`{name}` must have shape {shape}, not {one.shape}")
    return tuple(name for name, one in infos.items() if rows_of(one) is None)


def _matrix(shape: tuple[int, ...], of: list[ArrayInfo], halves: bool) -> tuple[int, int]:
    """Return rows and their length: one row, where all arrays lie without gaps."""
    size = 1
    for extent in shape:
        size *= extent
    if not halves and all(one.contiguous for one in of):
        return 1, size
    return size // shape[-1], shape[-1]


def _template(x: ArrayInfo, kind: int, gated: bool, width: int) -> dict[str, Any]:
    short = {"bfloat16": 2, "float16": 1}.get(x.scalar, 0)
    wide = "float64" if x.scalar == "float64" else "float32"
    return {"T": x.scalar, "A": wide, "KIND": kind, "GATED": gated, "FAST": short, "EACH": _EACH, "WIDTH": width}


def _step(kernel: Any, template: dict[str, Any], size: int, values: dict[str, Any]) -> Step:
    blocks = -(-size // (_THREADS * template["EACH"] * template["WIDTH"]))
    return Step(instance_of(kernel, template), blocks, _THREADS, values)


__all__ = ["gelu", "gelu_backward", "swiglu", "swiglu_backward"]
