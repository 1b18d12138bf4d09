"""What one intrinsic declares: signature with perspectives, CUDA C++, effect on synchronisation, meaning on the CPU.

The checker, the flow graph, the emitter, the reference machine and the documentation all read this one declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from inspect import Parameter as Argument
from inspect import Signature
from typing import Any

from prism.lang.keep.bases import Value
from prism.lang.keep.help_text import Written, tells_help
from prism.lang.types import Fragment, Pointer, Scalar, TensorMap, Vector
from prism.lang.types.perspective import THREAD, Perspective

OLDEST_ARCH = "sm_75"
PAST_L1 = "no_allocate"
"""The cache hint of loads and stores that is for global memory alone."""


def supports(arch: str, least: str) -> bool:
    """Whether an architecture has what came with `least`; what an `a` marks is of that architecture alone."""
    return arch == least if least.endswith("a") else number_of(arch) >= number_of(least)


def number_of(arch: str) -> int:
    """Return an architecture's number: 90 of `sm_90a`."""
    return int("".join(c for c in arch if c.isdigit()) or 0)


class Parameter(Value):
    """One operand.

    `kind`: `value` (a scalar), `vector` (a vector of T), `element` (an element of memory, passed by address), `array` (a local
    array, by reference), `static` (a compile-time constant), `tile` (a shared tile by its name, or what begins at an element of
    it), `tensor` (an element of a tensor map: the tile that begins there), `map` (a tensor map), `fragment` (by its name).

    `type`: a Scalar, or `T` (the intrinsic's type variable; an element of `mailbox(T)` where `mailbox` is set); of a static,
    `type` says that it is one, of a scalar or vector. `unit`: threads of one such unit must agree on it; of an element, the unit
    that accesses it together. `effect` of element and array parameters: `read`, `write` or `update`; `atomic` accesses do not
    conflict with one another. `exact`: an element parameter's access is that element and no other. `length` of arrays: the
    lengths allowed (none: any). `choices` of statics. `vectors`: the value may be a vector of T, and the result is then another.
    `registers`: a tile parameter that a fragment may be given for, by its name.
    `space`: the memory that an element must be in, `global` or any. `near`: it must be in the block's own shared memory, as each
    tile must. `below`: a constant is from 0 up to here, and not there.
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
    exact: bool = True
    length: tuple[int, ...] = ()
    vectors: bool = False
    registers: bool = False
    space: str = ""
    near: bool = False
    below: int = 0

    def needed_space(self, statics: Mapping[str, object]) -> str:
        """Return the memory that an element must be in, `shared` or `global`, with these constants; empty: any."""
        if self.kind != "element":
            return ""
        if self.near:
            return "shared"
        return "global" if self.space == "global" or statics.get("cache") == PAST_L1 else ""


class Binding(Value):
    """An application's types: the Scalar that T stands for, the statics by name, the lengths of array operands by name.

    `const`: the element operands that are read through a pointer to const. `tiles`, `maps`, `fragments`: the types of such
    operands by name. `starts`: of each tile operand, the indices where it begins, None for one that is not constant; all zeros
    for a tile that is named whole, as those in `whole` are. `given`: the names of the optional operands that the application
    gives.
    """

    scalar: Scalar | None
    statics: Mapping[str, Any] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)
    const: frozenset[str] = frozenset()
    tiles: Mapping[str, Pointer] = field(default_factory=dict)
    maps: Mapping[str, TensorMap] = field(default_factory=dict)
    fragments: Mapping[str, Fragment] = field(default_factory=dict)
    starts: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()

    def static(self, intrinsic: Intrinsic, name: str) -> Any:
        """Return a static's value, its default where the application gives none."""
        default = next(p.default for p in intrinsic.parameters if p.name == name)
        return self.statics.get(name, default)


