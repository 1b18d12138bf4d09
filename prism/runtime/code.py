"""Where machine code comes from: the artifacts in the package, the user's cache, the compiler, in this order."""

from __future__ import annotations

import functools

from prism.runtime import artifacts
from prism.runtime.compile import compile_cubin, nvrtc_build, option_list
from prism.runtime.forks import Lock
from prism.runtime.keys import source_key
from prism.runtime.store import Store, cache_key

_made: dict[str, bytes] = {}
_compiling = Lock()


@functools.cache
def store() -> Store:
    """Return this process's cache; `store.cache_clear()` makes it look at the environment again."""
    return Store()


@functools.cache
def prism_version() -> str:
    """Return the installed distribution's version; `source` in a tree that isn't installed."""
    import importlib.metadata  # takes longer than a first launch of what ships compiled

    try:
        return importlib.metadata.version("prism-gpu")
    except importlib.metadata.PackageNotFoundError:
        return "source"


def machine_code(source: str, arch: str, *, alike: bool = False) -> bytes:
    """Return the machine code of a text for one architecture; the same text is looked up once a process.

    `alike`: code in the package for another target that runs where that of `arch` does will do, rather than compile.

    Raises:
        ValueError: the compiler is needed, and doesn't know `arch`.
        MissingCompiler: the compiler is needed, and isn't there.
        MachineCodeError: the compiler refuses the text: a bug in Prism.
        AssemblerError: the assembler has an internal error: a bug in ptxas.
        SlowCodeError: what uses wgmma or `set_registers` would run as if it did not, or has too few registers.
    """
    key = source_key(source, arch)
    found = _made.get(key)
    if found is not None:
        return found
    artifact = artifacts.find(source, arch)
    if artifact is None and alike:
        others = (artifacts.find(source, target) for target in artifacts.runs_on(arch)[1:])
        if (other := next(filter(None, others), None)) is not None:
            return other.cubin
    cubin = artifact.cubin if artifact is not None else _compile(source, arch)
    return _made.setdefault(key, cubin)


def _compile(source: str, arch: str) -> bytes:
    key = cache_key(source, option_list(arch), arch, nvrtc_build(), prism_version())
    with _compiling:  # two threads that want the same kernel compile it once
        found = store().get(key)
        if found is not None:
            return found.payload
        binary = compile_cubin(source, arch)
        facts = {"arch": arch, "compiler": binary.compiler, "registers": binary.registers, "spills": binary.spills}
        store().put(key, binary.cubin, facts)
        return binary.cubin
