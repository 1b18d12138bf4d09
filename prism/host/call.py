"""The way of every call of the library: arrays described, what to do decided once for their kind, results made, a plan run.

    scan(x) -> call("scan", asked, {"x": x}, decide)       asked: all that was asked for but the arrays, to be looked up
               decide(arrays, out, machine) -> Decision    what results there are, the plan, what must be copied first
               Ready(plan)(pointers, stream)               on a GPU: kernels loaded once, launched
               run_on_host(plan, arrays)                   NumPy: the reference machine
               repeat.keep(...)                            the next such call is looked up, and only launched

Each thing that can be wrong with memory is looked at here, once: which machine, whose stream, what overlaps, what has gaps, and
where a result can't be written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from prism.host import arguments, floats, lazies, memory, repeat
from prism.host.axes import c_strides
from prism.host.lazies import LazyInfo, NotReadable, Sink
from prism.host.machine import Ready, machine_of, run_on_host
from prism.host.overlap import overlap, span
from prism.host.pinned import count
from prism.host.plan import OUT, Machine, Plan
from prism.host.repeat import Recipe, cut, noting
from prism.runtime.arrays import ArrayInfo, describe
from prism.runtime.capture import deciding
from prism.runtime.streams import choose_stream, order

_MOST = 4096  # launches of decisions that are kept
_ALIGNED = 16  # bytes: what decisions may ask of an address


@dataclass(frozen=True, slots=True)
class Result:
    """An array that a call makes: C-contiguous, of `shape`, or with its axes in another order: result axis `k` is `axes[k]`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    axes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """All that follows from what is asked for and from the arrays' kind. Results are called `OUT`, or by `names`.

    `plan`: None where nothing is launched; then results are `fill`, unless they have no elements. `copied`: arrays that must be
    copied first, in C order, or so that `columns` of them have the last two axes exchanged in memory, their rows (columns) at
    multiples of `pad` bytes, or `converted` to a dtype, their axes as they lie; then nothing else is decided. `beside`: the
    result can't be made in `out`, for its dtype or strides.
    `in_place`: arrays that the result may be, element by element. `begins`: the array that the result holds before the plan
    runs, copied there unless it is the result. `cut`: the last result says how many elements of the others there are: the call
    waits for it. 1: of each as many; 2, 3: of all but one, and that has the rest. Where there are no others, the call returns
    the number. `warned`: of the host, the method of a ufunc
    as which NumPy warns where floats overflow.
    """

    results: tuple[Result, ...] = ()
    names: tuple[str, ...] = (OUT,)
    plan: Plan | None = None
    fill: Any = None
    copied: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    pad: int = 1
    converted: np.dtype[Any] | None = None
    beside: bool = False
    in_place: tuple[str, ...] = ()
    begins: str = ""
    cut: int = 0
    warned: str = ""


Arrays: TypeAlias = Mapping[str, ArrayInfo]
Decide: TypeAlias = Callable[[Arrays, ArrayInfo | None, Machine], Decision]
"""Checks what is asked for of arrays, of `out` and of a machine, and decides how to do it."""


@dataclass(frozen=True, slots=True)
class _Known:
    decision: Decision
    ready: Ready | None


@dataclass(slots=True)
class Noted:
    """A call that was made while a plan was: its arrays and results; `recipe`, on a GPU, is what it came to.

    `pointers`: where arrays, numbers and results are, on a GPU. Of a call on lazy arrays `kept` is what these are of, and there
    are no `arrays`.
    """

    names: tuple[str, ...]
    arrays: tuple[Any, ...]
    results: tuple[Any, ...]
    answer: Any
    recipe: Recipe | None
    pointers: tuple[int, ...] = ()
    kept: Any = None


_known: dict[Hashable, _Known] = {}
_launches = [0]  # of all that are known


