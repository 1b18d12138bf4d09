"""prism.lib.sgemm and matmul on the GPU: exact on small integers, near float64 on normal numbers; as fast as CUDA by hand."""

import statistics
from dataclasses import replace

import pytest

import prism
from prism.host.call import call
from prism.kernels.sgemm import LESSON, TILES, VARIANTS, Configuration
from prism.kernels.sgemm import ring_configurations as rings
from prism.kernels.sgemm.cut import FewCut
from prism.kernels.sgemm.few_configurations import PARTS, ROWS
from prism.lang import float32
from prism.lib.algorithms.sgemm.api import decide_sgemm
from prism.lib.epilogues import reduce
from prism.runtime.device import device
from prism.runtime.launch import prepare
from tests.kernels.test_sgemm import EPS, twins

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

EVEN, ODD = (1000, 1000, 1000), (4097, 4095, 257)
SIZES = [(4, 4, 4), (128, 256, 64), (260, 132, 36), (63, 65, 67), (129, 131, 257)]
THIN = [(1, 1, 1), (501, 1, 255), (1, 501, 255), (37, 41, 0)]


def small(*shape: int):
    return cupy.random.randint(-3, 4, shape).astype(cupy.float32)


def exact(a, b):
    """The product in float64."""
    return cupy.matmul(a.astype(cupy.float64), b.astype(cupy.float64))


def operand(layout: str, *shape: int):
    """Small integers, row-major or column-major."""
    return small(*shape) if layout == "N" else small(*shape[::-1]).T


def inside(m: int, n: int):
    """Room for a result, and the array of NaN around it."""
    room = cupy.full((m + 2, n + 8), cupy.nan, cupy.float32)
    return room[1 : m + 1, 4 : n + 4], room


def untouched(room, m: int, n: int) -> bool:
    """Whether there is NaN all around, after the result has been looked at."""
    room[1 : m + 1, 4 : n + 4] = cupy.nan
    return bool(cupy.isnan(room).all())


def near(found, a, b) -> bool:
    """KERNELS.md 6: the rounding of the result, and of float32 sums of k products in any order."""
    wanted, size = exact(a, b), exact(cupy.abs(a), cupy.abs(b))
    return bool((cupy.abs(found - wanted) <= EPS * cupy.abs(wanted) + 2 * a.shape[-1] ** 0.5 * EPS * size).all())


def cut(a, b, out, configuration: Configuration) -> None:
    """Run a certain configuration, whatever the library would choose."""
    call("sgemm", ("cut", configuration), {"a": a, "b": b}, lambda *asked: decide_sgemm(*asked, cut=configuration), out)


@pytest.mark.parametrize("configuration", dict.fromkeys([*LESSON.values(), *TILES]), ids=lambda found: found.name)
def test_configurations(configuration: Configuration) -> None:
    for m, n, k in SIZES:
        a, b = small(m, k), small(k, n)
        out, room = inside(m, n)
        cut(a, b, out, configuration)
        assert cupy.array_equal(out, exact(a, b)), (m, n, k)
        assert untouched(room, m, n), (m, n, k)
    for m, n, k in (EVEN, ODD):
        a, b = (cupy.random.standard_normal(shape, dtype=cupy.float32) for shape in ((m, k), (k, n)))
        out = cupy.full((m, n), cupy.nan, cupy.float32)
        cut(a, b, out, configuration)
        assert near(out, a, b), (m, n, k)


def test_vectors_and_nothing() -> None:
    for m, n, k in THIN:
        a, b = small(m, k), small(k, n)
        out, room = inside(m, n)
        prism.lib.sgemm(a, b, out=out)
        assert cupy.array_equal(out, exact(a, b)), (m, n, k)
        assert untouched(room, m, n), (m, n, k)


@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
def test_few_rows(layout: str) -> None:
    """By the kernel for them in any number of parts, and by tiles of 16 and 32 rows, at sizes that are whole vectors and not."""
    for m, n, k in ((1, 132, 1032), (3, 67, 515), (2, 130, 1026), (8, 4096, 64), (16, 131, 2051), (11, 1, 1)):
        a, b = operand(layout[0], m, k), operand(layout[1], k, n)
        shapes = ((32, 4), (8, 1))  # of lanes across, or of columns along K
        ways = [
            FewCut(rows, parts, lanes=x, side=y) for rows in ROWS for parts in PARTS for x, y in shapes if rows >= m
        ]
        ways += [rings.cut_in(tile, m, n, k, share) for tile in rings.FEW_ROWS for share in (2, k)]
        for way in ways:
            out, room = inside(m, n)
            call("sgemm", ("cut", way), {"a": a, "b": b}, lambda *asked, way=way: decide_sgemm(*asked, cut=way), out)
            assert cupy.array_equal(out, exact(a, b)), (m, n, k, way)
            assert untouched(room, m, n), (m, n, k, way)


