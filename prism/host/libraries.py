"""How arrays of CuPy and torch are read and made in warm calls: by the fewest attributes that say what they are."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from threading import get_ident
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from prism.lang.surface import Kernel
from prism.lang.types import Scalar
from prism.runtime import device as devices
from prism.runtime import streams

Read: TypeAlias = tuple[tuple[Hashable, ...], tuple[int, ...], int]
"""A key of what is asked of arrays and of all that a decision follows from; where each begins; the first one's device."""
Reader: TypeAlias = Callable[[Hashable, Sequence[Any]], Read]
"""`reader(asked, arrays)`, of so many arrays as it was made for."""


class Kind(NamedTuple):
    """What a result is: its shape as it lies in memory, its dtype and bytes; where its axes are in another order, that order."""

    shape: tuple[int, ...]
    dtype: Any
    nbytes: int
    axes: tuple[int, ...] | None


class Library(NamedTuple):
    """How a library's arrays are read, which stream is current on a device, and how a result is made.

    `read_two(asked, x, out)` gives a key of what is asked and of all that a decision follows from, where the two begin, and the
    stream. `readers[n]` reads `n` arrays. `reserve(x, device, kind)` takes memory for a result beside `x`, and gives it with its
    address. `shape(room, kind, many)` makes the array there once the kernels are under way: of `many` elements, or all where that
    is -1. `maker(result)` gives `make(x)`, which makes another such result of `x`'s dtype, where there is one GPU.
    """

    read_two: Callable[[Hashable, Any, Any], tuple[tuple[Hashable, ...], int, int, int]]
    readers: Mapping[int, Reader]
    stream: Callable[[int], int]
    reserve: Callable[[Any, int, Kind], tuple[Any, int]]
    shape: Callable[[Any, Kind, int], Any]
    maker: Callable[[Any], Callable[[Any], Any]]


class _Spelling(NamedTuple):
    """How what is asked of the array `x{k}` is written.

    `begin`: statements, behind which `p{k}` is its address. `device`: an expression. `facts`: the others that a decision follows
    from. `stream`: that is current on `device`. `here`: the GPU that is current. `placed`: in place of `begin` where the address
    itself is a part of the key, which so tells that it is a GPU's. `place`: an expression of the address of a result.
    """

    begin: tuple[str, ...]
    device: str
    facts: str
    stream: str
    here: str
    placed: tuple[str, ...]
    place: str


# Of CuPy's arrays a size is read sooner than a shape, which it makes anew, and so is whether strides follow from the shape. A
# result of another library has no such attributes.
_CUPY = _Spelling(
    ("m{k} = x{k}.data", "p{k} = m{k}.ptr"), "m{k}.device_id",
    "x{k}.dtype, x{k}.size if x{k}.ndim == 1 else x{k}.shape, x{k}._c_contiguous or x{k}.strides", "current(device).ptr",
    "here()", ("m{k} = x{k}.data", "p{k} = m{k}.ptr"), "{x}.data.ptr",
)  # fmt: skip
_TORCH = _Spelling(  # functions of `torch.Tensor` take a tenth less than its methods
    (
        "t{k} = x{k}.dtype", "if not x{k}.is_cuda or is_neg(x{k}) or (are_complex[t{k}] and x{k}.is_conj()):",
        "    raise TypeError('its memory alone does not say what it is')",
        "p{k} = data_ptr(x{k})",  # a sparse one has no such pointer
    ),
    "x{k}.get_device()", "t{k}, x{k}.shape, is_contiguous(x{k}) or x{k}.stride()", "current(device)",
    "here()", ("t{k} = x{k}.dtype", "if is_neg(x{k}):", "    raise TypeError", "p{k} = data_ptr(x{k})"),
    "data_ptr({x})",
)  # fmt: skip


PLAIN: set[type] = {bool, int, str, bytes, type, Kernel, Scalar}
"""Types of what is known by what it is equal to, and of what is equal to nothing else."""
_SEQUENCES = (tuple, list)
_MOST = 4096
_exact: dict[Hashable, tuple[Any, int]] = {}
"""What is kept, by its id, or of a list by those of its elements; and its number."""
_numbers: dict[Hashable, int] = {}
_next = itertools.count()


def exactly(value: Any) -> int:
    """Return a number that stands for an option of a call: its value, with types, which comparing does not tell apart.

    Raises:
        TypeError: it may be another in each call, as what a lambda names.
    """
    several = type(value) is list
    found = _exact.get(tuple(map(id, value)) if several else id(value))
    if found is not None:
        return found[1]
    if type(value) is FunctionType:  # a lambda is made anew where it stands, of the same code
        code, space = value.__code__, value.__globals__
        found = _exact.get(id(code))
        alone = not value.__closure__ and not value.__defaults__
        # a name of Python's own may have become one of the file's since
        if found is not None and found[0][1] is space and alone and space.keys().isdisjoint(code.co_names):
            return found[1]
    exact = _exactly(value)
    if len(_numbers) >= _MOST:
        _numbers.clear()
        _exact.clear()
    number = _numbers.get(exact)
    if number is None:
        number = _numbers[exact] = next(_next)
    if type(value) is FunctionType:
        _exact[id(value.__code__)] = (value.__code__, value.__globals__), number
    elif several and not any(type(one) in _SEQUENCES for one in value):
        _exact[tuple(map(id, value))] = tuple(value), number
    elif type(value) is tuple and not any(type(one) in _SEQUENCES for one in value):
        _exact[id(value)] = value, number
    return number


