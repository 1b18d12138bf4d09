"""Memory intrinsics: vector accesses, relaxed and atomic accesses, and mailboxes, the words between blocks.

On the reference machine their meanings speak to `Memory`, below, which `prism.interpret` implements. A preamble is made
of pieces separated by blank lines; the emitter emits each different piece once.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

import numpy as np

from prism.lang.intrinsics.base import Binding, Intrinsic, Parameter
from prism.lang.types import INT32, UINT32, Scalar

Values = np.ndarray[Any, Any]
_ULL = "unsigned long long"


class Memory(Protocol):
    """What the reference machine gives a memory intrinsic's meaning, for the threads that run it now: the active ones.

    A `reference` is an element operand: for each active thread the address that its index expression gives; nothing
    here looks inside. `offset` counts elements from there: one int, or one entry an active thread. Results have shape
    (active,), in thread order. Scalar operands may be NumPy scalars or arrays of shape (active,); vectors have shape
    (active, length); a local array operand has shape (active, length) and is written in place. A word of a mailbox is
    one element.
    """

    def load(self, reference: Any, offset: int | Values = 0, atomic: bool = False) -> Values:
        """Read one element a thread."""
        ...

    def store(self, reference: Any, value: Any, offset: int | Values = 0, atomic: bool = False) -> None:
        """Write one element a thread."""
        ...

    def add(self, reference: Any, value: Any, order: str) -> Values:
        """Add atomically, thread after thread (equal addresses accumulate), and return the values before.

        `order` is `relaxed`, `acquire`, `release` or `acq_rel`, as of `order` in happens-before.
        """
        ...

    def align(self, reference: Any, elements: int) -> None:
        """Report an address that is no multiple of `elements` elements: a vector access there faults on the GPU."""
        ...

    def publish(self, reference: Any, value: Any, epoch: Any) -> None:
        """Write value and tag as one word. It orders nothing else."""
        ...

    def ready(self, reference: Any, offset: int | Values, epoch: Any, mask: Values) -> Values:
        """Return, a thread, whether the word's tag is `epoch`; True, and nothing is read, where `mask` is False."""
        ...

    def take(self, reference: Any, offset: int | Values, mask: Values) -> Values:
        """Return the words' values; anything, and nothing is read, where `mask` is False."""
        ...


# -- pieces of C++ ----------------------------------------------------------------------------------------------------


def scalar_of(binding: Binding) -> Scalar:
    """Return the scalar that T stands for."""
    if binding.scalar is None:
        raise ValueError("the intrinsic needs a type for T")
    return binding.scalar


def to_bits(scalar: Scalar, value: str) -> str:
    """Return `value` as an unsigned 32-bit (64-bit for wide scalars) word in C++."""
    if scalar.kind == "float":
        return f"__float_as_uint({value})" if scalar.bits == 32 else f"({_ULL})__double_as_longlong({value})"
    return f"({word_of(scalar)})({value})"


def from_bits(scalar: Scalar, word: str) -> str:
    """Return the scalar whose `to_bits` is `word` in C++."""
    if scalar.kind == "float":
        return f"__uint_as_float({word})" if scalar.bits == 32 else f"__longlong_as_double((long long)({word}))"
    return f"({scalar.cuda})({word})"


def word_of(scalar: Scalar) -> str:
    """Return the C++ type of `to_bits`."""
    return _ULL if scalar.bits == 64 else "unsigned int"


# -- vectors ----------------------------------------------------------------------------------------------------------

WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "uint2", 16: "uint4"}

VECTOR = """\
template <typename T, int N> struct __align__(sizeof(T) * N) px_vector { T item[N]; };
"""

_LOAD_VECTOR = """\
template <typename W, typename T, int N>
static __device__ __forceinline__ px_vector<T, N> px_load_vector(const T* p) {
    const W word = *reinterpret_cast<const W*>(p);
    px_vector<T, N> v;
    memcpy(&v, &word, sizeof(W));
    return v;
}
"""

_STORE_VECTOR = """\
template <typename W, typename T, int N>
static __device__ __forceinline__ void px_store_vector(T* p, const px_vector<T, N>& v) {
    W word;
    memcpy(&word, &v, sizeof(W));
    *reinterpret_cast<W*>(p) = word;
}
"""


def vector_cuda(scalar: Scalar, length: int) -> str:
    """Return the C++ type of `vector(scalar, length)`; its text is `VECTOR`."""
    return f"px_vector<{scalar.cuda}, {length}>"


def _vector_word(scalar: Scalar, length: int) -> str:
    size = scalar.bytes * length
    if size not in WORDS:
        raise ValueError(f"no vector of {length} {scalar}: {size} bytes is not 1, 2, 4, 8 or 16")
    return WORDS[size]


def _load_vector_cuda(binding: Binding, element: str) -> str:
    scalar, width = scalar_of(binding), int(binding.statics["width"])
    return f"px_load_vector<{_vector_word(scalar, width)}, {scalar.cuda}, {width}>({element})"


