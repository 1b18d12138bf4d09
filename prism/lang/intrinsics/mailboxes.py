"""Mailboxes: words between blocks, each a value with the epoch that it is for, written and read as one."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import STRUCT_BITS, Memory, Values, from_bits, scalar_of, to_bits
from prism.lang.types import INT32, UINT32, Scalar

_ULL = "unsigned long long"


def mailbox_cuda(scalar: Scalar) -> str:
    """Return the C++ type of a word of `mailbox(scalar)`."""
    return _ULL if scalar.bytes <= 4 else "ulonglong2" if scalar.bytes <= 8 else "px_word_pair"


_WORD_8 = """\
static __device__ __forceinline__ void px_word_store(unsigned long long* p, unsigned int value, unsigned int epoch) {
    const unsigned long long word = (unsigned long long)epoch << 32 | value;
    asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" :: "l"(__cvta_generic_to_global(p)), "l"(word));
}
static __device__ __forceinline__ unsigned long long px_word_make(unsigned int value, unsigned int epoch) {
    return (unsigned long long)epoch << 32 | value;
}
static __device__ __forceinline__ void px_word_load(
    const unsigned long long* p, bool wanted, unsigned long long& word) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.relaxed.gpu.global.b64 %0, [%1]; }"
                 : "+l"(word) : "l"(__cvta_generic_to_global(p)), "r"((int)wanted));
}
static __device__ __forceinline__ unsigned int px_word_tag(unsigned long long word) {
    return (unsigned int)(word >> 32);
}
static __device__ __forceinline__ unsigned int px_word_value(unsigned long long word) {
    return (unsigned int)word;
}
"""

_WORD_16 = """\
static __device__ __forceinline__ void px_word_store(ulonglong2* p, unsigned long long value, unsigned int epoch) {
    asm volatile("{ .reg .b128 w; mov.b128 w, {%1, %2}; st.relaxed.gpu.global.b128 [%0], w; }"
                 :: "l"(__cvta_generic_to_global(p)), "l"(value), "l"((unsigned long long)epoch));
}
static __device__ __forceinline__ ulonglong2 px_word_make(unsigned long long value, unsigned int epoch) {
    return make_ulonglong2(value, (unsigned long long)epoch);
}
static __device__ __forceinline__ void px_word_load(
    const ulonglong2* p, bool wanted, ulonglong2& word) {
    asm volatile("{ .reg .b128 w; .reg .pred p; setp.ne.s32 p, %3, 0; mov.b128 w, {%0, %1};"
                 " @p ld.relaxed.gpu.global.b128 w, [%2]; mov.b128 {%0, %1}, w; }"
                 : "+l"(word.x), "+l"(word.y) : "l"(__cvta_generic_to_global(p)), "r"((int)wanted));
}
static __device__ __forceinline__ unsigned int px_word_tag(const ulonglong2& word) {
    return (unsigned int)word.y;
}
static __device__ __forceinline__ unsigned long long px_word_value(const ulonglong2& word) {
    return word.x;
}
"""


# Each half is a word of its own, with the epoch in it: both have come when both carry it.
_WORD_32 = """\
struct px_word_pair { ulonglong2 low, high; };
static __device__ __forceinline__ void px_word_store(px_word_pair* p, ulonglong2 value, unsigned int epoch) {
    px_word_store(&p->low, value.x, epoch);
    px_word_store(&p->high, value.y, epoch);
}
static __device__ __forceinline__ px_word_pair px_word_make(ulonglong2 value, unsigned int epoch) {
    return px_word_pair{px_word_make(value.x, epoch), px_word_make(value.y, epoch)};
}
static __device__ __forceinline__ void px_word_load(const px_word_pair* p, bool wanted, px_word_pair& word) {
    px_word_load(&p->low, wanted, word.low);
    px_word_load(&p->high, wanted, word.high);
}
static __device__ __forceinline__ bool px_word_missing(const px_word_pair& word, unsigned int epoch) {
    return px_word_tag(word.low) != epoch || px_word_tag(word.high) != epoch;
}
static __device__ __forceinline__ ulonglong2 px_word_value(const px_word_pair& word) {
    return make_ulonglong2(px_word_value(word.low), px_word_value(word.high));
}
"""


def word_preamble(scalar: Scalar) -> str:
    """Return what is to be said of words of `mailbox(scalar)` before them."""
    words = _WORD_8 if scalar.bytes <= 4 else _WORD_16 if scalar.bytes <= 8 else f"{_WORD_16}\n{_WORD_32}"
    return f"{STRUCT_BITS}\n{words}" if scalar.kind == "struct" else words


def _called(scalar: Scalar) -> str:
    return scalar.cuda if scalar.kind == "struct" else scalar.name


def _receive_preamble(binding: Binding) -> str:
    scalar = scalar_of(binding)
    word = mailbox_cuda(scalar)
    missing = "px_word_tag(words[k]) != epoch" if scalar.bytes <= 8 else "px_word_missing(words[k], epoch)"
    return f"""\
