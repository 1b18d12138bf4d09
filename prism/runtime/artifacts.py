"""Machine code that ships in the package: compiled ahead of time by `prism build`, found by source, or by what was asked for.

A folder for each architecture holds `manifest.jsonl` and plain cubins (the wheel compresses them). The manifest has the digest
of each, and is itself covered by the wheel's RECORD. Nothing is read before the first look-up.

    <folder>/sm_90a/manifest.jsonl   {"format", "sources", "requests": {request key: source key},
                                      "absent": [request keys that the architecture can't have]}
                                     {"key": source key, "file", "sha256", "registers" ...}      a line for each kernel
    <folder>/sm_90a/prism_scan_4-0123456789abcdef.cubin
    <folder>/reports.json            {"format", "reports": {report key: what is known of the kernel's safety},
                                      "runs": {kernel: what of it was run on the reference machine}}

A request is a kernel with its template arguments: where the sources are those that the folder was built from, its machine code is
found without checking the kernel again.
"""

from __future__ import annotations

import contextlib
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
from prism.runtime.keys import ARCH, FORMAT, source_key

FOLDER = Path(__file__).parent.parent / "artifacts"
_MANIFEST, _REPORTS = "manifest.jsonl", "reports.json"
_KEY = re.compile(rb'\{"key": "([0-9a-f]{64})"')
_FILE = re.compile(r"[A-Za-z0-9_]+-[0-9a-f]{16}\.cubin")


@dataclass(frozen=True, slots=True)
class Artifact:
    """Machine code from the package: its digest is checked. `entry` is the JSON of `Entry.to_json(source=False)`."""

    cubin: bytes
    entry: Mapping[str, Any]
    registers: int
    spills: int
    compiler: str
    stack: int = 0


@dataclass(frozen=True, slots=True)
class Made:
    """What `prism build` made of one text for one architecture. `requests` are the keys that it is asked for by; `report` names
    what is known of its safety."""

    entry: Entry
    binary: Binary
    requests: tuple[str, ...] = ()
    report: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a folder has for one architecture, and the digest of the sources that it was built from."""

    lines: Mapping[str, bytes]
    requests: Mapping[str, str]
    sources: str = ""
    absent: tuple[str, ...] = ()

    def facts(self, key: str) -> Mapping[str, Any]:
        """Return what is listed under a source's key.

        Raises:
            KeyError: nothing is.
            ValueError: what is there is no JSON.
        """
        found: Mapping[str, Any] = json.loads(self.lines[key])
        return found


NOTHING = Manifest({}, {})


def find(source: str, arch: str, *, folder: Path = FOLDER) -> Artifact | None:
    """Return what was built ahead of time from `source` for `arch`, or None. What is damaged is a miss, with a warning.

    The compiler's version is no part of the look-up: machine code is what it is.
    """
    return _find(source_key(source, arch), arch, folder)


def requested(request: str, arch: str, sources: str, *, folder: Path = FOLDER) -> Artifact | None:
    """Return what was built ahead of time for a request, or None; None too where it was built from other `sources`."""
    listed = manifest(arch, folder)
    if listed.sources != sources:
        return None
    key = listed.requests.get(request)
    return None if key is None else _find(key, arch, folder)


def kept(key: str, arch: str, *, folder: Path = FOLDER) -> Artifact | None:
    """Return what a folder has under a source's key, or None, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return _find(key, arch, folder)


def _find(key: str, arch: str, folder: Path) -> Artifact | None:
    listed = manifest(arch, folder)
    if key not in listed.lines:
        return None
    try:
        return _load(folder / arch, listed.facts(key))
    except (OSError, ValueError, KeyError, TypeError) as error:
        warnings.warn(f"a kernel shipped with Prism is damaged and is not used: {error}", RuntimeWarning, stacklevel=3)
        return None


def runs_on(arch: str) -> tuple[str, ...]:
    """Return the targets whose machine code runs where that of `arch` does, the closest first, `arch` itself among them.

    A plain target's code runs on every later device of its generation: that of `sm_80` where that of `sm_89` does.
    """
    number = int(arch.removeprefix("sm_").rstrip("af"))
    generation = number // 10 * 10
    return tuple(dict.fromkeys((arch, *(f"sm_{n}" for n in range(number, generation - 1, -1)))))


def architectures(folder: Path = FOLDER) -> tuple[str, ...]:
    """Return the architectures that a folder has machine code for."""
    try:
        found = [p.name for p in folder.iterdir() if ARCH.fullmatch(p.name) and (p / _MANIFEST).is_file()]
    except OSError:
        return ()
    return tuple(sorted(found, key=lambda name: (len(name.rstrip("af")), name)))


@functools.cache
def manifest(arch: str, folder: Path = FOLDER) -> Manifest:
    """Return what a folder has for an architecture: nothing where its list is missing, unreadable or of another format."""
    if not ARCH.fullmatch(arch):
        return NOTHING
    try:
        head, *rest = (folder / arch / _MANIFEST).read_bytes().splitlines()
        found = json.loads(head)
        if found["format"] != FORMAT:
            return NOTHING
        lines = {key[1].decode(): line for line in rest if (key := _KEY.match(line))}
        listed = Manifest(lines, found["requests"], found["sources"], tuple(found["absent"]))
    except FileNotFoundError:
        return NOTHING
    except (OSError, ValueError, KeyError, TypeError) as error:
        warnings.warn(f"the list of kernels shipped with Prism is damaged: {error}", RuntimeWarning, stacklevel=2)
        return NOTHING
    return listed if isinstance(listed.requests, dict) else NOTHING


