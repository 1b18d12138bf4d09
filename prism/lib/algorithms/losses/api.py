"""`prism.lib.cross_entropy` and its gradient: rows of scores are read once, and once more for the gradient."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.host import arguments, repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyInfo
from prism.host.matrices import WIDEST, rows_of, width_of
from prism.host.plan import OUT, Machine, Plan, Reach, Scratch, Step, instance_of
from prism.kernels.losses import cross_entropy_backward as backward_kernel
from prism.kernels.losses import cross_entropy_backward_flat as flat_kernel
from prism.kernels.losses import loss_rows, losses_of, sum_exponentials, sum_exponentials_anywhere
from prism.lib.algorithms.rows import plan as plans
from prism.runtime.arrays import ArrayInfo

DTYPES = ("bfloat16", "float16", "float32")
_THREADS, _VECTORS, _EACH = 256, 4, 2
_BUSY = 1056  # blocks that keep a large GPU busy
_PART = 8192  # scores that a block should have at least
_HELD = 1024  # scores of a row that lanes of a warp hold
_AHEAD = 4 << 20  # bytes ahead of a block's scores at which those lie that it asks to be brought into the L2
_LOGS = "logs"  # the second result


def cross_entropy(
    x: Any, labels: Any, *, label_smoothing: float = 0.0, ignore_index: int = -100, stream: Any = None
) -> Any:  # fmt: skip
    """Return the cross-entropy of each row of scores with its label, and the logarithm of the row's sum of exponentials.

    Parameters
    ----------
    x : array of NumPy, CuPy or torch, or lazy array
        Scores of classes along the last axis, of float16, bfloat16 or float32. Rows that lie at equal distances are read where
        they lie; other arrays are copied first.
    labels : array
        Of int32 or int64, of the shape of `x` without its last axis: the class of each row.
    label_smoothing : float, default 0
        Which share of the target is spread over all classes, from 0 to 1: `torch.nn.functional.cross_entropy`.
    ignore_index : int, default -100
        Rows with this label have the loss 0.
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    tuple of arrays
        The losses, and what `cross_entropy_backward` takes as `logs`: both of float32, of the shape of `labels`.

    Raises
    ------
    TypeError
        An argument is no array of these dtypes.
    ValueError
        `x` has no axis, or no class; `labels` have another shape; `label_smoothing` is not from 0 to 1; `stream` for arrays on
        the host.

    Notes
    -----
    Computed in float32. Scores are read once, whatever the number of classes; a row of very many is shared by several blocks. The
    mean over rows that count is `losses.sum() / (labels != ignore_index).sum()`. Of a label that is no class the loss is NaN.

    Examples
    --------
    >>> x = np.array([[2.0, 0, 0], [0, 0, 5]], np.float32)
    >>> losses, logs = prism.lib.cross_entropy(x, np.array([0, 1]))
    >>> losses.round(3)
    array([0.24 , 5.013], dtype=float32)
    """
    smoothing, ignored = _checked(label_smoothing, ignore_index)
    asked = ("cross_entropy", smoothing, ignored)
    if stream is None and (known := repeat.run(asked, x, None, labels)) is not None:
        return known
    decide = functools.partial(_decide, smoothing=smoothing, ignored=ignored)
    return call("cross_entropy", asked, {"x": x, "labels": labels}, decide, None, stream)


def _decide(
    infos: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine, *, smoothing: float, ignored: int
) -> Decision:
    given = infos["x"]
    shape = _require(infos)
    if copied := _copied(infos):
        return Decision(copied=copied)
    one = Result(shape, np.dtype(np.float32))
    rows, n = math.prod(shape), given.shape[-1]
    if not rows:
        return Decision((one, one), (OUT, _LOGS))
    if n <= _HELD:
        seen = plans.rows_of("x", given, machine)
        if seen is None:
            return Decision(copied=("x",))
        plan = _of_held_rows(seen, infos["labels"].scalar, smoothing, ignored, machine)
        return Decision((one, one), (OUT, _LOGS), plan=plan)
    apart = (rows_of(given) or 0) if rows > 1 else 0
    size = given.dtype.itemsize
    width = 1 if machine.host else width_of([size], [n, apart], [given.pointer])
    anywhere = width == 1 and not machine.host and not isinstance(given, LazyInfo)
    chunks = max(1, min(-(-n // _PART), -(-_BUSY // rows)))
    scratch = Scratch()
    parts = scratch.take("float32", 3 * rows * chunks)
    common = {"x": Reach("x"), "parts": parts, "n": n, "apart": apart, "chunks": chunks}
    width = WIDEST // size if anywhere else width
    template = {"T": given.scalar, "VECTORS": _VECTORS, "WIDTH": width}
    where = {
        "past": given.pointer // size % width, "ahead": _AHEAD // size if apart == n else 0,
        "total": (rows - 1) * apart + n,
    }  # fmt: skip
    kernel = instance_of(sum_exponentials_anywhere if anywhere else sum_exponentials, template)
    first = Step(kernel, rows * chunks, _THREADS, common | (where if anywhere else {}))
    more = {"labels": Reach("labels"), "losses": Reach(OUT), "logs": Reach(_LOGS), "rows": rows}
    more |= {"smoothing": smoothing, "ignored": ignored}
    of = instance_of(losses_of, {"T": given.scalar, "L": infos["labels"].scalar})
    second = Step(of, -(-rows // _THREADS), _THREADS, {**common, **more})
    return Decision((one, one), (OUT, _LOGS), plan=Plan((first, second), scratch=scratch.used))


def cross_entropy_backward(
    d: Any, x: Any, labels: Any, logs: Any, *, label_smoothing: float = 0.0, ignore_index: int = -100, out: Any = None,
    stream: Any = None,
) -> Any:  # fmt: skip
    """Return the gradient of `cross_entropy`: of a total by the scores, of its gradient `d` by the losses.

    Parameters
    ----------
    d : array of float32
        Of the shape of `labels`, or one number for all: of a mean over n rows 1 / n.
    x, labels, label_smoothing, ignore_index, stream
        As of `cross_entropy`.
    logs : array of float32
        What `cross_entropy` has returned with the losses.
    out : array, optional
        Where to put the gradient: of the library, device, shape and dtype of `x`. It may be `x`, which is then no more needed.

    Returns
    -------
    array
        Of the shape and dtype of `x`. `out`, if given. Rows whose label is ignored are 0.

    Raises
    ------
    TypeError, ValueError
        As `cross_entropy`; `d` or `logs` are of another dtype or shape; `out` has another shape, or is read-only.

    Examples
    --------
    >>> x, labels = np.array([[2.0, 0, 0], [0, 0, 5]], np.float32), np.array([0, 1])
    >>> losses, logs = prism.lib.cross_entropy(x, labels)
    >>> prism.lib.cross_entropy_backward(np.full(1, 0.5, np.float32), x, labels, logs, out=x).round(3)
    array([[-0.107,  0.053,  0.053],
           [ 0.003, -0.497,  0.493]], dtype=float32)
    """
    smoothing, ignored = _checked(label_smoothing, ignore_index)
    asked = ("cross_entropy_backward", smoothing, ignored)
    if stream is None and (known := repeat.run(asked, d, out, x, labels, logs)) is not None:
        return known
    decide = functools.partial(_decide_backward, smoothing=smoothing, ignored=ignored)
    return call("cross_entropy_backward", asked, {"d": d, "x": x, "labels": labels, "logs": logs}, decide, out, stream)


def _decide_backward(
    infos: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine, *, smoothing: float, ignored: int
) -> Decision:
    given, weights = infos["x"], infos["d"]
    shape = _require(infos)
    for name in ("d", "logs"):
        if infos[name].scalar != "float32":
            raise TypeError(f"`{name}` must be of float32, not of {infos[name].scalar}")
        if infos[name].shape != shape and not (name == "d" and infos[name].size == 1):
            raise ValueError(f"`{name}` must have shape {shape}, as `labels`, not {infos[name].shape}")
    if copied := _copied(infos):
        return Decision(copied=copied)
    if result is not None:
        arguments.require_scalar(result, given.scalar)
        arguments.require_shape(result, given.shape)
    results, beside = (
        (Result(given.shape, given.dtype),),
        result is not None and not (result.contiguous and result.natural),
    )
    rows, n = math.prod(shape), given.shape[-1]
    if not rows:
        return Decision(results)
    apart = (rows_of(given) or 0) if rows > 1 else 0
    starts = [given.pointer, 0 if result is None or beside else result.pointer]
    width = 1 if machine.host else width_of([given.dtype.itemsize], [n, apart], starts)
    numbers: dict[str, Any] = {"rows": rows, "n": n, "d_apart": int(weights.size > 1)}
    numbers |= {"smoothing": smoothing, "ignored": ignored}
    buffers = {name: Reach(name) for name in ("d", "x", "labels", "logs")} | {"dx": Reach(OUT)}
    template = {"T": given.scalar, "L": infos["labels"].scalar, "EACH": _EACH, "WIDTH": width}
    flat = WIDEST // given.dtype.itemsize
    if width == 1 and flat <= n and apart in (0, n) and not machine.host and not any(at % WIDEST for at in starts):
        kernel = instance_of(flat_kernel, template | {"WIDTH": flat})
        plan = Plan((Step(kernel, -(-rows * n // (_THREADS * _EACH * flat)), _THREADS, {**buffers, **numbers}),))
        return Decision(results, plan=plan, in_place=("x",), beside=beside)
    numbers |= {"apart": apart, "dx_apart": n}
    blocks = -(-rows * n // (_THREADS * _EACH * width))
    step = Step(instance_of(backward_kernel, template), blocks, _THREADS, {**buffers, **numbers})
    return Decision(results, plan=Plan((step,)), in_place=("x",), beside=beside)


def _of_held_rows(seen: plans.Rows, label: str, smoothing: float, ignored: int, machine: Machine) -> Plan:
    """Return the plan of rows that lanes of a warp hold: one launch."""
    shared = plans.sharing(seen.n, plans.width_of([seen], None), "float32", machine)
    arrays = {"x": Reach("x"), "labels": Reach("labels"), "losses": Reach(OUT), "logs": Reach(_LOGS)}
    numbers = {"stride": seen.stride, "smoothing": smoothing, "ignored": ignored, "least": -np.inf}
    return plans.launch(loss_rows, {"T": seen.scalar, "L": label}, {**arrays, **numbers}, seen, shared, machine)


def _checked(label_smoothing: Any, ignore_index: Any) -> tuple[float, int]:
    """Return both numbers, checked."""
    smoothing, ignored = float(label_smoothing), arguments.require_integer(ignore_index, "ignore_index")
    if not 0 <= smoothing <= 1:
        raise ValueError(f"`label_smoothing` must be from 0 to 1, not {label_smoothing}")
    return smoothing, ignored


def _require(infos: Mapping[str, ArrayInfo]) -> tuple[int, ...]:
    """Check scores and labels, and return the shape of the losses."""
    x, labels = infos["x"], infos["labels"]
    if x.scalar not in DTYPES:
        raise TypeError(f"`x` must be of {', '.join(DTYPES)}, not of {x.scalar}")
    if labels.scalar not in ("int32", "int64"):
        raise TypeError(f"`labels` must be of int32 or int64, not of {labels.scalar}")
    if not x.shape or not x.shape[-1]:
        raise ValueError(f"`x` must have classes along its last axis: its shape is {x.shape}")
    if labels.shape != x.shape[:-1]:
        raise ValueError(f"`labels` must have shape {x.shape[:-1]}, one for each row of `x`, not {labels.shape}")
    return labels.shape


def _copied(infos: Mapping[str, ArrayInfo]) -> tuple[str, ...]:
    """Return the arrays that must be copied first."""
    return tuple(
        name
        for name, one in infos.items()
        if (rows_of(one) is None if name == "x" else not (one.contiguous and one.natural))
    )


__all__ = ["cross_entropy", "cross_entropy_backward"]
