"""CUDA C++ text to machine code: NVRTC, through cuda.core. Needs no GPU and no CUDA toolkit."""

from __future__ import annotations

import functools
import io
import re
from typing import Any

from prism.lang.cuda.names import NEEDS
from prism.lang.diagnostics import InternalError
from prism.lang.keep.bases import Value
from prism.runtime.driver import cuda_core
from prism.runtime.keys import ARCH

STANDARD = "c++17"
PTXAS_OPTIONS = ("-v",)
INSTALL = "pip install 'cuda-core>=1.2' 'cuda-bindings==13.*' 'nvidia-cuda-nvrtc==13.*'"

_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_WARNING = re.compile(r"^(?!Remark:).*\b(?:warning|C75\d\d|C7602)\b(?! #177-D).*$", re.MULTILINE | re.IGNORECASE)
_TEXTURES = re.compile(r"\b(?:tex|surf|cuda)")
_BUILD = re.compile(r"^//.*\b(CL-\d+|V\d+\.\d+\.\d+)", re.MULTILINE)
_SLOW = re.compile(r"\((C75\d\d)\)")
_NEEDS = re.compile("^" + NEEDS.format(r"(\d+)", r"(\d+)") + "(.*)$", re.MULTILINE)


class MissingCompiler(RuntimeError):
    """cuda-core or NVRTC is not installed, or doesn't load. The message says what to install."""


class MachineCodeError(InternalError):
    """NVRTC refused text that Prism generated: a bug in Prism. `log` is NVRTC's own text, `source` what it was given.

    Its message never has the compiler's words.
    """

    log: str
    source: str
    arch: str


class AssemblerError(RuntimeError):
    """The assembler gave up on text that its compiler had accepted, or is known to make wrong code of it: a bug in ptxas.

    `log` and `source` as above.
    """

    log: str
    source: str
    arch: str


class SlowCodeError(RuntimeError):
    """The registers of a thread don't suffice for a kernel's wgmmas, or its `set_registers` would do nothing.

    Where wgmmas would wait one by one, the assembler took the kernel; it was slow only. `codes` are the assembler's own, as
    C7511, `log` is all that it said, `source` what it was given.
    """

    codes: tuple[str, ...]
    log: str
    source: str
    arch: str


class Binary(Value):
    """Machine code, and what the assembler said: registers a thread, bytes of stack, bytes spilled and loaded back."""

    cubin: bytes
    arch: str
    compiler: str
    registers: int
    stack: int
    spills: int
    log: str

    @property
    def warnings(self) -> tuple[str, ...]:
        """The log's lines that warn; helpers that a text has and does not use are none of them."""
        return tuple(_WARNING.findall(self.log))


@functools.cache
def nvrtc_version() -> tuple[int, int]:
    """Return the version of NVRTC, as `(13, 5)`.

    Raises:
        MissingCompiler: it isn't there.
    """
    status, major, minor = _nvrtc().nvrtcVersion()
    _succeed(status)
    return int(major), int(minor)


@functools.cache
def nvrtc_build() -> str:
    """Return which build of NVRTC this is, as `13.5, CL-39125733, V13.5.37`: only what it writes above its PTX says so.

    Raises:
        MissingCompiler: it isn't there.
    """
    said = _BUILD.findall(compile_ptx("", f"sm_{supported_archs()[-1]}"))
    return ", ".join(("{}.{}".format(*nvrtc_version()), *said))


@functools.cache
def supported_archs() -> tuple[int, ...]:
    """Return the architectures that NVRTC compiles for, as `(75, 80, 90, ...)`.

    Raises:
        MissingCompiler: it isn't there.
    """
    status, found = _nvrtc().nvrtcGetSupportedArchs()
    _succeed(status)
    return tuple(int(a) for a in found)


