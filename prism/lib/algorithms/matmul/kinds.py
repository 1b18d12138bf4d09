"""Products of `matmul` that are neither `hgemm`'s nor `sgemm`'s: of float64, complex numbers, integers, bools, of two dtypes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from prism.host.call import Decision, Result
from prism.host.plan import OUT, Machine, Plan, Reach, Step, instance_of
from prism.kernels import matmul as kernels
from prism.lib.algorithms.matmul import pairs
from prism.lib.views import View, new_view
from prism.runtime.arrays import ArrayInfo
from prism.runtime.instance import Instance

WHOLE = tuple(sign + f"int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
COMPLEX = "complex64", "complex128"
OTHERS = ("bool", *WHOLE, "float64", *COMPLEX)
"""Dtypes that `matmul` takes besides those of the other products."""
FLOATS = "float16", "float32", "float64"
FROM_80 = "sm_80"
PAIR = 16
"""Bytes that a pair of float64 begins at a multiple of."""


def common(a: ArrayInfo, b: ArrayInfo) -> str:
    """Return the dtype of a product, by NumPy's rules."""
    return a.scalar if a.scalar == b.scalar else np.result_type(a.dtype, b.dtype).name


def decide_kind(
    a: View, b: View, shape: tuple[int, ...], kind: str, result: Result, machine: Machine, given: View | None
) -> Decision:
    """Return how a product of matrices, checked, is made in `given`, or where that can't be written, in C order."""
    writable = given is not None and _is_writable(given, machine.host)
    target = given if given is not None and writable else new_view(OUT, kind, shape)
    beside = given is not None and not writable
    if 0 in shape:
        return Decision((result,), beside=beside)
    if loose := tuple(view.name for view in (a, b) if not _is_readable(view, machine.host)):
        return Decision(copied=loose)
    if not target.rows_dense:
        a, b, target = b.turn(), a.turn(), target.turn()
    if pairs.suits_few(a, b, target) and (few := pairs.decide_few(a, b, target, machine)) is not None:
        return Decision((result,), plan=few, beside=beside)
    if pairs.suits(a, b, target) and (apart := _steps(b, b.shape[:-2])) is not None:
        found = pairs.decide_pairs(a, b, target, apart, machine)
        if found is not None:
            return Decision((result,), plan=found, beside=beside)
    steps = tuple(_step(*some, machine) for some in _products(a, b, target))
    return Decision((result,), plan=Plan(steps, scratch=0, lent=True), beside=beside)


def _is_writable(out: View, host: bool) -> bool:
    if host:
        return out.contiguous and out.natural
    return out.natural and out.apart and (out.rows_dense or out.turn().rows_dense) and _in_elements(out)


def _is_readable(view: View, host: bool) -> bool:
    return view.dense if host else view.natural and _in_elements(view)


def _in_elements(view: View) -> bool:
    """Whether strides count elements."""
    return all(stride % view.size == 0 for stride in view.strides)


def _products(a: View, b: View, out: View) -> Iterator[tuple[View, View, View, tuple[int, int, int], int]]:
    """Return products of matrices, the bytes from each to the next, and how many: all at once where those are one stride."""
    batch = out.shape[:-2]
    steps = [_steps(view, batch) for view in (a, b, out)]
    first = (0,) * len(batch)
    if all(step is not None for step in steps):
        matrices = [view.matrix(first) for view in (a, b, out)]
        yield *matrices, tuple(steps), prod(batch)  # type: ignore[misc]
        return
    for index in np.ndindex(batch):
        yield a.matrix(index), b.matrix(index), out.matrix(index), (0, 0, 0), 1


def _steps(view: View, batch: tuple[int, ...]) -> int | None:
    """Return how many bytes lie between an array's matrices, for a batch; None where that is no one stride."""
    missing = len(batch) - len(view.shape) + 2
    own = (
        *((0,) * missing),
        *(0 if extent == 1 else s for extent, s in zip(view.shape[:-2], view.strides[:-2], strict=True)),
    )
    axes = [(extent, stride) for extent, stride in zip(batch, own, strict=True) if extent > 1]
    if any(outer[1] != inner[0] * inner[1] for outer, inner in zip(axes, axes[1:], strict=False)):
        return None
    return axes[-1][1] if axes else 0


