"""`prism.lib.plan`: a call of the library decided once, to be made again at the cost of its launch."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from threading import get_ident
from typing import Any, NoReturn

import numpy as np

from prism.host.call import Noted
from prism.host.lazies import LazyArray
from prism.host.overlap import overlapping
from prism.host.repeat import Notes, noting
from prism.host.warm import LASTING
from prism.runtime import device
from prism.runtime.arrays import ArrayInfo, describe, is_array
from prism.runtime.graphs import Again
from prism.runtime.streams import choose_stream, current_stream

_OFTEN, _TRIES = 8, 8  # calls of a plan, behind which it is asked whether they are one launch, and how often
_ALIGNED = 15  # the bits of an address that decide which kernel a call takes


class PlannedCall:
    """A call of the library that is decided: which kernels, cut up how, on arrays of which kind.

    `plan()` makes the call again on the arrays that it was made with, and checks nothing: it costs the launch. `plan(x, out)`
    makes it on others of the same library, device, dtype, shape, strides and alignment: all arrays of the call, in its order, and
    the result's; not where some of them are lazy. Work goes to the current stream of the arrays' library, or to `stream`.
    """

    def __init__(self, call: Callable[[tuple[Any, ...], Any, Any], Any], noted: Noted) -> None:
        self._call, self._recipe, self._answer = call, noted.recipe, noted.answer
        self._given, self._results = noted.arrays, noted.results
        self._arrays = (*noted.arrays, *noted.results)
        self._infos = tuple(map(describe, self._arrays))
        self._pointers = noted.pointers or tuple([info.pointer for info in self._infos])
        self._lazy = noted.kept  # what lazy arrays are of: their memory lives as long
        self._direct: dict[tuple[int, int], Again] = {}  # by streams and threads
        self._made, self._several = 0, True  # how often; whether it may be learnt what is launched
        self._names = (*noted.names, *(("out",) if len(noted.results) == 1 else ()))

    def __call__(self, *arrays: Any, stream: Any = None) -> Any:
        """Make the call, and return its result: `out`, the last of the arrays, where it is given others.

        Raises
        ------
        TypeError, ValueError
            Some of the arrays are missing, or they are not like those that the plan was made with; `stream` for arrays on
            the host.
        RuntimeError
            Scratch memory must be allocated inside the capture of a CUDA graph: make the plan on the stream of the capture.
        """
        if not arrays:
            return self._again(stream)
        if self._lazy is not None:
            raise TypeError("a plan of lazy arrays takes no others: make one of those")
        if len(arrays) != len(self._names) or len(self._names) != len(self._arrays):
            raise TypeError(f"a plan takes no arrays, or all of them: {', '.join(self._names)}")
        infos = [describe(array, name) for array, name in zip(arrays, self._names, strict=True)]
        for info, other, name in zip(infos, self._infos, self._names, strict=True):
            _require_like(info, other, name)
        recipe = self._recipe
        if recipe is None:
            _require_gpu(infos[0], stream)
            return self._call(arrays[:-1], arrays[-1], stream)
        pointers = tuple([info.pointer for info in infos])
        if (which := overlapping(pointers, recipe.spans, recipe.room)) >= 0:
            raise ValueError(f"`out` overlaps `{self._names[which]}`: a plan copies nothing")
        if recipe.same >= 0 and pointers[recipe.same] != pointers[-1]:
            raise ValueError(f"`out` must be `{self._names[recipe.same]}`, as it was: a plan copies nothing")
        recipe.launch(pointers, choose_stream(stream, infos[:1]))
        return arrays[-1]

    def __reduce__(self) -> NoReturn:
        raise TypeError("a plan is of kernels and memory of this process, and is not copied or pickled: make it again")

    def _again(self, stream: Any) -> Any:
        if self._recipe is None:
            _require_gpu(self._infos[0], stream)
            if len(self._results) == 1:
                return self._call(self._given, self._results[0], None)
            for kept, found in zip(self._results, self._call(self._given, None, None), strict=True):
                kept[...] = found
            return self._answer
        handle = current_stream(self._infos[0]) if stream is None else choose_stream(stream, ())
        found = self._direct.get((handle, get_ident()))
        if found is None or (device.count() > 1 and device.current_device() != self._infos[0].device):
            self._recipe.launch(self._pointers, handle)
            if handle in LASTING and self._several:
                self._learn(handle)
            return self._answer
        function, given = found
        if function(*given):  # it launched nothing
            self._recipe.launch(self._pointers, handle)
        return self._answer

    def _learn(self, handle: int) -> None:
        """Ask now and then, of a lasting stream, for one call of the driver that makes the launches, for this thread."""
        assert self._recipe is not None
        self._made += 1
        if self._made % _OFTEN:
            return
        owner: Any = self._recipe.launch  # a method of what is launched
        found = owner.__self__.direct(self._pointers, handle)
        self._several = found is not False and self._made < _TRIES * _OFTEN
        if isinstance(found, tuple):
            self._direct[handle, get_ident()] = found


def plan(
    function: Callable[..., Any], *arguments: Any, out: Any = None, stream: Any = None, **options: Any
) -> PlannedCall:
    """Decide a call of a function of the library, to be made many times.

    The call is made once: afterwards its result is there, the kernels are loaded, and scratch memory is there on the stream.

    Parameters
    ----------
    function : function of prism.lib
        A scan, a reduction, one of segments or by keys, or a product of matrices.
    arguments, options
        Of the function, as in ``function(*arguments, out=out, **options)``. The plan keeps them.
    out : array, or pair of arrays, optional
        Where the result goes; by default into an array that this first call makes, and every later one writes again.
    stream : stream or int, optional
        Where this first call runs, for arrays on a GPU; by default their library's current stream. Calls that are captured in a
        CUDA graph need a plan made on the stream of the capture, or one that ran there.

    Returns
    -------
    PlannedCall
        ``plan()`` makes the call again, ``plan(x, out)`` makes it on other arrays like these.

    Raises
    ------
    ValueError
        The call would copy: an array has gaps, or `out` overlaps one or has strides that the kernels don't write; or there is
        nothing to launch, as there are no elements; `stream` for arrays on the host.
    TypeError
        `function` is none that can be planned; or what the function raises.

    Examples
    --------
    >>> import numpy as np, prism
    >>> x, y = np.arange(5), np.empty(5, int)
    >>> again = prism.lib.plan(prism.lib.cumsum, x, out=y)
    >>> x[:] = 1
    >>> again()
    array([1, 2, 3, 4, 5])
    """
    name = getattr(function, "__name__", "")
    if name.startswith("_") or not str(getattr(inspect.unwrap(function), "__module__", "")).startswith("prism.lib."):
        raise TypeError(f"`function` must be a function of prism.lib, not {name or type(function).__qualname__}")
    bound = inspect.signature(function).bind(*arguments, **options)
    seen: set[int] = set()
    bound.arguments = {key: _tell_apart(value, seen) for key, value in bound.arguments.items()}
    arguments, options = bound.args, bound.kwargs
    leaves = [value.leaves[0] for value in bound.arguments.values() if isinstance(value, LazyArray) and value.leaves]
    every = (value for value in bound.arguments.values() if is_array(value) and not isinstance(value, LazyArray))
    first = leaves[0] if leaves else describe(next(every, out), "x")
    where = (
        stream if first.device is None else choose_stream(stream, (first,))
    )  # a call on a stream that is named decides anew
    noted = Notes()
    token = noting.set(noted)
    try:
        _called(function, arguments, options, out, where)
    finally:
        noting.reset(token)
    if len(noted) != 1:
        why = "it copies, has nothing to do, or waits for how many results there are; no plan can be made of it"
        raise ValueError(f"`{name}` of these arrays is not just launches: {why}")
    (one,) = noted
    pair = isinstance(out, tuple | list)  # of which the call takes the second one as the last of its arrays
    if pair:
        one.answer = (one.results[0], one.arrays[-1])

    def call(arrays: tuple[Any, ...], out: Any, stream: Any) -> Any:
        left = {id(old): new for old, new in zip(one.arrays, arrays, strict=True) if old is not new}
        if pair:
            left.pop(id(one.arrays[-1]), None)
            out = (out, arrays[-1])
        given = tuple(_put(value, left) for value in arguments)
        values = {key: _put(value, left) for key, value in options.items()}
        if left:
            raise TypeError(f"`{name}` was planned of what is no array, or of a part of one: the plan takes no others")
        return _called(function, given, values, out, stream)

    return PlannedCall(call, one)


def _tell_apart(value: Any, seen: set[int]) -> Any:
    """Return arguments of which no two are one array: where NumPy's is given again, it is a view of it."""
    if type(value) in (tuple, list):
        return type(value)(_tell_apart(one, seen) for one in value)
    again = isinstance(value, np.ndarray) and id(value) in seen
    seen.add(id(value))
    return value.view() if again else value


