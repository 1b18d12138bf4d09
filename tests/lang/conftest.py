"""What the compiler's tests share: NVRTC, which needs no GPU."""

import functools
from dataclasses import dataclass

import pytest

from prism.runtime.compile import _TEXTURES
from tests.machine_code import keep


@dataclass(frozen=True)
class Compiled:
    """What NVRTC made of a text; `log` holds its warnings."""

    ptx: str
    cubin: bytes
    log: str


@pytest.fixture(scope="session")
def nvrtc():
    """`nvrtc(text, arch)` compiles CUDA C++; an error fails the test with NVRTC's log and the text."""
    bindings = pytest.importorskip("cuda.bindings.nvrtc")

    def got(answer):
        code, *values = answer
        assert code == bindings.nvrtcResult.NVRTC_SUCCESS, code
        return values[0] if values else None

    def text_of(program, size, read):
        # NVRTC writes into the object itself: one byte would be Python's own shared b" ", so never fewer than two.
        buffer = b" " * max(2, got(size(program)))
        got(read(program, buffer))
        return buffer

    @functools.cache
    @keep
    def compile_(text, arch="sm_90a"):
        program = got(bindings.nvrtcCreateProgram(text.encode(), b"prism.cu", 0, [], []))
        options = [f"--gpu-architecture={arch}".encode(), b"--std=c++17"]
        if _TEXTURES.search(text) is None:
            options.append(b"--minimal")  # as Prism compiles: without reading the declarations of what is not used
        (code,) = bindings.nvrtcCompileProgram(program, len(options), options)
        log = text_of(program, bindings.nvrtcGetProgramLogSize, bindings.nvrtcGetProgramLog).decode().split("\0", 1)[0]
        assert code == bindings.nvrtcResult.NVRTC_SUCCESS, f"{log}\n{text}"
        ptx = text_of(program, bindings.nvrtcGetPTXSize, bindings.nvrtcGetPTX).decode()
        cubin = text_of(program, bindings.nvrtcGetCUBINSize, bindings.nvrtcGetCUBIN)
        got(bindings.nvrtcDestroyProgram(program))
        return Compiled(ptx, cubin, log)

    return compile_