template <int N>
static __device__ __forceinline__ void px_receive_{_called(scalar)}(
    const {word}* p, {scalar.cuda} (&values)[N], int stride, int valid, {scalar.cuda} otherwise, unsigned int epoch) {{
    {word} words[N];
    #pragma unroll
    for (int k = 0; k < N; ++k) words[k] = px_word_make({to_bits(scalar, "otherwise")}, epoch);
    bool waiting;
    do {{
        #pragma unroll
        for (int k = 0; k < N; ++k) px_word_load(p + (long long)k * stride, k < valid, words[k]);
        waiting = false;
        #pragma unroll
        for (int k = 0; k < N; ++k) waiting |= {missing};
    }} while (waiting);
    #pragma unroll
    for (int k = 0; k < N; ++k) values[k] = {from_bits(scalar, "px_word_value(words[k])")};
}}
"""


def _publish_cuda(binding: Binding, box: str, value: str, epoch: str) -> str:
    return f"px_word_store({box}, {to_bits(scalar_of(binding), value)}, {epoch})"


def _receive_cuda(binding: Binding, boxes: str, values: str, *operands: str) -> str:
    return f"px_receive_{_called(scalar_of(binding))}({boxes}, {values}, {', '.join(operands)})"


def _receive_meaning(
    binding: Binding, memory: Memory, boxes: Any, values: Values, stride: Any, valid: Any, default: Any, epoch: Any
) -> Generator[None, None, None]:
    active, length = values.shape
    valid = np.broadcast_to(valid, (active,))
    stride = np.broadcast_to(stride, (active,)).astype(np.int64)
    while True:
        arrived = [memory.ready(boxes, k * stride, epoch, k < valid) for k in range(length)]
        if np.all(arrived):
            break
        yield
    for k in range(length):
        values[:, k] = np.where(k < valid, memory.take(boxes, k * stride, k < valid), default)


publish = Intrinsic(
    name="publish",
    doc=(
        "publish(box[i], value, epoch): write value and epoch as one word, that receive takes for this epoch. The word "
        "is the whole message: it orders no other access."
    ),
    parameters=(
        Parameter("box", "element", effect="write", atomic=True, mailbox=True),
        Parameter("value"),
        Parameter("epoch", "value", UINT32),
    ),
    cuda=_publish_cuda,
    preamble=lambda binding: word_preamble(scalar_of(binding)),
    meaning=lambda binding, memory, box, value, epoch: memory.publish(box, value, epoch),
    structs=True,
    allows_text="any scalar, or a struct",
    source="PTX ISA 9.7.9.12 st.relaxed.gpu (.b64, .b128); 8.2.2 for 128-bit scalars",
)

receive = Intrinsic(
    name="receive",
    doc=(
        "receive(boxes[i], values, stride, valid, default, epoch): wait for boxes[i + k * stride], k < valid, and put "
        "them in values[k], default in the rest. All are asked for at once, then asked again until every one has come. "
        "It orders no other access."
    ),
    parameters=(
        Parameter("boxes", "element", atomic=True, mailbox=True),
        Parameter("values", "array", effect="write"),
        Parameter("stride", "value", INT32),
        Parameter("valid", "value", INT32),
        Parameter("default"),
        Parameter("epoch", "value", UINT32),
    ),
    cuda=_receive_cuda,
    preamble=lambda binding: f"{word_preamble(scalar_of(binding))}\n{_receive_preamble(binding)}",
    meaning=_receive_meaning,
    blocking=True,
    structs=True,
    allows_text="any scalar, or a struct",
    source="PTX ISA 9.7.9.8 ld.relaxed.gpu (.b64, .b128)",
)

MAILBOXES = (publish, receive)
