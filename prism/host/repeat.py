"""Calls that are like an earlier one: what was decided then is looked up, and only addresses and the stream are new.

A call decides much: of which kind its arguments are, which kernels they take, cut up how. All of that follows from what is asked
for, and from the arrays' types, dtypes, shapes, strides, devices and alignment. For arrays of CuPy and torch it is kept under
these, so that a warm call costs the host little more than the launch itself, and the result's allocation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias

from prism.host import libraries, pinned
from prism.host.lazies import LazyArray, LazyInfo
from prism.host.libraries import Kind, Library, Reader
from prism.host.machine import Launch
from prism.host.memory import memory_order
from prism.host.overlap import Spans, overlapping
from prism.runtime.arrays import ArrayInfo, describe
from prism.runtime.streams import stream_handle

Reserved: TypeAlias = tuple[Launch, int, tuple[int, ...], list[tuple[Any, Kind]], list[tuple[int, ...]]]
"""How a call is launched, as what its results are cut, all addresses, the results' memory, and how long they were last."""


class Notes(list[Any]):
    """Calls that were noted. `numbers`: they may be of plans that take numbers, which are asked for anew in each call.

    `waited`: one of the calls under way waited for what kernels said. `calls`: how many there were, noted or not.
    """

    def __init__(self, numbers: bool = False) -> None:
        super().__init__()
        self.numbers, self.waited, self.calls = numbers, False, 0


noting: ContextVar[Notes | None] = ContextVar("noting", default=None)
"""While `prism.lib.plan` makes a call, or a call is learnt by its front: where it is noted."""
fronts: list[dict[Any, Any]] = []
"""What fronts of functions know, by `prism.host.front`."""
_MOST = 4096
_PLACES = 256  # of the arrays of one call that are known to lie apart
_UNKNOWN = (AttributeError, TypeError, RuntimeError)
"""What is asked for, or an array, can't be looked up, or has no memory."""
_kept: dict[Hashable, tuple[Any, ...]] = {}
_made: dict[Hashable, tuple[tuple[Kind, ...], Launch, int, list[tuple[int, ...]]]] = {}
"""Of calls that make their results: what each of these is, the launch, as of `Decision.cut`, and how long they were last."""
_libraries: dict[type, tuple[Any, ...]] = {}
_by_name: dict[str, tuple[Any, ...]] = {}
_structures: dict[Hashable, int] = {}  # of lazy arrays, each with its number
_numbers = itertools.count()


class Recipe(NamedTuple):
    """What a call came to. Its arguments lie as `spans` say, its result takes `room` bytes.

    `cut`: as of `Decision`: the kernels say how many elements of the results there are, and the call waits for it. `same`: the
    number of the argument that must be the result's own memory, or -1.
    """

    launch: Launch
    spans: Spans
    room: int
    cut: int = 0
    same: int = -1


def run(asked: tuple[Any, ...], x: Any, out: Any = None, *others: Any, number: int | None = None) -> Any:
    """Do what an earlier call did for such arrays, asked for the same; None where there was none, and nothing was done.

    `x` is the call's first array, `others` are those behind it. `number`: the bits of one that the call has beside `x` alone.

    Returns:
        The result: `out`, or a new array, or a tuple of them, where that is None.

    Raises:
        RuntimeError: the legacy default stream's scratch memory must be allocated while another stream is captured.
        DeviceError: the driver refuses the launch.
    """
    if others:
        return run_many(asked, (x, *others, out), number=number)
    numbers = () if number is None else (number,)
    if out is None:
        return _run_new(asked, (x,), numbers)
    library = _libraries.get(type(x))
    if library is None:
        return run_lazy(asked, (x, out), numbers) if isinstance(x, LazyArray) else None
    try:
        key, source, target, stream = library[0](asked, x, out)
        found = _kept.get(key)
    except _UNKNOWN:
        return None
    if found is None:
        return None
    launch, before, behind, room, in_place = found  # the test of `overlapping`, without a call
    if target < source + behind and source - before < target + room and not (in_place and source == target):
        return None  # they overlap: one of them must be copied
    launch((source, *numbers, target), stream)
    return out


