"""Machine code that ships in the package: compiled ahead of time by `prism build`, found by source, or by what was asked for.

A folder for each architecture holds `manifest.jsonl` and packs of cubins. The manifest has the digest of each cubin, and is
itself covered by the wheel's RECORD. Nothing is read before the first look-up.

    <folder>/sm_90a/manifest.jsonl   {"format", "sources", "requests": {request key: source key},
                                      "absent": [request keys that the architecture can't have],
                                      "packs": {file: [its bytes, bytes of what it holds]}}
                                     {"key": source key, "pack": file, "offset", "bytes", "sha256" ...}   a line for each kernel
    <folder>/sm_90a/prism_scan_4-0123456789abcdef.xz
    <folder>/reports.json            {"format", "reports": {report key: what is known of the kernel's safety},
                                      "runs": {kernel: what of it was run on the reference machine}}
    <folder>/certificates.xz         {digest: the text of the certificate of which a report says this digest}

A request is a kernel with its template arguments: where the sources are those that the folder was built from, its machine code is
found without checking the kernel again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from prism.lang.keep.bases import Value
from prism.runtime import packs
from prism.runtime.compile import Binary
from prism.runtime.entry import Entry
from prism.runtime.keys import ARCH, source_key

FOLDER = Path(__file__).parent.parent / "artifacts"
_FORMAT = 2  # of the files here; 1 had a file for each cubin
_MANIFEST, _REPORTS, _CERTIFICATES = "manifest.jsonl", "reports.json", "certificates.xz"
_KEY = re.compile(rb'^\{"key": "([0-9a-f]{64})"', re.MULTILINE)
_DAMAGE = (OSError, ValueError, KeyError, TypeError)


class Artifact(Value):
    """Machine code from the package: its digest is checked. `entry` is the JSON of `Entry.to_json(source=False)`."""

    cubin: bytes
    entry: Mapping[str, Any]
    registers: int
    spills: int
    compiler: str
    stack: int = 0


class Made(Value):
    """What `prism build` made of one text for one architecture. `requests` are the keys that it is asked for by; `report` names
    what is known of its safety."""

    entry: Entry
    binary: Binary
    requests: tuple[str, ...] = ()
    report: str = ""


class Manifest(Value):
    """What a folder has for one architecture, and the digest of the sources that it was built from.

    `lines`: a line for each kernel, of which one is looked for when it is asked for. `packs`: of each file the bytes that it
    takes, and those that are packed in it.
    """

    lines: bytes
    requests: Mapping[str, str]
    sources: str = ""
    absent: tuple[str, ...] = ()
    packs: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def facts(self, key: str) -> Mapping[str, Any]:
        """Return what is listed under a source's key.

        Raises:
            KeyError: nothing is.
            ValueError: what is there is no JSON.
        """
        begin = self._begin(key)
        if begin < 0:
            raise KeyError(key)
        try:
            found: Mapping[str, Any] = json.loads(self.lines[begin : self.lines.index(b"\n", begin)])
        except RecursionError as error:
            raise ValueError(f"{key} is listed in brackets in brackets") from error
        return found

    def has(self, key: str) -> bool:
        """Whether anything is."""
        return self._begin(key) >= 0

    def _begin(self, key: str) -> int:
        return self.lines.find(b'{"key": "%s"' % key.encode())

    def kernels(self) -> list[str]:
        """Return the keys of all that is listed, in order."""
        return [key.decode() for key in _KEY.findall(self.lines)]


NOTHING = Manifest(b"", {})


def find(source: str, arch: str, *, folder: Path = FOLDER) -> Artifact | None:
    """Return what was built ahead of time from `source` for `arch`, or None. What is damaged is a miss, with a warning; so is
    all where this Python can't unpack it.

    The compiler's version is no part of the look-up: machine code is what it is.
    """
    return _find(source_key(source, arch), arch, folder)


def find_request(request: str, arch: str, sources: str, *, folder: Path = FOLDER) -> Artifact | None:
    """Return what was built ahead of time for a request, or None; None too where it was built from other `sources`."""
    listed = manifest(arch, folder)
    if listed.sources != sources:
        return None
    key = listed.requests.get(request)
    return None if key is None else _find(key, arch, folder)


def load_all(arch: str, *, folder: Path = FOLDER) -> dict[str, Artifact]:
    """Return all that a folder has for an architecture, undamaged, by sources' keys. Each pack is read, once."""
    there = manifest(arch, folder)
    found = {}
    packs.unpack.cache_clear()
    for facts in sorted(read_manifest(arch, folder), key=lambda facts: str(facts.get("pack"))):
        with contextlib.suppress(*_DAMAGE, packs.MissingLZMA):
            found[facts["key"]] = _load(folder / arch, there, facts)
    return found


