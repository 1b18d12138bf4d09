"""Products of few rows: one launch of `few`, which reads B once, as it lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from prism.host.plan import Step, instance_of
from prism.kernels.sgemm import few_configurations
from prism.kernels.sgemm.cut import FEW_THREADS, FewCut
from prism.kernels.sgemm.few import few
from prism.lib.algorithms.sgemm.matrices import WIDE, Product
from prism.runtime.instance import Instance

_LONGEST = 1 << 30


def fit(cut: FewCut, product: Product) -> FewCut:
    """Return a cut for the layout of a product's B."""
    b, (_, n, k) = product.b, product.sizes
    along = b.rows == 1 and (b.columns != 1 or n == 1)
    inside, apart, extent = (b.rows, b.columns, k) if along else (b.columns, b.rows, n)
    vector = next(size for size in (WIDE, 2, 1) if not (b.first % size or apart % size or extent % size))
    lanes, side = (32, cut.side) if along else (cut.lanes, 4)
    return replace(cut, along=along, vector=vector if inside == 1 else 0, lanes=lanes, side=side)


def ways(product: Product, processors: int) -> Iterator[tuple[FewCut, float]]:
    """Yield the cuts of a product, not of a batch, and about how many clocks each takes; none where rows are too many.

    Nor where K is long: the kernel asks for what lies more than 2^10 behind the end, whose numbers have 32 bits.
    """
    m, n, k = product.sizes
    if k > _LONGEST:
        return
    for cut in few_configurations.cuts(m):
        found = fit(cut, product)
        yield found, few_configurations.clocks(found, n, k, processors)


def instance_for(cut: FewCut, beta: bool) -> Instance:
    """Return the kernel that a cut names."""
    return instance_of(few, {"CUT": cut, "BETA": beta})


def step_of(product: Product, cut: FewCut) -> Step:
    """Return the launch of a product, not of a batch, of no more rows than the cut has."""
    a, b, c, (m, n, k) = product.a, product.b, product.c, product.sizes
    assert m <= cut.rows and product.batches == 1 and k
    cut = fit(cut, product)
    given: dict[str, Any] = {
        "A": a.buffer(),
        "rs_a": a.rows,
        "cs_a": a.columns,
        "B": b.buffer(),
        "rs_b": b.rows,
        "cs_b": b.columns,
    }
    given |= {"out": c.buffer(), "stride": c.rows, "m": m, "n": n, "k": k, "alpha": product.alpha, "beta": product.beta}
    return Step(instance_for(cut, product.beta != 0), -(-n // cut.width) * cut.parts, FEW_THREADS, given)