def run_many(asked: tuple[Any, ...], arrays: tuple[Any, ...], stream: Any = None, *, number: int | None = None) -> Any:
    """Do what `run` does for several arrays, or several results; the last is the result, or None.

    On a stream that is named no results are made; nothing is done there while a plan is made, which must be told what a call
    comes to.

    Raises:
        TypeError, ValueError: `stream` is none.
        RuntimeError, DeviceError: as `run`.
    """
    out = arrays[-1]
    if stream is not None and (out is None or noting.get() is not None):
        return None
    numbers = () if number is None else (number,)
    if out is None:
        return _run_new(asked, arrays[:-1], numbers)
    if len(arrays) == 2:  # what is kept of such a call is as `run` takes it
        return run(asked, *arrays, number=number) if stream is None else None
    library = _libraries.get(type(arrays[0]))
    if library is None:
        return run_lazy(asked, arrays, numbers) if stream is None else None
    try:
        key, pointers, device = library[1][len(arrays)](asked, arrays)
        found = _kept.get(key)
    except AttributeError:
        return run_lazy(asked, arrays, numbers) if stream is None else None
    except (TypeError, RuntimeError):
        return None
    if found is None:
        return None
    launch, spans, room, _, apart = found
    if pointers not in apart and (spans is None or not _lie_apart(pointers, spans, room, apart)):
        return None  # one of them must be copied, or they were not looked at
    if numbers:
        pointers = (*pointers[:-1], *numbers, pointers[-1])
    launch(pointers, library[2](device) if stream is None else stream_handle(stream))
    return out


def _lie_apart(pointers: tuple[int, ...], spans: Spans, room: int, apart: set[tuple[int, ...]]) -> bool:
    """Whether the result shares no memory that it may not; the places where it does not are kept."""
    if overlapping(pointers, spans, room) >= 0:
        return False
    _add_place(pointers, apart)
    return True


def _add_place(pointers: tuple[int, ...], apart: set[tuple[int, ...]]) -> None:
    if len(apart) >= _PLACES:
        apart.clear()
    apart.add(pointers)


def keep_place(asked: tuple[Any, ...], known: tuple[Any, ...], arrays: tuple[Any, ...]) -> None:
    """Keep for `asked` what is kept of a call that was asked for by `known`, on arrays at these very addresses alone.

    For who looks at more than whether the last of them lies apart, as of two results that are given.
    """
    library = _libraries.get(type(arrays[0]))
    try:
        if library is None or (found := _kept.get(library[1][len(arrays)](known, arrays)[0])) is None:
            return
        key, pointers, _ = library[1][len(arrays)](asked, arrays)
    except _UNKNOWN:
        return
    _, _, _, _, apart = _kept.setdefault(key, (found[0], None, 0, 0, set()))
    _add_place(pointers, apart)


def _run_new(asked: tuple[Any, ...], arrays: tuple[Any, ...], numbers: tuple[int, ...] = ()) -> Any:
    """Do what `run_many` does where the results are to be made, on the current stream; `numbers` as bits, behind the arrays."""
    library = _libraries.get(type(arrays[0]))
    if library is None:
        return run_lazy(asked, (*arrays, None), numbers)
    try:
        key, pointers, device = library[1][len(arrays)](asked, arrays)
        made = _reserve(key, arrays[0], pointers + numbers, device, library)
    except AttributeError:
        return run_lazy(asked, (*arrays, None), numbers)
    except (TypeError, RuntimeError):
        return None
    return None if made is None else _send(*made, device, library)


def begin(asked: tuple[Any, ...], x: Any) -> Callable[[], int] | None:
    """Begin what an earlier call did that gives a number alone; return what waits for it. None where there was none.

    Raises:
        RuntimeError, DeviceError: as `count`.
    """
    library = _libraries.get(type(x))
    if library is None:
        return None
    try:
        key, pointers, device = library[1][1](asked, (x,))
        found = _made.get(key)
    except _UNKNOWN:
        return None
    if found is None or found[0] or found[2] != 1:
        return None
    stream = library[2](device)
    words = pinned.begin(found[1], pointers, stream, device)
    return lambda: pinned.finish(words, stream, device)[0]


