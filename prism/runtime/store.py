"""The user's cache of machine code: one checked file an entry, safe among processes, never a reason to fail.

What is read was written whole by this user (or root), for exactly this key, and is what was written: otherwise it is a
miss. What can't be written stays in memory. The digest protects from damage; permissions protect from other users.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import struct
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prism.lang.keep.bases import Value
from prism.runtime.forks import Lock
from prism.runtime.keys import FORMAT, digest

MAX_PAYLOAD = 256 << 20
MAX_METADATA = 1 << 20
MAX_BYTES = 1 << 30
_MAGIC = b"PRISMBIN"
_HEADER = struct.Struct("<8sIIQ32s")  # magic, format, bytes of metadata, bytes of payload, SHA-256 of both
_SUFFIX, _TEMPORARY = ".prismbin", ".tmp"
_STALE_SECONDS = 3600.0


class _Damaged(Exception):
    """An entry is there, but not as `put` writes it, or not in safe hands."""


class Stored(Value):
    """What an entry holds: machine code, and facts about it."""

    payload: bytes
    metadata: Mapping[str, Any]


def cache_key(source: str, options: tuple[str, ...], arch: str, compiler: str, prism: str) -> str:
    """Return the key of one compilation: all that decides its result, and nothing else. `compiler` is NVRTC's build."""
    return digest("prism cache", FORMAT, source, len(options), *options, arch, compiler, prism)


def default_root() -> Path | None:
    """Return `$PRISM_CACHE_DIR`, else `$XDG_CACHE_HOME/prism`, else `~/.cache/prism`; None where none is absolute."""
    if chosen := os.environ.get("PRISM_CACHE_DIR"):
        root = Path(chosen)
    elif (cache := os.environ.get("XDG_CACHE_HOME")) and os.path.isabs(cache):
        root = Path(cache, "prism")
    else:
        root = Path(os.path.expanduser("~/.cache/prism"))
    return root if root.is_absolute() else None  # never relative to the current directory


def _why_nowhere() -> str:
    """Return why there is no root."""
    chosen = os.environ.get("PRISM_CACHE_DIR")
    return f"PRISM_CACHE_DIR is {chosen!r}, which is no absolute path" if chosen else "there is no home directory"


