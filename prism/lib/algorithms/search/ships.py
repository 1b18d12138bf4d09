"""Which kernels of searches ship: of tables and values of one usual type."""

from __future__ import annotations

from collections.abc import Iterator

from prism.host.plan import Machine, instance_of
from prism.kernels import lookup as kernels
from prism.kernels.select import is_set
from prism.lib.algorithms.search.plan import Kind, first_of, orders
from prism.runtime.instance import Instance

_TYPES = ("int32", "int64", "float32", "float64")


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    for scalar in _TYPES:
        for right in (False, True):
            kind = Kind(scalar, scalar, scalar, right)
            yield instance_of(kernels.lookup_few, kind.few())
            for c in kernels.DEVICE:
                few, many = (kind.lookup(c, long=long) for long in (False, True))
                yield instance_of(kernels.lookup, few)
                if many != few:
                    yield instance_of(kernels.lookup, many)
        yield instance_of(kernels.sample, kind.sample())
        yield orders(scalar)
    yield instance_of(kernels.find_first, {**first_of("uint8", "uint8", is_set)})