def run_lazy(asked: tuple[Any, ...], arrays: tuple[Any, ...], numbers: tuple[int, ...] = ()) -> Any:
    """Do what `run_many` does where some of the arrays are lazy; the last is the result, or None. None where none is lazy.

    `numbers`: of the call, as bits.
    """
    *given, out = arrays
    lazies = [x for x in given if isinstance(x, LazyArray)]
    where = next((x.leaves[0] for x in lazies if x.leaves), None)
    plain = next((x for x in given if not isinstance(x, LazyArray)), None)
    library = _libraries.get(type(plain)) if where is None else _by_name.get(where.library)
    if library is None or not lazies:
        return None
    read, made = library[1][1], None
    try:
        pointers, facts = _read_lazies(given, read)
        pointers += numbers
        owner, device = (plain, read(None, (plain,))[2]) if where is None else (where.owner, where.device)
        if out is None:
            made = _reserve((asked, facts), owner, pointers, device, library)
        else:
            fact, target, _ = read(None, (out,))
            pointers, found = (*pointers, *target), _kept.get((asked, (*facts, fact)))
    except _UNKNOWN:
        return None
    if out is None:
        return None if made is None else _send(*made, device, library)
    if found is None:
        return None
    launch, spans, room, _, _ = found
    if overlapping(pointers, spans, room) >= 0:
        return None  # what is read would be overwritten: the result is made beside it
    launch(pointers, library[2](device))
    return out


def _reserve(
    key: Hashable, x: Any, pointers: tuple[int, ...], device: Any, library: tuple[Any, ...]
) -> Reserved | None:
    """Take memory for the results of a call; None: it is not known."""
    found = _made.get(key)
    if found is None:
        return None
    kinds, launch, counted, last = found
    reserve, rooms = library[3], []
    for kind in kinds:
        room, target = reserve(x, device, kind)
        rooms.append((room, kind))
        pointers += (target,)
    return launch, counted, pointers, rooms, last


def _send(
    launch: Launch, counted: int, pointers: tuple[int, ...], rooms: list[tuple[Any, Kind]], last: list[tuple[int, ...]],
    device: Any, library: tuple[Any, ...],
) -> Any:  # fmt: skip
    """Launch; return the results, which have memory: where they are counted, as many elements as the kernels say.

    Where the number is all that is asked for, that. While the GPU counts, results are made as long as they were last: mostly they
    are again.
    """
    current, shape = library[2], library[4]
    if counted:
        stream, many = current(device), 2 if counted == 3 else 1
        words = pinned.begin(launch, pointers, stream, device)
        if not rooms:
            return pinned.finish(words, stream, device, many)[0]
        guessed = last[-1] if last else None
        answer = [] if guessed is None else _cut_rooms(rooms, guessed, counted, shape)
        numbers = pinned.finish(words, stream, device, many)
        if numbers != guessed:
            last[:] = [numbers]
            answer = _cut_rooms(rooms, numbers, counted, shape)
    else:
        launch(pointers, current(device))
        answer = [shape(room, kind, -1) for room, kind in rooms]
    return answer[0] if len(answer) == 1 else tuple(answer)


def _cut_rooms(rooms: list[tuple[Any, Kind]], numbers: tuple[int, ...], counted: int, shape: Any) -> list[Any]:
    lengths = _lengths(len(rooms), rooms[0][1].shape[0], numbers, counted)
    return [shape(room, kind, many) for (room, kind), many in zip(rooms, lengths, strict=True)]


def cut(results: Sequence[Any], numbers: tuple[int, ...], ways: int) -> tuple[Any, ...]:
    """Return the first elements of results, so many of each; of more `ways`, of the last one what is in none of the others.

    Where there are no results, the numbers.
    """
    if not results:
        return numbers
    lengths = _lengths(len(results), results[0].shape[0], numbers, ways)
    return tuple([one[:many] for one, many in zip(results, lengths, strict=True)])


def for_good() -> bool:
    """Whether a plan is made whose numbers are those of this call."""
    notes = noting.get()
    return notes is not None and not notes.numbers


def library_of(kind: type) -> tuple[Any, ...] | None:
    """Return how arrays of a type are read that was seen before."""
    return _libraries.get(kind)


def library_named(name: str) -> tuple[Any, ...]:
    """Return how arrays of CuPy or torch are read and made, one of which is imported."""
    found = _library(name)
    assert found is not None, f"{name} is not imported"
    return found


def refuse_plan() -> None:
    """Let no plan be made of the call under way: what it does last is more than launches."""
    if (noted := noting.get()) is not None:
        noted.clear()


def _lengths(results: int, whole: int, numbers: tuple[int, ...], ways: int) -> tuple[int, ...]:
    """Return how many elements of each result there are, by what the kernels say."""
    return numbers * results if ways == 1 else (*numbers, whole - sum(numbers))


