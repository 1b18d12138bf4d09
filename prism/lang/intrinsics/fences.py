"""Fences, and the order between one kernel and the next."""

from __future__ import annotations

from prism.lang.intrinsics.atomics import SCOPE, scope_of
from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter


def _fence_cuda(binding: Binding) -> str:
    order = str(binding.statics.get("order") or "acq_rel")
    kind = "sc" if order == "sc" else "acq_rel"  # acquire and release alone are sm_90's; this one is both
    return f'asm volatile("fence.{kind}.{scope_of(binding)};" ::: "memory")'


fence = Intrinsic(
    name="fence",
    doc=(
        'fence(order="acq_rel", scope="gpu"): what this thread did before it is seen by who reads what it then writes with a '
        'relaxed atomic (release); after it, this thread sees what such a write was ordered after (acquire). "sc": fences so '
        "marked have one order."
    ),
    parameters=(
        Parameter("order", "static", default="acq_rel", optional=True, choices=("acquire", "release", "acq_rel", "sc")),
        SCOPE,
    ),
    cuda=_fence_cuda,
    meaning=lambda binding, memory: memory.fence(str(binding.statics.get("order") or "acq_rel")),
    orders=True,
    source="PTX ISA, fence",
)


def _dependency(name: str, doc: str, instruction: str) -> Intrinsic:
    return Intrinsic(
        name=name, doc=doc,
        cuda=lambda binding: f'asm volatile("griddepcontrol.{instruction};" ::: "memory")',
        meaning=lambda binding, memory: None, orders=True, min_arch="sm_90", source="PTX ISA, griddepcontrol",
    )  # fmt: skip


grid_dependency_wait = _dependency(
    "grid_dependency_wait",
    "grid_dependency_wait(): wait until the kernels that this one was launched to follow are complete and their writes seen; "
    "at once where there are none (so on the reference machine).",
    "wait",
)
grid_dependency_launch = _dependency(
    "grid_dependency_launch",
    "grid_dependency_launch(): this block allows the kernel that follows to start; a hint (nothing on the reference machine).",
    "launch_dependents",
)

FENCES = (fence, grid_dependency_wait, grid_dependency_launch)
