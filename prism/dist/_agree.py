"""The first message of a call: all ranks call the same function with the same arguments, or all get the same error."""

from __future__ import annotations

import builtins
import functools
import hashlib
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from prism.dist._arrays import Post, scalar_of

_HEAD = struct.Struct("<16sQ4q8x")
"""What a rank says first: the hash of its call, whether it failed, and four numbers."""
_ELEMENT, _TEXT = 32, 384
MESSAGE = _HEAD.size + _ELEMENT
"""Bytes of what a rank says: behind the head an element, as `prism.dist` has the word."""

_MOST = 64
_agreed: dict[bytes, np.ndarray[Any, Any]] = {}
"""What all ranks said when this one said that, and all agreed: looked at once."""


class Mine(NamedTuple):
    """What a rank has to say: the call, with all that ranks must have in common; up to four numbers, and 32 bytes, of its shard.

    `element`: those bytes, or an array of so many, wherever it lies. `kept` stays here.
    """

    call: str
    facts: tuple[int, ...] = ()
    element: Any = b""
    kept: Any = None


class Told(NamedTuple):
    """What all ranks said, in their order, and what this one kept. `facts`: a row of numbers for each rank.

    `heads`: what each says first; `head` is this one's, of a call in words.
    """

    facts: np.ndarray[Any, Any]
    elements: np.ndarray[Any, Any]
    kept: Any
    heads: np.ndarray[Any, Any]
    head: bytes
    call: str

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
        element, array = mine.element, None
        if not isinstance(element, bytes):
            element, array = (b"", element) if post.carries(element) else (scalar_of(element).tobytes(), None)
    except Exception as error:
        fault, mine = error, Mine(f"{type(error).__name__}: {error}")
        element, array = b"", None
    facts = (*mine.facts, 0, 0, 0, 0)[:4]
    head = _HEAD.pack(_hash_of(mine.call), fault is not None, *facts)
    said = post.tell(head + element.ljust(_ELEMENT, b"\0"), array, _HEAD.size)
    return judge(post, mine.call, head, said, mine.kept, fault)


def judge(
    post: Post, call: str, head: bytes, said: np.ndarray[Any, Any], kept: Any, fault: Exception | None = None
) -> Told:
    """Return what all ranks say, by the messages that came; this one said `head`, of a call, and failed by `fault`, if at all.

    Raises:
        ValueError, TypeError, ...: as `agree`.
    """
    told = said.reshape(post.size, MESSAGE)
    heads = told[:, : _HEAD.size]
    known = _agreed.get(head)
    if known is None or len(known) != post.size or (known != heads).any():
        first = told[:, :24].view("<u8")
        if (first != first[0]).any() or first[0, 2]:
            _complain(post, call, first, fault)
        if len(_agreed) >= _MOST:
            _agreed.clear()
        known = _agreed[head] = heads.copy()
        known.setflags(write=False)  # calls like this one share it
    return Told(known[:, 24:56].view("<i8"), told[:, _HEAD.size :], kept, known, head, call)


def _complain(post: Post, call: str, said: np.ndarray[Any, Any], fault: Exception | None) -> None:
    """Raise what is wrong: ranks tell what they call, or how they failed, in words, which they do only here.

    Raises:
        ValueError, TypeError, ...: as `agree`.
    """
    texts = post.tell(call.encode()[:_TEXT].ljust(_TEXT, b"\0")).reshape(post.size, _TEXT)

    def words(rank: int) -> str:
        return str(texts[rank].tobytes().rstrip(b"\0"), errors="ignore")

    if said[:, 2].any():
        rank = int(said[:, 2].argmax())
        kind, _, message = words(rank).partition(": ")
        raise _kind(kind)(f"rank {rank}: {message}") from fault
    rank = int((said[:, :2] != said[0, :2]).any(1).argmax())
    raise ValueError(f"ranks disagree: rank 0 calls {words(0)}, and rank {rank} calls {words(rank)}")


@functools.lru_cache(maxsize=1024)
def _hash_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]


def _kind(name: str) -> type[Exception]:
    """Return the class of an error by its name; RuntimeError, if it is none of Python's or NumPy's."""
    found = getattr(builtins, name, None) or getattr(np.exceptions, name, None)
    if isinstance(found, type) and issubclass(found, Exception) and found is not np.exceptions.AxisError:
        return found
    return ValueError if name == "AxisError" else RuntimeError