def keep(
    asked: tuple[Any, ...], infos: Sequence[ArrayInfo], results: tuple[Any, ...], recipe: Recipe, *, made: bool
) -> None:
    """Keep what a call came to that copied nothing, by the facts of its arrays; `made`: it made its results.

    Where some are lazy, the recipe's spans are those of their leaves and numbers.
    """
    arrays = [info if isinstance(info, LazyInfo) else info.owner for info in infos]
    library = _libraries.get(type(arrays[0])) or _library(infos[0].library)
    if library is None:
        return
    if len(_kept) >= _MOST:
        forget()
    read_two, readers = library[:2]
    lazy = any(isinstance(x, LazyInfo) for x in arrays)
    try:
        facts = _read_lazies(arrays, readers[1])[1] if lazy else ()
        if lazy:
            _kept[asked, (*facts, *(readers[1](None, (one,))[0] for one in results))] = (*recipe[:4], set())
        elif len(arrays) == len(results) == 1 and not recipe.cut:
            before, behind, in_place = recipe.spans[0]
            found = (recipe.launch, before, behind, recipe.room, in_place)
            _kept[read_two(asked, arrays[0], results[0])[0]] = found
        else:
            every = (*arrays, *results)
            _kept[readers[len(every)](asked, every)[0]] = (*recipe[:4], set())
        if made:
            key = (asked, facts) if lazy else readers[len(arrays)](asked, arrays)[0]
            _made[key] = tuple(map(_kind_of, results)), recipe.launch, recipe.cut, []
    except (AttributeError, TypeError, RuntimeError):  # what is asked for, or an array, can't be looked up
        return
    for x in arrays if lazy else (*arrays, *results):
        if not isinstance(x, LazyInfo):
            _libraries[type(x)] = library  # a plain tuple: taking it apart is the fastest


def _kind_of(one: Any) -> Kind:
    """Return what a result is."""
    shape, info = tuple(one.shape), describe(one)
    nbytes = info.size * info.dtype.itemsize
    if info.contiguous:
        return Kind(shape, one.dtype, nbytes, None)
    axes = memory_order(shape, info.strides)
    return Kind(tuple(shape[k] for k in axes), one.dtype, nbytes, tuple(axes.index(k) for k in range(len(axes))))


def forget() -> None:
    """Forget all calls, for who changes how they are decided."""
    every: tuple[dict[Any, Any], ...] = (_kept, _made, _libraries, _by_name, *fronts)
    for known in every:
        known.clear()


def _read_lazies(given: Sequence[Any], read: Reader) -> tuple[tuple[int, ...], tuple[Hashable, ...]]:
    """Return the addresses of arrays, of what lazy ones read and their numbers, and all that a decision follows from."""
    pointers: tuple[int, ...] = ()
    facts: tuple[Hashable, ...] = ()
    for x in given:
        if isinstance(x, LazyArray):
            mine, fact = x.known or _know(x)
        elif isinstance(x, LazyInfo):
            mine, fact = (), _number((x.view.value, x.view.scalar, x.shape, *map(_of_leaf, x.leaves)))
        else:
            fact, mine, _ = read(None, (x,))
        pointers, facts = pointers + mine, (*facts, fact)
    return pointers, facts


def _know(x: LazyArray) -> tuple[tuple[int, ...], Hashable]:
    """Return what a lazy array's addresses and numbers are, and the number of its structure, which it keeps."""
    facts = (x.value, x.scalar, x.shape, *map(_of_leaf, x.leaves))
    x.known = (*(leaf.pointer for leaf in x.leaves), *x.numbers), _number(facts)
    return x.known


def _number(facts: Hashable) -> Hashable:
    """Return the number of a structure: it is looked up once an array, and never another's."""
    if len(_structures) >= _MOST:
        _structures.clear()
    found = _structures.get(facts)
    return _structures.setdefault(facts, next(_numbers)) if found is None else found


def _of_leaf(info: ArrayInfo) -> tuple[Hashable, ...]:
    return info.pointer & 15, info.device, info.dtype, info.shape, info.strides, info.library


def _library(name: str) -> tuple[Any, ...] | None:
    make: Callable[[], Library] | None = {"cupy": libraries.of_cupy, "torch": libraries.of_torch}.get(name)
    if name not in _by_name and make is not None:
        _by_name[name] = tuple(make())
    return _by_name.get(name)
