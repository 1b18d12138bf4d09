"""Vectors made of their components, structs of their fields: what `float4(x, y, z, w)` and `Affine(a, b)` apply.

Found by type, not by name: not in the table.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import VECTOR, scalar_of, vector_cuda
from prism.lang.types import INT32
from prism.lang.types.shorts import bits_of
from prism.lang.types.structs import Struct


def _make(length: int) -> Intrinsic:
    def cuda(binding: Binding, *components: str) -> str:
        return f"{vector_cuda(scalar_of(binding), length)}{{{{{', '.join(components)}}}}}"

    def meaning(binding: Binding, *components: Any) -> Any:
        return np.stack(np.broadcast_arrays(*components), axis=-1)

    return Intrinsic(
        name="vector",
        doc=f"A vector of {length} components.",
        parameters=(
            *(Parameter(f"item{k}") for k in range(length)),
            Parameter("width", "static", INT32, default=length),
        ),
        result="vector",
        cuda=cuda,
        preamble=lambda binding: VECTOR,
        meaning=meaning,
        result_unit=None,
        structs=True,
    )


def _same(length: int) -> Intrinsic:
    return Intrinsic(
        name="vector",
        doc=f"A vector of {length} components, all the same.",
        parameters=(Parameter("item"), Parameter("width", "static", INT32, default=length)),
        result="vector",
        cuda=lambda binding, item: f"px_same<{scalar_of(binding).cuda}, {length}>({item})",
        preamble=lambda binding: f"{VECTOR}\n{_SAME}",
        meaning=lambda binding, item: np.repeat(np.asarray(item)[..., None], length, axis=-1),
        result_unit=None,
        structs=True,
    )


_SAME = """\
template <typename T, int N> static __device__ __forceinline__ px_vector<T, N> px_same(const T item) {
    px_vector<T, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) v.item[i] = item;
    return v;
}
"""
MAKE: Mapping[int, Intrinsic] = {length: _make(length) for length in (1, 2, 4, 8, 16)}
SAME: Mapping[int, Intrinsic] = {length: _same(length) for length in (2, 4, 8, 16)}
"""A vector of one value, which is computed once."""


@functools.lru_cache(maxsize=8)
def other_precision(source: Struct, to: Struct) -> Intrinsic:
    """Return what makes a complex number of one of another precision: each part converted."""
    part = to.fields[0][1].cuda
    name = f"px_{to.name}_of_{source.name}"

    def meaning(binding: Binding, value: Any) -> Any:
        found = np.empty(np.shape(value), to.numpy)
        for field in to.names:
            found[field] = value[field]
        return found

    return Intrinsic(
        name=to.name,
        doc=f"The nearest {to.name} of a {source.name}.",
        parameters=(Parameter("value", "value", source),),
        result=to,
        cuda=lambda binding, value: f"{name}({value})",
        preamble=lambda binding: (
            f"static __device__ __forceinline__ {to.cuda} {name}({source.cuda} z) {{ "
            f"return {to.cuda}{{({part})z.real_, ({part})z.imag_}}; }}\n"
        ),
        meaning=meaning,
        result_unit=None,
    )


@functools.lru_cache(maxsize=1024)
def constructor(struct: Struct, name: str) -> Intrinsic:
    """Return what makes a struct of its fields' values; `name` is what messages call it."""

    def meaning(binding: Binding, *values: Any) -> Any:
        found = np.empty(np.broadcast_shapes(*(np.shape(value) for value in values)), struct.numpy)
        for (field, scalar), value in zip(struct.fields, values, strict=True):
            found[field] = bits_of(value, scalar) if scalar.coded else value
        return found

    return Intrinsic(
        name=name,
        doc=f"A value of the struct {name}.",
        parameters=tuple(Parameter(field, "value", scalar) for field, scalar in struct.fields),
        result=struct,
        cuda=lambda binding, *values: f"{struct.cuda}{{{', '.join(values)}}}",
        meaning=meaning,
        result_unit=None,
    )
