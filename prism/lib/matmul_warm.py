"""Calls of `hgemm`, `sgemm` and `matmul` that were made before, ready to be made again: what they came down to, by arguments.

Arguments are told apart by their memory too, so tensor maps and addresses stay what they are. A warm call looks itself up, asks
for the stream, and gives the driver arguments that were packed before.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from prism.host.call import Fixed, noting
from prism.host.warm import Warm
from prism.runtime.arrays import ArrayInfo
from prism.runtime.launch import Launcher
from prism.runtime.streams import current_stream, stream_handle


class Again(Protocol):
    """A call to be made again; `where` tells the library and the device, whose current stream is asked for."""

    @property
    def where(self) -> ArrayInfo:
        """An array of the call."""

    def make(self, stream: int) -> None:
        """Launch on a stream."""


class Call:
    """A call that came down to one launch, not of a cooperative kernel: all its addresses stay what they are.

    `where` tells the library and the device. Safe among threads.
    """

    __slots__ = ("_warm", "where")

    def __init__(
        self, launcher: Launcher, blocks: int, threads: int, values: tuple[Any, ...], where: ArrayInfo
    ) -> None:  # fmt: skip
        self._warm, self.where = Warm(launcher, blocks, threads, values, ()), where

    def make(self, stream: int) -> None:
        """Launch on a stream.

        Raises:
            DeviceError: the driver refuses the launch.
        """
        self._warm((), stream)


@dataclass(frozen=True, slots=True)
class Calls:
    """A call that came down to several, one after the other."""

    calls: tuple[Again, ...]

    @property
    def where(self) -> ArrayInfo:
        """An array of the first."""
        return self.calls[0].where

    def make(self, stream: int) -> None:
        """Launch all on a stream."""
        for call in self.calls:
            call.make(stream)


_MOST = 4096
_calls: dict[Any, tuple[Callable[[int], None], Callable[[], int]]] = {}  # and what tells the current stream
_launches = [0]  # of all that are kept
_rooms: dict[Any, tuple[tuple[int, int], str]] = {}


def repeat(key: Any, stream: Any) -> bool:
    """Make the call again that is kept under `key`; return whether there is one.

    Raises:
        TypeError, ValueError: as `stream_handle`.
        DeviceError: the driver refuses a launch.
    """
    try:
        kept = _calls.get(key)
    except TypeError:  # what is asked for can't be looked up
        return False
    if kept is None or noting.get() is not None:  # a plan is told what a call comes to: it is made in full
        return False
    make, current = kept
    make(current() if stream is None else stream_handle(stream))
    return True


def keep(key: Any, call: Again) -> None:
    """Keep a call; when that would be too many launches, forget all before. Tell a plan, where one is made."""
    noted = noting.get()
    if noted is not None:
        noted.append(Fixed(call.make))
    launches = len(call.calls) if isinstance(call, Calls) else 1
    if launches > _MOST:
        return
    if _launches[0] + launches > _MOST:
        _calls.clear()
        _launches[0] = 0
    _launches[0] += launches
    try:
        _calls[key] = call.make, _asks(call.where)
    except TypeError:  # what is asked for can't be looked up
        return


def _asks(where: ArrayInfo) -> Callable[[], int]:
    """Return what gives `current_stream(where)`, with all looked up that stays."""
    library, device = sys.modules.get(where.library), where.device
    if where.library == "cupy" and library is not None:
        current = library.cuda.get_current_stream
        return lambda: int(current(device).ptr)
    raw = getattr(getattr(library, "_C", None), "_cuda_getCurrentRawStream", None)
    if where.library == "torch" and raw is not None:  # what torch's own launches ask, without an object for the answer
        return functools.partial(raw, device)
    return functools.partial(current_stream, where)


def forget() -> None:
    """Forget all calls, for who changes how they are decided."""
    _calls.clear()
    _rooms.clear()
    _launches[0] = 0


def key(a: Any, b: Any, c: Any, bias: Any, out: Any, *rest: Any) -> Any:
    """Return what tells a call from all others, its arrays' memory included; None where calls are not kept."""
    cls = type(a)
    facts = _facts.get(cls) or _facts_of(cls)
    if facts is None or out is None:
        return None
    if type(b) is not cls or type(out) is not cls:
        for other in (type(b), type(out)):
            if (_facts.get(other) or _facts_of(other)) is not facts:
                return None
    try:
        if c is None and bias is None:
            return facts(a, b, out), rest
        return facts(a, b, out), rest, c is not None and facts(c, c, c), bias is not None and facts(bias, bias, bias)
    except (
        AttributeError,
        TypeError,
        RuntimeError,
    ):  # an array of another library, or one that has no memory of its own
        return None


