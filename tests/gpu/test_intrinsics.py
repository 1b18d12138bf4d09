"""Intrinsics on the GPU: the same kernels as on the reference machine; elementwise ones against their meanings."""

import numpy as np
import pytest

from prism.lang.emit.halves import short_pieces
from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics.matrix import SHAPES
from prism.lang.types import FLOAT32, FLOAT64, INT32, INT64, UINT32
from tests.interpret.intrinsic_kernels import CASES
from tests.lang.intrinsics.test_values import MORE, documented

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


@pytest.mark.parametrize("name", CASES)
def test_on_the_gpu(name):
    kernel, shape, arguments, wanted, tolerance = CASES[name]()
    device = [cupy.asarray(x) for x in arguments]
    kernel[shape](*device)
    for k, want in wanted.items():
        assert np.allclose(cupy.asnumpy(device[k]).astype(np.float64).reshape(want.shape), want, tolerance, tolerance)


def compiled(intrinsic, binding, operands, result):
    """A kernel that applies an intrinsic to arrays of operands, an element a thread."""
    pieces = "\n\n".join(short_pieces(intrinsic.preamble(binding)))
    heads = ", ".join(f"const {scalar.cuda}* p{k}" for k, scalar in enumerate(operands))
    call = intrinsic.cuda(binding, *(f"p{k}[i]" for k in range(len(operands))))
    text = (
        f"{pieces}\n{intrinsic.preamble(binding)}\n"
        f'extern "C" __global__ void f({heads}, {result.cuda}* out, int n) {{\n'
        f"    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = {call};\n}}\n"
    )
    return cupy.RawKernel(text, "f", options=("--std=c++17",))


def elementwise():
    """Every elementwise intrinsic, with a binding for each type that it is compared on."""
    for intrinsic in TABLE.values():
        if not intrinsic.elementwise or intrinsic.preamble is None:
            continue
        generic = any(p.type == "T" and p.kind == "value" for p in intrinsic.parameters)
        for scalar in (INT32, UINT32, INT64, FLOAT32, FLOAT64) if generic else (None,):
            if scalar is None or intrinsic.allows(scalar):
                statics = {"to": UINT32, "part": 1}
                binding = Binding(scalar, {p.name: statics[p.name] for p in intrinsic.parameters if p.kind == "static"})
                if intrinsic.problem is None or not intrinsic.problem(binding):
                    yield pytest.param(intrinsic, binding, id=f"{intrinsic.name}-{scalar}")


