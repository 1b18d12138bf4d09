"""The sixth variant's host side: what is launched for which arrays, with the reference machine in the GPU's place."""

from types import SimpleNamespace

import numpy as np
import pytest

import prism
from prism.host import machine
from prism.host import memory as arrays
from prism.host.plan import OUT, Plan, Scratch
from prism.interpret import run
from prism.kernels.sgemm import Configuration
from prism.kernels.sgemm import ring_configurations as rings
from prism.kernels.sgemm.cut import FewCut
from prism.lib.algorithms.sgemm import api as sgemms
from prism.lib.algorithms.sgemm import ring as sgemm_ring
from prism.lib.algorithms.sgemm.matrices import Matrix, Product
from prism.lib.algorithms.sgemm.ring import Staged
from prism.lib.views import view_of
from prism.runtime.arrays import ArrayInfo
from prism.runtime.build import entry_of
from prism.runtime.instance import Instance

GUARD = 64  # elements of NaN before and behind each matrix
LAYOUTS = ("NN", "NT", "TN", "TT")


class Memory:
    """Host memory in a GPU's place: arrays by address, and launchers that run kernels on it, checked."""

    def __init__(self) -> None:
        self.blocks: list[np.ndarray] = []
        self.launched: list[str] = []

    def room(self, elements: int) -> np.ndarray:
        """Memory of NaN that begins at a multiple of 16 bytes."""
        block = np.full(elements + 4, np.nan, np.float32)
        start = -block.__array_interface__["data"][0] // 4 % 4
        self.blocks.append(block)
        return block[start : start + elements]

    def put(self, values, layout: str = "N", pad: int = 0, shift: int = 0):
        """Return the facts of an array on the GPU, row-major or column-major, rows `pad` elements apart, and its memory."""
        lying = values if layout == "N" else values.swapaxes(-1, -2)
        *batch, outer, inner = lying.shape
        whole = self.room(int(np.prod(batch)) * outer * (inner + pad) + 2 * GUARD + shift)
        part = whole[GUARD + shift : len(whole) - GUARD]
        part.reshape(*batch, outer, inner + pad)[..., :inner] = lying
        steps = [4 * (inner + pad), 4] if layout == "N" else [4, 4 * (inner + pad)]
        apart = [4 * outer * (inner + pad) * int(np.prod(batch[i + 1 :])) for i in range(len(batch))]
        pointer = part.__array_interface__["data"][0]
        facts = ArrayInfo("cupy", "cuda", values.dtype, values.shape, (*apart, *steps), pointer, False, 0)
        return facts, whole

    def at(self, pointer: int):
        """The memory from an address to its block's end."""
        for block in self.blocks:
            first = block.__array_interface__["data"][0]
            if first <= pointer < first + block.nbytes:
                return block[(pointer - first) // 4 :]
        raise AssertionError("an address of nothing")

    def scratch(self, _, nbytes: int, stream: int):
        assert stream == 7
        found = self.room(nbytes // 4)
        return found, found.__array_interface__["data"][0]

    def launcher(self, instance: Instance, ordinal: int):
        assert ordinal == 0
        entry = entry_of(instance.program, "sm_90a")

        def launch(blocks: int, threads: int, stream: int, values) -> None:
            assert stream == 7
            self.launched.append(instance.kernel.__name__)
            given = []
            for parameter, value in zip(entry.parameters, values, strict=True):
                if parameter.kind == "map":
                    pointer, shape, strides = value.pointer, value.shape, value.strides
                    assert pointer % 16 == 0 and (strides[0] % 16 == 0 or shape[0] == 1) and strides[1] == 4
                    memory = np.lib.stride_tricks.as_strided(self.at(pointer), shape, strides)
                    value = np.ascontiguousarray(memory)
                    assert not np.isnan(value).any(), "what was not copied is read"
                elif parameter.kind == "pointer":
                    value = self.at(value)
                given.append(value)
            run(instance.program, blocks, threads, tuple(given), check=True)

        return ready(launch, entry)

    def make(self, plan: Plan, a: ArrayInfo, b: ArrayInfo, out: ArrayInfo) -> None:
        """Run a plan on a stream, as a call does."""
        machine.Ready(plan, ("a", "b", OUT), a)((a.pointer, b.pointer, out.pointer), 7)


def ready(launch, entry):
    """A function as a launcher."""
    launch.entry, launch.word = entry, lambda position: position
    return launch


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    found = Memory()
    monkeypatch.setattr(machine, "launcher_of", found.launcher)
    monkeypatch.setattr("prism.runtime.device.count", lambda: 1)
    monkeypatch.setattr(arrays, "scratch", found.scratch)
    monkeypatch.setattr(machine, "capture_of", lambda stream: 1)  # a graph's memory is lent, call by call
    return found


def gpu(processors: int = 132, arch: str = "sm_90a"):
    """What plans ask of a GPU."""
    return SimpleNamespace(host=False, arch=arch, multiprocessors=processors)


def multiplied(
    memory: Memory, shape, layout: str, *, batch=(), share=99, wave=0, pads=(0, 0, 0), shifts=(0, 0, 0), alpha=1.0, beta=0.0,
    variant="ring",
) -> list[str]:  # fmt: skip
    """Make a product as a GPU would, compare it, see that nothing is written around it; return which kernels were launched.

    Rounds of `wave` tiles are done whole, the others in shares of so many steps.
    """
    m, n, k = shape
    random = np.random.default_rng(m + n + k)
    draw = lambda *sizes: random.integers(-3, 4, sizes).astype(np.float32)
    a, b, c = draw(*batch, m, k), draw(*batch, k, n), draw(*batch, m, n)
    left, _ = memory.put(a, layout[0], pads[0], shifts[0])
    right, _ = memory.put(b, layout[1], pads[1], shifts[1])
    out, whole = memory.put(c if beta else np.full_like(c, np.nan), "N", pads[2], shifts[2])
    cut = rings.cut_in(rings.HOST if variant == "ring" else rings.ASYNC_HOST, m, n, k, share, wave)
    decision = sgemms.decide_sgemm({"a": left, "b": right}, out, gpu(2), alpha, beta, variant, cut)
    memory.make(decision.plan, left, right, out)
    wanted = alpha * (a @ b) + (beta * c if beta else 0)
    view = np.lib.stride_tricks.as_strided(memory.at(out.pointer), out.shape, out.strides)
    assert np.array_equal(view, wanted)
    view[...] = np.nan
    assert np.isnan(whole).all(), "written beside the result"
    return memory.launched


@pytest.fixture
def gains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every product is so large that it gains by copies first."""
    monkeypatch.setattr(rings, "copy_clocks", lambda elements: -1e12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(memory: Memory, layout: str) -> None:
    """Of small products nothing is copied first."""
    assert multiplied(memory, (68, 72, 36), layout, pads=(4, 8, 12)) == ["ring"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_large_products(memory: Memory, gains: None, layout: str) -> None:
    """A column-major B is copied beside a column-major A, and nothing else that is aligned."""
    launched = multiplied(memory, (68, 72, 36), layout, pads=(4, 8, 12))
    assert launched == (["pack", "ring"] if layout == "TT" else ["ring"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_not_aligned(memory: Memory, layout: str) -> None:
    """Rows that begin anywhere; and memory that does."""
    assert multiplied(memory, (35, 65, 33), layout) == ["ring"]
    memory.launched.clear()
    assert multiplied(memory, (64, 64, 32), layout, shifts=(1, 0, 2)) == ["ring"]
    memory.launched.clear()
    assert multiplied(memory, (64, 64, 32), layout, shifts=(0, 3, 0)) == ["ring"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_not_aligned_of_large_products(memory: Memory, gains: None, layout: str) -> None:
    """It is copied first; and so is what then begins where it should, beside it, if it is a column-major B."""
    assert multiplied(memory, (35, 65, 33), layout) == ["pack", "pack", "ring"]
    memory.launched.clear()
    assert multiplied(memory, (64, 64, 32), layout, shifts=(1, 0, 2)).count("pack") == 1 + (layout[1] == "T")


@pytest.mark.parametrize("wide, alpha, beta", [(False, 2.0, -1.0), (True, 1.0, 0.0)])
def test_parts(memory: Memory, wide: bool, alpha: float, beta: float) -> None:
    """Shares of three steps, where a tile has four: of two tiles, most of them."""
    pads = (0, 0, 0 if wide else 1)
    assert multiplied(memory, (36, 132, 100), "NN", share=3, pads=pads, alpha=alpha, beta=beta) == ["ring", "combine"]


def test_whole_tiles_and_parts(memory: Memory) -> None:
    """Of five tiles four are done whole, by two blocks, and one in parts."""
    launched = multiplied(memory, (260, 36, 68), "NN", share=2, wave=2, beta=1.0)
    assert launched == ["ring", "ring", "combine"]


def test_parts_of_what_is_copied(memory: Memory, gains: None) -> None:
    assert multiplied(memory, (33, 35, 70), "TT", share=2, beta=2.0) == ["pack", "pack", "ring", "combine"]


@pytest.mark.parametrize("share", [1, 99])
def test_batches(memory: Memory, share: int) -> None:
    """One after the other."""
    launched = multiplied(memory, (20, 24, 36), "NT", batch=(3,), share=share, alpha=2.0)
    assert launched == 3 * ["ring", *["combine"] * (share == 1)]


def test_batches_that_are_copied(memory: Memory, gains: None) -> None:
    """One after the other, in the same room."""
    assert multiplied(memory, (20, 24, 36), "TT", batch=(3,), share=1) == 3 * ["pack", "ring", "combine"]


def test_what_all_products_of_a_batch_share_is_copied_once(memory: Memory, gains: None) -> None:
    a, b = np.ones((3, 8, 5), np.float32), np.ones((5, 4), np.float32)
    left, _ = memory.put(a)
    right, _ = memory.put(b, "T")
    out, _ = memory.put(np.zeros((3, 8, 4), np.float32), "N")
    product = Product(Matrix("a", 0, 5, 1, 40), Matrix("b", 0, 1, 5, 0), Matrix(OUT, 0, 4, 1, 32), 3, (8, 4, 5))
    scratch = Scratch()
    steps = sgemm_ring.arrange(product, 2, True, rings.cut_in(rings.HOST, 8, 4, 5, 1)).steps(scratch)
    memory.make(Plan(tuple(steps), scratch=scratch.used, lent=True), left, right, out)
    assert memory.launched == ["pack", "pack", "ring", "pack", "ring", "pack", "ring"]


TENSOR, ALONG, DENSE, PAIRS, PACKED = "tensor", "along", "dense", "pairs", "packed"


@pytest.mark.parametrize(
    ("shape", "layout", "left", "right"),
    [
        ((4096,) * 3, "NN", ALONG, TENSOR),
        ((4096,) * 3, "NT", ALONG, ALONG),
        ((4096,) * 3, "TN", TENSOR, TENSOR),
        ((4096,) * 3, "TT", TENSOR, PACKED),
        ((512,) * 3, "TT", TENSOR, ALONG),
        ((4097, 4095, 4093), "NN", ALONG, DENSE),
        ((4097, 4095, 4093), "TT", PACKED, PACKED),
        ((4096, 4095, 4096), "NN", ALONG, PACKED),
        ((4096, 4095, 4096), "TN", TENSOR, PACKED),
        ((4095, 4096, 4096), "TN", DENSE, TENSOR),
        ((513, 515, 511), "NN", ALONG, DENSE),
        ((513, 515, 511), "TT", DENSE, ALONG),
        ((512, 515, 512), "TN", PAIRS, DENSE),
        ((100, 101, 100), "TN", PAIRS, DENSE),
        ((64, 4095, 4097), "NN", ALONG, DENSE),
        ((102, 90, 100), "TN", PAIRS, PAIRS),
    ],
)
def test_what_copies_operands(shape, layout: str, left: str, right: str) -> None:
    found = plan(shape, layout, "ring")
    names = {rings.TENSOR: TENSOR, rings.ALONG: ALONG, rings.DENSE: DENSE, rings.PAIRS: PAIRS}
    assert [PACKED if one.packed else names[one.way] for one in (found.a, found.b)] == [left, right]


@pytest.mark.parametrize("shape", [(1, 40, 36), (40, 1, 36), (40, 36, 1), (1, 1, 1)])
def test_a_vector(memory: Memory, shape: tuple[int, int, int]) -> None:
    assert multiplied(memory, shape, "NN") == ["ring"]


# -- without tensor copies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_operand_as_it_lies(memory: Memory, layout: str) -> None:
    """Nothing is copied first: of whole pieces of 16 bytes, and of memory and rows that begin anywhere; alone and in a batch."""
    asynchronous = {"variant": "async"}
    assert multiplied(memory, (36, 40, 20), layout, pads=(4, 8, 12), **asynchronous) == ["ring_async"]
    memory.launched.clear()
    assert multiplied(memory, (35, 65, 33), layout, shifts=(1, 2, 3), **asynchronous) == ["ring_async"]
    memory.launched.clear()
    launched = multiplied(memory, (36, 40, 20), layout, batch=(2,), alpha=2.0, beta=-1.0, **asynchronous)
    assert launched == ["ring_async", "ring_async"]


def test_its_parts(memory: Memory) -> None:
    launched = multiplied(memory, (260, 36, 36), "NN", share=2, wave=2, beta=1.0, variant="async")
    assert launched == ["ring_async", "ring_async", "combine"]


# -- the choice -----------------------------------------------------------------------------------------------------------


def plan(shape, layout: str = "NN", variant: str = "auto", arch: str = "sm_90a", batch=()):
    """What the library would do with arrays of these shapes."""
    m, n, k = shape

    def info(rows: int, columns: int, how: str) -> ArrayInfo:
        strides = (*[4 * rows * columns] * len(batch), *((4 * columns, 4) if how == "N" else (4, 4 * rows)))
        return ArrayInfo("cupy", "cuda", np.dtype("f4"), (*batch, rows, columns), strides, 1 << 30, False, 0)

    out = info(m, n, "N")
    views = view_of("a", info(m, k, layout[0])), view_of("b", info(k, n, layout[1])), view_of(OUT, out)
    (product,) = sgemms.products_of(*views, 1.0, 0.0)
    return sgemms.choose_way(product, variant, gpu(arch=arch))


def test_the_ring_is_chosen_where_it_is_faster() -> None:
    for shape in ((256,) * 3, (1000,) * 3, (4096,) * 3, (4097, 4095, 4093), (4096, 64, 4096), (64, 4096, 4096)):
        assert isinstance(plan(shape), Staged), shape
    for shape in ((64, 64, 64), (37, 41, 0)):
        assert isinstance(plan(shape), Configuration), shape
    for shape in ((4, 4, 4), (1, 4096, 4096)):
        assert isinstance(plan(shape), FewCut), shape
    assert isinstance(plan((1, 4096, 4096), batch=(3,)), Staged | Configuration), "of a batch there is none"
    assert isinstance(plan((64, 64, 64), batch=(1000,)), Configuration), "a thousand small launches"
    assert isinstance(plan((4096,) * 3, batch=(3,)), Staged)


def test_what_was_measured_is_chosen() -> None:
    for shape, (configuration, share, *_) in rings.MEASURED.items():
        found = plan(shape)
        assert isinstance(found, Staged)
        assert (found.cut.configuration, found.cut.share) == (configuration, share)


@pytest.mark.parametrize(
    "shape, layout, packed",
    [
        ((4096,) * 3, "NN", ""), ((4096,) * 3, "NT", ""), ((4096,) * 3, "TN", ""), ((4096,) * 3, "TT", "B"),
        ((2048,) * 3, "TT", "B"), ((1024,) * 3, "TT", ""), ((4097, 4095, 4093), "NN", ""), ((2049, 2047, 2045), "NN", ""),
        ((1001, 999, 1003), "NN", ""), ((4096, 4095, 4096), "NN", "B"),
    ],
)  # fmt: skip
def test_what_was_faster_by_a_copy_first_is_copied(shape, layout: str, packed: str) -> None:
    """As measured on an H200, each with copies first and without; what threads copy as fast stays as it lies."""
    found = plan(shape, layout)
    assert isinstance(found, Staged)
    assert "A" * found.a.packed + "B" * found.b.packed == packed


def test_only_hopper_has_tensor_copies() -> None:
    for arch in ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100a", "sm_120"):
        for shape in ((256,) * 3, (1000,) * 3, (3072,) * 3, (64, 4096, 4096), (8192, 128, 1024)):
            assert plan(shape, arch=arch).layouts
        for shape in ((4, 4, 4), (2048,) * 3, (4096,) * 3):  # the large ones: rounds of tiles that are nearly full
            assert isinstance(plan(shape, arch=arch), Configuration)
        assert plan((64, 64, 64), arch=arch, variant="async").layouts
    assert plan((4096,) * 3).layouts is None
    assert plan((4096,) * 3, variant="async").layouts
    with pytest.raises(ValueError, match="`variant` is ring, which needs a Hopper GPU"):
        plan((4096,) * 3, variant="ring", arch="sm_80")


def test_before_ampere_neither() -> None:
    assert isinstance(plan((4096,) * 3, arch="sm_75"), Configuration)
    with pytest.raises(ValueError, match="`variant` is async, which needs a GPU from sm_80 on, and this one is sm_75"):
        plan((4096,) * 3, variant="async", arch="sm_75")


@pytest.mark.parametrize("variant", ["ring", "warps"])
def test_a_named_variant_is_taken(variant: str) -> None:
    found = plan((64, 64, 64), variant=variant)
    assert isinstance(found, Staged) if variant == "ring" else found.variant == variant


def test_parts_take_little_memory() -> None:
    """Two for each block, and blocks are at most as many as run at once."""
    for m, n in ((64, 64), (5000, 5000), (20000, 30000), (64, 1 << 20)):
        for cut in rings.cuts(m, n, 1 << 20):
            assert cut.blocks <= 132 * cut.configuration.blocks
            assert 4 * 2 * cut.blocks * cut.configuration.bm * cut.configuration.bn <= 33 << 20


@pytest.mark.parametrize("variant", ["ring", "async"])
@pytest.mark.parametrize("shape", [(20, 25, 30), (1, 3, 5), (65, 66, 33)])
def test_on_numpy_arrays(shape, variant: str) -> None:
    m, n, k = shape
    random = np.random.default_rng(k)
    a, b, c = (random.integers(-3, 4, size).astype(np.float32) for size in ((m, k), (k, n), (m, n)))
    assert np.array_equal(prism.lib.sgemm(a, b, variant=variant), a @ b)
    assert np.array_equal(prism.lib.sgemm(b.T, a.T, c.T, alpha=2.0, beta=-1.0, variant=variant), (2 * (a @ b) - c).T)
    batch = np.stack([a, a[::-1], -a])
    assert np.array_equal(prism.lib.sgemm(batch, b, variant=variant), batch @ b)
    assert np.array_equal(prism.lib.sgemm(a[:, :0], b[:0], c, beta=2.0, variant=variant), 2 * c)
