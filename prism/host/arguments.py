"""What functions of the library ask of their arguments, each check once; each error names the argument."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from prism.host import lazies, memory
from prism.lang.types.structs import Struct, scalar_called, struct_of
from prism.runtime.arrays import (
    BFLOAT16,
    ArrayInfo,
    describe,
    one_place,
    require_aligned,
    require_contiguous,
    require_writable,
)

_TAKEN = (list, tuple, bool, int, float, complex, np.generic)
_BASES = (("numpy", "ndarray"), ("cupy", "ndarray"), ("torch", "Tensor"))
_HOOKS = ("__array_ufunc__", "__array_function__", "__torch_function__", "__torch_dispatch__")
_PLAIN: set[type] = {np.ndarray}  # classes without hooks


def describe_all(arrays: Mapping[str, Any], called: Mapping[str, str], out: Any = None) -> dict[str, ArrayInfo]:
    """Return the facts of arrays, by name: of one library, that of the first, and in one place.

    `called`: what the caller calls them, where that is something else. Lazy arrays that read no memory are where the others are,
    or `out`.

    Raises:
        TypeError: an argument is no array, or of another library; some are on the host and some on a GPU.
        ValueError: they are on two GPUs.
    """
    infos = {key: facts_of(array, called.get(key, key)) for key, array in arrays.items()}
    if lazies.are_lazy(infos):
        infos = lazies.settle(infos, None if out is None else facts_of(out, "out"))
    named = {called.get(key, key): info for key, info in infos.items()}
    one_place(named)
    (of, first), *others = named.items()
    memory.require_known(first, of)
    for name, info in others:
        require_library(info, name, of, first)
    return infos


def describe_result(out: Any, infos: Mapping[str, ArrayInfo], called: Mapping[str, str]) -> ArrayInfo:
    """Return the facts of an array for a result, of the library of the first argument, and where the arguments are.

    Raises:
        TypeError, ValueError: as `describe_all`; it is read-only.
    """
    if isinstance(out, _TAKEN):
        raise TypeError(f"`out` must be an array, not {type(out).__name__}")
    result = facts_of(out, "out")
    if isinstance(result, lazies.LazyInfo):
        raise TypeError("`out` is a lazy array, which holds no memory: pass an array")
    name, first = next(iter(infos.items()))
    of = called.get(name, name)
    one_place({of: first, "out": result})
    require_library(result, "out", of, first)
    require_writable(result, "out")
    return result


def require_integer(value: Any, name: str, *, bools: bool = True) -> int:
    """Return an argument that is an integer, or an array of one; with `bools` also one that is True or False.

    Raises:
        TypeError: it is none.
    """
    try:
        if not bools and isinstance(value, bool | np.bool_):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be an integer, not {type(value).__name__}") from None


def require_pair(out: Any) -> None:
    """Check that `out`, where it is given, is a pair of arrays, for values and positions. Raises TypeError."""
    if out is not None and not (isinstance(out, tuple | list) and len(out) == 2):
        raise TypeError("`out` must be a pair of arrays, for values and positions")


def facts_of(array: Any, name: str) -> ArrayInfo:
    """Return the facts of an array; bfloat16, whosever it is, is called by one dtype. Numbers and lists are NumPy's arrays.

    Raises:
        TypeError: it is none, or of a class that has hooks of its own for functions.
        ValueError: a list whose rows are not of one length.
    """
    if isinstance(array, _TAKEN):
        try:
            array = np.asarray(array)
        except OverflowError as error:
            raise TypeError(f"`{name}`: {error}") from None
    _require_no_hooks(type(array), name)
    found = describe(array, name)
    same = found.dtype == BFLOAT16 or found.scalar != "bfloat16"
    return found if same else replace(found, dtype=BFLOAT16)


def array_of(value: Any) -> Any:
    """Return NumPy's array of a list or tuple; anything else as it is."""
    return np.asarray(value) if isinstance(value, (list, tuple)) else value


def _require_no_hooks(cls: type, name: str) -> None:
    """Check that a class of arrays doesn't have its own say in what functions do: Prism would not ask it."""
    if cls in _PLAIN:
        return
    base = next((b for b in cls.__mro__ if (b.__module__.partition(".")[0], b.__name__) in _BASES), cls)
    for hook in _HOOKS:
        mine, theirs = (getattr(getattr(one, hook, None), "__func__", getattr(one, hook, None)) for one in (cls, base))
        if mine is not theirs and not getattr(mine, "__name__", "").startswith("_disabled_torch"):
            text = f"`{name}` is a {cls.__qualname__}, which has a hook `{hook}` that Prism does not call"
            raise TypeError(f"{text}: pass it as {base.__module__.partition('.')[0]}'s own class has it")
    _PLAIN.add(cls)


