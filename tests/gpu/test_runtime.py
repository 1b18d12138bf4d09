"""The runtime on a GPU: kernels from text, on the arrays and streams of CuPy and torch, in graphs, on kept scratch."""

import numpy as np
import pytest

from prism.runtime.arrays import describe
from prism.runtime.bind import bind
from prism.runtime.device import device
from prism.runtime.driver import DeviceError
from prism.runtime.entry import Entry, EntryParameter
from prism.runtime.launch import Launcher, LaunchError, prepare
from prism.runtime.scratch import Scratch
from prism.runtime.streams import choose_stream, order

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

AXPY = """
extern "C" __global__ void prism_axpy(const float *x, float *y, float a, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
SHARED = """
extern "C" __global__ void prism_shared(int *out) {
    extern __shared__ int s[];
    for (int i = threadIdx.x; i < 51200 / 4; i += blockDim.x) s[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = s[51200 / 4 - 1];
}
"""
TICKET = """
extern "C" __global__ void prism_ticket(unsigned int *scratch, unsigned int *out) {
    if (threadIdx.x == 0) out[0] = atomicAdd(scratch, 1u);
}
"""


def pointer(name: str, dtype: str, const: bool = False) -> EntryParameter:
    return EntryParameter(name, "pointer", dtype, const)


def axpy() -> Launcher:
    scalars = (EntryParameter("a", "scalar", "float32"), EntryParameter("n", "scalar", "int64"))
    parameters = (pointer("x", "float32", True), pointer("y", "float32"), *scalars)
    entry = Entry("prism_axpy", AXPY, device().arch, parameters, thread_multiple=32)
    return prepare(entry, device().ordinal)


def ticket() -> Launcher:
    return prepare(Entry("prism_ticket", TICKET, device().arch, (pointer("s", "uint32"), pointer("out", "uint32"))), 0)


def run(x: object, y: object, a: float, n: int, stream: object = None) -> int:
    launcher = axpy()
    bound = bind("prism_axpy", launcher.entry.parameters, (x, y, a, n))
    chosen = choose_stream(stream, bound.arrays.values())
    order(bound.arrays.values(), chosen)
    launcher((n + 255) // 256, 256, chosen, bound.values)
    return chosen


def test_the_device() -> None:
    found = device()
    assert found.sm_count > 0 and found.shared_limit >= 48 << 10 and found.name
    if found.capability == (9, 0):
        assert found.arch == "sm_90a"
    with pytest.raises(DeviceError, match="no GPU 99"):
        device(99)


@pytest.mark.parametrize("how", ["current", "given", "default"])
def test_cupy_arrays_on_a_stream(how: str) -> None:
    n = 1_000_007
    x, y = cupy.arange(n, dtype="f4") % 97, cupy.ones(n, dtype="f4")
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    if how == "current":
        with stream:
            assert run(x, y, 2.5, n) == stream.ptr
    elif how == "given":
        assert run(x, y, 2.5, n, stream) == stream.ptr
    else:
        assert run(x, y, 2.5, n) == 0
    stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(y), np.float32(2.5) * (np.arange(n, dtype="f4") % 97) + 1)


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.arange(1000, dtype=torch.float32, device="cuda"), torch.ones(1000, device="cuda")
    info = describe(x)
    assert (info.library, info.device, info.pointer, info.contiguous) == ("torch", 0, x.data_ptr(), True)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        assert run(x, y, 3.0, 1000) == stream.cuda_stream
    stream.synchronize()
    assert torch.equal(y, 3 * x + 1)


def test_other_arrays() -> None:
    class Interface:
        def __init__(self, x: object) -> None:
            self.__cuda_array_interface__ = x.__cuda_array_interface__  # type: ignore[attr-defined]

    class Pack:
        def __init__(self, x: object) -> None:
            self.__dlpack__, self.__dlpack_device__ = x.__dlpack__, x.__dlpack_device__  # type: ignore[attr-defined]

    for wrap in (Interface, Pack):
        x, y = cupy.arange(1000, dtype="f4"), cupy.ones(1000, dtype="f4")
        run(wrap(x), wrap(y), 2.0, 1000)
        cupy.cuda.Device().synchronize()
        assert (y == 2 * x + 1).all(), wrap.__name__
    info = describe(Pack(cupy.ones((3, 4), dtype="f4").T))
    assert info.shape == (4, 3) and info.strides == (4, 16) and not info.contiguous


def test_launches_that_are_refused() -> None:
    launcher = axpy()
    with pytest.raises(LaunchError, match="multiple of 32"):
        launcher(1, 33, 0, (0, 0, 1.0, 0))
    x = cupy.ones(4, dtype="f8")
    with pytest.raises(TypeError, match="`x` must be an array of float32, not of float64"):
        bind("k", launcher.entry.parameters, (x, x, 1.0, 4))


def test_shared_memory_above_48_kib() -> None:
    entry = Entry("prism_shared", SHARED, device().arch, (pointer("out", "int32"),), shared_bytes=51200)
    launcher, out = prepare(entry, 0), cupy.zeros(4, dtype="i4")
    launcher(4, 128, 0, (out.data.ptr,))
    assert out.tolist() == [51200 // 4 - 1] * 4
    assert launcher.loaded.occupancy(128, 51200) >= 1
    assert launcher.resident_blocks(128) == launcher.loaded.occupancy(128, 51200) * device().sm_count
    with pytest.raises(DeviceError, match="bytes of shared memory a block"):
        prepare(Entry("prism_shared", SHARED, device().arch, entry.parameters, shared_bytes=1 << 20), 0)


def test_scratch_is_zeroed_once_and_kept() -> None:
    scratch, launcher, out = Scratch(), ticket(), cupy.zeros(1, dtype="u4")
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    for expected in range(5):
        launcher(1, 32, stream.ptr, (scratch.get(0, stream.ptr, 1 << 16), out.data.ptr))
        stream.synchronize()
        assert int(out[0]) == expected
    larger = scratch.get(0, stream.ptr, 1 << 24)
    launcher(1, 32, stream.ptr, (larger, out.data.ptr))
    stream.synchronize()
    assert int(out[0]) == 0, "a larger block starts from zeros"
    memory = cupy.cuda.UnownedMemory(larger, 1 << 24, scratch)
    rest = cupy.ndarray((1 << 22,), "u4", cupy.cuda.MemoryPointer(memory, 0))
    assert int(rest[1:].sum()) == 0
    scratch.reset(0, stream.ptr)
    launcher(1, 32, stream.ptr, (scratch.get(0, stream.ptr, 8), out.data.ptr))
    stream.synchronize()
    assert int(out[0]) == 0


def test_a_graph_is_captured_and_replayed() -> None:
    scratch, tickets, launcher = Scratch(), ticket(), axpy()
    x, y, out = cupy.ones(256, dtype="f4"), cupy.zeros(256, dtype="f4"), cupy.zeros(1, dtype="u4")
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    other = cupy.cuda.Stream(non_blocking=True)
    scratch.get(0, other.ptr, 64)
    with stream:
        stream.begin_capture(0)  # the strictest mode
        try:
            warm = scratch.get(0, stream.ptr, 64)  # allocated here, by the way
            scratch.get(0, other.ptr, 64)
        finally:
            stream.end_capture()
        assert scratch.get(0, stream.ptr, 64) == warm
        stream.synchronize()
        stream.begin_capture(0)
        assert scratch.get(0, stream.ptr, 64) == warm
        tickets(1, 32, stream.ptr, (warm, out.data.ptr))
        launcher(1, 256, stream.ptr, (x.data.ptr, y.data.ptr, 2.0, 256))
        graph = stream.end_capture()
        for repeat in range(3):
            x.fill(repeat + 1)
            graph.launch(stream)
            stream.synchronize()
            assert int(out[0]) == repeat
    assert float(y[0]) == 2 * (1 + 2 + 3)


def test_an_order_between_streams() -> None:
    n = 1 << 24
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    x, y = cupy.zeros(n, dtype="f4"), cupy.zeros(n, dtype="f4")
    cupy.cuda.Device().synchronize()

    class Late:
        def __init__(self, x: object) -> None:
            self.__cuda_array_interface__ = {**x.__cuda_array_interface__, "stream": first.ptr}  # type: ignore[attr-defined]

    with first:
        for _ in range(50):
            x += 1
    assert run(Late(x), y, 1.0, n, second) == second.ptr
    second.synchronize()
    assert (y == 50).all()
