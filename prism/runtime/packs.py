"""Packs: the machine code of kernels that are alike, compressed together by LZMA, in files that `xz` reads too.

The same kernel for other template arguments differs in little: together they take a third of what each takes alone. A pack is
unpacked whole, in about 1 ms. Its file is named after what is in it, so that a reader of an older list never finds another's.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

SIZE = 128 << 10
"""How many bytes of machine code are packed together at most; a kernel that is larger has a pack of its own.

Twice as many take an eighth less room, and twice the time to unpack, which each first call of a kernel waits for.
"""

_LARGEST = 1 << 26
_MEMORY = 1 << 26
_NAME = re.compile(r"[A-Za-z0-9_]+-[0-9a-f]{16}\.xz")


class MissingLZMA(RuntimeError):
    """This Python was built without `lzma`: nothing can be packed or unpacked."""


def groups(codes: Mapping[str, bytes]) -> list[list[str]]:
    """Return the keys of machine code that should be packed together: what is about as long is most alike."""
    found: list[list[str]] = []
    room = 0
    for key in sorted(codes, key=lambda key: (len(codes[key]), key)):
        if len(codes[key]) > room:
            found.append([])
            room = SIZE
        found[-1].append(key)
        room -= len(codes[key])
    return found


def pack(kernel: str, codes: Sequence[bytes]) -> tuple[str, bytes]:
    """Return the name of the file that holds machine code of a kernel, one behind the other, and its bytes: always the same.

    Raises:
        MissingLZMA: it can't be packed here.
    """
    lzma = _lzma()
    whole = b"".join(codes)
    # The fast mode takes a tenth of the time for a tenth more bytes. An instruction is 16 bytes, at a multiple of 16.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "lc": 0, "lp": 4, "pb": 4}]
    data = lzma.compress(whole, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=filters)
    return f"{kernel}-{hashlib.sha256(whole).hexdigest()[:16]}.xz", data


def pack_text(text: str) -> bytes:
    """Return a text packed: always the same bytes.

    Raises:
        MissingLZMA: it can't be packed here.
    """
    lzma = _lzma()
    return bytes(lzma.compress(text.encode(), lzma.FORMAT_XZ, lzma.CHECK_CRC32, preset=1))


def unpack_text(data: bytes) -> str:
    """Return what `pack_text` packed.

    Raises:
        MissingLZMA: it can't be unpacked here.
        ValueError: it isn't as `pack_text` made it, or too large.
    """
    lzma = _lzma()
    unpacking = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
    try:
        found: bytes = unpacking.decompress(data, max_length=_LARGEST)
    except lzma.LZMAError as error:
        raise ValueError(f"a text can't be unpacked: {error}") from error
    if not unpacking.eof:
        raise ValueError("a text is too large")
    return found.decode()


@functools.lru_cache(maxsize=8)
def unpack(path: Path, nbytes: int, size: int) -> bytes:
    """Return what a pack of `nbytes` holds: `size` bytes. The last few are remembered; `unpacked.cache_clear()` forgets them.

    Raises:
        MissingLZMA: it can't be unpacked here.
        OSError: it can't be read.
        ValueError: it isn't as `pack` made it.
    """
    if not _NAME.fullmatch(path.name) or not 0 <= nbytes <= _LARGEST or not 0 <= size <= _LARGEST:
        raise ValueError(f"{path.name} is no name of a pack, or it is too large")
    lzma = _lzma()
    with path.open("rb") as stream:
        data = stream.read(nbytes + 1)
    if len(data) != nbytes:
        raise ValueError(f"{path.name} is not {nbytes} bytes long")
    unpacking = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
    try:
        found: bytes = unpacking.decompress(data, max_length=size + 1)
    except lzma.LZMAError as error:
        raise ValueError(f"{path.name} can't be unpacked: {error}") from error
    if len(found) != size or not unpacking.eof or unpacking.unused_data:
        raise ValueError(f"{path.name} doesn't hold {size} bytes")
    return found


def trouble() -> str | None:
    """Return why nothing can be unpacked here, or None."""
    try:
        _lzma()
    except MissingLZMA as error:
        return str(error)
    return None


def _lzma() -> ModuleType:
    try:
        import lzma  # not before something is unpacked, and not there in every Python
    except ImportError as error:
        raise MissingLZMA(
            "this Python was built without the module lzma (it needs liblzma-dev or xz-devel when it is built), in which "
            "the kernels that ship with Prism are packed"
        ) from error
    return lzma