def _find(key: str, arch: str, folder: Path) -> Artifact | None:
    listed = manifest(arch, folder)
    if not listed.has(key):
        return None
    try:
        return _load(folder / arch, listed, listed.facts(key))
    except packs.MissingLZMA as error:
        warnings.warn(f"{error}: each is compiled at its first use instead", RuntimeWarning, stacklevel=3)
    except _DAMAGE as error:
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
        head, _, lines = (folder / arch / _MANIFEST).read_bytes().partition(b"\n")
        found = json.loads(head)
        if found["format"] != _FORMAT:
            return NOTHING
        sizes = {str(file): (int(nbytes), int(size)) for file, (nbytes, size) in dict(found["packs"]).items()}
        listed = Manifest(lines, found["requests"], found["sources"], tuple(found["absent"]), sizes)
    except FileNotFoundError:
        return NOTHING
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        warnings.warn(f"the list of kernels shipped with Prism is damaged: {error}", RuntimeWarning, stacklevel=2)
        return NOTHING
    return listed if isinstance(listed.requests, dict) else NOTHING


def read_manifest(arch: str, folder: Path = FOLDER) -> list[Mapping[str, Any]]:
    """Return all that a folder has for an architecture, as its manifest says; what is no JSON is left out."""
    found = []
    for key in (there := manifest(arch, folder)).kernels():
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
        reports, runs = (found["reports"], found["runs"]) if found["format"] == _FORMAT else ({}, {})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
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
    certificates: Mapping[str, str] | None = None,
) -> tuple[Path, ...]:
    """Make the folders of these architectures hold exactly these, and return their manifests' paths.

    The same input gives the same bytes, in whatever order. Other architectures' folders are left as they are, with their reports.
    `absent`: the requests that an architecture can't have. `runs`: what `write_runs` writes. `certificates`: texts, by digest.

    Raises:
        OSError: the folder can't be written.
        ValueError: an entry and its binary are for different architectures.
        MissingLZMA: this Python can't pack.
    """
    by_arch: dict[str, list[Made]] = {}
    for one in made:
        if one.entry.arch != one.binary.arch:
            raise ValueError(f"`{one.entry.name}` is for {one.entry.arch}, its machine code for {one.binary.arch}")
        by_arch.setdefault(one.entry.arch, []).append(one)
    lacking = {arch: sorted((absent or {}).get(arch, ())) for arch in by_arch}
    paths = tuple(_write_arch(folder / arch, by_arch[arch], sources, lacking[arch]) for arch in sorted(by_arch))
    manifest.cache_clear()
    packs.unpack.cache_clear()
    _write_reports(folder, {**_reports(folder)[0], **(reports or {})}, runs or {})
    if certificates:
        _write_certificates(folder, {**_certificates(folder), **certificates})
    return paths