@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("variant", ["auto", "ring", "async", *VARIANTS])
def test_layouts(variant: str, layout: str) -> None:
    for m, n, k in ((260, 132, 36), (63, 65, 67)):
        a, b = operand(layout[0], m, k), operand(layout[1], k, n)
        wanted = exact(a, b)
        assert cupy.array_equal(prism.lib.sgemm(a, b, variant=variant), wanted), (m, n, k)
        for alpha, beta in ((2.0, 0.0), (0.5, -1.0)):
            c = small(m, n) if beta else cupy.full((m, n), cupy.nan, cupy.float32)
            total = alpha * wanted + (beta * c if beta else 0)
            columns = cupy.asfortranarray(cupy.full((m, n), cupy.nan, cupy.float32))
            prism.lib.sgemm(a, b, c, alpha=alpha, beta=beta, out=columns, variant=variant)
            assert cupy.array_equal(columns, total), (m, n, k)
            assert prism.lib.sgemm(a, b, c, alpha=alpha, beta=beta, out=c, variant=variant) is c
            assert cupy.array_equal(c, total), (m, n, k)


def test_any_strides() -> None:
    whole = small(700, 900)
    for a in (
        whole[3:503, 5:405],
        whole[::2, ::3],
        whole[::-3, ::-2],
        whole.T[1:401, 1:301],
        whole[:1, :40],
        whole[:40, :1],
    ):
        b = small(a.shape[1], 136)
        assert cupy.array_equal(prism.lib.matmul(a, b), exact(a, b))
        assert cupy.array_equal(prism.lib.matmul(b.T, a.T), exact(b.T, a.T))
        out, room = inside(a.shape[0], 136)
        prism.lib.matmul(a, b, out=out)
        assert cupy.array_equal(out, exact(a, b)) and untouched(room, a.shape[0], 136)


def test_batches() -> None:
    a, b = small(3, 5, 65, 33), small(5, 33, 70)
    for x, y in (
        (a, b),
        (a[:, :1], b),
        (a[::2, ::-1], b),
        (a.swapaxes(0, 1), b[:1]),
        (a, b[0]),
        (a[0, 0], b),
        (a[0, 0, 0], b),
    ):
        assert cupy.array_equal(prism.lib.matmul(x, y), exact(x, y))
    many = small(1000, 24, 40)
    assert cupy.array_equal(prism.lib.matmul(many, many.swapaxes(1, 2)), exact(many, many.swapaxes(1, 2)))
    x = small(4, 64, 64)
    wanted = exact(x, x[0])
    assert prism.lib.matmul(x, x[0], out=x) is x and cupy.array_equal(x, wanted)
    half = small(2, 3, 64, 40).astype(cupy.float16)
    found = prism.lib.matmul(half, half[0].swapaxes(1, 2))
    assert found.dtype == cupy.float16 and cupy.array_equal(found, exact(half, half[0].swapaxes(1, 2)))


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.randint(-3, 4, shape, device="cuda").float() for shape in ((3, 100, 70), (70, 90)))
    assert torch.equal(prism.lib.matmul(a, b).double(), a.double() @ b.double())
    assert torch.equal(prism.lib.matmul(a[0, 0], b).double(), a[0, 0].double() @ b.double())
    assert prism.lib.matmul(a[0, 0], b[:, 0]).shape == ()
    out = torch.empty(90, 100, device="cuda").T
    assert prism.lib.sgemm(a[1], b, a[2] @ b, beta=-1.0, out=out) is out
    assert torch.equal(out.double(), (a[1].double() - a[2].double()) @ b.double())
    assert prism.lib.matmul(a.bfloat16(), b.bfloat16()).dtype == torch.bfloat16


def test_again_and_in_a_graph() -> None:
    """A warm call allocates nothing and decides nothing; it gives the same bits."""
    a, b = (cupy.random.standard_normal((300, 300), dtype=cupy.float32) for _ in range(2))
    out = cupy.empty_like(a)
    first = prism.lib.sgemm(a, b).copy()
    assert cupy.array_equal(prism.lib.sgemm(a, b), first)
    prism.lib.sgemm(a, b, out=out)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        prism.lib.sgemm(a, b, out=out)
        graph = stream.end_capture()
    out[...] = cupy.nan
    cupy.cuda.Device().synchronize()
    graph.launch(stream)
    stream.synchronize()
    assert cupy.array_equal(out, first)


