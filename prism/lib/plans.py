"""`prism.lib.plan`: a call of the library decided once, to be made again at the cost of its launch."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from prism.lib.repeat import Launch, Recipe
from prism.runtime.arrays import ArrayInfo, describe
from prism.runtime.streams import choose_stream, current_stream

_noted: ContextVar[list[Recipe] | None] = ContextVar("noted", default=None)
_ALIGNED = 15  # the bits of an address that decide which kernel a call takes


def planning() -> bool:
    """Whether a plan is being made: then who launches says what, by `note`."""
    return _noted.get() is not None


def note(launch: Launch, spans: tuple[int, int, int], *, in_place: bool) -> None:
    """Say what a call came to that copied nothing; as in a `Recipe`."""
    noted = _noted.get()
    if noted is not None:
        noted.append(Recipe(launch, *spans, in_place))


class Plan:
    """A call of the library that is decided: which kernels, cut up how, on arrays of which kind.

    `plan()` makes the call again on the arrays that it was made with, and checks nothing: it costs the launch. `plan(x, out)`
    makes it on others of the same library, device, dtype, shape, strides and alignment. Work goes to the current stream of the
    arrays' library, or to `stream`.
    """

    def __init__(self, call: Callable[[Any, Any], Any], x: Any, out: Any, recipe: Recipe | None) -> None:
        self._call, self._recipe = call, recipe
        self._x, self._out = describe(x, "x"), describe(out, "out")
        self._arrays = (x, out)

    def __call__(self, x: Any = None, out: Any = None, *, stream: Any = None) -> Any:
        """Make the call, and return `out`.

        Raises
        ------
        TypeError, ValueError
            One of the two arrays is missing, or they are not like those that the plan was made with; `stream` for arrays on
            the host.
        RuntimeError
            Scratch memory must be allocated inside the capture of a CUDA graph: make the plan on the stream of the capture.
        """
        recipe = self._recipe
        if x is None and out is None:
            if recipe is None:
                _require_gpu(self._x, stream)
                return self._call(*self._arrays)
            handle = current_stream(self._x) if stream is None else choose_stream(stream, ())
            recipe.launch(self._x.pointer, self._out.pointer, handle)
            return self._arrays[1]
        source, target = describe(x, "x"), describe(out, "out")
        _require_like(source, self._x, "x")
        _require_like(target, self._out, "out")
        if recipe is None:
            _require_gpu(source, stream)
            return self._call(x, out)
        same = recipe.in_place and source.pointer == target.pointer
        before, behind = source.pointer - recipe.before, source.pointer + recipe.behind
        if target.pointer < behind and before < target.pointer + recipe.room and not same:
            raise ValueError("`out` overlaps `x`: a plan copies nothing")
        recipe.launch(source.pointer, target.pointer, choose_stream(stream, (source,)))
        return out


def plan(function: Callable[..., Any], x: Any, *arguments: Any, out: Any, stream: Any = None, **options: Any) -> Plan:
    """Decide a call of a scan or a reduction, to be made many times.

    The call is made once: afterwards `out` has its result, the kernels are loaded, and scratch memory is there on the stream.

    Parameters
    ----------
    function : function of prism.lib
        A scan or a reduction of one array: `scan`, `reduce`, `cumsum`, `sum` and their like.
    x, out : array
        What it takes, and where its result goes. The plan keeps both.
    arguments, options
        Of the function, as in ``function(x, *arguments, out=out, **options)``.
    stream : stream or int, optional
        Where this first call runs, for arrays on a GPU; by default their library's current stream. Calls that are captured in a
        CUDA graph need a plan made on the stream of the capture, or one that ran there.

    Returns
    -------
    Plan
        ``plan()`` makes the call again, ``plan(x, out)`` makes it on other arrays like these.

    Raises
    ------
    ValueError
        The call would copy: `x` has gaps, or `out` overlaps it or has strides that the kernels don't write; or there is nothing
        to launch, as `x` has no elements; `stream` for arrays on the host.
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
    module = getattr(function, "__module__", "")
    if not callable(function) or module not in ("prism.lib.scans", "prism.lib.cumulative", "prism.lib.reductions"):
        name = getattr(function, "__name__", type(function).__qualname__)
        raise TypeError(f"`function` must be a scan or a reduction of prism.lib, not {name}")

    def call(x: Any, out: Any) -> Any:
        return function(x, *arguments, out=out, **options)

    given = describe(x, "x")
    if given.device is None:
        _require_gpu(given, stream)
        call(x, out)
        return Plan(call, x, out, None)
    token = _noted.set([])
    try:
        handle = choose_stream(stream, (given,))
        function(x, *arguments, out=out, stream=handle, **options)
        noted = _noted.get()
    finally:
        _noted.reset(token)
    if not noted or len(noted) != 1:
        why = "it copies, or has nothing to do; no plan can be made of it"
        raise ValueError(f"`{function.__name__}` of these arrays is not just launches: {why}")
    return Plan(call, x, out, noted[0])


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


__all__ = ["Plan", "note", "plan", "planning"]