def _exactly(value: Any) -> Hashable:
    kind = type(value)
    if kind in _SEQUENCES:
        return kind, *map(_exactly, value)
    if kind is float or kind is complex:
        return kind, repr(value)  # with the sign of zero
    if value is None or _is_plain(value):
        return kind, value
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return kind, value.dtype, value.tobytes()
    if kind is FunctionType and value.__name__ == "<lambda>" and not value.__closure__ and not value.__defaults__:
        code = value.__code__
        if not any(name in value.__globals__ for name in code.co_names):
            return kind, code, code.co_filename
    raise TypeError(f"{kind.__qualname__}: it may be another in each call")


def _is_plain(value: Any) -> bool:
    """Whether a value is known by what it is equal to, among those of its type."""
    kind = type(value)
    return kind in PLAIN or isinstance(value, np.dtype) or (kind.__module__, kind.__name__) == ("torch", "dtype")


def spelled_option(name: str, value: Any) -> str:
    """Return how such an option of a call is written in its key, where the types of all options are known.

    Raises:
        TypeError: as `exactly`.
    """
    if value is None:
        return ""
    if type(value) is float:
        return f"{name} or repr({name})"
    if _is_plain(value):
        return name
    _exactly(value)
    return f"exactly({name})"


class _Readers(dict[int, Reader]):
    """Functions that read so many arrays, each made when it is first asked for.

    They are written out: of four arrays a loop takes a third longer, and that is as much as the look-up of the call.
    """

    def __init__(self, spelling: _Spelling, **names: Any) -> None:
        super().__init__()
        self._spelling, self._names = spelling, names

    def __missing__(self, many: int) -> Reader:
        lines = [f"{''.join(f'x{k}, ' for k in range(many))}= arrays", *self._lines(many)]
        found: Reader = self._function("arrays", [*lines, f"return key, ({self._places(many)}), device"])
        self[many] = found
        return found

    def two(self) -> Any:
        """Return what reads an array and a result, and asks for the stream."""
        return self._function("x0, x1", [*self._lines(2), f"return key, p0, p1, {self._spelling.stream}"])

    def _lines(self, many: int) -> list[str]:
        begin, device, facts, *_ = self._spelling
        lines = [line.format(k=k) for k in range(many) for line in begin]
        joined = " | ".join(f"p{k}" for k in range(many))
        past = f"({joined}) & 15 and ({''.join(f'p{k} & 15, ' for k in range(many))})"
        devices = ", ".join(["device", *(device.format(k=k) for k in range(1, many))])
        every = ", ".join(facts.format(k=k) for k in range(many))
        return [*lines, f"device = {device.format(k=0)}", f"key = asked, {past}, {devices}, {every}"]

    def place_reader(
        self,
        values: Sequence[str],
        groups: Mapping[str, Sequence[str]],
        arrays: Sequence[str],
        options: Sequence[str],
        known: Any,
    ) -> Any:
        """Return `read(*values)`, which makes the call that `known` says under all that was given; see `prism.host.front`.

        `arrays` are names: of values, or of what tuples among these are taken apart to, by `groups`.
        """
        begin, device, facts, stream, here, placed, _ = self._spelling
        several = devices.count() > 1
        lines = [f"{', '.join(names)}, = {value}" for value, names in groups.items()]
        lines += [f"x{k} = {name}" for k, name in enumerate(arrays)]
        lines += [line.format(k=k) for k in range(len(arrays)) for line in placed]
        lines.append(f"device = {device.format(k=0)}")
        key = [f"p{k}" for k in range(len(arrays))] + ["device"] + [facts.format(k=k) for k in range(len(arrays))]
        key += [f"type({name})" for names in groups.values() for name in names]
        if several:  # or an address says which it is
            key += [here, *(device.format(k=k) for k in range(1, len(arrays)))]
        key = [*options, *key, "thread()", stream]
        lines += [
            f"key = {', '.join(key)}", "found = known.get(key)", "if found is None:", "    return key",
            "function, given = found", "return () if function(*given) else None",
        ]  # fmt: skip
        text = "\n        ".join([f"def read({', '.join(values)}):\n    try:", *lines])
        text += "\n    except (AttributeError, TypeError, RuntimeError, ValueError):\n        return ()\n"
        space = {**self._names, "known": known, "thread": get_ident, "exactly": exactly}
        exec(text, space)
        return space["read"]

    def anew_reader(
        self, values: Sequence[str], options: Sequence[str], known: Any, rooms: Mapping[Any, Any], again: Any
    ) -> Any:
        """Return `read(*values)`, which makes the call that `known` says of the first value and a result that is made here.

        `rooms` says how such a result is made, and its facts; where it does not, None is returned. `again(result, *values)` makes
        a call that is not known. There is one GPU: else an address does not say which it is.
        """
        _, device, facts, stream, _, placed, place = self._spelling
        key = [*options, "p0", place.format(x="room"), "device", "*facts", "*own", "thread()", stream]
        lines = [f"x0 = {values[0]}", *(line.format(k=0) for line in placed), f"device = {device.format(k=0)}"]
        lines += [f"facts = {facts.format(k=0)}", f"found = rooms.get(({', '.join([*options, 'facts'])},))"]
        lines += ["if found is None:", "    return None", "make, own = found", "room = make(x0)"]
        lines += [f"found = known.get(({', '.join(key)}))"]
        lines += ["if found is not None and not found[0](*found[1]):", "    return room"]
        text = "\n        ".join([f"def read({', '.join(values)}):\n    try:", *lines])
        text += "\n    except (AttributeError, TypeError, RuntimeError, ValueError):\n        return None\n"
        text += f"    return again(room, {', '.join(values)})\n"
        space = {**self._names, "known": known, "rooms": rooms, "again": again, "thread": get_ident, "exactly": exactly}
        exec(text, space)
        return space["read"]

    def facts_reader(self) -> Any:
        """Return `read(x0)`, which gives the facts of an array as keys have them."""
        lines = [line.format(k=0) for line in self._spelling.placed]
        text = "\n    ".join(["def read(x0):", *lines, f"return {self._spelling.facts.format(k=0)}"])
        space = dict(self._names)
        exec(text, space)
        return space["read"]

    @staticmethod
    def _places(many: int) -> str:
        return "".join(f"p{k}, " for k in range(many))

    def _function(self, parameters: str, lines: list[str]) -> Any:
        text = "\n    ".join([f"def read(asked, {parameters}):", *lines])
        space = dict(self._names)
        exec(text, space)
        return space["read"]