def _write_arch(folder: Path, made: Iterable[Made], sources: str, absent: list[str]) -> Path:
    from concurrent.futures import ThreadPoolExecutor  # who only reads does without

    folder.mkdir(parents=True, exist_ok=True)
    by_key = {source_key(one.entry.source, one.entry.arch): one for one in made}
    requests = {request: key for key, one in by_key.items() for request in one.requests}
    places: dict[str, tuple[str, int]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    groups = [(kernel, keys, codes) for kernel, codes in _by_name(by_key).items() for keys in packs.groups(codes)]
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # packing lets other threads run
        packed = threads.map(lambda one: packs.pack(one[0], [one[2][key] for key in one[1]]), groups)
        for (_, keys, codes), (file, data) in zip(groups, packed, strict=True):
            if not _holds(folder / file, data):
                _replace(folder / file, data)
            ends = list(itertools.accumulate(len(codes[key]) for key in keys))
            places.update((key, (file, end - len(codes[key]))) for key, end in zip(keys, ends, strict=True))
            sizes[file] = (len(data), ends[-1])
    head = {"format": _FORMAT, "sources": sources, "requests": requests, "absent": absent, "packs": sizes}
    entries = [_manifest_entry(key, by_key[key], *places[key]) for key in sorted(by_key)]
    lines = [json.dumps(head, sort_keys=True), *(json.dumps(entry) for entry in entries)]
    _replace(folder / _MANIFEST, "".join(f"{line}\n" for line in lines).encode())
    for path in folder.iterdir():
        if path.suffix in (".xz", ".cubin") and path.name not in sizes:
            path.unlink(missing_ok=True)
    return folder / _MANIFEST


def _by_name(by_key: Mapping[str, Made]) -> dict[str, dict[str, bytes]]:
    """Return machine code by its kernel's name, then by key."""
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    for key, one in by_key.items():
        found[one.entry.name][key] = one.binary.cubin
    return found


def _manifest_entry(key: str, one: Made, pack: str, offset: int) -> dict[str, Any]:
    """Return what the manifest says of a kernel, in this order: `_KEY` looks for its beginning."""
    entry, binary = one.entry, one.binary
    return {
        "key": key,
        "pack": pack,
        "offset": offset,
        "bytes": len(binary.cubin),
        "sha256": hashlib.sha256(binary.cubin).hexdigest(),
        "registers": binary.registers,
        "stack": binary.stack,
        "spills": binary.spills,
        "shared_bytes": entry.shared_bytes,
        "compiler": binary.compiler,
        "report": one.report,
        "entry": entry.to_json(source=False),
    }


def write_runs(runs: Mapping[str, Any], *, folder: Path = FOLDER) -> None:
    """Have the reports of a folder say that kernels, by `module:name`, were run so, and no others. Nothing else changes.

    Raises:
        OSError: the folder can't be written.
    """
    _write_reports(folder, _reports(folder)[0], runs)


def _write_reports(folder: Path, reports: Mapping[str, Any], runs: Mapping[str, Any]) -> None:
    """Write the reports that some architecture's entries name, and no others, where that is something new."""
    named = {facts["report"] for arch in architectures(folder) for facts in read_manifest(arch, folder)}
    kept = {key: report for key, report in reports.items() if key in named}
    ran = {name: runs[name] for report in kept.values() if (name := report.get("kernel")) in runs}
    if kept and _reports(folder) != (kept, ran):
        text = json.dumps({"format": _FORMAT, "reports": kept, "runs": ran}, indent=1, sort_keys=True)
        _replace(folder / _REPORTS, f"{text}\n".encode())


def certificate(digest: str, folder: Path = FOLDER) -> str | None:
    """Return the certificate that has a digest, as a report says it, or None where the folder has none.

    Raises:
        MissingLZMA: it can't be unpacked here.
    """
    text = _certificates(folder).get(digest)
    return text if text is not None and hashlib.sha256(text.encode()).hexdigest() == digest else None


def _certificates(folder: Path) -> Mapping[str, str]:
    """Return the certificates, as they are in the file."""
    try:
        found = json.loads(packs.unpack_text((folder / _CERTIFICATES).read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_certificates(folder: Path, certificates: Mapping[str, str]) -> None:
    """Write the certificates that reports name, and no others; the same ones give the same bytes."""
    named = {str(report.get("certificate", {}).get("sha256")) for report in _reports(folder)[0].values()}
    text = json.dumps({key: certificates[key] for key in sorted(named) if key in certificates}, indent=0)
    data = packs.pack_text(text)
    if not _holds(folder / _CERTIFICATES, data):
        _replace(folder / _CERTIFICATES, data)


def _load(folder: Path, there: Manifest, facts: Mapping[str, Any]) -> Artifact:
    pack, begin = str(facts["pack"]), int(facts["offset"])
    cubin = packs.unpack(folder / pack, *there.packs[pack])[begin : begin + int(facts["bytes"])]
    if hashlib.sha256(cubin).hexdigest() != facts["sha256"]:
        raise ValueError(f"what {pack} has at {begin} is not what the manifest says")
    numbers = (int(facts["registers"]), int(facts["spills"]))
    return Artifact(cubin, facts["entry"], *numbers, str(facts["compiler"]), int(facts["stack"]))


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
