"""Digests over canonical encodings: what artifacts and the user's cache are looked up by."""

from __future__ import annotations

import hashlib
import re
import struct

FORMAT = 1
"""The version of keys, and of what Prism keeps in the user's cache; part of every key."""


ARCH = re.compile(r"sm_([1-9][0-9]{1,2})([af]?)")
"""How an architecture is written: its number, and `a` or `f` where it is of that architecture, or family, alone."""


def digest(*parts: str | bytes | int) -> str:
    """Return the SHA-256, in hexadecimal, of the parts in order, each with its kind and its length.

    Raises:
        UnicodeEncodeError: a string holds lone surrogates.
    """
    found = hashlib.sha256()
    for part in parts:
        match part:
            case bytes():
                kind, data = b"b", part
            case int():
                kind, data = b"i", b"%d" % part
            case _:
                kind, data = b"s", part.encode()
        found.update(kind + struct.pack("<Q", len(data)))
        found.update(data)
    return found.hexdigest()


def source_key(source: str, arch: str) -> str:
    """Return the key of a source for one architecture, whichever compiler made the machine code."""
    return digest("prism artifact", FORMAT, source, arch)