# -- the sixth variant --------------------------------------------------------------------------------------------------


EVERY = [*rings.TILES, *rings.ASYNC_TILES]


def by_ring(a, b, out, found: rings.Tile, share: int, rounds: bool, c=None, beta: float = 0.0) -> None:
    """Run a ring with certain tiles: whole ones in rounds of the device, or none, and the others in shares of so many steps."""
    way = "ring" if isinstance(found, rings.RingConfiguration) else "async"
    wave = device(0).sm_count * found.blocks if rounds else 0
    cut = rings.cut_in(found, a.shape[0], b.shape[1], a.shape[1], share, wave)
    arrays = {"a": a, "b": b} if c is None else {"a": a, "b": b, "c": c}
    call("sgemm", ("cut", cut, beta), arrays, lambda *asked: decide_sgemm(*asked, 1.0, beta, way, cut), out)


@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("found", EVERY, ids=lambda found: found.name)
def test_the_ring(found: rings.Tile, layout: str) -> None:
    """Whole tiles, and in shares that divide a tile's steps and that don't, at edges, and with rows that begin anywhere."""
    for m, n, k in ((4, 4, 4), (260, 132, 300), (63, 65, 67), (129, 515, 1030)):
        a, b = operand(layout[0], m, k), operand(layout[1], k, n)
        wanted = exact(a, b)
        for share in (10000, 1, 2, 3):
            out, room = inside(m, n)
            by_ring(a, b, out, found, share, False)
            assert cupy.array_equal(out, wanted), (m, n, k, share)
            assert untouched(room, m, n), (m, n, k, share)