def _load_vector_meaning(binding: Binding, memory: Memory, element: Any) -> Values:
    width = int(binding.statics["width"])
    memory.align(element, width)
    return np.stack([memory.load(element, k) for k in range(width)], axis=-1)


def _store_vector_cuda(binding: Binding, element: str, value: str) -> str:
    scalar, width = scalar_of(binding), binding.lengths["value"]
    return f"px_store_vector<{_vector_word(scalar, width)}, {scalar.cuda}, {width}>({element}, {value})"


def _store_vector_meaning(binding: Binding, memory: Memory, element: Any, value: Any) -> None:
    width = binding.lengths["value"]
    memory.align(element, width)
    for k in range(width):
        memory.store(element, value[..., k], k)


load_vector = Intrinsic(
    name="load_vector",
    doc="load_vector(p[i], width): p[i : i + width] as one vector, in one aligned access of at most 16 bytes.",
    parameters=(Parameter("element", "element"), Parameter("width", "static", INT32, choices=(1, 2, 4, 8, 16))),
    result="vector",
    cuda=_load_vector_cuda,
    preamble=lambda binding: f"{VECTOR}\n{_LOAD_VECTOR}",
    meaning=_load_vector_meaning,
    source="PTX ISA 9.7.9.8 ld (.v2, .v4)",
)

store_vector = Intrinsic(
    name="store_vector",
    doc="store_vector(p[i], v): write the vector v to p[i : i + width], in one aligned access of at most 16 bytes.",
    parameters=(Parameter("element", "element", effect="write"), Parameter("value", "vector")),
    result=None,
    cuda=_store_vector_cuda,
    preamble=lambda binding: f"{VECTOR}\n{_STORE_VECTOR}",
    meaning=_store_vector_meaning,
    source="PTX ISA 9.7.9.12 st (.v2, .v4)",
)


_PREFETCH = """\
template <typename T>
static __device__ __forceinline__ void px_prefetch(const T* p, int count) {
#if __CUDA_ARCH__ >= 900
    const unsigned long long first = __cvta_generic_to_global(p) & ~15ull;
    const int bytes = (int)(count * (int)sizeof(T)) & ~15;
    if (bytes > 0 && __isGlobal(p)) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(first), "r"(bytes));
#endif
}
"""

prefetch = Intrinsic(
    name="prefetch",
    doc=(
        "prefetch(p[i], count): ask for p[i : i + count] to be brought into the L2, and go on at once; nothing where count "
        "<= 0. A hint: it gives no value, and orders no other access."
    ),
    parameters=(Parameter("element", "element"), Parameter("count", "value", INT32)),
    result=None,
    cuda=lambda binding, element, count: f"px_prefetch({element}, {count})",
    preamble=lambda binding: _PREFETCH,
    meaning=lambda binding, memory, element, count: None,
    source="PTX ISA 9.7.9.25.5.4 cp.async.bulk.prefetch (sm_90; before, nothing)",
)


# -- relaxed and atomic accesses --------------------------------------------------------------------------------------


def _relaxed_width(scalar: Scalar) -> str:
    return f"u{scalar.bits}"


def _load_relaxed_preamble(binding: Binding) -> str:
    scalar = scalar_of(binding)
    register = "l" if scalar.bits == 64 else "r"
    return f"""\
static __device__ __forceinline__ {scalar.cuda} px_load_relaxed_{scalar.name}(const {scalar.cuda}* p) {{
    {word_of(scalar)} word;
    asm volatile("ld.relaxed.gpu.{_relaxed_width(scalar)} %0, [%1];" : "={register}"(word) : "l"(p) : "memory");
    return {from_bits(scalar, "word")};
}}
"""


def _store_relaxed_preamble(binding: Binding) -> str:
    scalar = scalar_of(binding)
    register = "l" if scalar.bits == 64 else "r"
    return f"""\
static __device__ __forceinline__ void px_store_relaxed_{scalar.name}({scalar.cuda}* p, {scalar.cuda} value) {{
    const {word_of(scalar)} word = {to_bits(scalar, "value")};
    asm volatile("st.relaxed.gpu.{_relaxed_width(scalar)} [%0], %1;" :: "l"(p), "{register}"(word) : "memory");
}}
"""


load_relaxed = Intrinsic(
    name="load_relaxed",
    doc="load_relaxed(p[i]): read p[i] past the L1, whole, while others may write it; it orders no other access.",
    parameters=(Parameter("element", "element", atomic=True),),
    result="T",
    cuda=lambda binding, element: f"px_load_relaxed_{scalar_of(binding).name}({element})",
    preamble=_load_relaxed_preamble,
    meaning=lambda binding, memory, element: memory.load(element, 0, atomic=True),
    source="PTX ISA 9.7.9.8 ld.relaxed.gpu",
)

