"""Which kernels of radix sorts ship: of the dtypes that are most used, in a rising order; a falling one takes the same."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import OUT, Buffer, Machine, Step
from prism.lib.algorithms.sort import plan
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from prism.runtime.instance import Instance

_SIZES = (1 << 17, 1 << 22, 3 << 22, 10**7, 1 << 24, 1 << 28)
_HELD = (1 << 14, 1 << 15)
_RESIDENT = (1 << 16, 1 << 17, 1 << 18, 1 << 20, 1 << 21)


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    positions = Names(places=Buffer(OUT))
    kinds = [
        (Kind(scalar), Names()) for scalar in ("uint8", "int16", "float16", "int32", "float32", "int64", "float64")
    ]
    kinds += [
        (Kind(scalar, elements=False, places="int64"), positions)
        for scalar in ("uint8", "int32", "float32", "int64", "float64")
    ]
    kinds += [
        (Kind(scalar, values=moved), Names()) for scalar in ("int32", "float32") for moved in ("uint32", "uint64")
    ]
    for kind, names in kinds:
        for n in _SIZES:
            for in_place in sorted({False, plan.may_be_in_place(kind, 1, n, gpu)}):
                found = plan.radix(kind, 1, n, gpu, names, aligned=True, in_place=in_place)
                yield from (step.instance for step in found.steps if isinstance(step, Step))
    for scalar in ("int32", "float32"):  # by clusters, where there are any, and by blocks that all run at once
        for kind, names in (
            (Kind(scalar), Names()),
            (Kind(scalar, values="uint32"), Names()),
            (Kind(scalar, elements=False, places="int64"), positions),
        ):
            for n in (*_HELD, *_RESIDENT):
                found = plan.rows(kind, 1, n, gpu, aligned=True, names=names)
                yield from (step.instance for step in found.steps if isinstance(step, Step))
