"""Lazy arrays, `prism.lib.lazy`, to the host: what is computed where it is read, and what a plan on one becomes.

A lazy array is a view (`prism.lang.surface.views`) of arrays and numbers. To functions of the library it is an `ArrayInfo` like
any other, dense and aligned. The plan that they decide on is then bound: a step that reads it takes a kernel of its leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from prism.host.overlap import overlap
from prism.host.plan import Buffer, Map, Plan, Step
from prism.lang.surface import Kernel
from prism.lang.surface.views import At, Expression, NotReadable, Position, View
from prism.lang.types import INT64, Scalar
from prism.runtime.arrays import ArrayInfo, describe, register
from prism.runtime.viewed import Viewed, instance_of_views

evaluators: list[Callable[[LazyInfo], Any]] = []
"""What makes an array of a lazy one: the library's, which has the kernel."""


class LazyArray:
    """What the host knows of a lazy array: a view's expression and type, the array's shape, and what it is of.

    Numbers are as bits: see `prism.lang.surface.views`. `known`: what it is looked up by, once it has been: see `repeat`.
    """

    __slots__ = ("known", "leaves", "numbers", "scalar", "shape", "value")

    def __init__(
        self, value: Expression, scalar: Scalar, shape: tuple[int, ...], leaves: tuple[ArrayInfo, ...],
        numbers: tuple[int, ...],
    ) -> None:  # fmt: skip
        self.value, self.scalar, self.shape, self.leaves, self.numbers = value, scalar, shape, leaves, numbers
        self.known: tuple[tuple[int, ...], Hashable] | None = None


class Sink:
    """What a result goes to that is no array, given as `out`.

    A result that is one lazy array is computed where it is written; another one is made, and then written there.
    """

    def write(self, result: Any, stream: Any) -> None:
        """Write a result, an array or a lazy one, on a stream."""
        raise NotImplementedError


class NumberInfo:
    """A number of a call or of a lazy array, as the plan's memory: the 8 bytes stand where an array's address does."""

    __slots__ = ("pointer",)
    producer = None

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer


