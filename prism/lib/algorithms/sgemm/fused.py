"""Products in float32 whose epilogue is a function: what it is given, and how the launches of a product are fused with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host.plan import OUT, Buffer, Machine, Step, instance_of, nothing
from prism.kernels.hgemm import identity
from prism.kernels.hgemm.fused import Terms
from prism.kernels.sgemm import fused as kernels
from prism.kernels.sgemm.few import few
from prism.kernels.sgemm.ring import ring
from prism.kernels.sgemm.sums import combine
from prism.lib.algorithms.hgemm.epilogue import Asked, call_of, extra_of, number
from prism.lib.algorithms.hgemm.records import COLUMN, ELEMENT, ROW, SECOND, After, Scaling
from prism.lib.algorithms.sgemm.matrices import Product, matrix_of
from prism.lib.lazy.closures import Applied
from prism.lib.views import View, new_view, view_of
from prism.runtime.arrays import ArrayInfo
from prism.runtime.viewed import instance_of_views

FUSED = ((ring, kernels.ring_fused), (combine, kernels.combine_fused), (few, kernels.few_fused))
"""Kernels that store a result, and those that store what a function makes of it."""


def after_of(epilogue: Any, given: Sequence[tuple[str, Any]], shape: tuple[int, ...], *, kept: bool) -> After:
    """Return an epilogue, or two, as kernels take them; `given`: extras, each with its name.

    Raises:
        TypeError, ValueError, CompileError, OverflowError: as `sgemm`.
    """
    several = epilogue if isinstance(epilogue, tuple) else (Asked(_applied(epilogue)),)
    if not 1 <= len(several) <= 2 or any(one.op is not None for one in several):
        raise ValueError("`epilogue` is one function, or a tuple of one or two: reduce the result")
    extras = [
        extra_of(name, one, view_of(name, one), shape) if isinstance(one, ArrayInfo) else number(one, name)
        for name, one in given
    ]
    own, calls = len(extras), []
    for one in several:
        called, numbers = call_of(one.function, 1, () if one.bare else extras[:own], len(extras), kept=kept)
        calls.append(called)
        extras += numbers
    second = calls[1] if len(calls) > 1 else None
    return After(calls[0], tuple(extras), Scaling(), "float32", second, order=(OUT, SECOND)[: len(calls)])


def _applied(function: Any) -> Applied:
    """Return a function that may be applied; the sum as it is, where there is none."""
    found = identity if function is None else function
    return found if isinstance(found, Applied) else Applied(found)


@dataclass(frozen=True, slots=True)
class Fused:
    """A product of two matrices, `plain`, and what comes after; so many rows of a batch are `above` it."""

    plain: Product
    after: After
    above: int
    second: Buffer

    def fuse(self, steps: Sequence[Step], machine: Machine) -> list[Step]:
        """Return the launches of the product with its epilogue in the last ones, or in one more."""
        after, product = self.after, self.plain
        bound = after.bound()
        terms = Terms(
            after.has(ROW), after.has(COLUMN), after.has(ELEMENT), second=after.second is not None, trans=after.trans,
            **bound.records,
        )  # fmt: skip
        facts: dict[str, Any] = {"TERMS": terms, "EPILOGUE": bound.functions[0], "SECOND": bound.functions[1]}
        given: dict[str, Any] = {"second": self.second, "above": self.above, **bound.arguments}

        def made(kernel: Any, template: dict[str, Any]) -> Any:
            found = instance_of_views(instance_of(kernel, {**template, **facts}), bound.views)
            found.require_readable(machine.arch)
            return found

        last = [k for k, step in enumerate(steps) if _writes(step)]
        fused = {k: _fused_of(steps[k]) for k in last}
        if last and all(kernel is not None for kernel in fused.values()):
            return [
                replace(
                    step, instance=made(fused[k], dict(step.instance.template)), arguments={**step.arguments, **given}
                )
                if k in fused
                else step
                for k, step in enumerate(steps)
            ]
        m, n, _ = product.sizes
        sizes = {"out": product.c.buffer(), "stride": product.c.rows, "m": m, "n": n}
        blocks = -(-m * n // (kernels.FINISHERS * kernels.EACH))
        return [*steps, Step(made(kernels.finish, {}), blocks, kernels.FINISHERS, {**sizes, **given})]


def _writes(step: Step) -> bool:
    """Whether a launch stores elements of the result."""
    return any(isinstance(one, Buffer) and one.name == OUT for one in step.arguments.values())


def _fused_of(step: Step) -> Any:
    """Return the kernel that does what a launch's does, and an epilogue; None where there is none."""
    return next((other for kernel, other in FUSED if kernel is step.instance.kernel), None)


def products_of(
    a: View, b: View, target: View, after: After, alpha: float, beta: float
) -> Iterator[tuple[Product, Fused]]:
    """Yield the products of two matrices that a batch is made of, and what comes after; of dense columns, the transposed ones."""
    batch, rows = target.shape[:-2], target.shape[-2]
    beside = None if after.second is None else new_view(SECOND, target.scalar, target.shape)
    if not target.rows_dense:
        a, b, target, after = b.turn(), a.turn(), target.turn(), after.turn()
    (m, k), n = a.shape[-2:], target.shape[-1]
    for at, index in enumerate(np.ndindex(batch)):
        left, right, out = (matrix_of(view.matrix(index), 0, 0) for view in (a, b, target))
        second = nothing("float32") if beside is None else beside.matrix(index).buffer
        product = Product(left, right, out, 1, (m, n, k if alpha else 0), alpha, beta)
        yield product, Fused(product, after, at * rows, second)