store_relaxed = Intrinsic(
    name="store_relaxed",
    doc="store_relaxed(p[i], value): write p[i] whole, while others may read it; it orders no other access.",
    parameters=(Parameter("element", "element", effect="write", atomic=True), Parameter("value")),
    result=None,
    cuda=lambda binding, element, value: f"px_store_relaxed_{scalar_of(binding).name}({element}, {value})",
    preamble=_store_relaxed_preamble,
    meaning=lambda binding, memory, element, value: memory.store(element, value, 0, atomic=True),
    source="PTX ISA 9.7.9.12 st.relaxed.gpu",
)

ORDERS = ("relaxed", "acquire", "release", "acq_rel")


def _order(binding: Binding) -> str:
    order = str(binding.statics.get("order", "relaxed"))
    if order not in ORDERS:
        raise ValueError(f"atomic_add's order is one of {', '.join(ORDERS)}, not {order!r}")
    return order


def _atomic_add_preamble(binding: Binding) -> str:
    scalar, order = scalar_of(binding), _order(binding)
    if scalar.kind == "float":
        kind, cuda, register = f"f{scalar.bits}", scalar.cuda, "f" if scalar.bits == 32 else "d"
    else:
        kind, cuda, register = f"u{scalar.bits}", word_of(scalar), "r" if scalar.bits == 32 else "l"
    body = (
        f"    const {cuda} old = atomicAdd(reinterpret_cast<{cuda}*>(p), ({cuda})value);\n"
        if order == "relaxed"
        else f"    {cuda} old;\n"
        f'    asm volatile("atom.{order}.gpu.add.{kind} %0, [%1], %2;"\n'
        f'                 : "={register}"(old) : "l"(p), "{register}"(({cuda})value) : "memory");\n'
    )
    return (
        f"static __device__ __forceinline__ {scalar.cuda} px_atomic_add_{order}_{scalar.name}"
        f"({scalar.cuda}* p, {scalar.cuda} value) {{\n{body}    return ({scalar.cuda})old;\n}}\n"
    )


atomic_add = Intrinsic(
    name="atomic_add",
    doc='atomic_add(p[i], value, order="relaxed"): add to p[i] in one step, device-wide; gives the value before.',
    parameters=(
        Parameter("element", "element", effect="update", atomic=True),
        Parameter("value"),
        Parameter("order", "static", default="relaxed", optional=True, choices=("relaxed", "acquire", "release", "acq_rel")),
    ),
    result="T",
    cuda=lambda binding, element, value: (
        f"px_atomic_add_{_order(binding)}_{scalar_of(binding).name}({element}, {value})"
    ),
    preamble=_atomic_add_preamble,
    meaning=lambda binding, memory, element, value: memory.add(element, value, _order(binding)),
    allows=lambda scalar: scalar.kind != "bool" and scalar.bits >= 32,
    allows_text="a 32- or 64-bit number",
    source="PTX ISA 9.7.13.5 atom.add",
)


# -- mailboxes --------------------------------------------------------------------------------------------------------


def mailbox_cuda(scalar: Scalar) -> str:
    """Return the C++ type of a word of `mailbox(scalar)`."""
    return _ULL if scalar.bytes <= 4 else "ulonglong2"


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


def _word_preamble(scalar: Scalar) -> str:
    return _WORD_8 if scalar.bytes <= 4 else _WORD_16


def _receive_preamble(binding: Binding) -> str:
    scalar = scalar_of(binding)
    word = mailbox_cuda(scalar)
    return f"""\
template <int N>
static __device__ __forceinline__ void px_receive_{scalar.name}(
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
        for (int k = 0; k < N; ++k) waiting |= px_word_tag(words[k]) != epoch;
    }} while (waiting);
    #pragma unroll
    for (int k = 0; k < N; ++k) values[k] = {from_bits(scalar, "px_word_value(words[k])")};
}}
"""


def _publish_cuda(binding: Binding, box: str, value: str, epoch: str) -> str:
    return f"px_word_store({box}, {to_bits(scalar_of(binding), value)}, {epoch})"


def _receive_cuda(binding: Binding, boxes: str, values: str, *operands: str) -> str:
    return f"px_receive_{scalar_of(binding).name}({boxes}, {values}, {', '.join(operands)})"


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
    result=None,
    cuda=_publish_cuda,
    preamble=lambda binding: _word_preamble(scalar_of(binding)),
    meaning=lambda binding, memory, box, value, epoch: memory.publish(box, value, epoch),
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
    result=None,
    cuda=_receive_cuda,
    preamble=lambda binding: f"{_word_preamble(scalar_of(binding))}\n{_receive_preamble(binding)}",
    meaning=_receive_meaning,
    blocking=True,
    source="PTX ISA 9.7.9.8 ld.relaxed.gpu (.b64, .b128)",
)

MEMORY = (load_vector, store_vector, prefetch, load_relaxed, store_relaxed, atomic_add, publish, receive)