class LazyInfo(ArrayInfo):
    """The facts of a lazy array: of an array that is dense and aligned, and of what it reads."""

    view: View = View(Position(), INT64, (), 0)
    leaves: tuple[ArrayInfo, ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def located(self) -> bool:
        """Whether it lies somewhere: it reads memory."""
        return bool(self.leaves)

    @property
    def natural(self) -> bool:
        """Whether kernels can read elements as they are."""
        return True


# -- Arrays ---------------------------------------------------------------------------------------------------------------


register(LazyInfo, lambda info, name: info)


def settle(infos: Mapping[str, ArrayInfo], out: ArrayInfo | None = None) -> dict[str, ArrayInfo]:
    """Put lazy arrays that read no memory where the others are, or the result."""
    every = (*infos.values(), *(() if out is None else (out,)))
    where = next((info for info in every if not isinstance(info, LazyInfo) or info.located), None)
    if where is None:
        return dict(infos)
    facts = {name: getattr(where, name) for name in ("library", "kind", "device", "owner")}
    return {
        name: replace(info, **facts) if isinstance(info, LazyInfo) and not info.located else info
        for name, info in infos.items()
    }


def are_lazy(infos: Mapping[str, ArrayInfo]) -> bool:
    """Whether one of these is a lazy array's."""
    return any(type(info) is LazyInfo for info in infos.values())


def expand(infos: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of a call with leaves and numbers in place of those that are lazy."""
    found: dict[str, Any] = {}
    for name, info in infos.items():
        if type(info) is not LazyInfo:
            found[name] = info
            continue
        found |= {leaf_of(name, k): leaf for k, leaf in enumerate(info.leaves)}
        found |= {number_of(name, k): NumberInfo(bits) for k, bits in enumerate(info.numbers)}
    return found


def leaf_of(name: str, number: int) -> str:
    """Return the name of a leaf, as a plan's memory."""
    return f"{name}/{number}"


def number_of(name: str, number: int) -> str:
    """Return the name of a number, as a plan's memory."""
    return f"{name}#{number}"


def lie_apart(info: ArrayInfo, result: ArrayInfo) -> bool:
    """Whether a result shares no memory with an array, or with what a lazy one reads."""
    leaves = info.leaves if isinstance(info, LazyInfo) else (info,)
    return not any(overlap(leaf, result) for leaf in leaves)


def memory_of(info: ArrayInfo) -> Any:
    """Return an array, or one with the elements of a lazy one, made now."""
    return evaluators[0](info) if isinstance(info, LazyInfo) else info.owner


def evaluate(info: ArrayInfo) -> ArrayInfo | None:
    """Return the facts of an array with the elements of a lazy one, made now: what takes memory reads that. None of others."""
    if not isinstance(info, LazyInfo):
        return None
    found = describe(memory_of(info))
    return found if info.dtype == found.dtype else replace(found, dtype=info.dtype)


# -- Launches of a kernel -------------------------------------------------------------------------------------------------


def expand_launch(kernel: Kernel, arguments: Sequence[Any]) -> tuple[Kernel, tuple[Any, ...]]:
    """Return a kernel that reads the leaves of the lazy arrays among its arguments, and its arguments.

    Raises:
        NotReadable: a parameter has a default.
    """
    from prism.lang.check import parsed_of
    from prism.lang.parse.views import view_kernel

    parsed = parsed_of(kernel)
    views: dict[str, View] = {}
    given: list[Any] = []
    for parameter, argument in zip(parsed.parameters, arguments, strict=False):
        if not isinstance(argument, LazyArray):
            given.append(argument)
            continue
        info = describe(argument, parameter.name)
        assert isinstance(info, LazyInfo)
        views[parameter.name] = info.view
        given += [leaf.owner if leaf.device is None else leaf for leaf in info.leaves]
        given += info.numbers
    return view_kernel(kernel, views, parsed_of), (*given, *arguments[len(parsed.parameters) :])


register(ArrayInfo, lambda info, name: info)


# -- Plans ----------------------------------------------------------------------------------------------------------------


def bind(plan: Plan, infos: Mapping[str, ArrayInfo], arch: str) -> Plan:
    """Return a plan whose kernels read the leaves of lazy arrays, for a GPU's architecture, or "" for the host.

    They are checked: now, or when they were kept in the cache for that architecture.

    Raises:
        NotReadable: a kernel does with a lazy array what only memory can do.
        CompileError: a function that a lazy array applies breaks a rule.
    """
    lazies = {name: info for name, info in infos.items() if isinstance(info, LazyInfo)}
    return replace(
        plan, steps=tuple(_bound(step, lazies, arch) if isinstance(step, Step) else step for step in plan.steps)
    )


def _bound(step: Step, lazies: Mapping[str, LazyInfo], arch: str) -> Step:
    from prism.lang.parse.views import leaf_name, leaf_owner, number_name

    given = step.instance  # some of its parameters may be views already
    base, earlier = (given.base, dict(given.views)) if isinstance(given, Viewed) else (given, dict[str, View]())
    views: dict[str, View] = {}
    arguments: dict[str, Any] = {}
    for name, value in step.arguments.items():
        buffer = value.buffer if isinstance(value, Map) else value
        if not isinstance(buffer, Buffer) or buffer.name not in lazies:
            arguments[name] = value
            continue
        info = lazies[buffer.name]
        first, rest = divmod(buffer.offset, info.dtype.itemsize)
        if isinstance(value, Map) or rest:
            raise NotReadable(f"`{name}` is taken as memory")
        if leaf_owner(name) in earlier:
            raise NotReadable(f"`{leaf_owner(name)}` is a lazy array of a lazy one")
        views[name] = info.view if not first else replace(info.view, value=At(info.view.value, Position(first)))
        arguments |= {leaf_name(name, k): Buffer(leaf_of(buffer.name, k)) for k in range(len(views[name].leaves))}
        arguments |= {number_name(name, k): Buffer(number_of(buffer.name, k)) for k in range(views[name].numbers)}
    if not views:
        return step
    made = instance_of_views(base, earlier | views)
    made.require_readable(arch)
    return replace(step, instance=made, arguments=arguments)


__all__ = [
    "LazyArray", "LazyInfo", "NotReadable", "NumberInfo", "Sink", "are_lazy", "bind", "evaluate", "evaluators", "expand",
    "expand_launch", "lie_apart", "memory_of", "settle",
]  # fmt: skip
