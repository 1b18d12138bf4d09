"""Which kernels of merges ship: of keys of the dtypes that are most used, ascending; of sorts by merging float32."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import Machine, Step
from prism.kernels import merge as kernels
from prism.lib.algorithms.merge import plan
from prism.lib.algorithms.merge.plan import Kind
from prism.lib.algorithms.scan.ships import COMMON
from prism.runtime.instance import Instance


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    for scalar in COMMON:
        for n in (1 << 20, 1 << 27):  # of many tiles some are cut first
            steps = plan.merge(Kind(scalar, "", kernels.less), n, n, gpu).steps
            yield from (step.instance for step in steps if isinstance(step, Step))
    steps = plan.sort(Kind("float32", "", kernels.less), 1 << 21, gpu).steps
    yield from (step.instance for step in steps if isinstance(step, Step))
