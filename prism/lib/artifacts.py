"""`prism build`: the kernels that ship, compiled into a folder, in parallel, as far as they changed."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import hashlib
import importlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from prism.lang.diagnostics import CompileError
from prism.lang.keep.records import is_record_class, spell
from prism.lang.lower.limits import check_architecture
from prism.lang.pipeline import build as checked_program
from prism.lang.safety import safety
from prism.lang.skeleton import certificate_of
from prism.lang.surface import Kernel
from prism.lib import shipped_kernels
from prism.runtime import artifacts, packs
from prism.runtime.artifacts import Artifact, Made
from prism.runtime.build import entry_of
from prism.runtime.compile import Binary, compile_cubin, nvrtc_version, require_target
from prism.runtime.entry import Entry
from prism.runtime.instance import Instance, sources_digest
from prism.runtime.keys import digest, source_key


@dataclass(slots=True)
class Progress:
    """How far a build is: so many of `total` steps of a stage (`check`, `compile`) are done."""

    stage: str
    done: int
    total: int


@dataclass(slots=True)
class Result:
    """What a build left in its folder, over all the architectures it was for.

    `kept` were up to date, `compiled` were not. `without`: kernels that an architecture can't have, by its name. `nbytes`: of
    machine code; `packed`: of the files that it is packed in.
    """

    folder: Path
    kept: int = 0
    compiled: int = 0
    nbytes: int = 0
    packed: int = 0
    by_arch: dict[str, int] = field(default_factory=dict)
    without: dict[str, int] = field(default_factory=dict)
    spilling: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Function:
    """A device function of the package's, by its name."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class _Reference:
    """A kernel that ships, by names: what another process makes the same one from."""

    request: str
    kernel: tuple[str, str]
    template: tuple[tuple[str, Any], ...]


_Task: TypeAlias = tuple[_Reference, tuple[str, ...]]
"""A kernel that is to be checked, for some architectures."""
AT_ONCE = 4
"""Kernels that a process is sent: with more, others wait at the end for the one that has the last."""


@dataclass(frozen=True, slots=True)
class _Checked:
    """A kernel's text and contract, for each architecture that has what it uses."""

    request: str
    entries: tuple[Entry, ...]
    report: Mapping[str, Any]
    certificate: str

    @property
    def archs(self) -> frozenset[str]:
        """The architectures."""
        return frozenset(entry.arch for entry in self.entries)


