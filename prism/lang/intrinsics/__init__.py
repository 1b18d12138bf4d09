"""The intrinsics: what kernels call that no language construct or device function can say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from prism.lang.intrinsics.arithmetic import ARITHMETIC, absolute, maximum, minimum
from prism.lang.intrinsics.base import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import (
    MEMORY,
    Memory,
    atomic_add,
    load_relaxed,
    load_vector,
    prefetch,
    publish,
    receive,
    store_relaxed,
    store_vector,
)
from prism.lang.intrinsics.warp import (
    COLLECTIVES,
    ballot,
    broadcast,
    shuffle,
    shuffle_down,
    shuffle_up,
    shuffle_xor,
    warp_all,
    warp_any,
    warp_sum,
)

TABLE: Mapping[str, Intrinsic] = MappingProxyType({i.name: i for i in (*ARITHMETIC, *COLLECTIVES, *MEMORY)})

__all__ = [
    "TABLE", "Binding", "Intrinsic", "Memory", "Parameter", "absolute", "atomic_add", "ballot", "broadcast",
    "load_relaxed", "load_vector", "maximum", "minimum", "prefetch", "publish", "receive", "shuffle", "shuffle_down",
    "shuffle_up", "shuffle_xor", "store_relaxed", "store_vector", "warp_all", "warp_any", "warp_sum",
]  # fmt: skip