def call(
    function: str, asked: tuple[Any, ...], arrays: Mapping[str, Any], decide: Decide, out: Any = None, stream: Any = None,
    *, called: Mapping[str, str] | None = None, captured: bool = False, numbers: Mapping[str, int] | None = None,
) -> Any:  # fmt: skip
    """Do what is asked of arrays, by the names of a plan's buffers, for a function of the library; the first array says where.

    `called`: what the caller calls arrays, where that is something else. `captured`: kernels may be made ready while a
    CUDA graph is. `numbers`: those that a plan takes as memory of such names, as bits: what is decided does not follow from them,
    and `prism.lib.plan` does not know them.

    Raises:
        TypeError: an argument is no array, or of another library than the first; some are on the host and some on a GPU.
        ValueError: arrays on two GPUs; a stream for arrays on the host. Besides, what `decide` raises.
        RuntimeError: a kernel is not ready, and a CUDA graph is being captured; but where `captured`.
        DeviceError: the driver refuses.
    """
    if isinstance(out, Sink):
        made = call(function, asked, arrays, decide, None, stream, called=called, captured=captured, numbers=numbers)
        out.write(made, stream)
        return out
    if (notes := noting.get()) is not None:
        notes.calls += 1
    infos = arguments.describe_all(arrays, called or {}, out)
    result = None if out is None else arguments.describe_result(out, infos, called or {})
    name, first = next(iter(infos.items()))
    if first.device is None and stream is not None:
        raise ValueError(f"`stream` is for arrays on a GPU, and `{(called or {}).get(name, name)}` is on the host")
    given = {key: lazies.NumberInfo(bits) for key, bits in (numbers or {}).items()}
    return _make(None if captured else function, asked, infos, decide, result, stream, given)


def forget() -> None:
    """Forget all that was decided, for who changes how."""
    _known.clear()
    _launches[0] = 0
    repeat.forget()


def _make(
    function: str | None, asked: tuple[Any, ...], infos: Arrays, decide: Decide, result: ArrayInfo | None, stream: Any,
    numbers: Mapping[str, lazies.NumberInfo], copied: bool = False,
) -> Any:  # fmt: skip
    first, taken, handle = next(iter(infos.values())), {**lazies.expand(infos), **numbers}, None
    if first.device is not None:
        handle = choose_stream(stream, (first,))
        order((*taken.values(), *(() if result is None else (result,))), handle)
    known = _decided(function, asked, infos, decide, result, handle, tuple(numbers))
    decision = known.decision
    reused = result is not None and not all(_apart(name, info, result, decision) for name, info in infos.items())
    if result is not None and reused and not decision.beside:
        # what is made beside is dense and aligned, and `out` may not be: its kernels may be others
        steps = tuple(step * result.dtype.itemsize for step in c_strides(result.shape))
        beside = replace(result, pointer=0, strides=steps)
        known = _decided(function, asked, infos, decide, beside, handle, tuple(numbers))
        decision = known.decision
    if decision.copied:
        with memory.working(first, None if stream is None else handle):
            copies = {name: _copied(name, infos[name], decision) for name in decision.copied}
            return _make(function, asked, {**infos, **copies}, decide, result, stream, numbers, copied=True)
    begins = infos.get(decision.begins)
    if result is not None and not decision.beside and not reused:
        results: tuple[Any, ...] = (result.owner,)
        answer = results
        if begins is not None and begins.pointer != result.pointer:
            with memory.working(first, None if stream is None else handle):
                result.owner[...] = lazies.memory_of(begins)
            copied = True
        _launch(known, taken, {OUT: result}, handle)
        _warn(decision, first, results)
    else:
        with memory.working(first, None if stream is None else handle):
            counted = bool(decision.cut) and known.ready is not None  # the number goes to the host's memory
            wanted = decision.results[:-1] if counted else decision.results
            made = tuple(memory.empty(first, one.shape, one.dtype) for one in wanted)
            targets = {name: describe(one, name) for name, one in zip(decision.names, made, strict=not counted)}
            if begins is not None:
                made[0][...] = lazies.memory_of(begins)
                copied = True
            many = _launch(known, taken, targets, handle, made)
            results = tuple(map(_transposed, wanted, made, [first] * len(made)))
            _warn(decision, first, results)
            if result is not None:
                memory.assign(result.owner, results[0])
                return result.owner
            answer = cut(results[: len(decision.names) - 1], many, decision.cut) if decision.cut else results
    if not copied and (known.ready is not None or (handle is None and noting.get() is not None)):
        _keep(known, asked, infos, taken, results, answer, made=result is None)
    return _given_back(answer, infos.get("x", first), result)


