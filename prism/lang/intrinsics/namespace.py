"""`intrinsic`: a namespace that has the intrinsics as attributes, and the decorator that declares one of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from prism.lang.intrinsics.declaration import OLDEST_ARCH, Intrinsic


class Namespace:
    """The intrinsics as attributes; called, a decorator."""

    def __init__(self, table: Mapping[str, Intrinsic], declare: Callable[..., Intrinsic]) -> None:
        """`declare` makes an intrinsic of a decorated signature: it stands above the checker, which reads the signature."""
        self._table = table
        self._declare = declare

    def __getattr__(self, name: str) -> Intrinsic:
        table: Mapping[str, Intrinsic] = self.__dict__.get("_table", {})
        if name not in table:
            raise AttributeError(f"there is no intrinsic {name!r}")
        return table[name]

    def __dir__(self) -> list[str]:
        return sorted(self._table)

    def __call__(
        self,
        text: str,
        *,
        meaning: Callable[..., Any] | None = None,
        effects: Mapping[str, str] | None = None,
        preamble: str = "",
        min_arch: str = OLDEST_ARCH,
    ) -> Callable[[FunctionType], Intrinsic]:
        """Declare an intrinsic; the function below gives its name, its operands and its result, and its docstring.

        `text`: C++ in terms of the operands' names: one expression, or statements that `return`; PTX as `asm("...")`.
        `meaning`: the same on NumPy arrays, or None: then the reference machine refuses it, by name.
        `effects`: what it does to operands in memory and to arrays: `read`, `write`, `update`, or these with `atomic ` before.
        `preamble`: C++ that stands once before the kernels.
        """
        return lambda python: self._declare(
            python, text, meaning=meaning, effects=effects or {}, preamble=preamble, min_arch=min_arch
        )