@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("cost", [1e12, -1e12])
def test_copies_first_and_without(cost: float, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the library would choose: of operands that begin anywhere, of strided ones, and in a batch."""
    monkeypatch.setattr(rings, "copy_clocks", lambda elements: cost)
    for m, n, k in ((260, 132, 300), (129, 515, 1030)):
        a, b = operand(layout[0], m, k), operand(layout[1], k, n)
        apart = cupy.zeros((2 * m, 3 * k), cupy.float32)[::2, ::3]
        apart[...] = a
        for left in (a, apart, apart[::-1, ::-1]):
            out, room = inside(m, n)
            prism.lib.sgemm(left, b, out=out, variant="ring")
            assert cupy.array_equal(out, exact(left, b)) and untouched(room, m, n), (m, n, k)
        pair = cupy.stack([a, -a])
        assert cupy.array_equal(prism.lib.sgemm(pair, b, variant="ring"), exact(pair, b))


@pytest.mark.parametrize("found", EVERY, ids=lambda found: found.name)
def test_rounds_of_whole_tiles_and_shares_of_the_others(found: rings.Tile) -> None:
    k = 5 * found.bk - 4
    m, n = 17 * found.bm - 8, 21 * found.bn - 12  # 357 tiles
    a, b, c = small(m, k), small(k, n), small(m, n)
    for share in (2, 4):
        out, room = inside(m, n)
        by_ring(a, b, out, found, share, True)
        assert cupy.array_equal(out, exact(a, b)) and untouched(room, m, n)
        out, room = inside(m, n)
        out[...] = c
        by_ring(a, b, out, found, share, True, out, -1.0)
        assert cupy.array_equal(out, exact(a, b) - c) and untouched(room, m, n)


CHOSEN = [*rings.MEASURED, (4097, 4095, 4093), (1537, 1535, 1533), (100, 3001, 5003)]


@pytest.mark.parametrize("shape", CHOSEN, ids=lambda shape: "x".join(map(str, shape)))
def test_what_is_chosen(shape) -> None:
    """Near float64, right to the last bit on small integers, and the same bits again; old memory is left from other calls."""
    m, n, k = shape
    a, b = small(m, k), small(k, n)
    out, room = inside(m, n)
    prism.lib.sgemm(a, b, out=out)
    assert cupy.array_equal(out, exact(a, b)) and untouched(room, m, n)
    a, b = (cupy.random.standard_normal(size, dtype=cupy.float32) for size in ((m, k), (k, n)))
    cupy.full(64 << 20, cupy.nan, cupy.float32)  # memory that scratch may come from
    first = prism.lib.sgemm(a, b)
    assert near(first, a, b)
    for _ in range(3):
        assert cupy.array_equal(prism.lib.sgemm(a, b), first)


@pytest.mark.parametrize("variant", ["ring", "async"])
def test_the_same_bits_by_tensor_copies_and_without(variant: str) -> None:
    """Both add up in the order of k: whole tiles of any shape give what the fifth variant gives."""
    a, b = (cupy.random.standard_normal((1300, 1300), dtype=cupy.float32) for _ in range(2))
    wanted = prism.lib.sgemm(a, b, variant="warps")
    out = cupy.empty_like(a)
    by_ring(a, b, out, (rings.TILES if variant == "ring" else rings.ASYNC_TILES)[0], 10000, False)
    assert cupy.array_equal(out, wanted)


def test_the_result_where_operands_are() -> None:
    """`c` is `out`, or lies across it; `out` lies across an operand."""
    memory = small(1100, 512)
    a, b = small(512, 512), small(512, 512)
    wanted = exact(a, b)
    for c, out in ((memory[:512], memory[:512]), (memory[:512], memory[100:612]), (memory[100:612], memory[:512])):
        total = 2.0 * wanted - c
        assert prism.lib.sgemm(a, b, c, alpha=2.0, beta=-1.0, out=out) is out
        assert cupy.array_equal(out, total)
    whole = small(600, 512)
    wanted = exact(whole[:512], b)
    prism.lib.sgemm(whole[:512], b, out=whole[88:])
    assert cupy.array_equal(whole[88:], wanted)
    wanted = exact(a, b)
    assert prism.lib.sgemm(a, b, out=b) is b and cupy.array_equal(b, wanted)


def test_nothing() -> None:
    for m, n, k in ((0, 512, 512), (512, 0, 512), (512, 512, 0), (0, 0, 0)):
        a, b, c = small(m, k), small(k, n), small(m, n)
        assert cupy.array_equal(prism.lib.sgemm(a, b, variant="ring"), cupy.zeros((m, n), cupy.float32))
        assert cupy.array_equal(prism.lib.sgemm(a, b, c, beta=2.0, variant="ring"), 2 * c)
    nan = cupy.full((512, 512), cupy.nan, cupy.float32)
    assert cupy.array_equal(prism.lib.sgemm(nan, nan, small(512, 512) * 0, alpha=0.0, beta=1.0), 0 * small(512, 512))


def test_batches_by_the_ring() -> None:
    for layout in ("NN", "NT", "TN"):
        a, b = small(3, 300, 270), small(3, 270, 260)
        a = a if layout[0] == "N" else cupy.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2)
        b = b if layout[1] == "N" else cupy.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
        for variant in ("ring", "async"):
            assert cupy.array_equal(prism.lib.sgemm(a, b, variant=variant), exact(a, b))
            assert cupy.array_equal(prism.lib.sgemm(a[:, ::-1], b[0], variant=variant), exact(a[:, ::-1], b[0]))
            assert cupy.array_equal(prism.lib.sgemm(a[:1], b, variant=variant), exact(a[:1], b))


@pytest.mark.parametrize("size", [512, 513, 1024])
def test_graphs_keep_their_scratch_memory(size: int) -> None:
    """Two calls in a graph, what memory is taken and given back after the capture, and new operands at the next launch."""
    a, b, middle, out = (small(size, size) for _ in range(4))
    prism.lib.sgemm(a, b, out=middle)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        prism.lib.sgemm(a, b, out=middle)
        prism.lib.sgemm(middle, b, alpha=0.5, out=out)
        graph = stream.end_capture()
    for _ in range(3):
        a[...], b[...] = small(size, size), cupy.eye(size, dtype=cupy.float32)[cupy.random.permutation(size)] * 2
        middle[...] = out[...] = cupy.nan
        held = [cupy.full(1 << 20, cupy.nan, cupy.float32) for _ in range(8)]
        cupy.cuda.Device().synchronize()
        graph.launch(stream)
        stream.synchronize()
        assert cupy.array_equal(middle, exact(a, b)) and cupy.array_equal(out, exact(middle, b) / 2)
        assert all(bool(cupy.isnan(x).all()) for x in held)


def test_streams_at_once() -> None:
    """Each has scratch memory of its own."""
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    sets = [(small(512, 512), small(512, 512), cupy.empty((512, 512), cupy.float32)) for _ in streams]
    wanted = [exact(a, b) for a, b, _ in sets]
    for _ in range(4):
        for *_, out in sets:
            out[...] = cupy.nan
        cupy.cuda.Device().synchronize()
        for _ in range(20):
            for stream, (a, b, out) in zip(streams, sets, strict=True):
                prism.lib.sgemm(a, b, out=out, stream=stream)
        cupy.cuda.Device().synchronize()
        assert all(cupy.array_equal(out, right) for (*_, out), right in zip(sets, wanted, strict=True))


def test_more_than_2_to_the_31_elements() -> None:
    """Addresses are 64-bit: the result's, an operand's, in every layout of the operand."""
    size = 46400
    a, b = small(size, 4), small(4, size)
    out = prism.lib.sgemm(a, b)
    for rows in (slice(0, 3), slice(size // 2, size // 2 + 3), slice(-3, None)):
        assert cupy.array_equal(out[rows], exact(a[rows], b))
    out[...] = 1
    out[-1] = 2
    few = small(4, size)
    assert cupy.array_equal(prism.lib.sgemm(few, out), exact(few[:, :-1], out[:-1, :1]) + 2 * few[:, -1:] + 0 * out[:1])
    assert cupy.array_equal(prism.lib.sgemm(few, out.T)[:, -1], 2 * few.sum(1))


# -- beside CUDA by hand ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_code_generation_costs_nothing(variant: str) -> None:
    """Beside the same algorithm in CUDA C++, both launched plainly: as fast within 2 %, and the same bits."""
    configuration, size = LESSON[variant], 1024 if variant == "naive" else 4096 if variant == "warps" else 2048
    a, b = (cupy.random.standard_normal((size, size), dtype=cupy.float32) for _ in range(2))
    first, second = cupy.empty_like(a), cupy.empty_like(a)
    ours, theirs = (prepare(replace(entry, programmatic=False), 0) for entry in twins(configuration, device(0).arch))
    counted = (1, size, size, size) if configuration.counted else (size, size, size)
    strides, blocks = (size, 1, size * size), configuration.grid(1, size, size)
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for round_ in range(10):
        for name, launch, out in (("ours", ours, first), ("theirs", theirs, second))[:: 1 if round_ % 2 else -1]:
            values = (*counted, 1.0, a.data.ptr, *strides, b.data.ptr, *strides, 0.0, out.data.ptr, size, size * size)
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            for _ in range(2):
                launch(blocks, configuration.threads, cupy.cuda.get_current_stream().ptr, values)
            end.record()
            end.synchronize()
            times[name].append(cupy.cuda.get_elapsed_time(begin, end))
    assert cupy.array_equal(first, second), "the same algorithm: the same bits"
    ratio = statistics.median(o / t for o, t in zip(times["ours"], times["theirs"], strict=True))
    assert ratio <= 1.02, f"{ratio:.3f} of the time by hand"


AFTER = lambda x, i, j, bias, rows, before, k: max(x + bias, 0.0) * rows + before * k + float32(i - j)


@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize(
    "sizes", [*SIZES, EVEN, (4097, 515, 257), (300, 300, 5000), (7, 4000, 1024), (64, 4096, 512), (5, 6, 0)]
)
def test_epilogues(sizes: tuple[int, int, int], layout: str) -> None:
    """By whole tiles, parts of K, few rows, what is finished; of two results too, and after an old one."""
    m, n, k = sizes
    a, b, c = operand(layout[0], m, k), operand(layout[1], k, n), small(m, n)
    bias, rows, before = small(n), small(m, 1).astype(cupy.float16), small(m, n)
    places = cupy.arange(m)[:, None] - cupy.arange(n)

    def after(sums):
        return cupy.maximum(sums + bias, 0) * rows + 2 * before + places

    out, room = inside(m, n)
    prism.lib.sgemm(a, b, epilogue=AFTER, extra=(bias, rows, before, 2), out=out)
    assert cupy.array_equal(out, after(exact(a, b)))
    assert untouched(room, m, n)
    two = (lambda x, y: x * y, lambda x, y: x)
    first, other = prism.lib.sgemm(a, b, c, alpha=2.0, beta=-1.0, epilogue=two, extra=bias)
    sums = 2 * exact(a, b) - c
    assert cupy.array_equal(first, sums * bias)
    assert cupy.array_equal(other, sums)
    for axis in (0, 1):
        top = (lambda x, y: x + y, reduce(lambda x, y: x - y, op="maximum", axis=axis))
        first, most = prism.lib.sgemm(a, b, epilogue=top, extra=bias)
        assert cupy.array_equal(first, exact(a, b) + bias)
        assert cupy.array_equal(most, (exact(a, b) - bias).max(axis=axis))
