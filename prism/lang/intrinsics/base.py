"""What one intrinsic declares: signature with perspectives, CUDA C++, effect on synchronisation, meaning on the CPU.

The checker, the flow graph, the emitter, the reference machine and the documentation all read this one declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prism.lang.perspective import THREAD, Perspective
from prism.lang.types import Scalar


@dataclass(frozen=True, slots=True)
class Parameter:
    """One operand.

    `kind`: `value` (a scalar), `vector` (a vector of T), `element` (an element of memory, passed by address), `array` (a local
    array, by reference), `static` (a compile-time constant). `type`: a Scalar, or `T` (the intrinsic's type variable; an
    element of `mailbox(T)` where `mailbox` is set). `unit`: threads of one such unit must agree on it. `effect` of element and
    array parameters: `read`, `write` or `update`; `atomic` accesses do not conflict with one another. `choices` of statics.
    """

    name: str
    kind: str = "value"
    type: Scalar | str = "T"
    unit: Perspective = THREAD
    effect: str = "read"
    atomic: bool = False
    mailbox: bool = False
    default: Any = None
    optional: bool = False
    choices: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    """An application's types: the Scalar that T stands for, the statics by name, the lengths of array operands by name."""

    scalar: Scalar | None
    statics: Mapping[str, Any] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One intrinsic.

    `requires`: the unit that must run it together (thread[32] for a shuffle). `result`: a Scalar, `T`, `vector` (of T, its
    length the static `width`) or None. `result_unit`: threads of one such unit get the same value; None = as the operands'
    meet (an elementwise function). `allows`: which scalars T may be, `allows_text` says it in words.

    `cuda(binding, *operands)` gives the C++ expression, element operands being addresses; `preamble(binding)` the C++ helper
    text that it calls, emitted once. `meaning(binding, ...)` on the reference machine:
      elementwise (`result_unit is None`): NumPy arrays or scalars in, out;
      collective (`requires` broader than thread[1]): arrays of shape (units, requires.size) in, the same out;
      memory (an element parameter): `meaning(binding, memory, *operands)`, one entry an active thread, see interpret.memory;
      `blocking`: such a meaning is a generator that yields while it waits.
    """

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    result: Scalar | str | None
    cuda: Callable[..., str]
    meaning: Callable[..., Any] | None
    requires: Perspective = THREAD
    result_unit: Perspective | None = THREAD
    allows: Callable[[Scalar], bool] = lambda scalar: True
    allows_text: str = "any scalar"
    preamble: Callable[[Binding], str] | None = None
    blocking: bool = False
    source: str = ""

    @property
    def elementwise(self) -> bool:
        """Whether it is a function of its operands' values alone, thread by thread."""
        return self.result_unit is None

    @property
    def touches_memory(self) -> bool:
        """Whether an operand is an element of memory."""
        return any(p.kind == "element" for p in self.parameters)

    def __call__(self, *_: object, **__: object) -> Any:
        """Python never runs an intrinsic: kernels are compiled from their source."""
        raise TypeError(f"`{self.name}` is an intrinsic of Prism kernels; call it inside a function marked @prism(...)")
