"""Lazy arrays that have the elements of a given array, each made another way: for functions they must be that array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import prism
from prism.lang import dtype, requires, template, thread
from prism.lang import prism as mark
from prism.lib import lazy


@mark("device")
@requires(thread[1])
@template(T=dtype)
def same(x: T @ thread[1]) -> T @ thread[1]:
    return x


def of(put: Any, x: Any) -> Any:
    return lazy.of(put(x))


def mapped(put: Any, x: Any) -> Any:
    return lazy.map(same, put(x))


def by_lambda(put: Any, x: Any) -> Any:
    return lazy.map(lambda a, b: b, put(x[::-1]), put(x))


def flipped(put: Any, x: Any) -> Any:
    return lazy.flip(put(np.ascontiguousarray(np.flip(x))))


def taken(put: Any, x: Any) -> Any:
    """Shuffled, and taken in the order that it had; some places from the end."""
    order = np.random.default_rng(1).permutation(x.size)
    room = np.empty(x.size, x.dtype)
    room[order] = x.ravel()
    order[::3] -= x.size
    return lazy.take(put(room), put(order.reshape(x.shape)))


def strided(put: Any, x: Any) -> Any:
    room = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    room[..., ::2] = x
    return lazy.of(put(room)[..., ::2])


def turned(put: Any, x: Any) -> Any:
    return lazy.of(put(np.ascontiguousarray(x.T)).T)


def misaligned(put: Any, x: Any) -> Any:
    room = np.zeros(x.size + 1, x.dtype)
    room[1:] = x.ravel()
    return lazy.map(same, put(room)[1:].reshape(x.shape))


def converted(put: Any, x: Any) -> Any:
    wider = {"b": "int32", "i": "int64", "u": "uint64", "f": "float64"}
    return lazy.cast(put(x.astype(wider[x.dtype.kind])), x.dtype) if x.dtype.kind in wider else of(put, x)


def added(put: Any, x: Any) -> Any:
    """Of two arrays and a number, by arithmetic."""
    if x.dtype.kind not in "iuf":
        return of(put, x)
    zeros = np.zeros(x.shape[-1:], x.dtype)
    return lazy.of(put(x)) * 1 + put(zeros)


LAZIES: dict[str, Callable[[Any, Any], Any]] = {
    one.__name__: one for one in (of, mapped, by_lambda, flipped, taken, strided, turned, misaligned, converted, added)
}


def array_of(x: Any) -> Any:
    """Return what functions of the library make of an array: of a lazy one its elements."""
    return np.asarray(prism.lib.evaluate(x) if isinstance(x, lazy.Lazy) else x)
