"""An exported kernel, launched by CuPy, cuda.core, torch and C++, from its two files alone."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism.cli import main
from prism.runtime.device import device

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "command" / "programs.py"
N = 100_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("exported")
    for name in ("scale", "large"):
        assert main(["export", f"{PROGRAMS}:{name}", "--arch", device().arch, "-o", str(found)]) == 0
    return found


def exported(folder: Path, name: str) -> tuple[Path, dict[str, Any]]:
    """The machine code and what the JSON says of it, as another program would read them."""
    facts = json.loads((folder / f"{name}-{device().arch}.json").read_text())
    path = folder / facts["cubin"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == facts["sha256"]
    return path, facts


def test_cupy(folder: Path) -> None:
    path, facts = exported(folder, "scale")
    kernel = cupy.RawModule(path=str(path)).get_function(facts["name"])
    x, y = cupy.arange(N, dtype=cupy.float32), cupy.zeros(N, cupy.float32)
    kernel((-(-N // 256),), (256,), (cupy.float32(2.5), x, y, cupy.int32(N)), shared_mem=facts["shared_bytes"])
    np.testing.assert_array_equal(cupy.asnumpy(y), np.float32(2.5) * np.arange(N, dtype=np.float32))


def test_cupy_with_more_shared_memory_than_usual(folder: Path) -> None:
    path, facts = exported(folder, "large")
    kernel = cupy.RawModule(path=str(path)).get_function(facts["name"])
    kernel.max_dynamic_shared_size_bytes = facts["shared_bytes"]
    y = cupy.zeros(32, cupy.float32)
    kernel((1,), (32,), (y,), shared_mem=facts["shared_bytes"])
    assert (y == 1).all()


def test_cuda_core(folder: Path) -> None:
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    path, facts = exported(folder, "scale")
    here = Device()
    here.set_current()
    stream = here.create_stream()
    kernel = ObjectCode.from_cubin(path.read_bytes()).get_kernel(facts["name"])
    x, y = cupy.arange(N, dtype=cupy.float32), cupy.zeros(N, cupy.float32)
    cupy.cuda.Device().synchronize()
    how = LaunchConfig(grid=-(-N // 256), block=256, shmem_size=facts["shared_bytes"])
    launch(stream, how, kernel, np.float32(2.5), x.data.ptr, y.data.ptr, np.int32(N))
    stream.sync()
    np.testing.assert_array_equal(cupy.asnumpy(y), np.float32(2.5) * np.arange(N, dtype=np.float32))


def test_torch(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    path, facts = exported(folder, "scale")
    here = Device()
    here.set_current()
    kernel = ObjectCode.from_cubin(path.read_bytes()).get_kernel(facts["name"])
    x, y = torch.arange(N, dtype=torch.float32, device="cuda"), torch.zeros(N, device="cuda")

    stream = torch.cuda.Stream()
    torch.cuda.synchronize()

    class Theirs:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, stream.cuda_stream

    how = LaunchConfig(grid=-(-N // 256), block=256, shmem_size=facts["shared_bytes"])
    launch(here.create_stream(Theirs()), how, kernel, np.float32(2.5), x.data_ptr(), y.data_ptr(), np.int32(N))
    stream.synchronize()
    assert torch.equal(y, 2.5 * x)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_cpp_with_the_header(tmp_path: Path) -> None:
    arch = device().arch
    for options, name in (([], "scale.cu"), (["--header"], "scale.h")):
        command = ["emit", f"{PROGRAMS}:scale", "--arch", arch, "-o", str(tmp_path / name), *options]
        assert main(command) == 0
    (tmp_path / "main.cpp").write_text(
        """
#include <cstdio>
#include "scale.h"
int main() {
    const int n = 1000;
    float host[n], *x, *y;
    cudaMalloc(reinterpret_cast<void**>(&x), sizeof host);
    cudaMalloc(reinterpret_cast<void**>(&y), sizeof host);
    for (int i = 0; i < n; ++i) host[i] = i;
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    if (prism::launch_scale(1, 33, nullptr, 2.0f, x, y, n) != cudaErrorInvalidConfiguration) return 1;
    if (prism::launch_scale(8, 128, nullptr, 2.0f, x, y, n) != cudaSuccess) return 2;
    if (cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
    for (int i = 0; i < n; ++i) if (host[i] != 2.0f * i) return 4;
    return 0;
}
"""
    )
    nvcc = ["nvcc", f"-arch={arch}", "scale.cu", "main.cpp", "-o", "main"]
    subprocess.run(nvcc, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 0
