"""The front of the library's functions: a call with `out=` that came before, on the same arrays, is looked up whole.

What a function asks before its look-up, and that look-up itself, take longer than the launch of a graph. So each function of
`prism.lib` has a function in front of it that knows calls by all that they are given: what their options are, and of each array
where it lies, its dtype, shape and strides. What it finds is one call of the driver. All else goes to the function itself.
A call that comes again and again is made once more as `prism.lib.plan` makes one, which says whether it is just a launch.
Copies whose result is to be made are known, too, where it is small: it is made here, and given as `out`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Hashable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from prism.host import repeat
from prism.host.lazies import LazyArray, LazyInfo
from prism.host.libraries import exactly, spelled_option
from prism.host.overlap import span
from prism.host.repeat import Notes, noting
from prism.host.warm import LASTING
from prism.runtime import device
from prism.runtime.arrays import ArrayInfo, describe, is_array
from prism.runtime.graphs import Again, graph_of

_WAITS = 8  # calls on arrays of types that nothing is known of
_OFTEN, _AGAIN, _TRIES = 12, 8, 6
"""Calls alike behind which one is learnt; how many more, where it can't be said as yet, as while a graph is tried; how often."""
_COUNTED, _MOST = 1024, 256  # calls that are counted, and that are known, of a function on arrays of such types
_KEPT, _HELD = 1 << 20, 1 << 26  # bytes of results between several calls that a graph keeps, and all graphs
_ANEW = ("copy", "permute", "transpose")
"""Functions whose results have the dtype of their first array, and are calls that copy into them."""
_SMALL = 1 << 23  # bytes of a result that is copied sooner than a call of torch's comes back
_between: list[Any] = []
_held = [0]
_NEVER: Again = (lambda: 1, ())


def front(function: Any) -> Any:
    """Return a function of the library with its front; as it is, where it takes no `out`."""
    if not isinstance(function, FunctionType):
        return function
    parameters = inspect.signature(function).parameters
    if "out" not in parameters or any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters.values()):
        return function
    mine = Front(function, parameters)
    space: dict[str, Any] = {
        "function_": function,
        "patterns_": mine.patterns,
        "learn_": mine.learn,
        "noting_": noting.get,
        "anew_": mine.anew,
        "learn_anew_": mine.learn_anew,
    }
    space |= {f"{name}_": one.default for name, one in parameters.items()}
    exec(_text(parameters, function.__name__ in _ANEW), space)
    found = functools.wraps(function)(space["front"])
    mine.again = found
    found.__module__ = "prism.lib"  # where it is found, as by pickle
    return found


def _text(parameters: Mapping[str, inspect.Parameter], anew: bool) -> str:
    """Return how a front is written: with the function's own parameters, so that nothing is packed or unpacked.

    `anew`: it knows calls whose result is made, too.
    """
    every = parameters.values()
    taken = [one.name if one.default is one.empty else f"{one.name}={one.name}_" for one in every]
    kinds = [one.kind for one in every]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        taken.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    if inspect.Parameter.POSITIONAL_ONLY in kinds:
        taken.insert(kinds.count(inspect.Parameter.POSITIONAL_ONLY), "/")
    given = ", ".join(f"{one.name}={one.name}" if one.kind is one.KEYWORD_ONLY else one.name for one in every)
    asked = _asked(parameters)
    types, values = ", ".join(f"type({name})" for name in asked), ", ".join(asked)
    plain = "stream is None" if "stream" in parameters else "noting_() is None"
    made = f"""
    elif out is None and {plain} and noting_() is None:
        known_ = anew_.get(({types}))
        if known_ is not None and (answer_ := known_({values})) is not None:
            return answer_
        answer_ = function_({given})
        learn_anew_(answer_, {values})
        return answer_"""
    return f"""
def front({", ".join(taken)}):
    if out is not None and {plain}:
        known_ = patterns_.get(({types}))
        if known_ is None:
            learn_({values})
        else:
            key_ = known_({values})
            if key_ is None:
                return out
            if key_ and (answer_ := known_.miss(key_, {values})) is not None:
                return answer_{made if anew else ""}
    return function_({given})
"""


def _asked(parameters: Mapping[str, Any]) -> list[str]:
    """Return the names of what calls are known by."""
    return [name for name in parameters if name != "stream"]


def _unread(*values: Any) -> tuple[()]:
    """Stand for what reads calls that are not known by their arguments."""
    return ()