def require_library(info: ArrayInfo, name: str, of: str, first: ArrayInfo) -> None:
    """Check that an array is of the library of another, which is called `of`.

    Raises:
        TypeError: it is not.
    """
    if info.library != first.library:
        raise TypeError(f"`{name}` must be an array of {first.library}, as `{of}` is, not of {info.library}")


def require_shape(result: ArrayInfo, shape: tuple[int, ...], name: str = "out") -> None:
    """Check the shape of an array that is a result, or like one.

    Raises:
        ValueError: it has another.
    """
    if result.shape != shape:
        raise ValueError(f"`{name}` must have shape {shape}, the result's, not {result.shape}")


def require_scalar(result: ArrayInfo, scalar: str, name: str = "out") -> None:
    """Check the dtype of an array that is a result, or like one.

    Raises:
        TypeError: it has another.
    """
    if result.scalar != scalar:
        raise TypeError(f"`{name}` must be of {scalar}, the result's dtype, not of {result.scalar}")


def require_one_shape(keys: ArrayInfo, values: ArrayInfo, names: tuple[str, str] = ("keys", "values")) -> None:
    """Check that each key has a value.

    Raises:
        ValueError: they have other shapes.
    """
    if keys.shape != values.shape:
        one, two = names
        raise ValueError(f"`{one}` and `{two}` must have one shape, not {keys.shape} and {values.shape}")


def require_result(result: ArrayInfo, scalar: str, shape: tuple[int, ...]) -> None:
    """Check an array that kernels write a result to as it is: of this type and shape, dense, and aligned to its elements.

    Raises:
        TypeError: it is of another dtype, or in another byte order.
        ValueError: it has another shape, is not contiguous, or not aligned.
    """
    require_scalar(result, scalar)
    if not result.dtype.isnative:
        raise TypeError(f"`out` must be of {scalar}, the result's dtype, not of {result.dtype}, in another byte order")
    require_shape(result, shape)
    require_contiguous(result, "out")
    require_aligned(result, "out", result.dtype.itemsize)


def not_plain(arrays: Mapping[str, ArrayInfo]) -> tuple[str, ...]:
    """Return the names of arrays that have gaps, or another order than C's, or elements that are not as kernels read them."""
    return tuple(name for name, info in arrays.items() if not (info.contiguous and info.natural))


def scalar_of(asked: Any, name: str = "dtype") -> str:
    """Return the name of a dtype that an argument gives; `name` is the argument's.

    Raises:
        TypeError: it is none.
    """
    found = dtype_of(asked, name)
    if found == BFLOAT16:
        return "bfloat16"
    struct = struct_of(found)
    return found.name if struct is None else struct.key


def dtype_of(asked: Any, name: str = "dtype") -> np.dtype[Any]:
    """Return the dtype that an argument gives: NumPy's, torch's or by its name; `name` is the argument's.

    Raises:
        TypeError: it is none.
    """
    if isinstance(asked, np.generic):  # which is compared by its value, wherever calls are looked up
        raise TypeError(f"`{name}` must be a dtype, not a number of {asked.dtype}")
    said = str(asked).removeprefix("torch.")
    if said == "bfloat16" or asked is BFLOAT16 or getattr(asked, "__name__", "") == "bfloat16":
        return BFLOAT16
    try:
        return np.dtype(said if str(asked) != said else asked)
    except TypeError as error:
        raise TypeError(f"`{name}`: {error}") from None


def record_in(value: Any, scalar: str, name: str) -> Any:
    """Return a value of a struct that an argument gives, as NumPy has it; None where `scalar` is no struct.

    Raises:
        TypeError: it is none.
    """
    struct = scalar_called(scalar)
    if not isinstance(struct, Struct):
        return None
    try:
        return struct.to_library(struct.value(value))
    except (OverflowError, ValueError, TypeError) as error:
        raise TypeError(f"`{name}`: {error}") from error


def exactly(value: Any) -> Any:
    """Return what a number is known by: its type and bits, which comparing does not tell apart; None of None."""
    kind = type(value)
    if value is None or kind is int or kind is bool:
        return value if value is None else (kind, value)
    if kind is float and value and value == value:
        return kind, value
    exact = value.tobytes() if isinstance(value, np.generic | np.ndarray) else repr(value)
    return kind, getattr(value, "dtype", None), exact


__all__ = [
    "describe_all", "describe_result", "dtype_of", "exactly", "facts_of", "not_plain", "record_in", "require_library",
    "require_result", "require_scalar", "require_shape", "scalar_of",
]  # fmt: skip
