"""What `prism build` compiles ahead of time: every kernel that the host functions take by default."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from prism.lib import operators, reduce_calls, reductions, scan_plans, scans
from prism.lib.scan_plans import Shape, Task
from prism.runtime import artifacts
from prism.runtime.build import entry_of
from prism.runtime.compile import Binary, compile_cubin
from prism.runtime.entry import Entry

_PROMOTED = {
    "int8": "int64",
    "int16": "int64",
    "int32": "int64",
    "uint8": "uint64",
    "uint16": "uint64",
    "uint32": "uint64",
}
_MULTIPROCESSORS = 132


def entries(arch: str) -> tuple[Entry, ...]:
    """Return the library's kernels for one architecture.

    These are: long scans of each operator and dtype, inclusive and exclusive, aligned and not; and sums, also of promoted
    integers, of every shape of powers of two, along each axis; reductions of whole arrays, by name and dtype.
    What else is asked for is compiled when it is first used.
    """
    found: dict[str, Entry] = {}
    for way in itertools.chain(_long(), _sums()):
        entry = entry_of(scan_plans.program_of(way), arch)
        found[entry.source] = entry
    for named in reductions.NAMED:
        for program in reduce_calls.programs(named):
            entry = entry_of(program, arch)
            found[entry.source] = entry
    return tuple(found.values())


def _long() -> Iterator[scan_plans.Way]:
    for operator, dtype in itertools.product(operators.BY_NAME.values(), scans.NATIVE):
        if operator.integral and dtype.startswith("float"):
            continue
        for exclusive, aligned in itertools.product((False, True), (True, False)):
            yield scan_plans.many_tiles(Task(operator, dtype, dtype, exclusive), Shape(1, 1 << 28, 1, aligned))


def _sums() -> Iterator[scan_plans.Way]:
    kinds = [(dtype, dtype) for dtype in (*scans.NATIVE, *scan_plans.SHORT)]
    for given, result in (*kinds, *_PROMOTED.items(), ("bool", "int64")):
        task = Task(operators.add, given, result)
        for log in range(29):
            yield scan_plans.on_device(task, Shape(1, 1 << log, 1, True), _MULTIPROCESSORS)
        for first in range(27):
            yield scan_plans.on_device(task, Shape(1, 1 << first, 1 << (26 - first), True), _MULTIPROCESSORS)
        yield scan_plans.on_device(task, Shape(1 << 13, 1 << 13, 1, True), _MULTIPROCESSORS)


def build(archs: Sequence[str], *, folder: Path | None = None, jobs: int | None = None) -> Iterator[str]:
    """Compile what is missing or changed in `folder` (default: the package's own), and yield lines of progress.

    Needs neither a GPU nor a CUDA toolkit. What a folder holds already, and still fits, is kept.

    Raises
    ------
    ValueError
        NVRTC doesn't know an architecture.
    MissingCompiler
        NVRTC isn't installed.
    """
    where = artifacts.FOLDER if folder is None else folder
    built: list[tuple[Entry, Binary]] = []
    missing: list[Entry] = []
    for entry in itertools.chain.from_iterable(entries(arch) for arch in archs):
        kept = artifacts.find(entry.source, entry.arch, folder=where)
        if kept is None:
            missing.append(entry)
        else:
            built.append((entry, Binary(kept.cubin, entry.arch, kept.compiler, kept.registers, 0, kept.spills, "")))
    yield f"{len(built)} kernels are up to date, {len(missing)} to compile for {', '.join(archs)}"
    if missing:
        with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
            for number, (entry, binary) in enumerate(zip(missing, pool.map(_compile, missing), strict=True), 1):
                spilled = f", {binary.spills} bytes spilled" if binary.spills else ""
                yield f"[{number}/{len(missing)}] {entry.name} {entry.arch}: {binary.registers} registers{spilled}"
                built.append((entry, binary))
    built.sort(key=lambda pair: (pair[0].arch, pair[0].source))
    size = sum(len(binary.cubin) for _, binary in built)
    yield f"{artifacts.write(built, folder=where)}: {len(built)} kernels, {size / 2**20:.1f} MiB"


def _compile(entry: Entry) -> Binary:
    return compile_cubin(entry.source, entry.arch)
