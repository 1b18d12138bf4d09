"""Which kernels of selections ship: those of arrays by masks of bools, positions and runs of usual types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prism.host.plan import Machine, instance_of
from prism.kernels import select as kernels
from prism.lib.algorithms.select.plan import (
    Kind,
    apart_configurations,
    apart_for,
    encode_configurations,
    encode_for,
    instance_for,
    paired_configurations,
    paired_of,
    split_of,
)
from prism.runtime.instance import Instance

_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_FLOATS = ("float32", "float64")


def instances(gpu: Machine) -> Iterator[Instance]:
    """Yield the kernels that ship for a GPU."""
    kinds = [Kind(moved, moved) for moved in (*_UNSIGNED, "complex128")]
    kinds += [Kind(mask=scalar, compared=scalar, places=True) for scalar in (*_UNSIGNED, *_FLOATS)]
    kinds += [Kind(scalar, scalar, compared=scalar, own=True, edges=True) for scalar in (*_UNSIGNED, *_FLOATS)]
    for kind in kinds:
        for c in dict.fromkeys((*kind.configurations(), *kind.configurations(aligned=False))):
            yield instance_for(kind, c)
    yield from _runs(kind for kind in kinds if kind.edges)
    for moved in (*_UNSIGNED, "complex128"):
        kind = Kind(moved, moved)
        yield instance_of(kernels.split, split_of(kind, kernels.SPLIT[min(kind.size, 16)]))
        for both in ([kind], [kind, kind]):
            for c in dict.fromkeys((*apart_configurations(both), *apart_configurations(both, aligned=False))):
                yield apart_for(both, c)
    yield from _pairs()
    for scalar in ("uint8", "int32", "int64", "float32", "float64"):
        yield instance_of(kernels.fill_rest, {"T": scalar, "THREADS": kernels.BEHIND})
    for index in ("uint32", "int64"):
        for counted in (False, True):
            yield instance_of(kernels.take_axis, {"I": index, "COUNTED": counted, "THREADS": kernels.BEHIND})


def _runs(kinds: Iterable[Kind]) -> Iterator[Instance]:
    """Yield the kernels of run lengths."""
    for kind in kinds:
        for c in encode_configurations(kind):
            yield encode_for(kind, c)


def _pairs() -> Iterator[Instance]:
    """Yield the kernels of the first of runs of keys, with values."""
    for scalar, moved in (("uint32", "uint32"), ("uint64", "uint64"), ("float32", "uint32")):
        keys, values = Kind(scalar, scalar, compared=scalar, own=True, edges=True), Kind(moved, moved)
        for c in paired_configurations(keys, values):
            yield instance_of(kernels.unique_pairs, paired_of(keys, values, c))