@pytest.mark.parametrize("intrinsic, binding", list(elementwise()))
def test_elementwise_is_what_it_means(intrinsic, binding):
    rng, n = np.random.default_rng(1), 20000
    scalars = [binding.scalar if p.type == "T" else p.type for p in intrinsic.parameters if p.kind == "value"]
    operands = []
    for scalar in scalars:
        if scalar.kind == "float":
            operands.append(rng.uniform(0.01, 3, n).astype(scalar.numpy))
        else:  # words that hold two small 16-bit floats are meant for those, and are as good as any for the rest
            words = rng.integers(0, 2**63, n).astype(scalar.numpy)
            operands.append(words & np.array(0xBFFF3FFF if "x2" in intrinsic.name else -1).astype(scalar.numpy))
    want = np.asarray(intrinsic.meaning(binding, *operands))
    result = {"T": binding.scalar, "to": binding.statics.get("to")}.get(intrinsic.result, intrinsic.result)
    out = cupy.zeros(n, want.dtype)
    kernel = compiled(intrinsic, binding, scalars, result)
    kernel((n // 100,), (100,), (*map(cupy.asarray, operands), out, np.int32(n)))
    got = cupy.asnumpy(out)
    if want.dtype.kind == "f" and intrinsic.name not in (
        "fma",
        "fmod",
        "sqrt",
        "reciprocal",
        "floor",
        "ceil",
        "round_",
        "trunc",
    ):
        tolerance = 2.0**-9 if intrinsic.name == "fast_tanh" else 2.0**-18 if want.dtype == np.float32 else 2.0**-49
        tolerance *= 4 if intrinsic.name == "tgamma" else 1  # of float64 within 10 ulp, CUDA says
        assert np.allclose(got, want, tolerance, tolerance, equal_nan=True)
    else:
        assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f")


def exact(name):
    """A function of 100 bits, of mpmath, which torch brings along."""
    import mpmath

    context = mpmath.mp.clone()
    context.prec = 100
    if name == "cbrt":  # mpmath's is the complex root
        return lambda x: context.sign(x) * context.cbrt(abs(context.mpf(x)))
    found = getattr(context, {"tgamma": "gamma", "lgamma": "loggamma"}.get(name, name))
    return lambda *given: found(*map(context.mpf, given))


@pytest.mark.parametrize("scalar", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("name", MORE)
def test_special_functions_are_as_precise_as_they_say(name, scalar):
    function, *intervals = MORE[name]
    rng, n, binding = np.random.default_rng(4), 20000, Binding(scalar)
    operands = [rng.uniform(*interval, n).astype(scalar.numpy) for interval in intervals]
    out = cupy.zeros(n, scalar.numpy)
    kernel = compiled(TABLE[name], binding, [scalar] * len(operands), scalar)
    kernel((n // 100,), (100,), (*map(cupy.asarray, operands), out, np.int32(n)))
    rows = [*zip(*(x.tolist() for x in operands), strict=True)]
    # Python's own float64 is near enough to judge float32; of float64 it is itself off, lgamma by 7 ulp.
    truth = function if scalar == FLOAT32 or name == "fmod" else exact(name)
    wanted = [truth(*given) for given in rows]
    ulp = 2.0 ** (np.frexp([float(want) for want in wanted])[1] - (24.0 if scalar == FLOAT32 else 53.0))
    off = np.array([float(abs(want - got)) for want, got in zip(wanted, out.tolist(), strict=True)])
    # CUDA counts from the rounded result, which is off by half an ulp.
    most = documented(name, scalar) + (0 if name == "fmod" else 0.5)
    assert (off <= most * ulp).all(), (name, (off / ulp).max(), rows[(off / ulp).argmax()])


def test_which_powers_are_flushed():
    x = cupy.asarray(np.array([-126, -126.5, -149, 5e-41, -np.inf, np.inf, 3, np.nan], np.float32))
    for name in ("fast_exp2", "fast_exp2_flush"):
        out, binding = cupy.zeros(8, np.float32), Binding(FLOAT32)
        compiled(TABLE[name], binding, [FLOAT32], FLOAT32)((1,), (8,), (x, out, np.int32(8)))
        want = TABLE[name].meaning(binding, cupy.asnumpy(x))
        assert np.allclose(cupy.asnumpy(out), want, 2.0**-21, 0, equal_nan=True), name


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_mma_is_what_it_means(shape):
    intrinsic, rng, (a, b, c) = TABLE[f"mma_{shape.name}"], np.random.default_rng(2), shape.registers
    kind, total = shape.register.numpy, shape.total
    if shape.kind == "f64":
        x, y = (rng.normal(size=(1, 32, n)) * 2.0 ** rng.integers(-20, 20, (1, 32, n)) for n in (a, b))
    else:
        small = {"tf32": 0xBFFFFFFF, "f16": 0xBBFFBBFF, "bf16": 0xBFFFBFFF, "e4m3": 0xBFBFBFBF, "e5m2": 0xBBBBBBBB}
        mask = np.uint32(small.get(shape.kind, 0xFFFFFFFF))
        x, y = (rng.integers(0, 2**32, (1, 32, count), dtype=np.uint64).astype(kind) & mask for count in (a, b))
    z = np.full((1, 32, c), 0x3C003C00 if shape.per_total == 2 else 1, total.numpy)
    want = z.copy()
    intrinsic.meaning(Binding(None), x, y, want)
    r = shape.register.cuda
    text = (
        f'{intrinsic.preamble(Binding(None))}\nextern "C" __global__ void f(const {r}* x, const {r}* y, {total.cuda}* z) {{\n'
        f"    {r} a[{a}], b[{b}];\n    {total.cuda} c[{c}];\n    const int i = threadIdx.x;\n"
        f"    for (int k = 0; k < {a}; ++k) a[k] = x[i * {a} + k];\n    for (int k = 0; k < {b}; ++k) b[k] = y[i * {b} + k];\n"
        f"    for (int k = 0; k < {c}; ++k) c[k] = z[i * {c} + k];\n    {intrinsic.cuda(Binding(None), 'a', 'b', 'c')};\n"
        f"    for (int k = 0; k < {c}; ++k) z[i * {c} + k] = c[k];\n}}\n"
    )
    device = cupy.asarray(z)
    cupy.RawKernel(text, "f", options=("--std=c++17",))((1,), (32,), (cupy.asarray(x), cupy.asarray(y), device))
    got = cupy.asnumpy(device)
    if shape.per_total == 2:  # the hardware rounds on the way; so do the 16 bits
        got, want = (x.view(np.float16).astype(np.float64) for x in (got, want))
        known = np.isfinite(want) & np.isfinite(got)
        assert known.mean() > 0.5 and np.allclose(got[known], want[known], 2.0**-9, 2.0**-9 * np.abs(want[known]).max())
    elif total.integral or shape.kind == "f64":
        assert np.array_equal(got, want)
    else:
        assert np.abs(got - want).max() <= np.abs(want).max() * (1e-3 if shape.bits == 8 else 1e-6)