class Store:
    """A directory of entries, `<root>/v1`, made with mode 0700 at the first write. Safe among threads and processes.

    `hits`, `misses`, `damaged` and `unwritten` count what happened. Nothing here raises for what the disk does.
    """

    def __init__(self, root: Path | None = None, *, max_bytes: int = MAX_BYTES) -> None:
        self.root = default_root() if root is None else root
        self.directory = None if self.root is None else self.root / f"v{FORMAT}"
        self.max_bytes = max_bytes
        self.hits = self.misses = self.damaged = self.unwritten = 0
        self._memory: dict[str, Stored] = {}
        self._warned: set[str] = set()
        self._lock = Lock()

    def get(self, key: str) -> Stored | None:
        """Return what was put under `key`, or None. A damaged or unsafe entry is a miss, with one warning a store."""
        found = self._memory.get(key)
        if found is None:
            found = self._read(key)
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
        return found

    def put(self, key: str, payload: bytes, metadata: Mapping[str, Any]) -> bool:
        """Keep an entry; whether it is on disk. Where it can't be, it is kept in memory, with one warning a store.

        Raises:
            TypeError: the metadata isn't JSON.
            ValueError: metadata or payload are larger than `get` would take.
        """
        facts = json.dumps({**metadata, "key": key}, sort_keys=True).encode()
        if len(facts) > MAX_METADATA or len(payload) > MAX_PAYLOAD:
            raise ValueError(f"too large for the cache: {len(payload)} bytes, and {len(facts)} of metadata")
        body = hashlib.sha256(facts + payload).digest()
        data = _HEADER.pack(_MAGIC, FORMAT, len(facts), len(payload), body) + facts + payload
        try:
            with self._open_directory(make=True) as directory:
                _publish(directory, key + _SUFFIX, data)
                with contextlib.suppress(OSError):  # the entry is there: cleaning up must not fail it
                    self._evict(directory, keep=key + _SUFFIX)
        except (OSError, _Damaged) as error:
            self.unwritten += 1
            self._memory[key] = Stored(payload, {**metadata, "key": key})
            self._warn("write", f"Prism's cache can't be written ({error}): compiled kernels are kept in memory only")
            return False
        return True

    def size(self) -> tuple[int, int]:
        """Return how many entries are on disk, and how many bytes they take; as far as that can be seen."""
        found = [0, 0]
        with (
            contextlib.suppress(OSError, _Damaged),
            self._open_directory(make=False) as directory,
            os.scandir(directory) as entries,
        ):
            for entry in entries:
                if entry.name.endswith(_SUFFIX):
                    with contextlib.suppress(OSError):  # it may vanish at any time
                        found = [found[0] + 1, found[1] + entry.stat(follow_symlinks=False).st_size]
        return found[0], found[1]

    def trouble(self) -> str | None:
        """Return why entries can't be kept on disk, or None; nothing is written to find out."""
        try:
            with self._open_directory(make=False) as directory:
                writable = os.access(".", os.W_OK, dir_fd=directory)
        except FileNotFoundError:
            if self.directory is None:
                return _why_nowhere()
            above = next((p for p in self.directory.parents if p.exists()), None)
            writable = above is not None and above.is_dir() and os.access(above, os.W_OK)
        except (OSError, _Damaged) as error:
            return str(error)
        return None if writable else f"{self.directory} can't be written"

    def _read(self, key: str) -> Stored | None:
        try:
            with self._open_directory(make=False) as directory:
                return _read_entry(directory, key)
        except FileNotFoundError:
            return None
        except (OSError, _Damaged) as error:
            self.damaged += 1
            self._warn("read", f"Prism's cache holds what it can't use ({error}): the kernel is compiled again")
            return None

    @contextlib.contextmanager
    def _open_directory(self, *, make: bool) -> Iterator[int]:
        """Open the directory itself, checked; what follows is relative to it, so that it can't be swapped meanwhile."""
        if self.directory is None:
            raise FileNotFoundError(errno.ENOENT, _why_nowhere())
        if make:
            self.directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                self.directory.mkdir(mode=0o700)
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _check_owner(descriptor, str(self.directory))
            yield descriptor
        finally:
            os.close(descriptor)

    def _evict(self, directory: int, keep: str) -> None:
        """Delete what was used longest ago until four fifths of `max_bytes` remain, and abandoned temporary files."""
        found: list[tuple[float, int, str]] = []
        oldest = time.time() - _STALE_SECONDS
        with os.scandir(directory) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # it may vanish at any time
                    facts = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(_TEMPORARY) and facts.st_mtime < oldest:
                        os.unlink(entry.name, dir_fd=directory)
                    elif entry.name.endswith(_SUFFIX):
                        found.append((facts.st_mtime, facts.st_size, entry.name))
        total = sum(size for _, size, _ in found)
        if total <= self.max_bytes:
            return
        for _, size, name in sorted(found):
            if total <= self.max_bytes * 4 // 5:
                return
            if name != keep:
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=directory)
                total -= size

    def _warn(self, kind: str, message: str) -> None:
        with self._lock:
            if kind in self._warned:
                return
            self._warned.add(kind)
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _check_owner(descriptor: int, name: str) -> os.stat_result:
    facts = os.fstat(descriptor)
    if facts.st_uid not in (os.geteuid(), 0):
        raise _Damaged(f"{name} belongs to another user")
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _Damaged(f"{name} may be written by others")
    return facts


def _read_entry(directory: int, key: str) -> Stored:
    name = key + _SUFFIX
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # the last: a FIFO must not make us wait
    descriptor = os.open(name, flags, dir_fd=directory)
    try:
        facts = _check_owner(descriptor, name)
        if not stat.S_ISREG(facts.st_mode):
            raise _Damaged(f"{name} is not a file")
        stored = _parse(descriptor, facts.st_size, key)
        with contextlib.suppress(OSError):  # marks it as used, for eviction
            os.utime(descriptor)
        return stored
    finally:
        os.close(descriptor)


def _parse(descriptor: int, size: int, key: str) -> Stored:
    if not _HEADER.size <= size <= _HEADER.size + MAX_METADATA + MAX_PAYLOAD:
        raise _Damaged(f"{key} has {size} bytes")
    magic, version, length, count, expected = _HEADER.unpack(_read_exactly(descriptor, _HEADER.size))
    if magic != _MAGIC or version != FORMAT or size != _HEADER.size + length + count or length > MAX_METADATA:
        raise _Damaged(f"{key} has a damaged header")
    body = _read_exactly(descriptor, length + count)
    if hashlib.sha256(body).digest() != expected:
        raise _Damaged(f"{key} is damaged")
    try:
        metadata = json.loads(body[:length])
    except (ValueError, RecursionError) as error:
        raise _Damaged(f"{key} has damaged metadata") from error
    if not isinstance(metadata, dict) or metadata.get("key") != key:
        raise _Damaged(f"{key} holds another entry")
    return Stored(body[length:], metadata)


def _read_exactly(descriptor: int, size: int) -> bytes:
    parts = []
    while size > 0:
        part = os.read(descriptor, size)
        if not part:
            raise _Damaged("an entry ends early")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _publish(directory: int, name: str, data: bytes) -> None:
    """Write a temporary file beside, wait until it is on disk, and rename it: a reader sees all of it, or nothing."""
    temporary = f".{os.urandom(12).hex()}{_TEMPORARY}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=directory)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise
