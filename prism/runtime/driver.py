"""The CUDA driver and cuda.core, imported at first use, and the driver's errors as exceptions."""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

from prism.runtime.forks import CHILD, Lock


class DeviceError(RuntimeError):
    """The driver refused a call, or there is no usable GPU. `code` is the driver's name of the error, or None."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


def is_forked() -> bool:
    """Whether this process is the child of one that had started CUDA before."""
    return _started not in (None, os.getpid())


_started: int | None = None  # the process that did


@functools.cache
def driver() -> Any:
    """Return `cuda.bindings.driver`, initialised.

    Raises:
        DeviceError: cuda-bindings isn't installed, or there is no driver or no GPU here.
    """
    try:
        from cuda.bindings import driver as found

        status = found.cuInit(0)[0]
    except ImportError as error:
        raise DeviceError("using a GPU needs cuda-bindings: pip install 'cuda-bindings==13.*'") from error
    except (RuntimeError, OSError) as error:
        raise DeviceError("no NVIDIA driver on this machine: pass NumPy arrays to run on the CPU") from error
    if status.name == "CUDA_ERROR_NOT_INITIALIZED":  # which `cuInit` says in the child of a process that has called it
        raise DeviceError(CHILD, status.name)
    if int(status) != 0:
        raise DeviceError(f"no usable NVIDIA GPU on this machine: {status.name}", status.name)
    global _started
    _started = os.getpid()
    return found


def check(result: tuple[Any, ...], doing: str) -> Any:
    """Return what a driver call gave besides its status: nothing, a value, or several.

    Raises:
        DeviceError: the status is not success; `doing` says what was tried.
    """
    status, *values = result
    if int(status) != 0:
        raise DeviceError(f"{doing}: {CHILD if is_forked() else status.name}", status.name)
    return values[0] if len(values) == 1 else tuple(values) or None


# cuda.core's wheel replaces its own globals, its spec too, while it is imported. So Python's lock doesn't keep a second thread
# out, which would find a module half made.
_importing = Lock()


def cuda_core(module: str = "cuda.core") -> Any:
    """Return cuda.core, or one of its modules, whole. All of Prism imports it here.

    Raises:
        ImportError: it isn't installed, or doesn't load.
    """
    with _importing:
        importlib.import_module("cuda.core")
        return importlib.import_module(module)
