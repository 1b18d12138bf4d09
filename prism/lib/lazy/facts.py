"""What the host is told of a lazy array, as of any other."""

from __future__ import annotations

from prism.host.axes import c_strides
from prism.host.lazies import LazyInfo
from prism.lang.surface.views import View
from prism.lib.lazy.array import Lazy, scalar_of
from prism.runtime import arrays


def describe_lazy(lazy: Lazy, name: str) -> LazyInfo:
    """Return the facts of a lazy array; one that reads no memory lies on the host until `settle` says otherwise."""
    scalars = tuple(scalar_of(leaf) for leaf in lazy.leaves)
    view = View(lazy.value, lazy.scalar, scalars, len(lazy.numbers))
    strides = tuple(step * lazy.dtype.itemsize for step in c_strides(lazy.shape))
    where = lazy.leaves[0] if lazy.leaves else None
    library, kind, device, owner = ("numpy", "numpy", None, lazy) if where is None else (
        where.library, where.kind, where.device, where.owner
    )  # fmt: skip
    return LazyInfo(
        library, kind, lazy.dtype, lazy.shape, strides, 0, True, device, None, owner, view=view, leaves=lazy.leaves,
        numbers=lazy.numbers,
    )  # fmt: skip


arrays.register(Lazy, describe_lazy)
