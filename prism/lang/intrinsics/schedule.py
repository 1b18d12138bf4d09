"""The order in which the GPU is given a thread's instructions: what the assembler may not change."""

from __future__ import annotations

from prism.lang.intrinsics.declaration import Intrinsic

# An exit that no thread takes ends a basic block, and ptxas orders instructions within blocks alone. It doesn't use that a lane's
# own bit is set in %lanemask_eq; of exits with one condition it keeps the first, and drops the others after it has ordered.
_KEEP_ORDER = """\
static __device__ __forceinline__ void px_keep_order() {
    asm volatile("{\\n\\t.reg .pred none;\\n\\t.reg .u32 own;\\n\\t"
                 "mov.u32 own, %lanemask_eq;\\n\\tsetp.eq.u32 none, own, 0;\\n\\t@none exit;\\n\\t}" ::: "memory");
}
"""

keep_order = Intrinsic(
    name="keep_order",
    doc=(
        "keep_order(): the assembler moves no arithmetic, load or store of this thread across it. For long runs of arithmetic "
        "whose order decides how often operands are read again. A hint: it gives no value, and orders no access as other threads "
        "see it."
    ),
    cuda=lambda binding: "px_keep_order()",
    preamble=lambda binding: _KEEP_ORDER,
    meaning=lambda binding: None,
    source="PTX ISA, exit; read in the machine code of sm_90a",
)

SCHEDULE = (keep_order,)