def listed(arch: str, folder: Path = FOLDER) -> list[Mapping[str, Any]]:
    """Return all that a folder has for an architecture, as its manifest says; what is no JSON is left out."""
    found = []
    for key in (there := manifest(arch, folder)).lines:
        with contextlib.suppress(ValueError):
            found.append(there.facts(key))
    return found


def reports(folder: Path = FOLDER) -> Mapping[str, Any]:
    """Return what is known of the safety of a folder's kernels, by the key that each entry's `report` names."""
    plain, runs = _reports(folder)
    ran = {key: runs[report["kernel"]] for key, report in plain.items() if report.get("kernel") in runs}
    return {key: {**report, "runs": ran[key]} if key in ran else report for key, report in plain.items()}


def _reports(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the reports, and the runs of kernels, as they are in the file."""
    try:
        found = json.loads((folder / _REPORTS).read_bytes())
        reports, runs = (found["reports"], found["runs"]) if found["format"] == FORMAT else ({}, {})
    except (OSError, ValueError, KeyError, TypeError):
        return {}, {}
    return (reports, runs) if isinstance(reports, dict) and isinstance(runs, dict) else ({}, {})


def write(
    made: Iterable[Made],
    *,
    folder: Path = FOLDER,
    sources: str = "",
    absent: Mapping[str, Iterable[str]] | None = None,
    reports: Mapping[str, Any] | None = None,
    runs: Mapping[str, Any] | None = None,
) -> tuple[Path, ...]:
    """Make the folders of these architectures hold exactly these, and return their manifests' paths.

    The same input gives the same bytes, in whatever order. Other architectures' folders are left as they are, with their reports.
    `absent`: the requests that an architecture can't have. `runs`: what `write_runs` writes.

    Raises:
        OSError: the folder can't be written.
        ValueError: an entry and its binary are for different architectures.
    """
    by_arch: dict[str, list[Made]] = {}
    for one in made:
        if one.entry.arch != one.binary.arch:
            raise ValueError(f"`{one.entry.name}` is for {one.entry.arch}, its machine code for {one.binary.arch}")
        by_arch.setdefault(one.entry.arch, []).append(one)
    lacking = {arch: sorted((absent or {}).get(arch, ())) for arch in by_arch}
    paths = tuple(_write_arch(folder / arch, by_arch[arch], sources, lacking[arch]) for arch in sorted(by_arch))
    manifest.cache_clear()
    _write_reports(folder, {**_reports(folder)[0], **(reports or {})}, runs or {})
    return paths


def _write_arch(folder: Path, made: Iterable[Made], sources: str, absent: list[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    entries: dict[str, Any] = {}
    requests: dict[str, str] = {}
    for one in made:
        entry, binary = one.entry, one.binary
        key = source_key(entry.source, entry.arch)
        file = f"{entry.name}-{key[:16]}.cubin"
        _replace(folder / file, binary.cubin)
        entries[key] = {
            "key": key,
            "file": file,
            "sha256": hashlib.sha256(binary.cubin).hexdigest(),
            "bytes": len(binary.cubin),
            "registers": binary.registers,
            "stack": binary.stack,
            "spills": binary.spills,
            "shared_bytes": entry.shared_bytes,
            "compiler": binary.compiler,
            "report": one.report,
            "entry": entry.to_json(source=False),
        }
        requests.update(dict.fromkeys(one.requests, key))
    kept = {facts["file"] for facts in entries.values()}
    head = {"format": FORMAT, "sources": sources, "requests": requests, "absent": absent}
    lines = [json.dumps(head, sort_keys=True), *(json.dumps(entries[key]) for key in sorted(entries))]
    _replace(folder / _MANIFEST, "".join(f"{line}\n" for line in lines).encode())
    for path in folder.glob("*.cubin"):
        if path.name not in kept:
            path.unlink(missing_ok=True)
    return folder / _MANIFEST


def write_runs(runs: Mapping[str, Any], *, folder: Path = FOLDER) -> None:
    """Have the reports of a folder say that kernels, by `module:name`, were run so, and no others. Nothing else changes.

    Raises:
        OSError: the folder can't be written.
    """
    _write_reports(folder, _reports(folder)[0], runs)


def _write_reports(folder: Path, reports: Mapping[str, Any], runs: Mapping[str, Any]) -> None:
    """Write the reports that some architecture's entries name, and no others, where that is something new."""
    named = {facts["report"] for arch in architectures(folder) for facts in listed(arch, folder)}
    kept = {key: report for key, report in reports.items() if key in named}
    ran = {name: runs[name] for report in kept.values() if (name := report.get("kernel")) in runs}
    if kept and _reports(folder) != (kept, ran):
        text = json.dumps({"format": FORMAT, "reports": kept, "runs": ran}, indent=1, sort_keys=True)
        _replace(folder / _REPORTS, f"{text}\n".encode())


def _load(folder: Path, facts: Mapping[str, Any]) -> Artifact:
    file = facts["file"]
    if not _FILE.fullmatch(file):
        raise ValueError(f"{file!r} is no name of an artifact")
    with (folder / file).open("rb") as stream:
        cubin = stream.read(int(facts["bytes"]) + 1)
    if hashlib.sha256(cubin).hexdigest() != facts["sha256"]:
        raise ValueError(f"{file} is not what the manifest says")
    numbers = (int(facts["registers"]), int(facts["spills"]))
    return Artifact(cubin, facts["entry"], *numbers, str(facts["compiler"]), int(facts["stack"]))


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
