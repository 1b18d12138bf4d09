"""sgemm(precision="bf16x6"): near float64 as float32 is, on the reference machine; and what is launched on a GPU.

Tests of prism/lib/algorithms/sgemm/matrices.py.
"""

import numpy as np
import pytest

import prism
from prism.host import machine
from prism.host import memory as arrays
from prism.host.plan import OUT
from prism.interpret import run
from prism.lib.algorithms.sgemm import api as sgemms
from prism.lib.algorithms.sgemm import bf16x6 as sgemm_bf16x6
from prism.lib.algorithms.sgemm.matrices import Matrix, Product
from prism.runtime.arrays import describe
from prism.runtime.build import entry_of
from prism.runtime.instance import Instance
from tests.host.stand_ins import Launcher
from tests.lib.algorithms.sgemm.test_ring import GUARD, LAYOUTS, Memory, gpu, ready

EPS = float(np.finfo(np.float32).eps)


def product(a, b, c=None, **options):
    return prism.lib.sgemm(a, b, c, precision="bf16x6", **options)


def small(rng, *shape):
    return rng.integers(-3, 4, shape).astype(np.float32)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """K in parts of 64 and less."""
    monkeypatch.setattr(sgemm_bf16x6, "CHUNK", 64)


# -- on the reference machine -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(64, 48, 80), (37, 70, 129), (1, 1, 1)])
def test_near_float64(short: None, shape) -> None:
    """KERNELS.md 6: the rounding of the result, and of float32 sums of k products in any order.

    Of the three products that are left out, each is at most 2^-24 |a b| together, half of EPS.
    """
    m, n, k = shape
    rng = np.random.default_rng(k)
    scale = lambda *sizes: np.exp2(rng.integers(-12, 13, sizes))
    a, b = (rng.standard_normal((m, k)) * scale(m, k)), (rng.standard_normal((k, n)) * scale(k, n))
    a, b = a.astype(np.float32), b.astype(np.float32)
    wanted, size = a.astype(np.float64) @ b, np.abs(a).astype(np.float64) @ np.abs(b)
    assert (np.abs(product(a, b) - wanted) <= EPS * np.abs(wanted) + 2 * k**0.5 * EPS * size).all()


def test_one_bfloat16_would_not_do() -> None:
    """That the parts beyond the first are multiplied is what the bound above tests."""
    a, b = np.full((1, 1), 1 + 2.0**-9 + 2.0**-17 + 2.0**-23, np.float32), np.ones((1, 1), np.float32)
    assert product(a, b) == a == product(b, a)
    assert product(a, a) == pytest.approx(float(a[0, 0]) ** 2, rel=EPS)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("alpha, beta", [(1.0, 0.0), (2.0, -0.5)])
def test_layouts(short: None, layout: str, alpha: float, beta: float) -> None:
    rng = np.random.default_rng(0)
    draw = lambda how, *shape: small(rng, *shape) if how == "N" else small(rng, *shape[::-1]).T
    a, b, c = draw(layout[0], 65, 70), draw(layout[1], 70, 33), small(rng, 65, 33)
    wanted = alpha * (a @ b) + beta * c
    assert np.array_equal(product(a, b, c, alpha=alpha, beta=beta), wanted)
    out = np.asfortranarray(c)
    assert product(a, b, out, alpha=alpha, beta=beta, out=out) is out and np.array_equal(out, wanted)


def test_strides_batches_and_nothing(short: None) -> None:
    rng = np.random.default_rng(1)
    whole = small(rng, 70, 90)
    a, b = whole[::-2, 3:80:5], small(rng, 16, 5)
    assert np.array_equal(product(a, b), a @ b)
    x, y = small(rng, 2, 3, 9, 70), small(rng, 3, 70, 11)
    assert np.array_equal(product(x, y), x @ y) and np.array_equal(product(x, y[0]), x @ y[0])
    assert np.array_equal(product(x.swapaxes(0, 1), y[:, None]), x.swapaxes(0, 1) @ y[:, None])
    assert np.array_equal(product(np.ones((4, 0), np.float32), np.ones((0, 3), np.float32)), np.zeros((4, 3)))
    assert product(np.ones((0, 4), np.float32), np.ones((4, 3), np.float32)).shape == (0, 3)
    out = np.concatenate([x[0, 0], x[0, 1]])[:9]
    assert np.array_equal(product(out[:, :9], out[:, 9:18], out=out[:, :9]), x[0, 0][:, :9] @ x[0, 0][:, 9:18])


