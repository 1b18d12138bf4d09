"""Which kernels of sorted rows and segments ship: of the dtypes that are most used, ascending."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import OUT, Buffer, Machine, size_of
from prism.kernels.sort_rows import BLOCKS, LANES
from prism.lib.algorithms.sort_rows import plan
from prism.lib.algorithms.sort_rows.plan import Kind, Names
from prism.lib.algorithms.sort_rows.top import top_segments
from prism.runtime.instance import Instance

_MANY = 1 << 16


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    for scalar in ("float32", "int32"):
        for kind, names in (
            (Kind(scalar), Names()),
            (Kind(scalar, elements=False, places="int64"), Names(places=Buffer(OUT))),
        ):
            size, most = size_of(kind.sorted_as), kind.most(gpu)
            for way in (*LANES[size][3:], *BLOCKS[size]):
                if way.span <= most:
                    yield from plan.rows(kind, _MANY, way.span, gpu, aligned=True, names=names).instances()
            for mean in (16, 256, 4096):
                yield from plan.segments(kind, _MANY * mean, _MANY, "int64", gpu, names, aligned=True).instances()

    wanted = Kind("float32", True, elements=False, places="int32")
    for mean in (256, 4096):
        yield from top_segments(wanted, _MANY * mean, _MANY, 16, "int64", gpu, aligned=True).instances()
