"""sgemm(precision="bf16x6") on the GPU: exact on small integers, as near float64 as float32's sums; Inf, NaN, the smallest."""

import pytest

import prism
from prism.lib.algorithms.sgemm import bf16x6 as sgemm_bf16x6
from tests.gpu.test_sgemm import EPS, exact, inside, near, operand, small, untouched

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

SIZES = [
    (4, 4, 4), (1, 1, 1), (128, 256, 64), (260, 132, 36), (63, 65, 67), (129, 131, 257), (501, 1, 255), (1, 501, 255),
    (1000, 1000, 1000), (37, 40, 9000), (37, 41, 9000), (37, 41, 0),
]  # fmt: skip


def product(a, b, c=None, **options):
    return prism.lib.sgemm(a, b, c, precision="bf16x6", **options)


@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_small_integers_are_exact(layout: str) -> None:
    """Of any shape, K in five parts among them, where the result can be written by tensor copies and where it can't."""
    for m, n, k in SIZES:
        a, b = operand(layout[0], m, k), operand(layout[1], k, n)
        wanted = exact(a, b)
        out, room = inside(m, n)
        assert product(a, b, out=out) is out and cupy.array_equal(out, wanted), (m, n, k)
        assert untouched(room, m, n), (m, n, k)
        for alpha, beta in ((2.0, 0.0), (0.5, -1.0)):
            c = small(m, n) if beta else cupy.full((m, n), cupy.nan, cupy.float32)
            total = alpha * wanted + (beta * c if beta else 0)
            columns = cupy.asfortranarray(cupy.full((m, n), cupy.nan, cupy.float32))
            assert cupy.array_equal(product(a, b, c, alpha=alpha, beta=beta, out=columns), total), (m, n, k)
            assert cupy.array_equal(product(a, b, c, alpha=alpha, beta=beta, out=c), total), (m, n, k)


def test_strides_and_batches() -> None:
    whole = small(700, 900)
    for a in (whole[3:503, 5:405], whole[::-3, ::-2], whole.T[1:401, 1:301], whole[:1, :40], whole[:40, :1]):
        b = small(a.shape[1], 136)
        assert cupy.array_equal(product(a, b), exact(a, b))
    a, b = small(3, 5, 65, 33), small(5, 33, 70)
    for x, y in ((a, b), (a[:, :1], b), (a[::2, ::-1], b), (a.swapaxes(0, 1), b[:1]), (a, b[0]), (a[0, 0], b)):
        assert cupy.array_equal(product(x, y), exact(x, y))
    x = small(64, 64)
    wanted = exact(x, x)
    assert cupy.array_equal(product(x, x, out=x), wanted)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("m, k", [(512, 512), (1024, 1024), (2048, 2048), (1024, 4096), (256, 16384)])
def test_errors_are_float32s(m: int, k: int, positive: bool) -> None:
    """KERNELS.md 6, also for sums of one sign, where what the tensor cores drop is dropped from the same side."""
    draw = cupy.random.random if positive else cupy.random.standard_normal
    a, b = draw((m, k), dtype=cupy.float32), draw((k, m), dtype=cupy.float32)
    assert near(product(a, b), a, b)


def test_of_all_magnitudes() -> None:
    a, b = (cupy.random.standard_normal(shape, dtype=cupy.float32) for shape in ((512, 1000), (1000, 512)))
    a, b = (x * cupy.exp2(cupy.random.randint(-30, 31, x.shape)).astype(cupy.float32) for x in (a, b))
    assert near(product(a, b), a, b)


def test_infinity_and_nan_are_as_in_float32() -> None:
    a, b = (cupy.random.standard_normal(shape, dtype=cupy.float32) for shape in ((300, 200), (200, 260)))
    a[0, 0], a[1, 1], a[2, 2], b[3, 3], b[4, 4] = cupy.inf, -cupy.inf, cupy.nan, cupy.inf, cupy.nan
    b[0, 5] = 0
    wanted, found = exact(a, b), product(a, b)
    for special in (cupy.isnan, cupy.isposinf, cupy.isneginf):
        assert special(wanted).any() and cupy.array_equal(special(wanted), special(found))


def test_the_largest_and_the_smallest() -> None:
    """The largest float32 is beyond bfloat16's; of the smallest, what is below 2^-133 is lost: half of that at most."""
    eye = cupy.eye(64, dtype=cupy.float32)
    large = cupy.full((64, 64), cupy.finfo(cupy.float32).max, cupy.float32)
    assert cupy.array_equal(product(large, eye), large)
    x = cupy.ldexp(cupy.random.standard_normal((64, 64)), cupy.random.randint(-145, -60, (64, 64))).astype(cupy.float32)
    lost = cupy.abs(product(x, eye).astype(cupy.float64) - x)
    assert float(lost.max()) <= 2.0**-134
    assert not lost[cupy.abs(x) >= 2.0**-110].any()


def test_a_graph_and_a_stream() -> None:
    a, b = (cupy.random.standard_normal((200, 200), dtype=cupy.float32) for _ in range(2))
    wanted, out = product(a, b), cupy.full((200, 200), cupy.nan, cupy.float32)
    cupy.cuda.Device().synchronize()  # `out` may lie where the first call had its planes
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        product(a, b, out=out)
        stream.synchronize()
        out[...] = cupy.nan
        stream.begin_capture()
        product(a, b, out=out)
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
    assert cupy.array_equal(out, wanted)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.randn(200, 300, device="cuda"), torch.randn(300, 100, device="cuda")
    found, wanted = product(a, b).double(), a.double() @ b.double()
    bound = 2 * 300**0.5 * EPS * (a.abs().double() @ b.abs().double()) + EPS * wanted.abs()
    assert bool(((found - wanted).abs() <= bound).all())


def test_k_is_added_up_in_parts() -> None:
    """The same call gives the same bits, and K is in parts."""
    a = cupy.random.random((64, 3 * sgemm_bf16x6.CHUNK), dtype=cupy.float32)
    b = cupy.ascontiguousarray(a.T)
    assert cupy.array_equal(product(a, b), product(a.copy(), b.copy())) and near(product(a, b), a, b)