def _copied(name: str, info: ArrayInfo, decision: Decision) -> ArrayInfo:
    """Return the facts of a copy of an array, or of an array with the elements of a lazy one: what takes memory reads that."""
    lazy = isinstance(info, LazyInfo)
    made = (
        lazies.memory_of(info)
        if lazy
        else memory.copy(info, name in decision.columns, decision.pad, decision.converted)
    )
    found = arguments.facts_of(made, name)
    return replace(found, dtype=info.dtype) if lazy and info.dtype != found.dtype else found


def _given_back(answer: tuple[Any, ...], of: ArrayInfo, result: ArrayInfo | None) -> Any:
    """Return the results of a call: of a subclass of NumPy's arrays what its hook makes of them, of no axes scalars."""
    if isinstance(answer[0], int):  # what was waited for is all
        return answer[0]
    if result is None and isinstance(of.owner, np.ndarray) and type(of.owner) is not np.ndarray:
        answer = tuple(of.owner.__array_wrap__(one, None, one.ndim == 0) for one in answer)
        return answer if len(answer) > 1 else answer[0]
    if len(answer) > 1:
        return answer
    return answer[0][()] if of.device is None and result is None and not answer[0].shape else answer[0]


def _decided(
    function: str | None, asked: tuple[Any, ...], infos: Arrays, decide: Decide, result: ArrayInfo | None,
    stream: int | None, numbers: tuple[str, ...],
) -> _Known:  # fmt: skip
    """Return what such a call takes, decided once; `numbers` by their names, which `asked` tells."""
    key = (asked, *((name, _facts(info)) for name, info in infos.items()), None if result is None else _facts(result))
    try:
        found = _known.get(key)
    except TypeError:  # what can't be looked up, as a list of axes, is wrong, or a rare spelling
        return _decide(function, infos, decide, result, stream, numbers)
    if found is None:
        found = _decide(function, infos, decide, result, stream, numbers)
        _keep_known(key, found)
    return found


def _keep_known(key: Hashable, found: _Known) -> None:
    """Keep what was decided; when that would be too many launches, forget all before, but for what is too many alone."""
    launches = 1 if found.decision.plan is None else len(found.decision.plan.steps)
    if launches > _MOST:
        return
    if _launches[0] + launches > _MOST:
        forget()  # and not: keep no more, or no other shape could ever be captured in a graph
    _launches[0] += launches
    _known[key] = found


def _decide(
    function: str | None, infos: Arrays, decide: Decide, result: ArrayInfo | None, stream: int | None,
    numbers: tuple[str, ...],
) -> _Known:  # fmt: skip
    first = next(iter(infos.values()))
    with deciding(None if function is None else stream, f"this {function}"):
        decision = decide(infos, result, machine_of(first))
        plan = decision.plan
        if plan is not None and lazies.are_lazy(infos):
            try:
                plan = lazies.bind(plan, infos, machine_of(first).arch)
            except NotReadable:  # what takes memory gets memory
                names = tuple(name for name, info in infos.items() if isinstance(info, LazyInfo))
                return _Known(Decision(copied=names), None)
            decision = replace(decision, plan=plan)
        if plan is None or stream is None:
            return _Known(decision, None)
        names = (*lazies.expand(infos), *numbers, *decision.names)
        return _Known(decision, Ready(plan, names, first, waited=bool(decision.cut)))


def _facts(info: ArrayInfo) -> tuple[Hashable, ...]:
    if isinstance(info, LazyInfo):  # its numbers' values decide nothing
        return info.view, info.shape, info.library, info.device, *map(_facts, info.leaves)
    return info.library, info.dtype, info.shape, info.strides, info.pointer % _ALIGNED, info.device, info.readonly


