"""What NVRTC makes of a text, kept beside pytest's cache: the processes of a run, and later runs, need not have it made again.

Tests ask for registers, spills and instructions of some 500 texts, which takes a tenth of the time of all tests. A text's key is
all that decides what comes of it: the text, the options, the build of NVRTC, and the module that calls it. So what is kept is
what would be made now. What NVRTC refuses is not kept. `tests/runtime`, which is about the compiler, has it called each time.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prism.runtime import compile as compiler

FOLDER = Path(__file__).parent.parent / ".pytest_cache" / "machine_code"
DAYS = 30
"""What was not asked for in so many days goes."""

_calling = 0
"""How many ask for the compiler itself."""


def keep(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as `make`, that looks first whether it was called with the same before; all arguments have reprs."""
    name, text = make.__qualname__, Path(inspect.getfile(make)).read_bytes()

    @functools.wraps(make)
    def kept(*args: Any, **kwargs: Any) -> Any:
        if _calling:
            return make(*args, **kwargs)
        try:
            with call_compiler():  # it asks by compiling
                build = compiler.nvrtc_build()
        except compiler.MissingCompiler:
            return make(*args, **kwargs)
        key = repr((name, build, inspect.signature(make).bind(*args, **kwargs)))
        path = FOLDER / hashlib.sha256(text + key.encode()).hexdigest()
        try:
            found = pickle.loads(path.read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError):  # not there, or not whole
            found = make(*args, **kwargs)
            _write(path, pickle.dumps(found))
        else:
            os.utime(path)
        return found

    return kept


def _write(path: Path, data: bytes) -> None:
    """Put a file in its place whole, whoever else does the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(data)
    part.replace(path)


def keep_all() -> None:
    """Let all that is imported from here on compile so."""
    compiler.compile_cubin = keep(compiler.compile_cubin)
    compiler.compile_ptx = keep(compiler.compile_ptx)


@contextmanager
def call_compiler() -> Iterator[None]:
    """Nothing is kept, nor looked for, meanwhile."""
    global _calling
    _calling += 1
    try:
        yield
    finally:
        _calling -= 1


def forget_old() -> None:
    """Drop what nobody has asked for in a long time."""
    since = time.time() - DAYS * 86400
    for path in FOLDER.glob("*"):
        if path.stat().st_mtime < since:
            path.unlink(missing_ok=True)
