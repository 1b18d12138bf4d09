"""Warp collectives: one instruction that all 32 threads of a warp execute together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import VECTOR, from_bits, scalar_of, to_bits
from prism.lang.types import BOOL, INT32, UINT32, Scalar
from prism.lang.types.perspective import THREAD, WARP1, Perspective

Values = np.ndarray[Any, Any]
ALL = "0xffffffffu"
LANES = np.arange(32)


def _shuffle_cuda(instruction: str) -> Callable[[Binding, str, str], str]:
    def cuda(binding: Binding, value: str, by: str) -> str:
        scalar = scalar_of(binding)
        if "value" in binding.lengths or scalar.kind == "struct":
            return f"px{instruction.removesuffix('_sync')[1:]}_words({value}, {by})"
        if scalar.bits >= 32:
            return f"{instruction}({ALL}, {value}, {by})"
        if scalar.short:
            return from_bits(scalar, f"{instruction}({ALL}, {to_bits(scalar, value)}, {by})")
        return f"({scalar.cuda}){instruction}({ALL}, (int)({value}), {by})"

    return cuda


def _shuffle_preamble(instruction: str) -> Callable[[Binding], str]:
    """Return the helper that shuffles a vector, word by word."""
    text = f"""\
template <typename V> static __device__ __forceinline__ V px{instruction.removesuffix("_sync")[1:]}_words(V v, int by) {{
    unsigned int word[(sizeof(V) + 3) / 4] = {{}};
    memcpy(word, &v, sizeof(V));
#pragma unroll
    for (int i = 0; i < (int)(sizeof(V) + 3) / 4; ++i) word[i] = {instruction}({ALL}, word[i], by);
    memcpy(&v, word, sizeof(V));
    return v;
}}
"""

    def preamble(binding: Binding) -> str:
        if "value" in binding.lengths:
            return f"{VECTOR}\n{text}"
        return text if scalar_of(binding).kind == "struct" else ""

    return preamble


def _shuffle_meaning(source: Callable[[Values], Values]) -> Callable[[Binding, Values, Values], Values]:
    """Return the meaning of the shuffle that takes the value of lane `source(by)`: its own, where that is no lane."""

    def meaning(binding: Binding, value: Values, by: Values) -> Values:
        value = np.asarray(value)
        if by.size and (by == by.flat[0]).all():  # as of most shuffles: the same lane's for all warps
            lanes = source(by.flat[0].astype(np.int64) & 31)
            return value.take(np.where((lanes >= 0) & (lanes < 32), lanes, LANES), axis=1)
        by = by if by.shape == value.shape[:2] else np.broadcast_to(by, value.shape[:2])
        lanes = source(by.astype(np.int64) & 31)
        lanes = np.where((lanes >= 0) & (lanes < 32), lanes, LANES)
        return value[np.arange(len(value))[:, None], lanes]

    return meaning


def _shuffle(
    name: str,
    doc: str,
    by: str,
    unit: Perspective,
    instruction: str,
    source: Callable[[Values], Values],
    below: int = 32,
) -> Intrinsic:
    return Intrinsic(
        name=name,
        doc=doc,
        parameters=(Parameter("value", vectors=True), Parameter(by, "value", INT32, unit=unit, below=below)),
        result="T",
        cuda=_shuffle_cuda(instruction),
        preamble=_shuffle_preamble(instruction),
        meaning=_shuffle_meaning(source),
        requires=WARP1,
        result_unit=WARP1 if name == "broadcast" else THREAD,
        structs=True,
        allows_text="any scalar, or a struct",
        source="PTX ISA 9.7.9.6 shfl.sync",
    )


shuffle_up = _shuffle(
    "shuffle_up",
    "shuffle_up(value, delta): the value of the lane `delta` below; the first lanes keep their own. delta < 32.",
    "delta", WARP1, "__shfl_up_sync", lambda by: LANES - by,
)  # fmt: skip
shuffle_down = _shuffle(
    "shuffle_down",
    "shuffle_down(value, delta): the value of the lane `delta` above; the last lanes keep their own. delta < 32.",
    "delta", WARP1, "__shfl_down_sync", lambda by: LANES + by,
)  # fmt: skip
shuffle_xor = _shuffle(
    "shuffle_xor",
    "shuffle_xor(value, mask): the value of the lane whose index is this one's xor `mask`. mask < 32.",
    "mask", WARP1, "__shfl_xor_sync", lambda by: LANES ^ by,
)  # fmt: skip
shuffle = _shuffle(
    "shuffle",
    "shuffle(value, lane): the value of lane `lane` (modulo 32), which each thread chooses.",
    "lane", THREAD, "__shfl_sync", lambda by: by, below=0,
)  # fmt: skip
broadcast = _shuffle(
    "broadcast",
    "broadcast(value, lane): lane `lane`'s value (modulo 32), for the whole warp: it lives at thread[32].",
    "lane", WARP1, "__shfl_sync", lambda by: by, below=0,
)  # fmt: skip


def _vote(name: str, doc: str, result: Scalar, cuda: str, meaning: Callable[[Values], Values]) -> Intrinsic:
    def over_warps(binding: Binding, predicate: Values) -> Values:
        predicate = np.asarray(predicate, bool)
        return np.repeat(meaning(predicate)[..., None], 32, axis=-1)

    return Intrinsic(
        name=name,
        doc=doc,
        parameters=(Parameter("predicate", "value", BOOL),),
        result=result,
        cuda=lambda binding, predicate: cuda.format(predicate),
        meaning=over_warps,
        requires=WARP1,
        result_unit=WARP1,
        source="PTX ISA 9.7.13.10 vote.sync",
    )


def _mask(predicate: Values) -> Values:
    return np.asarray((predicate.astype(np.uint64) << LANES.astype(np.uint64)).sum(axis=-1)).astype(np.uint32)


warp_any = _vote(
    "warp_any", "warp_any(predicate): whether it holds in any lane.", BOOL,
    f"(__any_sync({ALL}, {{}}) != 0)", lambda predicate: np.asarray(predicate.any(axis=-1)),
)  # fmt: skip
warp_all = _vote(
    "warp_all", "warp_all(predicate): whether it holds in all lanes.", BOOL,
    f"(__all_sync({ALL}, {{}}) != 0)", lambda predicate: np.asarray(predicate.all(axis=-1)),
)  # fmt: skip
ballot = _vote(
    "ballot", "ballot(predicate): bit k tells whether it holds in lane k.", UINT32,
    f"__ballot_sync({ALL}, {{}})", _mask,
)  # fmt: skip


# -- reductions in one instruction --------------------------------------------------------------------------------------


def _reduction(name: str, doc: str, instruction: str, numpy: Callable[..., Values], *, bits: bool = False) -> Intrinsic:
    """Return the intrinsic of one redux.sync: sums and bitwise ones are the same for both signs, min and max are not."""

    def cuda(binding: Binding, value: str) -> str:
        scalar = scalar_of(binding)
        if bits:
            return f"({scalar.cuda}){instruction}({ALL}, (unsigned int)({value}))"
        return f"{instruction}({ALL}, ({scalar.cuda})({value}))"

    def meaning(binding: Binding, value: Values) -> Values:
        value = np.asarray(value)
        return np.repeat(np.asarray(numpy(value)).astype(value.dtype)[..., None], 32, axis=-1)

    return Intrinsic(
        name=name,
        doc=doc,
        parameters=(Parameter("value"),),
        result="T",
        cuda=cuda,
        meaning=meaning,
        requires=WARP1,
        result_unit=WARP1,
        allows=lambda scalar: scalar.integral and scalar.bits == 32,
        allows_text="int32 or uint32",
        min_arch="sm_80",
        source="PTX ISA 9.7.13.13 redux.sync",
    )


warp_sum = _reduction(
    "warp_sum",
    "warp_sum(value): the sum over the warp, modulo 2^32, in one instruction (redux.sync); it lives at thread[32].",
    "__reduce_add_sync", lambda value: value.sum(axis=-1, dtype=value.dtype),
)  # fmt: skip
warp_min = _reduction(
    "warp_min", "warp_min(value): the least over the warp, in one instruction; it lives at thread[32].",
    "__reduce_min_sync", lambda value: value.min(axis=-1),
)  # fmt: skip
warp_max = _reduction(
    "warp_max", "warp_max(value): the greatest over the warp, in one instruction; it lives at thread[32].",
    "__reduce_max_sync", lambda value: value.max(axis=-1),
)  # fmt: skip
warp_and = _reduction(
    "warp_and", "warp_and(value): the bits set in every lane, in one instruction; it lives at thread[32].",
    "__reduce_and_sync", lambda value: np.bitwise_and.reduce(value, axis=-1), bits=True,
)  # fmt: skip
warp_or = _reduction(
    "warp_or", "warp_or(value): the bits set in any lane, in one instruction; it lives at thread[32].",
    "__reduce_or_sync", lambda value: np.bitwise_or.reduce(value, axis=-1), bits=True,
)  # fmt: skip
warp_xor = _reduction(
    "warp_xor", "warp_xor(value): the bits set in an odd number of lanes, in one instruction; it lives at thread[32].",
    "__reduce_xor_sync", lambda value: np.bitwise_xor.reduce(value, axis=-1), bits=True,
)  # fmt: skip


# -- equal lanes, one lane ----------------------------------------------------------------------------------------------


def _patterns(value: Values) -> Values:
    """Return values as bit patterns: lanes match where these are equal, so NaN matches itself, and -0 not 0."""
    value = np.ascontiguousarray(value)
    return value.view(f"u{value.dtype.itemsize}")


def _match_any(binding: Binding, value: Values) -> Values:
    bits = _patterns(value)
    equal = bits[..., :, None] == bits[..., None, :]
    return _mask(equal)


def _match_all(binding: Binding, value: Values) -> Values:
    bits = _patterns(value)
    return np.repeat((bits == bits[..., :1]).all(axis=-1)[..., None], 32, axis=-1)


match_any = Intrinsic(
    name="match_any",
    doc="match_any(value): bit k tells whether lane k has the same bits as this one.",
    parameters=(Parameter("value"),),
    result=UINT32,
    cuda=lambda binding, value: f"__match_any_sync({ALL}, {to_bits(scalar_of(binding), value)})",
    meaning=_match_any,
    requires=WARP1,
    source="PTX ISA, match.any.sync",
)
_MATCH_ALL = f"""\
template <typename T> static __device__ __forceinline__ bool px_match_all(T value) {{
    int same;
    __match_all_sync({ALL}, value, &same);
    return same != 0;
}}
"""
match_all = Intrinsic(
    name="match_all",
    doc="match_all(value): whether all lanes have the same bits; it lives at thread[32].",
    parameters=(Parameter("value"),),
    result=BOOL,
    cuda=lambda binding, value: f"px_match_all({to_bits(scalar_of(binding), value)})",
    preamble=lambda binding: _MATCH_ALL,
    meaning=_match_all,
    requires=WARP1,
    result_unit=WARP1,
    source="PTX ISA, match.all.sync",
)
_ELECT = """\
static __device__ __forceinline__ bool px_elect() {
    int chosen;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.s32 %0, 1, 0, p; }" : "=r"(chosen));
    return chosen != 0;
}
"""
elect = Intrinsic(
    name="elect",
    doc="elect(): True in one lane of the warp, which the hardware chooses, False in the others.",
    result=BOOL,
    cuda=lambda binding: "px_elect()",
    preamble=lambda binding: _ELECT,
    meaning=lambda binding: (LANES == 0)[None, :],
    requires=WARP1,
    min_arch="sm_90",
    source="PTX ISA, elect.sync",
)

COLLECTIVES = (
    shuffle_up, shuffle_down, shuffle_xor, shuffle, broadcast, warp_any, warp_all, ballot, warp_sum, warp_min, warp_max,
    warp_and, warp_or, warp_xor, match_any, match_all, elect,
)  # fmt: skip