def _put(value: Any, left: dict[int, Any]) -> Any:
    """Return an argument with other arrays in place of those that have these ids, which are taken out of `left`."""
    if type(value) in (tuple, list):
        return type(value)(_put(one, left) for one in value)
    return left.pop(id(value), value)


def _called(
    function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any], out: Any, stream: Any
) -> Any:
    """Call a function, with `stream` where it is given and the function takes it; the result goes to `out`, if given."""
    parameters, given = inspect.signature(function).parameters, dict(options)
    if out is not None and "out" in parameters:
        given["out"] = out
    if stream is not None and "stream" in parameters:
        given["stream"] = stream
    found = function(*arguments, **given)
    if out is None or "out" in parameters:
        return found
    if isinstance(found, tuple) or isinstance(out, tuple | list):
        raise TypeError(
            "`out` must be left out: the function takes none, and gives several results or is given several"
        )
    out[...] = found
    return out


def _require_gpu(given: ArrayInfo, stream: Any) -> None:
    if stream is not None and given.device is None:
        raise ValueError("`stream` is for arrays on a GPU, and `x` is on the host")


def _require_like(info: ArrayInfo, other: ArrayInfo, name: str) -> None:
    for what in ("library", "device", "dtype", "shape", "strides"):
        found, wanted = getattr(info, what), getattr(other, what)
        if found != wanted:
            kind = TypeError if what in ("library", "dtype") else ValueError
            raise kind(f"`{name}` has {what} {found}, and the plan was made with {wanted}")
    if info.device is not None and (info.pointer ^ other.pointer) & _ALIGNED:
        raise ValueError(f"`{name}` is aligned otherwise to 16 bytes than what the plan was made with")


__all__ = ["PlannedCall", "plan"]