def test_infinity_and_nan_are_as_in_float32() -> None:
    """They are multiplied once: by the other's first part, which is 0 only where the other is."""
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((8, 16)).astype(np.float32), rng.standard_normal((16, 8)).astype(np.float32)
    a[0, 0], a[1, 1], a[2, 2], b[3, 3], b[4, 4] = np.inf, -np.inf, np.nan, np.inf, np.nan
    b[0, 5] = 0
    with np.errstate(invalid="ignore"):
        wanted, found = a @ b, product(a, b)
    special = ~np.isfinite(wanted)
    assert np.array_equal(found[special], wanted[special], equal_nan=True)
    assert np.isfinite(found[~special]).all() and np.isposinf(found).any() and np.isnan(found).any()


def test_what_bfloat16_would_make_infinite() -> None:
    x = np.full((4, 4), np.finfo(np.float32).max, np.float32)
    assert np.array_equal(product(x, np.eye(4, dtype=np.float32)), x)


@pytest.mark.parametrize("k", [1, 15, 2047, 2048, 2049, 4096, 9000, 65536])
def test_parts_cover_k_and_none_is_too_long(k: int) -> None:
    """2048: what the error on the GPU was measured with (docs/measurements/sgemm.md)."""
    matrix = Matrix("a", 0, 1, 1, 0)
    parts = sgemm_bf16x6.Planes(Product(matrix, matrix, matrix, 1, (1, 1, k))).parts()
    assert [part.first for part in parts] == list(np.cumsum([0, *(part.depth for part in parts[:-1])]))
    assert sum(part.depth for part in parts) == k and len(parts) == -(-k // 2048)
    assert all(0 < part.depth <= part.plane <= 2048 for part in parts)


# -- arguments ----------------------------------------------------------------------------------------------------------


def test_errors() -> None:
    a = np.ones((4, 4), np.float32)
    with pytest.raises(ValueError, match="`precision` must be float32 or bf16x6, not 'tf32'"):
        prism.lib.sgemm(a, a, precision="tf32")
    with pytest.raises(ValueError, match="`variant` is of precision float32: leave it out, or bf16x6"):
        prism.lib.sgemm(a, a, precision="bf16x6", variant="ring")
    with pytest.raises(
        ValueError, match=r"`precision` is bf16x6, which needs a Hopper GPU \(sm_90a\), and this one is sm_80"
    ):
        sgemms.decide_sgemm({"a": describe(a), "b": describe(a)}, None, gpu(arch="sm_80"), way="bf16x6")


def test_it_is_never_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sgemm_bf16x6, "steps_of", lambda *_: pytest.fail("the tensor cores were asked"))
    a = np.eye(4, dtype=np.float32)
    assert np.array_equal(prism.lib.sgemm(a, a), a) and np.array_equal(prism.lib.matmul(a, a), a)


# -- what is launched on a GPU --------------------------------------------------------------------------------------------