def _step(a: View, b: View, out: View, apart: tuple[int, int, int], batches: int, machine: Machine) -> Step:
    """Return the launch of products of matrices."""
    (m, k), n, size = a.shape, out.shape[1], out.size
    given: dict[str, Any] = {"m": m, "n": n, "k": k, "out": out.buffer, "A": a.buffer, "B": b.buffer}
    given |= {"stride": out.strides[0] // size, "batch": apart[2] // size}
    if cut := _double(a, b, out, apart, batches, machine):
        if cut.complex:
            given |= {name: Reach(view.name, view.offset) for name, view in (("A", a), ("B", b), ("out", out))}
            size //= 2
            n, k = 2 * n, 2 * k
            given |= {"n": n, "k": k, "stride": out.strides[0] // size, "batch": apart[2] // size}
        tiles_m = -(-m // cut.bm)
        side = max(1, min(tiles_m, round((machine.multiprocessors * cut.blocks * cut.bm * cut.bn) ** 0.5 / cut.bm)))
        given |= {"apart_a": _step_of(a, cut.along_a) // size, "apart_b": _step_of(b, not cut.along_b) // size}
        given |= {"group_m": side}
        given |= {"batch_a": apart[0] // size, "batch_b": apart[1] // size}
        return Step(
            instance_of(kernels.kernel_of(cut), {"CUT": cut}), batches * tiles_m * -(-n // cut.bn), cut.threads, given
        )
    for name, view, step in (("a", a, apart[0]), ("b", b, apart[1])):
        rows, columns = (stride // view.size for stride in view.strides)
        given |= {f"rs_{name}": rows, f"cs_{name}": columns, f"bs_{name}": step // view.size}
    along = abs(a.strides[1]) <= abs(a.strides[0]), abs(b.strides[0]) < abs(b.strides[1])
    tiles = batches * -(-m // kernels.BM) * -(-n // kernels.BN)
    return Step(instance_for(a.scalar, b.scalar, out.scalar, along), tiles, kernels.THREADS, given)


def instance_for(left: str, right: str, kind: str, along: tuple[bool, bool]) -> Instance:
    """Return the kernel of products of any numbers."""
    facts = {"T": left, "TB": right, "OUT": kind, "SUM": sum_of(kind), "ALONG_A": along[0], "ALONG_B": along[1]}
    return instance_of(kernels.any_product, facts)


def sum_of(kind: str) -> str:
    """Return what a product of a dtype is added up in: floats of 16 bits in float32, whole numbers without a sign."""
    if kind in COMPLEX:
        return kind
    if kind in FLOATS:
        return "float64" if kind == "float64" else "float32"
    return "uint64" if kind.endswith("64") else "uint32"


def _step_of(view: View, by_rows: bool) -> int:
    """Return how many bytes lie from a matrix's row, or column, to the next."""
    return view.strides[0 if by_rows else 1]


def _double(
    a: View, b: View, out: View, apart: tuple[int, int, int], batches: int, machine: Machine
) -> kernels.DoubleCut | None:
    """Return the tiles of a product of float64, or complex128, by the tensor cores; None where there are none.

    There are none either where elements lie apart.
    """
    if {a.scalar, b.scalar, out.scalar} not in ({"float64"}, {"complex128"}) or not a.shape[1]:
        return None
    if not machine.host and int(machine.arch.removeprefix("sm_").rstrip("af")) < int(FROM_80.removeprefix("sm_")):
        return None
    along_a, along_b = a.strides[1] == a.size, b.strides[0] == b.size
    inside = (along_a or a.strides[0] == a.size), (along_b or b.strides[1] == b.size)
    if not all(inside):
        return None
    pairs = out.scalar == COMPLEX[1]
    m, n, k = a.shape[0], b.shape[1] << pairs, a.shape[1] << pairs
    hopper = not machine.host and machine.arch.startswith("sm_9")
    cut = (
        kernels.TILES[-1]
        if machine.host
        else kernels.choose_double(m, n, k, machine.multiprocessors, batches, hopper=hopper)
    )
    wide = [
        view.aligned and step % PAIR == 0 and (view.strides[0 if along else 1] % PAIR == 0)
        for view, step, along in ((a, apart[0], along_a), (b, apart[1], not along_b))
    ]
    depth = cut.depth if machine.host or hopper else 4
    return replace(cut, along_a=along_a, along_b=along_b, wide_a=wide[0], wide_b=wide[1], depth=depth, complex=pairs)
