"""The intrinsics: what kernels call that no language construct or device function can say. docs/intrinsics.md lists them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from prism.lang.intrinsics.arithmetic import ARITHMETIC
from prism.lang.intrinsics.asynchronous import Transfer
from prism.lang.intrinsics.atomics import ATOMICS
from prism.lang.intrinsics.bits import BITS, float_as_int, float_as_uint, int_as_float, uint_as_float
from prism.lang.intrinsics.copies import COPIES
from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.fences import FENCES
from prism.lang.intrinsics.gathers import GATHERS
from prism.lang.intrinsics.layouts import LAYOUTS
from prism.lang.intrinsics.mailboxes import MAILBOXES
from prism.lang.intrinsics.matrix import MATRIX
from prism.lang.intrinsics.memory import MEMORY, Memory
from prism.lang.intrinsics.packed import PACKED
from prism.lang.intrinsics.prefetches import PREFETCHES
from prism.lang.intrinsics.reductions import REDUCTIONS
from prism.lang.intrinsics.remote import REMOTE
from prism.lang.intrinsics.schedule import SCHEDULE
from prism.lang.intrinsics.special import SPECIAL, fma
from prism.lang.intrinsics.warp import COLLECTIVES
from prism.lang.intrinsics.wgmma import WARPGROUPS

FAMILIES: Mapping[str, tuple[Intrinsic, ...]] = MappingProxyType(
    {
        "Arithmetic": ARITHMETIC,
        "Special functions": SPECIAL,
        "Bits and bytes": BITS,
        "Packed 16-bit numbers": PACKED,
        "Warps": COLLECTIVES,
        "Vectors and prefetching": MEMORY,
        "Atomic accesses and fences": (*ATOMICS, *FENCES),
        "Mailboxes": MAILBOXES,
        "Clusters": GATHERS,
        "Matrix fragments": MATRIX,
        "Asynchronous copies": (*COPIES, *PREFETCHES, *REDUCTIONS, *REMOTE),
        "Warpgroups": WARPGROUPS,
        "Order of instructions": SCHEDULE,
        "Strides": LAYOUTS,
    }
)
TABLE: Mapping[str, Intrinsic] = MappingProxyType({i.name: i for family in FAMILIES.values() for i in family})
ALIASES: Mapping[str, Intrinsic] = MappingProxyType(
    {
        "multiply_add": fma,
        "__float_as_uint": float_as_uint,
        "__uint_as_float": uint_as_float,
        "__float_as_int": float_as_int,
        "__int_as_float": int_as_float,
    }
)
NAMES: Mapping[str, Intrinsic] = MappingProxyType({**TABLE, **ALIASES})

globals().update(NAMES)


def __getattr__(name: str) -> Intrinsic:
    """Tell type checkers that the table's names are this module's."""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ALIASES", "FAMILIES", "NAMES", "TABLE", "Binding", "Intrinsic", "Memory", "Parameter", "Transfer",
    *NAMES,
]  # fmt: skip