def build(
    archs: Sequence[str],
    *,
    folder: Path | None = None,
    jobs: int | None = None,
    wanted: Callable[[str], Iterable[Instance]] = shipped_kernels.each,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Result:
    """Make a folder (default: the package's own) hold the kernels that ship, for these architectures.

    Needs neither a GPU nor a CUDA toolkit. What the folder has already, from the same text, is kept; where not even the sources
    changed, nothing is checked again; what `runs.json` has of them is written anyway. The same sources and compiler give the
    same bytes.

    Parameters
    ----------
    jobs
        Processes; by default one a core.
    wanted
        Which kernels, for an architecture.
    progress
        Called as the work goes on.

    Raises
    ------
    ValueError
        NVRTC doesn't know an architecture.
    MissingCompiler
        NVRTC isn't installed.
    MissingLZMA
        This Python can't pack.
    """
    if (trouble := packs.trouble()) is not None:
        raise packs.MissingLZMA(trouble)
    archs = tuple(dict.fromkeys(archs))
    for arch in archs:
        require_target(arch)
    where = artifacts.FOLDER if folder is None else folder
    result = Result(where)
    have = {arch: _load(arch, where) for arch in archs}
    changed = any(artifacts.manifest(arch, where).sources != sources_digest() for arch in archs)
    listed = _Listed(archs, wanted)
    if not changed:  # then it may have all there is
        listed.finish()
        if all(_current(where, arch, listed.requests(arch), have[arch]) for arch in archs):
            artifacts.write_runs(_runs(), folder=where)
            result.kept = sum(len(kept) for kept in have.values())
            return _count(result, archs)
    with ProcessPoolExecutor(jobs or os.cpu_count(), initializer=_begin) as pool:
        checked = _check_all(pool, listed, progress)
        made = _compile_all(pool, have, checked, result, progress)
    absent = {arch: _absent(arch, listed.asked, checked) for arch in archs}
    result.without = {arch: len(requests) for arch, requests in absent.items() if requests}
    _write(where, made, absent, checked)
    return _count(result, archs)


def _absent(arch: str, asked: Mapping[str, Sequence[str]], checked: Iterable[_Checked]) -> list[str]:
    """Return the requests of the kernels that an architecture was to have, and can't."""
    return [one.request for one in checked if arch in asked[one.request] and arch not in one.archs]


def _write(folder: Path, made: Iterable[Made], absent: Mapping[str, list[str]], checked: Sequence[_Checked]) -> None:
    """Write all that the folder is to hold: machine code, reports, certificates, and what `runs.json` has."""
    artifacts.write(
        made,
        folder=folder,
        sources=sources_digest(),
        absent=absent,
        reports={_report_key(one.report): one.report for one in checked},
        runs=_runs(),
        certificates={one.report["certificate"]["sha256"]: one.certificate for one in checked},
    )


class _Listed:
    """The kernels that are wanted for some architectures. To list them takes seconds, so the first are checked meanwhile.

    A kernel is handed on when it is known for which architectures it is wanted: `asked` has these, by its request.
    """

    def __init__(self, archs: Sequence[str], wanted: Callable[[str], Iterable[Instance]]) -> None:
        self.asked: dict[str, list[str]] = {}
        self._references: dict[str, _Reference] = {}
        self._coming = self._list(archs, wanted)

    def _list(self, archs: Sequence[str], wanted: Callable[[str], Iterable[Instance]]) -> Iterator[_Reference]:
        for arch in archs:
            for one in wanted(arch):
                assert one.request is not None
                reference = self._references.setdefault(one.request, _reference(one))
                asked = self.asked.setdefault(one.request, [])
                if arch not in asked:
                    asked.append(arch)
                    if arch == archs[-1]:
                        yield reference
        yield from [one for one in self._references.values() if archs[-1] not in self.asked[one.request]]

    def finish(self) -> None:
        """List all of them."""
        self._coming = iter(list(self._coming))

    def requests(self, arch: str) -> list[str]:
        """Return the requests of an architecture's kernels, of those that are listed."""
        return [request for request, archs in self.asked.items() if arch in archs]

    def place(self, checked: _Checked) -> tuple[tuple[str, str], str]:
        """Return by what a kernel is sorted: its name, and then its template."""
        reference = self._references[checked.request]
        return reference.kernel, repr(reference.template)

    def tasks(self) -> Iterator[list[_Task]]:
        """Yield what processes are to check, some kernels at a time."""
        while some := list(itertools.islice(self._coming, AT_ONCE)):
            yield [(one, tuple(self.asked[one.request])) for one in some]


def _check_all(pool: ProcessPoolExecutor, listed: _Listed, progress: Callable[[Progress], None]) -> list[_Checked]:
    """Return all kernels checked, in an order that does not depend on when each was listed: others check while this one lists."""
    checking: list[Future[list[_Checked]]] = []
    try:
        for tasks in listed.tasks():
            checking.append(pool.submit(_check_some, tasks))
        checked = itertools.chain.from_iterable(some.result() for some in checking)
        return sorted(_done("check", checked, len(listed.asked), progress), key=listed.place)
    finally:  # an error is told at once, and not when all others are checked
        for some in checking:
            some.cancel()


def _current(folder: Path, arch: str, requests: Sequence[str], have: Mapping[str, Artifact]) -> bool:
    """Whether a folder has just these, from these sources, undamaged."""
    listed = artifacts.manifest(arch, folder)
    if listed.sources != sources_digest() or {*listed.requests, *listed.absent} != set(requests):
        return False
    return set(listed.requests.values()) == set(have)


def _load(arch: str, folder: Path) -> dict[str, Artifact]:
    """Return what a folder has for an architecture, made by this compiler, by sources' keys."""
    version = "{}.{}".format(*nvrtc_version())
    return {key: one for key, one in artifacts.load_all(arch, folder=folder).items() if one.compiler == version}


def _count(result: Result, archs: Sequence[str]) -> Result:
    for arch in archs:
        there = artifacts.manifest(arch, result.folder)
        result.by_arch[arch] = len(there.kernels())
        result.packed += sum(packed for packed, _ in there.packs.values())
        result.nbytes += sum(size for _, size in there.packs.values())
    return result


def _compile_all(
    pool: ProcessPoolExecutor,
    kept: Mapping[str, Mapping[str, Artifact]],
    checked: Sequence[_Checked],
    result: Result,
    progress: Callable[[Progress], None],
) -> list[Made]:
    """Return all that the folder is to hold: what it has already, and what is compiled now."""
    requests: dict[tuple[str, str], list[str]] = {}
    entries: dict[tuple[str, str], tuple[Entry, str]] = {}
    for one in checked:
        for entry in one.entries:
            at = (entry.arch, source_key(entry.source, entry.arch))
            if at in entries and entries[at][0].assumed != entry.assumed:
                raise ValueError(f"`{entry.title}`: two kernels have one text, and do not assume the same of a launch")
            requests.setdefault(at, []).append(one.request)
            entries[at] = (entry, _report_key(one.report))
    have = {at: kept[at[0]].get(at[1]) for at in entries}
    missing = [entries[at][0] for at in sorted(entries) if have[at] is None]
    missing.sort(key=lambda entry: -len(entry.source))  # no process has a long one left when the others are done
    fresh: dict[tuple[str, str], Binary] = {}
    compiling = pool.map(_compile, missing)
    for entry, binary in zip(missing, _done("compile", compiling, len(missing), progress), strict=True):
        fresh[entry.arch, source_key(entry.source, entry.arch)] = binary
        if binary.spills:
            result.spilling.append(f"{entry.title} for {entry.arch}: {binary.spills} bytes of registers spilled")
    result.compiled, result.kept = len(fresh), len(entries) - len(fresh)
    made = []
    for at, (entry, report) in sorted(entries.items(), key=lambda item: item[0]):
        old = have[at]
        binary = fresh[at] if old is None else _again(old, entry.arch)
        made.append(Made(entry, binary, tuple(sorted(requests[at])), report))
    return made


def _again(kept: Artifact, arch: str) -> Binary:
    return Binary(kept.cubin, arch, kept.compiler, kept.registers, kept.stack, kept.spills, "")


def _done(stage: str, results: Iterator[Any], total: int, progress: Callable[[Progress], None]) -> Iterator[Any]:
    for number, one in enumerate(results, 1):
        yield one
        progress(Progress(stage, number, total))


def _report_key(report: Mapping[str, Any]) -> str:
    return digest("prism report", repr(sorted(report.items())))[:16]


# -- In other processes ---------------------------------------------------------------------------------------------------


def _reference(one: Instance) -> _Reference:
    template = tuple((name, _named(value)) for name, value in one.template)
    assert one.request is not None
    return _Reference(one.request, (one.kernel.__module__, one.kernel.__qualname__), template)


def _named(value: Any) -> Any:
    return _Function(value.__module__, value.__qualname__) if isinstance(value, Kernel) else value


def _resolve(value: Any) -> Any:
    return getattr(importlib.import_module(value.module), value.name) if isinstance(value, _Function) else value


_KEPT = {-1: 1 << 30, -2: 1 << 26, -3: 1 << 30}
"""M_TRIM_THRESHOLD, M_TOP_PAD and M_MMAP_THRESHOLD of malloc.h."""


def _begin() -> None:
    """Prepare a process that checks and compiles all the time and ends soon: nothing in it has to be given back meanwhile.

    Where the C library is glibc, it keeps what NVRTC frees, which asks for as much again for the next kernel: a twentieth of the
    time.
    """
    gc.disable()
    with contextlib.suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, nbytes in _KEPT.items():
            mallopt(parameter, nbytes)


def _check_some(tasks: Sequence[_Task]) -> list[_Checked]:
    return [_check(task) for task in tasks]


def _check(task: _Task) -> _Checked:
    """Return a kernel checked."""
    reference, archs = task
    module, name = reference.kernel
    template = tuple((key, _resolve(value)) for key, value in reference.template)
    program = checked_program(getattr(importlib.import_module(module), name), dict(template))
    entries = tuple(entry_of(program, arch) for arch in archs if _has(program, arch))
    report = {
        "kernel": f"{module}:{name}",
        "template": {k: _spell(v) for k, v in reference.template},
        **safety(program),
    }
    return _Checked(reference.request, entries, report, str(certificate_of(program)))


RUNS = Path(__file__).with_name("runs.json")


@functools.cache
def _runs() -> Mapping[str, Any]:
    """Return, of each kernel, the schedules under which the tests ran it with all checks, with what template arguments ever.

    tests/ran.py writes it. What was recorded of another text of the kernel's module is left out.
    """
    found: dict[str, Any] = json.loads(RUNS.read_text(encoding="utf-8"))
    return {name: facts for name, facts in found.items() if facts.pop("module") == module_digest(name)}


def module_digest(kernel: str) -> str:
    """Return the digest of the file that a kernel, as `module:name`, stands in."""
    file = importlib.import_module(kernel.partition(":")[0]).__file__
    assert file is not None
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _spell(value: Any) -> Any:
    """Return a template argument as a report has it: a number, or a text that names it."""
    if isinstance(value, _Function):
        return f"{value.module}:{value.name}"
    return spell(value) if is_record_class(type(value)) else value


def _has(program: Any, arch: str) -> bool:
    try:
        check_architecture(program, arch)
    except CompileError as error:
        if error.code != "arch":
            raise
        return False
    return True


def _compile(entry: Entry) -> Binary:
    return compile_cubin(entry.source, entry.arch)