class Front:
    """What is known of calls of a function: in `patterns` what reads a call, by the types of all arguments."""

    def __init__(self, function: FunctionType, parameters: Mapping[str, inspect.Parameter]) -> None:
        self.function, self.parameters = function, parameters
        self.out = _asked(parameters).index("out")
        self.patterns: dict[tuple[type, ...], Any] = {}
        self.anew: dict[tuple[type, ...], Any] = {}
        self.again: Any = function
        self._rooms: dict[tuple[type, ...], dict[Any, Any]] = {}
        self._waited: dict[tuple[type, ...], int] = {}
        repeat.fronts.extend((self.patterns, self.anew, self._rooms))

    def learn(self, *values: Any) -> None:
        """Make what reads calls with arguments of such types; not while no call has been made of such arrays."""
        types = tuple(map(type, values))
        many = self._waited.pop(types, 0) + 1
        try:
            read = None if type(values[self.out]) is np.ndarray else self._reader(values, types)
        except LookupError:
            if many < _WAITS:
                self._waited[types] = many
                return
            read = None
        except TypeError:
            read = None
        self.patterns[types] = read or _unread

    def learn_anew(self, answer: Any, *values: Any) -> None:
        """Learn how the result of such a call is made, where it is so small that the host's time counts.

        The call copies into it then, which is looked up whole where arrays lie as they did: results that are made and dropped
        mostly do.
        """
        x, types = values[0], tuple(map(type, values))
        library = repeat.library_of(type(x))
        if library is None or type(answer) is not type(x) or device.count() > 1:
            return
        info = describe(answer)
        if not (0 < info.size * info.dtype.itemsize <= _SMALL and info.contiguous and info.natural):
            return
        try:
            spelled = [(one, spelled_option(f"a{k}", one)) for k, one in enumerate(values) if k]
            options = [(one, text) for one, text in spelled if text]
            facts = library[1].facts_reader()
            key = (*(exactly(one) if "exactly" in text else one for one, text in options), facts(x))
            made = library[5](answer), facts(answer)
        except (AttributeError, TypeError, RuntimeError):
            return
        if types not in self.anew and not self._read_anew(
            answer, values, types, [text for _, text in options], library
        ):
            return
        rooms = self._rooms[types]
        if len(rooms) >= _COUNTED:
            rooms.clear()
        rooms[key] = made

    def _read_anew(
        self,
        answer: Any,
        values: tuple[Any, ...],
        types: tuple[type, ...],
        options: list[str],
        library: tuple[Any, ...],
    ) -> bool:
        """Make what reads calls of such types, by what reads those whose result is given; return whether that is there."""
        given = [answer if k == self.out else one for k, one in enumerate(values)]
        self.learn(*given)
        known = getattr(self.patterns.get(tuple(map(type, given))), "miss", None)
        if known is None:
            return False
        rooms = self._rooms[types] = {}
        names = [f"a{k}" for k in range(len(values))]
        self.anew[types] = library[1].anew_reader(names, options, known.__self__.known, rooms, self._into)
        return True

    def _into(self, room: Any, *values: Any) -> Any:
        """Make a call whose result is made already."""
        return self.again(**dict(zip(_asked(self.parameters), values, strict=True)) | {"out": room})

    def _reader(self, values: tuple[Any, ...], types: tuple[type, ...]) -> Any:
        """Return what reads such a call.

        Raises:
            LookupError: no call was made of arrays of such a type.
            TypeError: an option that may be another in each call, a lazy array, or arrays of two libraries.
        """
        names = [f"a{k}" for k in range(len(values))]
        groups: dict[str, list[str]] = {}
        arrays: dict[str, Any] = {}
        options: list[str] = []
        for name, value in zip(names, values, strict=True):
            if isinstance(value, tuple | list) and value and all(map(is_array, value)):
                groups[name] = [f"{name}_{k}" for k in range(len(value))]
                arrays |= zip(groups[name], value, strict=True)
            elif is_array(value):
                arrays[name] = value
            elif spelled := spelled_option(name, value):
                options.append(spelled)
        if any(isinstance(one, LazyArray) for one in arrays.values()):
            raise TypeError("lazy arrays are known by what they are of")
        libraries = [repeat.library_of(type(one)) for one in arrays.values()]
        library = libraries[0]
        if library is None or None in libraries:
            raise LookupError
        if any(one is not library for one in libraries):
            raise TypeError("arrays of two libraries")
        mine = _Known(self, types)
        read = library[1].place_reader(names, groups, tuple(arrays), options, mine.known)
        read.miss = mine.miss
        return read