def of_cupy() -> Library:
    """Return how CuPy's arrays are read and made; CuPy has been imported."""
    cupy = sys.modules["cupy"]
    current, allocate, make = cupy.cuda.get_current_stream, cupy.cuda.alloc, cupy.ndarray
    readers = _Readers(_CUPY, current=current, here=lambda: cupy.cuda.runtime.getDevice())

    def reserve(x: Any, device: int, kind: Kind) -> tuple[Any, int]:
        room = allocate(kind[2])
        if room.device_id != device:  # another one is current
            with cupy.cuda.Device(device):
                room = allocate(kind[2])
        return room, room.ptr

    def shape(room: Any, kind: Kind, many: int) -> Any:
        extents, dtype, _, axes = kind
        found = make(extents if many < 0 else (many, *extents[1:]), dtype, room)
        return found if axes is None else found.transpose(axes)

    def maker(result: Any) -> Callable[[Any], Any]:
        extents, nbytes = result.shape, result.size * result.dtype.itemsize
        return lambda x: make(extents, x.dtype, allocate(nbytes))

    return Library(readers.two(), readers, lambda device: current(device).ptr, reserve, shape, maker)


def of_torch() -> Library:
    """Return how torch's tensors are read and made; torch has been imported."""
    torch = sys.modules["torch"]
    current = streams.of_torch(torch)
    names = {name: getattr(torch.Tensor, name) for name in ("is_neg", "data_ptr", "is_contiguous")}
    names |= {"current": current, "are_complex": _Complex(), "here": lambda: torch.cuda.current_device()}
    readers = _Readers(_TORCH, **names)

    def reserve(x: Any, device: int, kind: Kind) -> tuple[Any, int]:
        room = x.new_empty(kind[0], dtype=kind[1])
        return room, room.data_ptr()

    def shape(room: Any, kind: Kind, many: int) -> Any:
        if many >= 0:
            return room[:many]
        return room if kind[3] is None else room.permute(kind[3])

    def maker(result: Any) -> Callable[[Any], Any]:
        extents, new_empty = tuple(result.shape), torch.Tensor.new_empty
        return lambda x: new_empty(x, extents)

    return Library(readers.two(), readers, current, reserve, shape, maker)


class _Complex(dict[Any, bool]):
    """Whether a dtype is complex: what is known is read sooner than torch says it."""

    def __missing__(self, dtype: Any) -> bool:
        found = self[dtype] = bool(dtype.is_complex)
        return found


__all__ = ["Kind", "Library", "Read", "Reader", "of_cupy", "of_torch"]
