"""The first message of a call: all ranks call the same function with the same arguments, or all get the same error."""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from prism.dist._arrays import Post

_TEXT, _FACTS, _ELEMENT = 384, 4, 32
FORM = np.dtype(
    [
        ("hash", "V16"),
        ("fault", "?"),
        ("bytes", "<u2"),
        ("text", f"S{_TEXT}"),
        ("facts", "<i8", _FACTS),
        ("element", "V32"),
    ]
)
"""What a rank says: the hash of its call, whether it failed, the call in words, numbers, and the bytes of an element."""


class Mine(NamedTuple):
    """What a rank has to say: the call, with all that ranks must have in common; up to four numbers, and 32 bytes, of its shard.

    `kept` stays here.
    """

    call: str
    facts: tuple[int, ...] = ()
    element: bytes = b""
    kept: Any = None


class Told(NamedTuple):
    """What all ranks said, in their order, and what this one kept. `facts`: a row of numbers for each rank."""

    facts: np.ndarray[Any, Any]
    elements: np.ndarray[Any, Any]
    kept: Any

    @property
    def lengths(self) -> list[int]:
        """The first number of each rank."""
        found: list[int] = self.facts[:, 0].tolist()
        return found

    def values(self, dtype: np.dtype[Any], each: int = 1) -> np.ndarray[Any, Any]:
        """Return the ranks' elements, of a dtype; `each`: a row of so many of each rank."""
        found = self.elements[:, : each * dtype.itemsize].copy().view(dtype)
        return found[:, 0] if each == 1 else found


def agree(post: Post, work: Callable[[], Mine]) -> Told:
    """Do this rank's part of a call, and return what all ranks say; nothing else is sent before all agree on the call.

    Raises:
        ValueError: ranks call different functions, or with different arguments.
        TypeError, ValueError, ...: what `work` raises on a rank, on every rank.
    """
    fault: Exception | None = None
    try:
        mine = work()
    except Exception as error:
        fault, mine = error, Mine(f"{type(error).__name__}: {error}")
    said, text = np.zeros(1, FORM), mine.call.encode()
    said["hash"] = np.void(hashlib.sha256(text).digest()[:16])
    said["fault"], said["bytes"], said["text"] = fault is not None, len(mine.element), text[:_TEXT]
    said["facts"][0, : len(mine.facts)] = mine.facts
    said["element"] = np.void(mine.element.ljust(_ELEMENT, b"\0"))
    told = post.tell(said.view(np.uint8)).view(FORM)
    if told["fault"].any():
        rank = int(told["fault"].argmax())
        kind, _, message = _words(told, rank).partition(": ")
        raise _kind(kind)(f"rank {rank}: {message}") from fault
    hashes = told["hash"].copy().view("<u8").reshape(-1, 2)
    if (other := (hashes != hashes[0]).any(1)).any():
        rank = int(other.argmax())
        raise ValueError(f"ranks disagree: rank 0 calls {_words(told, 0)}, and rank {rank} calls {_words(told, rank)}")
    return Told(told["facts"], told["element"].copy().view(np.uint8).reshape(-1, _ELEMENT), mine.kept)


def _words(told: np.ndarray[Any, Any], rank: int) -> str:
    """Return what a rank calls, or how it failed."""
    return bytes(told["text"][rank]).decode(errors="ignore")


def _kind(name: str) -> type[Exception]:
    """Return the class of an error by its name; RuntimeError, if it is none of Python's or NumPy's."""
    found = getattr(builtins, name, None) or getattr(np.exceptions, name, None)
    if isinstance(found, type) and issubclass(found, Exception) and found is not np.exceptions.AxisError:
        return found
    return ValueError if name == "AxisError" else RuntimeError