def option_list(arch: str, extra_options: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return all that decides what the compiler makes of a text, in order: a part of the cache's key."""
    return (f"-arch={arch}", f"-std={STANDARD}", *(f"--ptxas-options={o}" for o in (*PTXAS_OPTIONS, *extra_options)))


def compile_cubin(source: str, arch: str, *, extra_options: tuple[str, ...] = (), fma: bool = True) -> Binary:
    """Compile text that stands alone. `extra_options` go to the assembler (ptxas), after Prism's own.

    Without `fma`, `a * b + c` is rounded twice, as NumPy does it and the reference machine.

    Raises:
        ValueError: `arch` is not of the form `sm_90a`, or NVRTC doesn't know it.
        MissingCompiler: cuda-core or NVRTC isn't there.
        MachineCodeError: NVRTC refuses the text; its `log` has the compiler's own words.
        AssemblerError: ptxas fails with an internal error, or makes wrong code of such a text.
        SlowCodeError: what uses wgmma or `set_registers` would run as if it did not, or has too few registers.
    """
    require_target(arch)
    require_compiler(source, arch)
    version = "{}.{}".format(*nvrtc_version())
    try:
        core = cuda_core()
    except ImportError as error:
        raise MissingCompiler(f"compiling kernels needs cuda-core, which doesn't import here: {INSTALL}") from error
    options = core.ProgramOptions(
        name="prism",
        arch=arch,
        std=STANDARD,
        ptxas_options=[*PTXAS_OPTIONS, *extra_options],
        fma=fma,
        no_source_include=True,
        minimal=_TEXTURES.search(source) is None,  # the same code, without reading the declarations of what is not used
        no_cache=True,  # NVRTC's own cache, where a driver is there: a hit in it has no log, so no registers
    )
    log = io.StringIO()
    try:
        cubin = _code(core.Program(source, "c++", options).compile("cubin", logs=log))
    except Exception as error:  # cuda.core's own class moves between its releases
        if not isinstance(error, RuntimeError) and not type(error).__module__.startswith("cuda."):
            raise  # of a signal's handler, as a time limit's: NVRTC has refused nothing
        raise _refusal(source, arch, version, f"{log.getvalue()}{error}") from error
    text = log.getvalue().rstrip("\0\n")
    if codes := tuple(dict.fromkeys(_SLOW.findall(text))):
        raise _slow(codes, source, arch, version, text)
    stack, spills = _spills(text)
    registers = max((int(n) for n in _REGISTERS.findall(text)), default=0)
    return Binary(cubin, arch, version, registers, stack, spills, text)


def compile_ptx(source: str, arch: str) -> str:
    """Return the PTX of a text that stands alone.

    Raises:
        ValueError, MissingCompiler, MachineCodeError: as `compile_cubin`.
    """
    require_target(arch)
    nvrtc = _nvrtc()  # cuda.core asks a driver before it makes PTX
    status, program = nvrtc.nvrtcCreateProgram(source.encode(), b"prism.cu", 0, [], [])
    _succeed(status)
    try:
        options = [f"-arch={arch.replace('sm_', 'compute_')}".encode(), f"-std={STANDARD}".encode()]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if int(status) != 0:
            log = bytearray(nvrtc.nvrtcGetProgramLogSize(program)[1])
            nvrtc.nvrtcGetProgramLog(program, log)
            raise _refusal(source, arch, "{}.{}".format(*nvrtc_version()), log.decode(errors="replace"))
        text = bytearray(nvrtc.nvrtcGetPTXSize(program)[1])
        nvrtc.nvrtcGetPTX(program, text)
        return text.decode().rstrip("\0")
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def require_target(arch: str) -> None:
    """Check that NVRTC compiles for an architecture, as `sm_90a`.

    Raises:
        ValueError: it doesn't.
        MissingCompiler: it isn't there.
    """
    match = ARCH.fullmatch(arch)
    if match is None:
        raise ValueError(f"an architecture is written as in `sm_90a`, not {arch!r}")
    if int(match[1]) not in supported_archs():
        known = ", ".join(f"sm_{a}" for a in supported_archs())
        raise ValueError(f"NVRTC {'.'.join(map(str, nvrtc_version()))} doesn't compile for {arch}; it knows {known}")


def require_compiler(source: str, arch: str) -> None:
    """Check that the compiler's release is one that a text says it needs.

    Raises:
        AssemblerError: it is older, and would make wrong code without a word.
    """
    for major, minor, why in _NEEDS.findall(source):
        if nvrtc_version() < (int(major), int(minor)):
            version = "{}.{}".format(*nvrtc_version())
            error = AssemblerError(
                f"the assembler of NVRTC {version} makes wrong code of this kernel, without a word: {why}. Take "
                f"nvidia-cuda-nvrtc {major}.{minor} or later, or read one of the two from shared memory"
            )
            error.log, error.source, error.arch = "", source, arch
            raise error


def _code(compiled: Any) -> bytes:
    return bytes(compiled.code)


def _spills(log: str) -> tuple[int, int]:
    """The largest stack, and the largest sum of spilled bytes, of the log's functions."""
    found = [(int(a), int(b) + int(c)) for a, b, c in _SPILLS.findall(log)]
    return max((a for a, _ in found), default=0), max((b for _, b in found), default=0)


def _refusal(source: str, arch: str, version: str, log: str) -> MachineCodeError | AssemblerError | SlowCodeError:
    if _TOO_FEW in log:
        return _slow((_TOO_FEW,), source, arch, version, log.replace("\0", ""))
    error: MachineCodeError | AssemblerError
    if _INTERNAL in log:
        error = AssemblerError(
            f"the assembler of NVRTC {version} failed with an internal error on this kernel, for {arch}: a bug in ptxas. "
            "Another release of nvidia-cuda-nvrtc may take it, or the kernel written a little differently; its own words "
            "are in `.log` of this error, the text in `.source`"
        )
    else:
        error = MachineCodeError(
            f"NVRTC {version} refused the CUDA text that Prism generated for {arch}. "
            "The compiler's own words are in `.log` of this error, the text in `.source`. If the kernel has C++ of its own, in "
            "`unsafe`, `extern` or `@intrinsic`, see there first whether they are about that: then it is no bug in Prism."
        )
    error.log, error.source, error.arch = log.replace("\0", ""), source, arch
    return error


_INTERNAL = "Internal compiler error"
_IGNORED = "C7508"
_TOO_FEW = "C7602"
_NUMBERS = re.compile(r"Insufficient registers \((\d+)\).*register target of (\d+)")


def _slow(codes: tuple[str, ...], source: str, arch: str, version: str, log: str) -> SlowCodeError:
    if codes == (_IGNORED,):
        text = (
            "`set_registers` would do nothing: the kernel doesn't say how many registers its threads start with. "
            "Give it the block's size and one block a multiprocessor: @attr('__launch_bounds__(threads, 1)')"
        )
    elif codes == (_TOO_FEW,):
        numbers = _NUMBERS.search(log)
        few = f" ({numbers[1]}; a wgmma alone needs {numbers[2]})" if numbers else ""
        text = (
            f"the accumulators of a wgmma of this kernel don't fit into the registers that a thread starts with{few}: the "
            "assembler counts those of `__launch_bounds__`, not what `set_registers` adds. Use smaller fragments, or fewer "
            "threads a block"
        )
    else:
        text = (
            f"the wgmmas of this kernel would wait one by one ({', '.join(codes)} of ptxas {version}, for {arch}): its "
            "accumulators, and what is used beside them, don't fit into the registers of a thread, or change while wgmmas "
            "are under way. Use smaller fragments, or fewer threads a block; the assembler's own words are in `.log`"
        )
    error = SlowCodeError(text)
    error.codes, error.log, error.source, error.arch = codes, log, source, arch
    return error


@functools.cache
def _nvrtc() -> Any:
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError, OSError) as error:  # the library is loaded at the first call
        raise MissingCompiler(f"compiling kernels needs NVRTC, which doesn't load here: {INSTALL}") from error
    return nvrtc


def _succeed(status: Any) -> None:
    if int(status) != 0:
        raise MissingCompiler(f"NVRTC doesn't work here ({status.name}): {INSTALL}")
