"""Machine code that ships in the package: compiled ahead of time by `prism build`, found by source and architecture.

The folder holds `manifest.json` and plain cubins (the wheel compresses them). The manifest has the digest of each, and
is itself covered by the wheel's RECORD. Nothing is read before the first look-up.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism.runtime.compile import Binary
from prism.runtime.entry import Entry
from prism.runtime.keys import FORMAT, source_key

FOLDER = Path(__file__).parent.parent / "artifacts"
_MANIFEST = "manifest.json"
_FILE = re.compile(r"[A-Za-z0-9_]+-sm_[0-9a-f]+-[0-9a-f]{16}\.cubin")


@dataclass(frozen=True, slots=True)
class Artifact:
    """Machine code from the package: its digest is checked. `entry` is the JSON of `Entry.to_json(source=False)`."""

    cubin: bytes
    entry: Mapping[str, Any]
    registers: int
    spills: int
    compiler: str


def find(source: str, arch: str, *, folder: Path = FOLDER) -> Artifact | None:
    """Return what was built ahead of time from `source` for `arch`, or None. What is damaged is a miss, with a warning.

    The compiler's version is no part of the look-up: machine code is what it is.
    """
    facts = manifest(folder).get(source_key(source, arch))
    if facts is None:
        return None
    try:
        return _load(folder, facts)
    except (OSError, ValueError, KeyError, TypeError) as error:
        warnings.warn(f"a kernel shipped with Prism is damaged and is not used: {error}", RuntimeWarning, stacklevel=2)
        return None


@functools.cache
def manifest(folder: Path = FOLDER) -> Mapping[str, Any]:
    """Return the entries of a folder's manifest by key: none where it is missing, unreadable or of another format."""
    try:
        found = json.loads((folder / _MANIFEST).read_bytes())
        entries = found["entries"] if found["format"] == FORMAT else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        warnings.warn(f"the list of kernels shipped with Prism is damaged: {error}", RuntimeWarning, stacklevel=2)
        return {}
    return entries if isinstance(entries, dict) else {}


def write(built: Iterable[tuple[Entry, Binary]], *, folder: Path = FOLDER) -> Path:
    """Make a folder hold exactly these, and return its manifest's path. The same input gives the same bytes.

    Raises:
        OSError: the folder can't be written.
        ValueError: an entry and its binary are for different architectures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries: dict[str, Any] = {}
    for entry, binary in built:
        if entry.arch != binary.arch:
            raise ValueError(f"`{entry.name}` is for {entry.arch}, its machine code for {binary.arch}")
        key = source_key(entry.source, entry.arch)
        file = f"{entry.name}-{entry.arch}-{key[:16]}.cubin"
        _replace(folder / file, binary.cubin)
        entries[key] = {
            "file": file,
            "sha256": hashlib.sha256(binary.cubin).hexdigest(),
            "bytes": len(binary.cubin),
            "registers": binary.registers,
            "spills": binary.spills,
            "shared_bytes": entry.shared_bytes,
            "compiler": binary.compiler,
            "entry": entry.to_json(source=False),
        }
    text = json.dumps({"format": FORMAT, "entries": entries}, indent=1, sort_keys=True) + "\n"
    _replace(folder / _MANIFEST, text.encode())
    kept = {facts["file"] for facts in entries.values()}
    for path in folder.glob("*.cubin"):
        if path.name not in kept:
            path.unlink(missing_ok=True)
    manifest.cache_clear()
    return folder / _MANIFEST


def _load(folder: Path, facts: Mapping[str, Any]) -> Artifact:
    file = facts["file"]
    if not _FILE.fullmatch(file):
        raise ValueError(f"{file!r} is no name of an artifact")
    with (folder / file).open("rb") as stream:
        cubin = stream.read(int(facts["bytes"]) + 1)
    if hashlib.sha256(cubin).hexdigest() != facts["sha256"]:
        raise ValueError(f"{file} is not what the manifest says")
    return Artifact(cubin, facts["entry"], int(facts["registers"]), int(facts["spills"]), str(facts["compiler"]))


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
