"""What `prism build` compiles ahead of time: every kernel that the host functions take by default."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from prism.kernels.scan import DEVICE
from prism.lib import operators, scans
from prism.runtime import artifacts
from prism.runtime.build import entry_of
from prism.runtime.compile import Binary, compile_cubin
from prism.runtime.entry import Entry


def entries(arch: str) -> tuple[Entry, ...]:
    """Return the library's kernels for one architecture: each operator, dtype, inclusive and exclusive, aligned and not."""
    found: dict[str, Entry] = {}
    for operator in operators.BY_NAME.values():
        for dtype, exclusive, vectorized in itertools.product(scans.NATIVE, (False, True), (True, False)):
            kind = np.dtype(dtype)
            if operator.integral and kind.kind == "f":
                continue
            program, _, _ = scans.program_for(operator, exclusive, kind, vectorized, DEVICE[kind.itemsize])
            entry = entry_of(program, arch)
            found[entry.source] = entry
    return tuple(found.values())


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
