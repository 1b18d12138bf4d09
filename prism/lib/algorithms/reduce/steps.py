"""What reductions compute. Nothing here looks at an array."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from prism.host.plan import size_of
from prism.kernels.reduce import maps, positions
from prism.lib import operators
from prism.lib.operators import Operator

_MAPS = {
    (False, False): maps.same, (False, True): maps.nonzero, (True, False): maps.as_pair, (True, True): maps.truth_as_pair,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Work:
    """What is computed: elements of type `given` are mapped to `dtype`, combined in it, and stored as `result`.

    Types are those of kernels. `nonzero`: elements count as 1 where they aren't zero, as those of
    bools do. `initial` is combined with the result. `both`: `dtype` is a struct of two elements, for both extremes.
    """

    operator: Operator
    given: str
    dtype: str
    result: str
    identity: Any
    initial: Any
    nonzero: bool = False
    both: bool = False

    def template(self) -> dict[str, Any]:
        """Return the kernels' template arguments that this decides."""
        given, how = self.given, _MAPS[self.both and self.given != self.dtype, self.nonzero]
        if how is maps.nonzero and given in ("float16", "bfloat16"):
            given, how = "uint16", maps.half_nonzero  # one kernel for both
        # A thread loads no more than 128 small integers at once: int32 holds their sum.
        short = (
            self.operator is operators.add and given in ("int8", "uint8", "int16", "uint16") and size_of(self.dtype) > 2
        )
        return {
            "TI": given, "P": "int32" if short else self.dtype, "T": self.dtype, "TO": self.result,
            "OP": self.operator.function, "MAP": how, "ORDERED": not self.operator.commutative,
        }  # fmt: skip

    @property
    def exact(self) -> bool:
        """Whether partial results may be stored as results are, and be combined again: nothing is rounded."""
        truths = self.nonzero and self.operator is not operators.add and self.result == "uint8"
        extremes = self.operator in (operators.maximum, operators.minimum) and self.given == self.result
        return truths or extremes

    @property
    def stepwise(self) -> bool:
        """Whether this is a step of a reduction of 16-bit floats in several: such have fewer kernels."""
        return self.dtype == "float32" and self.given != self.result

    def first(self) -> Work:
        """Return the work of all steps but the last: results stay in `dtype`, unless those of the last are as good."""
        if self.exact:
            return replace(self, initial=self.identity)
        return replace(self, result=self.dtype, initial=self.identity)

    def rest(self) -> Work:
        """Return the work of all steps but the first."""
        if self.exact:
            return replace(self, given=self.result)
        return replace(self, given=self.dtype, nonzero=False)


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: the first of the largest elements, or of the smallest. Types are those of kernels.

    `truth`: elements are true where they are not 0, and no truer where they are more.
    """

    largest: bool
    given: str
    dtype: str
    weakest: Any
    truth: bool = False

    @property
    def word(self) -> str:
        """The type of a value's rank and its position in one."""
        return "struct{rank:uint64,rest:uint64}" if size_of(self.dtype) > 4 else "uint64"

    def template(self) -> dict[str, Any]:
        """Return the kernel's template arguments that this decides."""
        real = self.dtype.startswith(("float", "complex"))
        if self.truth:
            beats = positions.truer if self.largest else positions.less_true
        elif self.largest:
            beats = positions.larger_or_nan if real else positions.larger
        else:
            beats = positions.smaller_or_nan if real else positions.smaller
        return {"TI": self.given, "T": self.dtype, "BEATS": beats}


def word_bytes(dtype: str) -> int:
    """Return the bytes of a word that carries a value of a dtype."""
    size = size_of(dtype)
    return 8 if size <= 4 else 16 if size <= 8 else 32