def also(key: Any, arrays: tuple[Any, ...]) -> Any:
    """Return a key that tells these arrays apart too, those that are not None; None where calls are not kept."""
    found: list[Any] = []
    for x in arrays:
        facts = None if x is None else _facts.get(type(x)) or _facts_of(type(x))
        if key is None or (facts is None and x is not None):
            return None
        try:
            found.append(facts and facts(x, x, x))
        except (AttributeError, TypeError, RuntimeError):
            return None
    return key, tuple(found)


def _torch_facts(x: Any, y: Any, z: Any) -> Any:
    """Of three arrays at once: a call and a tuple cost as much as a fact."""
    return (
        x.data_ptr(), x.shape, x.stride(), x.dtype, x.get_device(), x.is_neg(),
        y.data_ptr(), y.shape, y.stride(), y.dtype, y.get_device(), y.is_neg(),
        z.data_ptr(), z.shape, z.stride(), z.dtype, z.get_device(), z.is_neg(),
    )  # fmt: skip


def _cupy_facts(x: Any, y: Any, z: Any) -> Any:
    of_x, of_y, of_z = x.data, y.data, z.data
    return (
        of_x.ptr, x.shape, x.strides, x.dtype, of_x.device_id,
        of_y.ptr, y.shape, y.strides, y.dtype, of_y.device_id,
        of_z.ptr, z.shape, z.strides, z.dtype, of_z.device_id,
    )  # fmt: skip


_KNOWN = {("torch", "Tensor"): _torch_facts, ("torch", "Parameter"): _torch_facts, ("cupy", "ndarray"): _cupy_facts}
_facts: dict[type, Callable[[Any, Any, Any], Any]] = {}


def _facts_of(cls: type) -> Callable[[Any, Any, Any], Any] | None:
    """Return what reads the facts of three arrays; None of types whose calls are not kept."""
    found = _KNOWN.get((cls.__module__.partition(".")[0], cls.__name__))
    if found is not None:
        _facts[cls] = found
    return found


# -- room for results -----------------------------------------------------------------------------------------------------


def keep_kind(a: Any, b: Any, asked: Any, kind: str) -> None:
    """Keep the dtype of the result of two matrices."""
    if len(_rooms) >= _MOST:
        _rooms.clear()
    try:
        _rooms[_room_key(a, b, asked)] = (a.shape[0], b.shape[1]), kind
    except TypeError:  # what is asked for can't be looked up
        return


def _room_key(a: Any, b: Any, asked: Any) -> Any:
    return type(a), a.dtype, b.dtype, a.shape, b.shape, asked


def room(a: Any, b: Any, asked: Any) -> Any:
    """Return room for the result of a call like one that was made before, or None."""
    try:
        found = _rooms.get(_room_key(a, b, asked))
    except (AttributeError, TypeError):
        return None
    if found is None:
        return None
    shape, kind = found
    if hasattr(a, "data_ptr"):
        return a.new_empty(shape, dtype=getattr(sys.modules["torch"], kind))
    cupy = sys.modules["cupy"]
    dtype = a.dtype if a.dtype.name == kind else np.dtype(kind)
    return cupy.empty(shape, dtype) if a.data.device_id == cupy.cuda.runtime.getDevice() else None