def _apart(name: str, info: ArrayInfo, result: ArrayInfo, decision: Decision) -> bool:
    """Whether the result may be written where it is: nothing of an array is overwritten before it is read."""
    if isinstance(info, LazyInfo):
        return lazies.lie_apart(info, result)
    return not overlap(info, result) or (info.pointer == result.pointer and _alike(name, info, result, decision))


def _alike(name: str, info: ArrayInfo, result: ArrayInfo, decision: Decision) -> bool:
    """Whether a result that begins where an array does has each element where the array has it, and may be written there."""
    same = info.strides == result.strides or (info.contiguous and result.contiguous)
    return name in decision.in_place and info.dtype.itemsize == result.dtype.itemsize and same


def _launch(
    known: _Known, taken: Mapping[str, Any], targets: Arrays, stream: int | None, made: tuple[Any, ...] = ()
) -> tuple[int, ...]:
    """Run the plan; return how many elements of the results there are, where it says so and the call waits for it."""
    decision = known.decision
    if decision.plan is None:
        for one in made or (targets[OUT].owner,):
            if decision.fill is not None:
                one[...] = decision.fill
    elif known.ready is None or stream is None:
        run_on_host(decision.plan, {**taken, **targets})
    else:
        pointers = tuple([info.pointer for info in (*taken.values(), *targets.values())])
        if decision.cut:
            return count(known.ready, pointers, stream, known.ready.ordinal, 2 if decision.cut == 3 else 1)
        known.ready(pointers, stream)
    return tuple(int(one) for one in made[-1]) if decision.cut else ()


def _warn(decision: Decision, first: ArrayInfo, made: tuple[Any, ...]) -> None:
    """Warn as NumPy does of a result on the host, where the decision says so."""
    if decision.warned and first.device is None and not isinstance(first, LazyInfo):
        floats.warn(decision.warned, first.owner, made[0])


def _transposed(one: Result, made: Any, first: ArrayInfo) -> Any:
    return made if one.axes is None else memory.transpose(first, made, one.axes)


def _keep(
    known: _Known,
    asked: tuple[Any, ...],
    infos: Arrays,
    taken: Mapping[str, Any],
    results: tuple[Any, ...],
    answer: Any,
    *,
    made: bool,
) -> None:
    """Keep what was launched on arrays for the next such call."""
    decision, lazy = known.decision, lazies.are_lazy(infos)
    if lazy and decision.begins:
        return
    recipe, noted = None, noting.get()
    if known.ready is not None:
        target = describe(results[0]) if results else None
        alike = {name for name, info in infos.items() if target and not lazy and _alike(name, info, target, decision)}
        spans = tuple(
            (*span(info), name in alike) if isinstance(info, ArrayInfo) else (0, 0, False)
            for name, info in taken.items()
            if lazy or isinstance(info, ArrayInfo)  # a number of the call lies nowhere
        )
        begins = list(infos).index(decision.begins) if decision.begins else -1
        room = 0 if target is None else span(target)[1]
        recipe = Recipe(known.ready.launch(), spans, room, decision.cut, begins)
        repeat.keep(asked, tuple(infos.values()), results, recipe, made=made)
    if noted is not None and decision.cut:
        noted.waited = True
    elif noted is not None:
        one = answer[0] if len(answer) == 1 else answer
        if lazy:
            pointers = (*(info.pointer for info in taken.values()), *(describe(one).pointer for one in results))
            noted.append(Noted((), (), results, one, recipe, pointers, infos))
        else:
            arrays = tuple(info.owner for info in infos.values())
            pointers = tuple([*(info.pointer for info in taken.values()), *(describe(one).pointer for one in results)])
            noted.append(Noted(tuple(infos), arrays, results, one, recipe, pointers))


__all__ = ["Arrays", "Decide", "Decision", "Noted", "Result", "call", "forget"]
