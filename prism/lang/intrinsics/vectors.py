"""Vectors made of their components: what `float4(x, y, z, w)` applies. Found by type, not by name: not in the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prism.lang.intrinsics.declaration import Binding, Intrinsic, Parameter
from prism.lang.intrinsics.memory import VECTOR, scalar_of, vector_cuda
from prism.lang.types import INT32


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
    )


MAKE: Mapping[int, Intrinsic] = {length: _make(length) for length in (1, 2, 4, 8, 16)}
