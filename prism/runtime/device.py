"""Devices, what they can do, and kernels loaded on them: each once a process, in the device's primary context."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Collection, Iterator
from dataclasses import field
from typing import Any

from prism.lang.keep.bases import Frozen, Value
from prism.runtime.driver import DeviceError, check, driver
from prism.runtime.forks import Lock

_OLDEST = (7, 5)
_STATIC_LIMIT = 48 << 10  # more dynamic shared memory than this must be asked for
COMPILED = frozenset((75, 80, 86, 89, 90, 100, 120))
"""What every NVRTC from 13.0 on compiles for, which it is not asked: what ships compiled is launched without loading it."""


class Device(Value):
    """A GPU: its ordinal, what it is, and its limits. `shared_limit` is the dynamic shared memory a block can have."""

    ordinal: int
    name: str
    capability: tuple[int, int]
    arch: str
    sm_count: int
    shared_limit: int
    context: Any = field(repr=False, compare=False)


def arch_of(capability: tuple[int, int], supported: Collection[int] | None = None) -> str:
    """Return what to compile for: `sm_90a` and its like from 9.0 on, plain `sm_86` before.

    `supported` is what the compiler knows: where the device is newer, the newest plain target of its generation counts.

    Raises:
        DeviceError: the device is older than 7.5, or the compiler knows nothing that runs on it.
    """
    major, minor = capability
    if capability < _OLDEST:
        raise DeviceError(f"this GPU has compute capability {major}.{minor}; Prism needs at least 7.5")
    exact = major * 10 + minor
    if supported is None or exact in supported:
        return f"sm_{exact}a" if major >= 9 else f"sm_{exact}"
    fitting = [number for number in supported if major * 10 <= number <= exact]
    if not fitting:
        raise DeviceError(f"the installed NVRTC compiles nothing for compute capability {major}.{minor}: upgrade it")
    return f"sm_{max(fitting)}"


def device(ordinal: int | None = None) -> Device:
    """Return a device; None is the current one.

    Raises:
        DeviceError: there is none of this ordinal, no driver, or it is too old.
    """
    return _device(current_device() if ordinal is None else ordinal)


def current_device() -> int:
    """Return the ordinal of the device whose context is current; 0, made current, where none is.

    Raises:
        DeviceError: no driver, or no GPU.
    """
    cuda = driver()
    status, found = cuda.cuCtxGetDevice()
    if int(status) == 0:
        return int(found)
    check(cuda.cuCtxSetCurrent(_device(0).context), "using GPU 0")
    return 0


@functools.cache
def count() -> int:
    """Return how many GPUs this process sees.

    Raises:
        DeviceError: no driver.
    """
    return int(check(driver().cuDeviceGetCount(), "counting GPUs"))


@contextlib.contextmanager
def using(ordinal: int) -> Iterator[None]:
    """Make a device's primary context current inside the block.

    Raises:
        DeviceError: no such device.
    """
    cuda = driver()
    check(cuda.cuCtxPushCurrent(device(ordinal).context), f"using GPU {ordinal}")
    try:
        yield
    finally:
        check(cuda.cuCtxPopCurrent(), f"leaving GPU {ordinal}")


class Loaded(Frozen):
    """A kernel on a device, loaded in its primary context, with the driver's handles. Never unloaded."""

    name: str
    device: Device
    function: Any
    registers: int
    max_threads: int
    library: Any = field(repr=False)
    kernel: Any = field(repr=False)
    residency: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)

    def occupancy(self, threads: int, shared_bytes: int) -> int:
        """Return how many blocks of this shape one multiprocessor holds at once; asked of the driver once a shape.

        Raises:
            DeviceError: the driver can't tell.
        """
        found = self.residency.get((threads, shared_bytes))
        if found is None:
            ask = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor
            with using(self.device.ordinal):
                found = int(check(ask(self.function, threads, shared_bytes), f"occupancy of `{self.name}`"))
            self.residency[threads, shared_bytes] = found
        return found


