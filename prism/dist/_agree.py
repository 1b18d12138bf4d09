"""The first message of a call: all ranks call the same function with the same arguments, or all get the same error."""

from __future__ import annotations

import builtins
import hashlib
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from prism.dist._arrays import Post

_TEXT, _FACTS, _ELEMENT = 384, 4, 32
FORM = struct.Struct(f"<16s?H{_TEXT}s{_FACTS}q{_ELEMENT}s")


class Mine(NamedTuple):
    """What a rank has to say: the call, with all that ranks must have in common; up to four numbers, and 32 bytes, of its shard.

    `kept` stays here.
    """

    call: str
    facts: tuple[int, ...] = ()
    element: bytes = b""
    kept: Any = None


class Told(NamedTuple):
    """What all ranks said, in their order, and what this one kept."""

    facts: list[tuple[int, ...]]
    elements: list[bytes]
    kept: Any


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
    text, known = mine.call.encode(), (*mine.facts, *(0,) * (_FACTS - len(mine.facts)))
    first = hashlib.sha256(text).digest()[:16], fault is not None, len(mine.element), text[:_TEXT]
    told = [FORM.unpack(one) for one in post.tell(FORM.pack(*first, *known, mine.element))]
    texts = [one[3].rstrip(b"\0").decode(errors="ignore") for one in told]
    for rank, one in enumerate(told):
        if one[1]:
            kind, _, message = texts[rank].partition(": ")
            raise _kind(kind)(f"rank {rank}: {message}") from fault
    for rank, one in enumerate(told):
        if one[0] != told[0][0]:
            raise ValueError(f"ranks disagree: rank 0 calls {texts[0]}, and rank {rank} calls {texts[rank]}")
    return Told([one[4 : 4 + _FACTS] for one in told], [one[-1][: one[2]] for one in told], mine.kept)


def _kind(name: str) -> type[Exception]:
    """Return the class of an error by its name; RuntimeError, if it is none of Python's or NumPy's."""
    found = getattr(builtins, name, None) or getattr(np.exceptions, name, None)
    if isinstance(found, type) and issubclass(found, Exception) and found is not np.exceptions.AxisError:
        return found
    return ValueError if name == "AxisError" else RuntimeError
