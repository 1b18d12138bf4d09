"""Warp collectives: one instruction that all 32 threads of a warp execute together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism.lang.intrinsics.base import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import scalar_of
from prism.lang.perspective import THREAD, WARP1, Perspective
from prism.lang.types import BOOL, INT32, UINT32, Scalar

Values = np.ndarray[Any, Any]
ALL = "0xffffffffu"
LANES = np.arange(32)


def _shuffle_cuda(instruction: str) -> Callable[[Binding, str, str], str]:
    def cuda(binding: Binding, value: str, by: str) -> str:
        scalar = scalar_of(binding)
        if scalar.bits >= 32:
            return f"{instruction}({ALL}, {value}, {by})"
        return f"({scalar.cuda}){instruction}({ALL}, (int)({value}), {by})"

    return cuda


def _shuffle_meaning(source: Callable[[Values], Values]) -> Callable[[Binding, Values, Values], Values]:
    """Return the meaning of the shuffle that takes the value of lane `source(by)`: its own, where that is no lane."""

    def meaning(binding: Binding, value: Values, by: Values) -> Values:
        value = np.asarray(value)
        lanes = source(np.broadcast_to(by, value.shape).astype(np.int64) & 31)
        lanes = np.where((lanes >= 0) & (lanes < 32), lanes, LANES)
        return np.take_along_axis(value, lanes, axis=-1)

    return meaning


def _shuffle(
    name: str, doc: str, by: str, unit: Perspective, instruction: str, source: Callable[[Values], Values]
) -> Intrinsic:
    return Intrinsic(
        name=name,
        doc=doc,
        parameters=(Parameter("value"), Parameter(by, "value", INT32, unit=unit)),
        result="T",
        cuda=_shuffle_cuda(instruction),
        meaning=_shuffle_meaning(source),
        requires=WARP1,
        result_unit=WARP1 if name == "broadcast" else THREAD,
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
    "lane", THREAD, "__shfl_sync", lambda by: by,
)  # fmt: skip
broadcast = _shuffle(
    "broadcast",
    "broadcast(value, lane): lane `lane`'s value (modulo 32), for the whole warp: it lives at thread[32].",
    "lane", WARP1, "__shfl_sync", lambda by: by,
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


def _warp_sum_meaning(binding: Binding, value: Values) -> Values:
    value = np.asarray(value)
    return np.repeat(value.sum(axis=-1, dtype=value.dtype)[..., None], 32, axis=-1)


warp_sum = Intrinsic(
    name="warp_sum",
    doc="warp_sum(value): the sum over the warp, modulo 2^32, in one instruction (redux.sync); it lives at thread[32].",
    parameters=(Parameter("value"),),
    result="T",
    cuda=lambda binding, value: f"__reduce_add_sync({ALL}, {value})",
    meaning=_warp_sum_meaning,
    requires=WARP1,
    result_unit=WARP1,
    allows=lambda scalar: scalar.integral and scalar.bits == 32,
    allows_text="int32 or uint32",
    source="PTX ISA 9.7.13.13 redux.sync (sm_80)",
)

COLLECTIVES = (shuffle_up, shuffle_down, shuffle_xor, shuffle, broadcast, warp_any, warp_all, ballot, warp_sum)