class Hopper(Memory):
    """Host memory in a GPU's place, with planes of bfloat16."""

    def launcher(self, instance: Instance, ordinal: int):
        assert ordinal == 0
        entry = entry_of(instance.program, "sm_90a")

        def launch(blocks: int, threads: int, stream: int, values) -> None:
            assert stream == 7
            self.launched.append(instance.kernel.__name__)
            run(instance.program, blocks, threads, tuple(map(self.given, entry.parameters, values)))

        return ready(launch, entry)

    def given(self, parameter, value):
        """What a kernel on the host is given for an argument."""
        if parameter.kind == "scalar":
            return value
        size = parameter.numpy.itemsize
        if parameter.kind == "map" and isinstance(value, bytes):
            return np.zeros((8, 8), parameter.numpy)  # not used
        if not isinstance(value, int):
            pointer, shape, strides = value.pointer, value.shape, value.strides
        elif value == 0:
            return np.zeros(1, parameter.numpy)  # not used
        else:
            pointer, shape, strides = value, None, None
        words = self.at(pointer)
        found = words[: len(words) * 4 // size * size // 4].view(parameter.numpy)
        if shape is None:
            return found
        assert pointer % 16 == 0 and strides[0] % 16 == 0 and strides[1] == size
        memory = np.lib.stride_tricks.as_strided(found, shape, strides)
        if parameter.dtype == "bfloat16":
            assert not np.isnan((memory.astype(np.uint32) << 16).view(np.float32)).any(), "what no plane has is read"
        return memory


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Hopper:
    found = Hopper()
    monkeypatch.setattr(machine, "launcher_of", found.launcher)
    monkeypatch.setattr("prism.runtime.device.count", lambda: 1)
    monkeypatch.setattr(arrays, "scratch", found.scratch)
    monkeypatch.setattr(machine, "capture_of", lambda stream: 1)  # a graph's memory is lent, call by call
    return found


def multiplied(
    memory: Hopper, shape, layout="NN", *, batch=(), one_b=False, pads=(0, 0, 0), shift=0, alpha=1.0, beta=0.0
):
    """Make a product as a GPU would, compare it, see that nothing is written around it; return which kernels were launched."""
    m, n, k = shape
    rng = np.random.default_rng(m + n + k)
    a, b, c = small(rng, *batch, m, k), small(rng, *(() if one_b else batch), k, n), small(rng, *batch, m, n)
    left, right = (memory.put(x, how, pad)[0] for x, how, pad in zip((a, b), layout, pads, strict=False))
    out, whole = memory.put(c if beta else np.full_like(c, np.nan), "N", pads[2], shift)
    decision = sgemms.decide_sgemm({"a": left, "b": right}, out, gpu(), alpha, beta, "bf16x6")
    memory.make(decision.plan, left, right, out)
    view = np.lib.stride_tricks.as_strided(memory.at(out.pointer), out.shape, out.strides)
    assert np.array_equal(view, alpha * (a @ b) + (beta * c if beta else 0))
    view[...] = np.nan
    assert np.isnan(whole).all() and GUARD, "written beside the result"
    return memory.launched


@pytest.mark.parametrize("layout", LAYOUTS)
def test_launches(memory: Hopper, layout: str) -> None:
    assert multiplied(memory, (40, 36, 50), layout, pads=(1, 2, 4), alpha=2.0) == ["split", "split", "hgemm"]


def test_a_call_follows_its_room(memory: Hopper, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensor maps are of the room that a launch is given."""
    (a, _), (b, _), (out, _) = (memory.put(np.ones((16, 16), np.float32), "N", 0) for _ in range(3))
    plan = sgemms.decide_sgemm({"a": a, "b": b}, out, gpu(), way="bf16x6").plan
    given: list[tuple] = []

    def launcher(instance: Instance, ordinal: int):
        names = [parameter.name for parameter in entry_of(instance.program, "sm_90a").parameters]
        note = lambda blocks, threads, stream, values: given.append(dict(zip(names, values, strict=True)))
        return Launcher(note, tuple(names))

    monkeypatch.setattr(machine, "launcher_of", launcher)
    rooms = iter((1 << 20, 1 << 21, 1 << 20))
    monkeypatch.setattr(arrays, "scratch", lambda *_: (None, next(rooms)))
    monkeypatch.setattr(machine, "capture_of", lambda stream: 1)
    ready = machine.Ready(plan, ("a", "b", OUT), a)
    for _ in range(3):
        ready((a.pointer, b.pointer, out.pointer), 7)
    maps = [{one[name].pointer for name in ("map_a", "map_b")} for one in given[2::3]]
    assert [min(pointers) for pointers in maps] == [1 << 20, 1 << 21, 1 << 20]
    assert [max(pointers) - min(pointers) for pointers in maps] == [16 * 6 * 16 * 2] * 3
    assert {one["map_out"].pointer for one in given[2::3]} == {out.pointer}


@pytest.mark.parametrize("beta", [0.0, -1.0])
def test_parts_of_k(short: None, memory: Hopper, beta: float) -> None:
    launched = multiplied(memory, (36, 40, 130), alpha=2.0, beta=beta)
    assert launched == ["split", "split", "hgemm"] * 3


@pytest.mark.parametrize("beta", [0.0, -1.0])
@pytest.mark.parametrize("n, pad, shift", [(37, 3, 0), (36, 1, 0), (36, 0, 2)])
def test_results_that_tensor_copies_cannot_write(
    short: None, memory: Hopper, n: int, pad: int, shift: int, beta: float
) -> None:
    launched = multiplied(memory, (40, n, 70), pads=(0, 0, pad), shift=shift, alpha=2.0, beta=beta)
    assert launched == [*["split", "split", "hgemm"] * 2, "settle"]


def test_one_b_is_split_once(memory: Hopper) -> None:
    every = ["split", "split", "hgemm"]
    assert multiplied(memory, (20, 24, 30), batch=(3,), pads=(2, 0, 4)) == every * 3
    memory.launched.clear()
    assert multiplied(memory, (20, 24, 30), "TN", batch=(3,), one_b=True, pads=(0, 0, 4)) == [
        *every,
        *["split", "hgemm"] * 2,
    ]


def test_one_b_is_split_again_for_each_part(short: None, memory: Hopper) -> None:
    launched = multiplied(memory, (20, 24, 70), "TN", batch=(2,), one_b=True, pads=(0, 0, 4))
    assert launched == ["split", "split", "hgemm"] * 4
