"""Products in float32 whose epilogue is a function: what it is given, and how the launches of a product are fused with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host.plan import OUT, Buffer, Machine, Scratch, Step, instance_of, nothing
from prism.kernels.hgemm import identity
from prism.kernels.hgemm.fused import Terms
from prism.kernels.sgemm import fused as kernels
from prism.kernels.sgemm.few import few
from prism.kernels.sgemm.finish import REDUCERS, WIDTH, finish_reduced
from prism.kernels.sgemm.ring import ring
from prism.kernels.sgemm.sums import combine
from prism.lib.algorithms.hgemm.epilogue import Asked, arrange, call_of, extra_of, number, require_several
from prism.lib.algorithms.hgemm.fused import combine as combine_of
from prism.lib.algorithms.hgemm.records import COLUMN, ELEMENT, ROW, SECOND, After, Scaling
from prism.lib.algorithms.sgemm.matrices import Product, matrix_of
from prism.lib.lazy.closures import Applied
from prism.lib.views import View, new_view, view_of
from prism.runtime.arrays import ArrayInfo
from prism.runtime.viewed import instance_of_views

SHORT, LONG = 4, 16
"""Rows of a warp that combines values: fewer, where tiles are fewer than keep a GPU busy."""
FUSED = ((ring, kernels.ring_fused), (combine, kernels.combine_fused), (few, kernels.few_fused))
"""Kernels that store a result, and those that store what a function makes of it."""


def after_of(epilogue: Any, given: Sequence[tuple[str, Any]], shape: tuple[int, ...], *, kept: bool) -> After:
    """Return an epilogue, or two, as kernels take them; `given`: extras, each with its name.

    Raises:
        TypeError, ValueError, CompileError, OverflowError: as `sgemm`.
    """
    several = epilogue if isinstance(epilogue, tuple) else (Asked(_applied(epilogue)),)
    require_several(several, shape)
    extras = [
        extra_of(name, one, view_of(name, one), shape) if isinstance(one, ArrayInfo) else number(one, name)
        for name, one in given
    ]
    own, calls = len(extras), []
    for one in several:
        called, numbers = call_of(one.function, 1, () if one.bare else extras[:own], len(extras), kept=kept)
        calls.append(called)
        extras += numbers
    return arrange(several, calls, tuple(extras), Scaling(), "float32")


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

    def fuse(self, steps: Sequence[Step], machine: Machine, scratch: Scratch) -> list[Step]:
        """Return the launches of the product with its epilogue in the last ones, or in one more."""
        after, product = self.after, self.plain
        bound = after.bound()
        reduced = 0 if after.reduced is None else 1 if (after.reduced.axis == 1) != after.trans else 2
        terms = Terms(
            after.has(ROW), after.has(COLUMN), after.has(ELEMENT), second=after.second is not None, reduced=reduced,
            trans=after.trans, **bound.records,
        )  # fmt: skip
        facts: dict[str, Any] = {"TERMS": terms, "EPILOGUE": bound.functions[0], "SECOND": bound.functions[1]}
        given: dict[str, Any] = {"second": self.second, "above": self.above, **bound.arguments}

        def made(kernel: Any, template: dict[str, Any]) -> Any:
            found = instance_of_views(instance_of(kernel, {**template, **facts}), bound.views)
            found.require_readable(machine.arch)
            return found

        m, n, _ = product.sizes
        sizes = {"out": product.c.buffer(), "stride": product.c.rows, "m": m, "n": n}
        if after.reduced is not None:
            facts |= {"VALUE": bound.functions[2], "COMBINE": after.reduced.operator.function}
            facts["ROWS"] = rows = (
                LONG if -(-m // (8 * LONG)) * -(-n // WIDTH) >= 2 * machine.multiprocessors else SHORT
            )
            tiles, across = -(-m // (8 * rows)), -(-n // WIDTH)
            parts, extent = (across, m) if reduced == 1 else (8 * tiles, n)
            given["initial"] = float(after.reduced.operator.identity_of(np.dtype(np.float32)))
            given["partial"] = scratch.take("float32", parts * extent)
            step = Step(made(finish_reduced, {}), tiles * across, REDUCERS, {**sizes, **given})
            return [*steps, step, combine_of(step, after)]
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
