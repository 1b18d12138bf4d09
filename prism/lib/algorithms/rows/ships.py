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
            rows, width = plans.Rows(2, n, n, scalar, 0), 16 // plans.size_of(scalar)
            shared = plans.sharing(n, width, "float32", gpu, part=plans.part_of([rows], width))
            if shared.long:
                continue
            how = plans.template_of(shared) | plans.cut_of(shared)
            softmax = {"TI": scalar, "TO": scalar, "LOG": False}
            found[instance_of(kernels.softmax_rows, {**softmax, **kinds, **how})] = None
            for centred in (False, True):
                flags = {"CENTRED": centred, "WEIGHT": True, "BIAS": centred, "RESIDUAL": False}
                norm = {"TI": scalar, "W": scalar, "S": "float32", **kinds, **flags}
                if shared.parts:
                    norm |= {"S": kinds["P"], "P": plans.moments_of("float32")}
                found[instance_of(kernels.norm_rows, {**norm, **how})] = None
    yield from found


__all__ = ["instances"]
