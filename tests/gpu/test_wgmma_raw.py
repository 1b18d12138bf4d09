"""wgmma by itself, on the GPU: descriptors, swizzles and slabs are what the hardware takes them for."""

import numpy as np
import pytest

from prism.lang.intrinsics.wgmma import extents
from prism.lang.types import BFLOAT16, FLOAT16, FLOAT32, INT8, INT32
from prism.runtime.compile import compile_cubin
from tests.lang.intrinsics.wgmma_kernels import WGMMA, cases, frame_bytes, kernel, simple

try:
    import cupy
    from cuda.bindings import driver
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

CASES = dict(cases())
CASES |= {f"columns-{n}": simple(BFLOAT16, FLOAT32, n) for n in (8, 24, 72, 184, 248, 256)}
CASES |= {f"integer-columns-{n}": simple(INT8, INT32, n, k=32, span=32) for n in (8, 24, 48, 80, 176, 256)}
RNG = np.random.default_rng(9)


def loaded(text, shared=0):
    module = cupy.cuda.function.Module()
    module.load(compile_cubin(text, "sm_90a").cubin)
    function = module.get_function("f")
    if shared:
        kind = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (error,) = driver.cuFuncSetAttribute(driver.CUfunction(function.ptr), kind, shared)
        assert error == driver.CUresult.CUDA_SUCCESS
    return function


def stored(element, shape):
    """Random numbers as an array of this type on the host: small ones, so that sums are exact or nearly."""
    match element:
        case _ if element == BFLOAT16:
            return (RNG.normal(size=shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        case _ if element in (FLOAT16, FLOAT32):
            return RNG.normal(size=shape).astype(element.numpy)
        case _ if element.stored:  # no NaN, no infinity, and not too large
            return RNG.integers(0, 256, shape).astype(np.uint8) & np.uint8(0xBF)
        case _:
            return RNG.integers(-128 if element == INT8 else 0, 128, shape).astype(element.numpy)


def place(i, thread, columns):
    """Row and column of element i of a thread's part of an accumulator: 64 rows after 64 rows."""
    (strip, i), lane = np.divmod(i, columns // 2), thread % 32
    return strip * 64 + thread // 32 * 16 + lane // 4 + i // 2 % 2 * 8, i // 4 * 8 + lane % 4 * 2 + i % 2


@pytest.mark.parametrize("keep_old", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_wgmma(name, keep_old):
    binding = CASES[name]
    fragment, small = binding.fragments["accumulator"], binding.tiles["a"].element.stored
    a, b = (stored(binding.tiles[o].element, binding.tiles[o].shape) for o in "ab")
    old = RNG.integers(-8, 8, (fragment.rows, fragment.columns)).astype(fragment.element.numpy)
    i, thread = np.indices((fragment.size, 128))
    rows, columns = place(i, thread, fragment.columns)
    d = cupy.asarray(old[rows, columns])
    shared = frame_bytes(binding)
    loaded(kernel(binding, "keep_old"), shared)(
        (1,), (128,), (cupy.asarray(a), cupy.asarray(b), d, np.bool_(keep_old)), shared_mem=shared
    )
    got = np.zeros_like(old)
    got[rows, columns] = cupy.asnumpy(d)
    parts = []
    for operand, tile in zip("ab", (a, b), strict=True):
        (row, column), (height, width) = binding.starts[operand], extents(binding, operand)
        parts.append(tile[None, row : row + height, column : column + width])
    want = WGMMA.meaning(binding, *parts, old[None], keep_old)[0]
    if fragment.element == INT32:
        assert np.array_equal(got, want)
    else:  # the hardware truncates as it adds, 8-bit floats to some 13 bits below the largest product of a step
        sizes = [part & np.uint8(0x7F) for part in parts] if small else parts
        scale = np.abs(WGMMA.meaning(binding, *sizes, np.abs(old[None]), keep_old).astype(np.float64)).max()
        tolerance = 2.0**-8 if fragment.element == FLOAT16 else 2.0**-10 if small else 2.0**-18
        assert np.abs(got.astype(np.float64) - want.astype(np.float64)).max() <= tolerance * scale
