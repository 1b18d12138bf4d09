"""Which kernels of operations on rows ship: softmax and the norms with their weights, of rows of usual lengths.

Of norms whose results are of 8 bits those of bfloat16 to float8_e4m3fn, of 2048 to 16,384 elements: what comes before a product
of 8 bits.
"""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import Machine, instance_of
from prism.kernels import rows as kernels
from prism.lib.algorithms.rows import norms, norms_quantized
from prism.lib.algorithms.rows import plan as plans
from prism.lib.algorithms.rows.softmax import template_of
from prism.runtime.instance import Instance

_TYPES = ("float16", "bfloat16", "float32")
_WIDTHS = (64, 1024, 4096, 65_536)
_QUANTIZED = 4096


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    found: dict[Instance, None] = {}
    for scalar in _TYPES:
        for n in _WIDTHS:
            rows, width = [plans.Rows(1, n, n, scalar, 0)], 16 // plans.size_of(scalar)
            how = plans.template_of(plans.sharing_wide(rows, width, "float32", gpu))
            found[instance_of(kernels.softmax_rows, template_of(scalar, scalar, False) | how)] = None
            for centred in (False, True):
                how = plans.template_of(plans.sharing_wide(rows, width, "float32", gpu, weights=1 + centred))
                flags = {"WEIGHT": True, "BIAS": centred, "RESIDUAL": False}
                types = norms.template_of(scalar, scalar, "float32", centred)
                found[instance_of(kernels.norm_rows, types | flags | how)] = None
    for centred, residual in ((False, False), (False, True), (True, False)):
        rows = [plans.Rows(1, _QUANTIZED, _QUANTIZED, "bfloat16", 0)] * (1 + residual)
        how = plans.template_of(norms_quantized.sharing_of(rows, 8, gpu, centred))
        kernel = kernels.norm_quantize_rows if centred else kernels.rms_quantize_rows
        flags = {"WEIGHT": True, "RESIDUAL": residual} | ({"BIAS": True, "FULL": True} if centred else {})
        types = norms_quantized.template_of("bfloat16", "bfloat16", "float8_e4m3fn", centred)
        found[instance_of(kernel, types | flags | how)] = None
    yield from found


__all__ = ["instances"]