@tells_help
class Intrinsic(Value, kw_only=True):
    """One intrinsic.

    `requires`: the unit that must run it together (thread[32] for a shuffle). `result`: a Scalar or Vector, `T`, `vector` (of
    T, its length the static `width`), the name of a `dtype` static, or None. `result_unit`: threads of one such unit get the
    same value; None = as the operands' meet (an elementwise function). `allows`: which scalars T may be, `allows_text` says it
    in words. `problem(binding)`: what else is wrong with an application, in words, or the empty string. `min_arch`: the first
    architecture that has it. `orders`: it orders accesses, or waits, without an element operand (a fence). `asynchronous`: its
    accesses to memory go on after it, until they are waited for: `cp_async` (by commit groups or an mbarrier), `load` (bulk and
    tensor loads into a ring: by the ring's mbarrier), `remote` (stores into another block's ring: likewise), `bulk` (bulk and
    tensor stores: by commit groups), `wgmma` (likewise). `hidden`: only the compiler puts it into a program. `structs`: T
    may be a struct, whose bits it moves. `clusters`: all threads of a cluster come, in the same order to each such one.

    `cuda(binding, *operands)` gives the C++ expression, element operands being addresses; a tile's operand is the address where
    it begins (of the first byte before swizzling), a tensor's are the map's address and then one index an extent, outermost
    first; a `load` or `remote` gets `barrier=`, the address of the mbarrier on which it completes. `preamble(binding)` the C++
    helper text that it calls, emitted once. `meaning(binding, ...)` on the reference machine:
      elementwise (`result_unit is None`): NumPy arrays or scalars in, out;
      collective (`requires` broader than thread[1]): arrays of shape (units, requires.size) in, the same out, or one that
        broadcasts to it (vectors: one more axis); array operands have shape (units, requires.size, length), written in place;
      memory (an element parameter, or `orders`): `meaning(binding, memory, *operands)`, one entry an active thread (whole
        units of `requires`, in order), see memory.py;
      `blocking`: such a meaning is a generator that yields while it waits;
      asynchronous copies: `meaning(binding, transfer, *operands)` says what is copied, to `transfer` (asynchronous.py);
      wgmma: `meaning(binding, a, b, accumulator)`: tiles as they are stored, of shape (units, rows, columns), in; the new
      accumulators, (units, rows, columns), out.
    """

    name: str
    doc: str
    parameters: tuple[Parameter, ...] = ()
    result: Scalar | Vector | str | None = None
    cuda: Callable[..., str]
    meaning: Callable[..., Any] | None
    requires: Perspective = THREAD
    result_unit: Perspective | None = THREAD
    allows: Callable[[Scalar], bool] = lambda scalar: True
    allows_text: str = "any scalar"
    preamble: Callable[[Binding], str] | None = None
    blocking: bool = False
    source: str = ""
    min_arch: str = OLDEST_ARCH
    orders: bool = False
    asynchronous: str = ""
    hidden: bool = False
    problem: Callable[[Binding], str] | None = None
    structs: bool = False
    clusters: bool = False

    @property
    def elementwise(self) -> bool:
        """Whether it is a function of its operands' values alone, thread by thread."""
        return self.result_unit is None

    @property
    def touches_memory(self) -> bool:
        """Whether an operand is an element of memory, or it orders accesses to memory."""
        return self.orders or any(p.kind in ("element", "tile", "tensor") for p in self.parameters)

    @property
    def effect(self) -> str:
        """What it does to memory, in words: what synchronisation has to know of it."""
        found = [
            f"{'atomic ' if p.atomic and not p.mailbox else ''}{p.effect} of `{p.name}`"
            for p in self.parameters
            if p.kind not in ("value", "vector", "static")
            and not (p.kind in ("array", "fragment") and p.effect == "read")
        ]
        return ", ".join([*found, "orders"] if self.orders else found)

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def usage(self) -> str:
        """How it is called: what stands in `doc` before the first colon outside brackets."""
        depth = 0
        for at, c in enumerate(self.doc):
            depth += (c in "([") - (c in ")]")
            if c == ":" and depth == 0:
                return self.doc[:at]
        return f"{self.name}({', '.join(p.name for p in self.parameters if not p.optional)})"

    def help_text(self) -> str:
        """Return what `help` shows: what it does, who calls it, of which types, what it does to memory, and an example."""
        generic = any(p.type == "T" and p.kind != "static" for p in self.parameters)
        place = "" if self.result is None else f" @ {self.result_unit or THREAD}"
        facts = {
            "Called by": f"{self.requires}{' together' if self.requires != THREAD else ''}",
            "Result at": "" if self.result is None else str(self.result_unit or "its operands' perspective"),
            "T": self.allows_text if generic else "",
            "Memory": self.effect or "untouched",
            "From": f"{self.min_arch} on",
            "Example": self.usage if self.result is None else f"v: {self._result()}{place} = {self.usage}",
        }
        told = "\n".join(f"{name + ':':<12}{text}" for name, text in facts.items() if text)
        return f"{self.doc}\n\n{told}"

    def _result(self) -> str:
        return str(self.result) if self.result in ("T", None) or not isinstance(self.result, str) else "T"

    def help_signature(self) -> Signature:
        """Return its operands with their types and perspectives, and its result's."""
        taken, last = [], max((k for k, p in enumerate(self.parameters) if not p.optional), default=-1)
        for k, p in enumerate(self.parameters):
            kind = {"static": "constant", "element": "T, in memory", "array": "T[n]", "vector": "vector(T, n)"}.get(
                p.kind
            )
            kind = kind or (str(p.type) if p.kind == "value" else p.kind)
            unit = "" if p.kind == "static" else f" @ {p.unit}"
            default = Argument.empty if not p.optional else Written("...") if p.default is None else p.default
            how = Argument.KEYWORD_ONLY if p.optional and k < last else Argument.POSITIONAL_OR_KEYWORD
            taken.append(Argument(p.name, how, annotation=Written(f"{kind}{unit}"), default=default))
        taken.sort(key=lambda a: a.kind is Argument.KEYWORD_ONLY)
        place = f" @ {self.result_unit}" if self.result_unit is not None else ""
        returned = Signature.empty if self.result is None else Written(f"{self._result()}{place}")
        return Signature(taken, return_annotation=returned)

    def __call__(self, *_: object, **__: object) -> Any:
        """Python never runs an intrinsic: kernels are compiled from their source."""
        raise TypeError(
            f"`{self.name}` is an intrinsic of Prism kernels; call it inside a function of theirs, `@prism.device`"
        )
