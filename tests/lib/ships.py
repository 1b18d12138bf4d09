"""What ships for an architecture, found once a process: there are thousands of kernels, and many tests that ask for them."""

from __future__ import annotations

import functools

from prism.lib import shipped_kernels
from prism.runtime.instance import Instance


@functools.cache
def kernels(arch: str) -> tuple[Instance, ...]:
    """Return the kernels that ship for an architecture."""
    return shipped_kernels.instances(arch)


@functools.cache
def requests(arch: str) -> frozenset[str | None]:
    """Return what they are asked for by."""
    return frozenset(one.request for one in kernels(arch))
