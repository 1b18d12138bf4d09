"""Calls of `negate`."""

from __future__ import annotations

import numpy as np

from prism.lib.cases import NUMBERS, Case, numbers

CASES = (
    Case(
        "negate",
        numbers,
        np.negative,
        dtypes=tuple(dtype for dtype in NUMBERS if not dtype.startswith("u")),
        peers={"cupy": lambda cupy, x: cupy.negative(x), "torch": lambda torch, x: torch.neg(x)},
    ),
)
