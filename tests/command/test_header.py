"""The C++ header that launches a kernel: what it passes on, what it refuses; and with nvcc, that all of it links.

Tests of prism/runtime/export.py.
"""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from prism.compiler import compile
from prism.lang import Kernel
from prism.runtime.export import header
from tests.command import programs
from tests.interpret.sized_kernels import several

HERE = Path(__file__).parent


needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
needs_nvcc = pytest.mark.skipif(
    shutil.which("nvcc") is None or shutil.which("g++") is None, reason="needs nvcc and g++"
)


def launched(folder: Path, kernel: Kernel, sizes: str, call: str) -> list[str]:
    """What a C++ program that makes this call asks of the runtime."""
    compiled = compile(kernel, programs.EXAMPLES.get(kernel.__name__))
    (folder / "kernel.h").write_text(header(compiled.entry))
    (folder / "main.cpp").write_text(
        '#include "kernel.h"\n'
        f'const int argument_sizes[] = {{{sizes}, 0}};\nextern "C" void {compiled.entry.name}() {{}}\n'
        f'int main() {{ std::printf("%d\\n", int({call})); }}\n'
    )
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{HERE / 'stub'}"]
    subprocess.run(["g++", *flags, "main.cpp", "-o", "main"], cwd=folder, check=True)
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout.splitlines()


def hexadecimal(code: str, value: float) -> str:
    return struct.pack(f"<{code}", value).hex()


@needs_compiler
def test_it_passes_on_what_it_is_given(tmp_path: Path) -> None:
    call = "prism::launch_scale(3, 64, nullptr, 2.5f, (const float*)0x100, (float*)0x200, 7)"
    said = launched(tmp_path, programs.scale, "4, 8, 8, 4", call)
    values = [hexadecimal("f", 2.5), hexadecimal("Q", 0x100), hexadecimal("Q", 0x200), hexadecimal("i", 7)]
    assert said == [f"launch 3 64 shared 0 stream (nil): {' '.join(values)}", "0"]


@needs_compiler
def test_it_computes_the_shared_memory_that_a_launch_sizes(tmp_path: Path) -> None:
    call = "prism::launch_several(3, 64, nullptr, (int*)0x100, {}, {})"
    flags, long, short = 80, 3 * 1000 * 4, 20000 * 4
    said = launched(tmp_path, several, "8, 4, 4", call.format(1000, 20000))
    assert any(f"launch 3 64 shared {384 + flags + long + short} " in line for line in said), said
    assert launched(tmp_path, several, "8, 4, 4", call.format(10, -1)) == ["9"]


@needs_compiler
@pytest.mark.parametrize(("blocks", "threads"), [(0, 64), (1, 0), (1, 33), (1, 2048)])
def test_it_refuses_what_the_bound_does(tmp_path: Path, blocks: int, threads: int) -> None:
    call = f"prism::launch_scale({blocks}, {threads}, nullptr, 1.0f, nullptr, nullptr, 0)"
    assert launched(tmp_path, programs.scale, "4", call) == ["9"]


@needs_compiler
def test_a_cooperative_kernel_takes_the_word_where_blocks_meet(tmp_path: Path) -> None:
    call = "prism::launch_twice(2, 32, (cudaStream_t)0x10, (float*)0x100, 0x3c00, 5, (std::uint32_t*)0x300)"
    said = launched(tmp_path, programs.twice, "8, 2, 8, 8", call)
    values = [hexadecimal("Q", 0x100), hexadecimal("H", 0x3C00), hexadecimal("Q", 5), hexadecimal("Q", 0x300)]
    assert said == [f"cooperative 2 32 shared 0 stream 0x10: {' '.join(values)}", "0"]


@needs_compiler
def test_tensor_maps_go_by_value(tmp_path: Path) -> None:
    call = "prism::launch_tile(1, 64, nullptr, CUtensorMap{{1}}, CUtensorMap{{2}})"
    said = launched(tmp_path, programs.tile, "8, 8", call)
    assert said[0].startswith("launch 1 64 shared ") and said[0].endswith(
        f": {hexadecimal('Q', 1)} {hexadecimal('Q', 2)}"
    )


@needs_compiler
def test_more_shared_memory_than_usual_is_asked_for(tmp_path: Path) -> None:
    said = launched(tmp_path, programs.large, "8", "prism::launch_large(1, 32, nullptr, (float*)0x100)")
    assert said[:2] == ["allow 65536", f"launch 1 32 shared 65536 stream (nil): {hexadecimal('Q', 0x100)}"]


@needs_nvcc
@pytest.mark.slow
@pytest.mark.parametrize("name", ["scale", "twice", "tile", "reversed_blocks", "large"])
def test_nvcc_compiles_the_text_and_cpp_links_with_it(tmp_path: Path, name: str) -> None:
    compiled = compile(getattr(programs, name), programs.EXAMPLES.get(name))
    (tmp_path / "kernel.cu").write_text(compiled.cuda)
    (tmp_path / "kernel.h").write_text(header(compiled.entry))
    (tmp_path / "main.cpp").write_text(
        f'#include "kernel.h"\nint main(int n, char**) {{ return n > 99 && &prism::launch_{name} != nullptr; }}\n'
    )
    nvcc = ["nvcc", "-std=c++17", "-arch=sm_90a"]
    subprocess.run([*nvcc, "main.cpp", "kernel.cu", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 0
