"""Which kernels of operations on rows ship: softmax and the norms with their weights, of rows of usual lengths."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import Machine, instance_of
from prism.kernels import rows as kernels
from prism.lib.algorithms.rows import plan as plans
from prism.runtime.instance import Instance

_TYPES = ("float16", "bfloat16", "float32")
_WIDTHS = (64, 4096, 65_536)


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    found: dict[Instance, None] = {}
    kinds = plans.types_of("float32")
    for scalar in _TYPES:
        for n in _WIDTHS:
            shared = plans.sharing(n, 16 // plans.size_of(scalar), "float32", gpu)
            if shared.long:
                continue
            how = kinds | plans.template_of(shared)
            softmax = {"TI": scalar, "TO": scalar, "LOG": False, "ONCE": True}
            found[instance_of(kernels.softmax_rows, {**softmax, **how})] = None
            for centred in (False, True):
                flags = {"CENTRED": centred, "WEIGHT": True, "BIAS": centred, "RESIDUAL": False}
                found[instance_of(kernels.norm_rows, {"TI": scalar, "W": scalar, **flags, **how})] = None
    yield from found


__all__ = ["instances"]