_loaded: dict[tuple[int, bytes, str], Loaded] = {}
_loading = Lock()


def load(cubin: bytes, name: str, ordinal: int, shared_bytes: int = 0) -> Loaded:
    """Return a kernel of some machine code on a device, allowed `shared_bytes` of dynamic shared memory.

    Must not be first called inside a CUDA graph's capture.

    Raises:
        DeviceError: the device refuses the machine code, or has less shared memory.
    """
    where = device(ordinal)
    if shared_bytes > where.shared_limit:
        has = f"GPU {ordinal} ({where.name}) has {where.shared_limit}"
        raise DeviceError(f"`{name}` needs {shared_bytes} bytes of shared memory a block; {has}")
    key = (ordinal, hashlib.sha256(cubin).digest(), name)
    found = _loaded.get(key)
    if found is None:
        with _loading:
            found = _loaded.get(key) or _load(cubin, name, where)
            _loaded[key] = found
    if shared_bytes > _STATIC_LIMIT:
        allow_shared(found, shared_bytes)
    return found


def _load(cubin: bytes, name: str, where: Device) -> Loaded:
    cuda = driver()
    doing = f"loading `{name}` on GPU {where.ordinal}"
    with using(where.ordinal):
        library = check(cuda.cuLibraryLoadData(cubin, [], [], 0, [], [], 0), doing)
        kernel = check(cuda.cuLibraryGetKernel(library, name.encode()), doing)
        function = check(cuda.cuKernelGetFunction(kernel), doing)  # loads it now, not at the first launch

        def ask(attribute: str) -> int:
            kind = getattr(cuda.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{attribute}")
            return int(check(cuda.cuKernelGetAttribute(kind, kernel, where.ordinal), doing))

        facts = (ask("NUM_REGS"), ask("MAX_THREADS_PER_BLOCK"))
    return Loaded(name, where, function, *facts, library=library, kernel=kernel)


_allowed: dict[tuple[int, int], int] = {}


def allow_shared(loaded: Loaded, shared_bytes: int) -> None:
    """Allow launches of a kernel so many bytes of dynamic shared memory, or more, once and for all.

    Raises:
        DeviceError: the driver refuses.
    """
    kernel, where = loaded.kernel, loaded.device
    key = (int(kernel), where.ordinal)
    if _allowed.get(key, 0) >= shared_bytes:
        return
    cuda = driver()
    kind = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    with _loading:
        if _allowed.get(key, 0) < shared_bytes:
            doing = f"giving `{loaded.name}` {shared_bytes} bytes of shared memory"
            check(cuda.cuKernelSetAttribute(kind, shared_bytes, kernel, where.ordinal), doing)
            _allowed[key] = shared_bytes


@functools.cache
def _device(ordinal: int) -> Device:
    cuda = driver()
    handle = check(cuda.cuDeviceGet(ordinal), f"there is no GPU {ordinal}")

    def ask(attribute: str) -> int:
        kind = getattr(cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{attribute}")
        return int(check(cuda.cuDeviceGetAttribute(kind, handle), f"asking GPU {ordinal}"))

    capability = (ask("COMPUTE_CAPABILITY_MAJOR"), ask("COMPUTE_CAPABILITY_MINOR"))
    name = check(cuda.cuDeviceGetName(128, handle), f"asking GPU {ordinal}")
    return Device(
        ordinal,
        bytes(name).split(b"\0")[0].decode(errors="replace"),
        capability,
        arch_of(capability, None if 10 * capability[0] + capability[1] in COMPILED else _supported_archs()),
        ask("MULTIPROCESSOR_COUNT"),
        ask("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        check(cuda.cuDevicePrimaryCtxRetain(handle), f"using GPU {ordinal}"),
    )


def _supported_archs() -> tuple[int, ...] | None:
    from prism.runtime.compile import MissingCompiler, supported_archs

    try:
        return supported_archs()
    except MissingCompiler:  # artifacts may do without
        return None