class _Known:
    """Calls of a function with arguments of such types: `known` are launches, by all that was given."""

    def __init__(self, front: Front, types: tuple[type, ...]) -> None:
        self._front, self._types = front, types
        self.known: dict[Hashable, Again] = {}
        self._counted: dict[Hashable, int] = {}

    def miss(self, key: tuple[Any, ...], *values: Any) -> Any:
        """Count a call that is not known; after some like it make one, and learn what it is. None: it was not made."""
        stream, counted = key[-1], self._counted
        if stream not in LASTING:
            return None
        if len(counted) >= _COUNTED:
            counted.clear()
        many = counted[key] = counted.get(key, 0) + 1
        if many < _OFTEN or (many - _OFTEN) % _AGAIN:
            return None
        notes = Notes(numbers=True)
        token = noting.set(notes)
        try:
            answer = self._made(values, stream)
        finally:
            noting.reset(token)
        again = _launch_of(notes, answer, values, values[self._front.out], stream)
        if again is None and many < _OFTEN + _TRIES * _AGAIN:
            return answer
        del counted[key]
        if len(self.known) >= _MOST:
            self.known.clear()  # what comes again is learnt again
        self.known[key] = again if isinstance(again, tuple) else _NEVER
        if notes.waited:  # as it will: it is not looked up any more
            self._front.patterns[self._types] = _unread
        return answer

    def _made(self, values: tuple[Any, ...], stream: int) -> Any:
        """Make a call on a stream that is named, so that it is decided anew and noted."""
        given, every = iter(values), self._front.parameters
        named = {name: stream if name == "stream" else next(given) for name in every}
        first = [named.pop(name) for name, one in every.items() if one.kind is not one.KEYWORD_ONLY]
        return self._front.function(*first, **named)


def _launch_of(notes: Notes, answer: Any, values: tuple[Any, ...], out: Any, stream: int) -> Again | bool | None:
    """Return what makes the noted calls; False: that is more than one call of the driver; None: it is not known as yet.

    A call is known by its arguments. So what it launches must lie in them, not in copies, or in what it has made before, which is
    kept; and it must write its results, and give them. Each of its parts must be noted: what copies, or waits, is not.
    """
    pair = type(out) is tuple
    if not notes or notes.waited or len(notes) != notes.calls:
        return False
    if not (answer is out or (pair and type(answer) is tuple and _same(answer, out))):
        return False
    results = [describe(result) for result in (out if pair else (out,))]
    if device.count() > 1 and device.current_device() != results[0].device:
        return False
    every = (one for value in values for one in (value if type(value) in (tuple, list) else (value,)))
    given = [describe(one) for one in every if is_array(one)]
    if any(info.library == "torch" and info.dtype.kind == "c" for info in given):  # which may be conjugated
        return False
    written: set[int] = set()
    for one in notes:
        if one.recipe is None or not all(any(_lies_in(info, other) for other in given) for info in _taken(one)):
            return False
        made = [describe(result) for result in one.results]
        written |= {info.pointer for info in (*made, *map(describe, one.arrays[-1:] if pair else ()))}  # as `plan` says
        given += made
    if not written >= {result.pointer for result in results}:
        return False
    if len(notes) > 1:
        return _graph_of_all(notes, _between_of(notes, out if pair else (out,)), results[0].device, stream)
    owner: Any = notes[0].recipe.launch  # a method of what is launched
    found: Again | bool | None = owner.__self__.direct(notes[0].pointers, stream)
    return found


def _between_of(notes: Notes, targets: tuple[Any, ...]) -> list[Any]:
    """Return what noted calls make beside the call's results."""
    return [array for one in notes for array in one.results if not any(array is target for target in targets)]


def _taken(one: Any) -> list[ArrayInfo]:
    """Return the arrays that a noted call takes; of lazy ones what they read."""
    infos = [describe(array) for array in one.arrays] if one.kept is None else list(one.kept.values())
    return [leaf for info in infos for leaf in (info.leaves if isinstance(info, LazyInfo) else (info,))]


def _graph_of_all(notes: Notes, between: list[Any], ordinal: Any, stream: int) -> Again | bool:
    """Return several calls as one graph. What one makes for the next, `between`, stays where it is, if that is small."""
    nbytes = sum(span(describe(array))[1] for array in between)
    parts = [one.recipe.launch.__self__.part(one.pointers, stream) for one in notes]
    if nbytes > _KEPT or _held[0] + nbytes > _HELD or None in parts:
        return False

    def launch(own: int) -> None:
        for part in parts:
            part(own)

    found = graph_of(launch, ordinal, stream)
    if found is None:
        return False
    _held[0] += nbytes
    _between.extend(between)  # they live as long as the graph, which is as long as the process
    return found


def _same(answer: tuple[Any, ...], out: tuple[Any, ...]) -> bool:
    return len(answer) == len(out) and all(one is other for one, other in zip(answer, out, strict=True))


def _lies_in(info: ArrayInfo, other: ArrayInfo) -> bool:
    """Whether an array lies in the memory of another."""
    (before, behind), (above, below) = span(info), span(other)
    return other.pointer - above <= info.pointer - before and info.pointer + behind <= other.pointer + below


__all__ = ["Front", "front"]
