"""Calls that are one lazy array evaluated: decided, kept and planned as any other call of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from prism.host import arguments, lazies, repeat
from prism.host.axes import c_strides
from prism.host.call import Decision, call
from prism.host.lazies import LazyArray, LazyInfo, Sink
from prism.host.plan import Buffer, Clear, Machine, Plan, Step, move_steps
from prism.lib.algorithms.transform import api
from prism.lib.lazy.array import Lazy, of
from prism.lib.records import is_record
from prism.runtime.arrays import ArrayInfo, describe

Compose: TypeAlias = Callable[[Mapping[str, Lazy]], Lazy]
"""Makes the lazy array of the arrays of a call, and checks what is asked of them."""
Own: TypeAlias = Callable[[Mapping[str, ArrayInfo], ArrayInfo | None, Machine], Sequence[Step] | None]
"""Gives the steps of a kernel that makes the same of such arrays, all plain, and a result; None where there is none."""
_APART = 48  # bits of an address: what stands for arrays' addresses while a call is decided lies further apart


def transform(
    function: str, asked: tuple[Any, ...], arrays: Mapping[str, Any], compose: Compose, out: Any = None, stream: Any = None,
    *, called: Mapping[str, str] | None = None, own: Own | None = None,
) -> Any:  # fmt: skip
    """Return the array that `compose` describes, made by one kernel for a function of the library; `called` as for `call`.

    `asked` has all that `compose` and `own` go by beside the arrays.

    Raises:
        TypeError, ValueError, IndexError: as `call`, `evaluate` and `compose`.
    """
    if isinstance(out, Sink) or any(isinstance(x, LazyArray) for x in arrays.values()):
        given = {name: of(x, (called or {}).get(name, name)) for name, x in arrays.items()}
        return api.evaluate(compose(given), out=out, stream=stream)
    first, *others = arrays.values()
    if stream is None and (known := repeat.run((function, *asked), first, out, *others)) is not None:
        return known
    return _transform_anew(asked, function, arrays, compose, out, stream, called, own)


def _transform_anew(
    asked: tuple[Any, ...],
    function: str,
    arrays: Mapping[str, Any],
    compose: Compose,
    out: Any,
    stream: Any,
    called: Mapping[str, str] | None,
    own: Own | None,
) -> Any:
    """Do what `transform` does where no earlier call was like it."""

    def decide(infos: Mapping[str, ArrayInfo], result: ArrayInfo | None, machine: Machine) -> Decision:
        for info in infos.values():
            is_record(info.scalar)  # refuses structs of other sizes than kernels move
        placed = {name: stand_in(info, k) for k, (name, info) in enumerate(infos.items())}
        lazy = compose({name: of(info, (called or {}).get(name, name)) for name, info in placed.items()})
        if copied := arguments.not_plain(infos):
            return Decision(copied=copied)
        return decide_view(lazy, infos, placed, result, machine, own)

    return call(function, (function, *asked), arrays, decide, out, stream, called=called)


_WHERE = ("library", "kind", "device", "owner")


def decide_view(
    lazy: Lazy,
    infos: Mapping[str, ArrayInfo],
    placed: Mapping[str, ArrayInfo],
    result: ArrayInfo | None,
    machine: Machine,
    own: Own | None = None,
) -> Decision:
    """Return how an array is made of a lazy one, which is of what stands for arrays that kernels can read as they are."""
    view = describe(lazy)
    assert isinstance(view, LazyInfo)
    if not lazy.leaves:  # nothing of the arrays is read: they say where it is
        view = replace(view, **{name: getattr(next(iter(infos.values())), name) for name in _WHERE})
    beside = result is not None and not (result.contiguous and result.natural)
    if result is not None and beside:
        arguments.require_scalar(result, view.scalar)
        arguments.require_shape(result, view.shape)
    decision = api.decide({"x": view}, None if beside else result, machine)
    if decision.plan is None:
        return decision
    found = None if own is None else own(infos, None if beside else result, machine)
    steps = bind_steps(decision.plan.steps, {"x": view}, placed, machine.arch) if found is None else tuple(found)
    return replace(decision, plan=Plan(steps), in_place=(), beside=beside)


def stand_in(info: ArrayInfo, number: int) -> ArrayInfo:
    """Return an array as it is when it is plain, at an address that says which of a call's it is: only its last bits decide.

    It has no owner: what is composed of it is never read itself, and may begin anywhere in it.
    """
    steps = tuple(step * info.dtype.itemsize for step in c_strides(info.shape))
    dtype = info.dtype if info.dtype.names else info.dtype.newbyteorder("=")
    past = info.pointer % 16 if info.natural else 0
    return replace(info, owner=None, dtype=dtype, pointer=((number + 1) << _APART) + past, strides=steps)


def bind_steps(
    steps: Sequence[Step | Clear], views: Mapping[str, LazyInfo], placed: Mapping[str, ArrayInfo], arch: str
) -> tuple[Step | Clear, ...]:
    """Return steps that read the call's arrays, and numbers that follow from what is decided, for buffers that are views.

    `placed`: what stands for the call's arrays, of which the views are made. `arch`: as of `lazies.bind`.
    """
    names, known = tuple(placed), dict[str, Any]()
    for key, view in views.items():
        known |= {lazies.number_of(key, k): bits for k, bits in enumerate(view.numbers)}
        for k, leaf in enumerate(view.leaves):
            name = names[(leaf.pointer >> _APART) - 1]
            known[lazies.leaf_of(key, k)] = Buffer(name, leaf.pointer - placed[name].pointer)
    bound = lazies.bind(Plan(tuple(steps)), views, arch)
    return move_steps(bound.steps, lambda buffer: known.get(buffer.name, buffer))


__all__ = ["Compose", "Own", "bind_steps", "decide_view", "stand_in", "transform"]
