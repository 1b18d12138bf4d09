"""Products of 16-bit floats for GPUs without `wgmma`, on the reference machine, with all its checks; compiled for these GPUs.

Tests kernels/hgemm/warps.py and prism/lib/algorithms/hgemm/by_warps.py.
"""

from dataclasses import replace
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from prism.host.call import Result
from prism.host.machine import run_step
from prism.host.plan import OUT, Buffer, Scratch
from prism.interpret import SCHEDULES, schedules
from prism.kernels.hgemm import identity
from prism.kernels.hgemm.warps import HOST, TILES, WarpCut, choose_warps
from prism.lang.types.structs import dtype_called
from prism.lib.algorithms.hgemm import by_warps
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.algorithms.hgemm.epilogue import asked_for
from prism.lib.views import view_of
from prism.runtime.arrays import describe
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from tests.rarely import rarely

ARCHS = "sm_80", "sm_86", "sm_89", "sm_100a", "sm_120a"
AFTER = lambda x, i, j, bias, rows, before, k: max(x + bias, 0.0) * rows + before * k + (1.0 if i == j else 0.0)


def gpu(arch: str = "sm_80") -> SimpleNamespace:
    return SimpleNamespace(host=False, arch=arch, multiprocessors=2, wave=lambda *_: 2)


def small(rng, *shape, kind=np.float16):
    return rng.integers(-2, 3, shape).astype(kind)


def apart(x):
    """The same in rows that begin at multiples of 16 bytes, and have room behind them."""
    m, n = x.shape
    room = np.ones((m, (n + 7) // 8 * 8 + 8), x.dtype)
    room[:, :n] = x
    return room[:, :n]


def run(decision, arrays, **options) -> list[str]:
    """Run what a GPU would be given, on NumPy arrays and parts of them; return the kernels' names."""
    assert decision.plan is not None, decision.copied

    def found(buffer: Buffer, scalar: str):
        one = arrays[buffer.name]
        base = one if one.base is None else one.base
        begin = one.__array_interface__["data"][0] - base.__array_interface__["data"][0] + buffer.offset
        return base.reshape(-1).view(np.uint8)[begin:].view(dtype_called(scalar))

    for step in decision.plan.steps:
        run_step(step, found, check=True, **options)
    return [step.instance.kernel.__qualname__ for step in decision.plan.steps]


def exact(
    m, n, k, cut: WarpCut | None = HOST, layout="NN", *, kind=np.float16, result=np.float32, monkeypatch=None, **options
):
    """Whether a product with extras of every kind is what it should be."""
    rng = np.random.default_rng(m + n + k)
    a, b = small(rng, m, k, kind=kind), small(rng, k, n, kind=kind)
    left = apart(a) if layout[0] == "N" else apart(np.ascontiguousarray(a.T)).T
    right = apart(b) if layout[1] == "N" else apart(np.ascontiguousarray(b.T)).T
    extra = small(rng, n, kind=kind), small(rng, m, 1, kind=np.float32), small(rng, m, n, kind=np.float32), 2
    room = np.full((m, n + 3), np.nan, np.float32).astype(result)
    arrays = {"a": left, "b": right, **{f"extra[{e}]": x for e, x in enumerate(extra[:3])}, OUT: room[:, :n]}
    infos = {name: describe(x, name) for name, x in arrays.items() if name != OUT}
    given = tuple(None if isinstance(one, np.ndarray) else one for one in extra)
    out = describe(arrays[OUT])
    if cut is not None:
        monkeypatch.setattr(by_warps, "choose_warps", lambda *_: cut)
    decision = decide_hgemm(infos, out, gpu(), epilogue=asked_for(AFTER), extra=given)
    names = run(decision, arrays, **options)
    bias, rows, before, s = (np.asarray(one, np.float32) for one in extra)
    wanted = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, 0) * rows + before * s + np.eye(m, n)
    assert np.isnan(room[:, n:]).all(), "written beside the result"
    return names == ["hgemm_by_warps"] and np.array_equal(room[:, :n], wanted.astype(result))


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES) + 1))
def test_schedules(schedule: str, seed: int, monkeypatch) -> None:
    assert exact(72, 72, 200, schedule=schedule, seed=seed, monkeypatch=monkeypatch)


@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
def test_layouts(layout: str, kind: type, monkeypatch) -> None:
    for m, n, k in ((72, 40, 72), (1, 130, 65), (65, 1, 130), (64, 64, 64)):
        assert exact(m, n, k, layout=layout, kind=kind, result=kind, monkeypatch=monkeypatch)


@pytest.mark.parametrize("k", [1, 8, 63, 64, 65, 129])
def test_every_number_of_steps(k: int, monkeypatch) -> None:
    assert exact(10, 20, k, monkeypatch=monkeypatch)


@pytest.mark.parametrize("cut", rarely(TILES, but=[TILES[0], TILES[-1]]), ids=str)
def test_tiles(cut: WarpCut, monkeypatch) -> None:
    assert exact(140, 260, 72, cut, "NT", schedule="random", monkeypatch=monkeypatch)


def test_what_is_asked_of_it() -> None:
    """Batches, terms, results whose columns are dense; what lies otherwise is copied first, by `call`."""
    rng = np.random.default_rng(0)
    a, b, c = small(rng, 3, 24, 40), small(rng, 3, 40, 16), small(rng, 3, 24, 16)
    out = np.zeros((3, 24, 16), np.float16)
    arrays = {"a": a, "b": b, "c": c, OUT: out}
    infos = {name: describe(x, name) for name, x in arrays.items()}
    decision = decide_hgemm({name: infos[name] for name in "abc"}, infos[OUT], gpu(), alpha=2.0, beta=-1.0)
    assert run(decision, arrays) == ["hgemm_by_warps"] * 3
    assert np.array_equal(out, 2 * (a @ b) - c)
    arrays = {"a": a, "b": b[0], OUT: out}
    infos = {name: describe(x, name) for name, x in arrays.items()}
    decision = decide_hgemm({name: infos[name] for name in "ab"}, infos[OUT], gpu())
    assert run(decision, arrays) == ["hgemm_by_warps"]
    assert np.array_equal(out, a @ b[0])
    turned = np.zeros((16, 24), np.float16).T
    arrays = {"a": a[0], "b": b[0], OUT: turned}
    infos = {name: describe(x, name) for name, x in arrays.items()}
    decision = decide_hgemm({name: infos[name] for name in "ab"}, infos[OUT], gpu())
    assert run(decision, arrays) == ["hgemm_by_warps"] and np.array_equal(turned, a[0] @ b[0])
    infos = {"a": describe(a[0][:, ::2], "a"), "b": describe(b[0][::2], "b")}
    assert decide_hgemm(infos, None, gpu()).copied == ("a",)


def test_nothing_to_add_up() -> None:
    a, b, out = np.zeros((5, 0), np.float16), np.zeros((0, 3), np.float16), np.full((5, 3), np.nan, np.float16)
    infos = {"a": describe(a, "a"), "b": describe(b, "b")}
    decision = decide_hgemm(infos, describe(out), gpu(), epilogue=asked_for(lambda x: x + 1.0))
    run(decision, {"a": a, "b": b, OUT: out})
    assert (out == 1).all()


@pytest.mark.parametrize("arch", ARCHS)
def test_compiled(arch: str) -> None:
    """Machine code for each architecture, which spills nothing, and has room in shared memory."""
    for cut in TILES:
        a, b = np.zeros((64, 64), ml_dtypes.bfloat16), np.zeros((64, 64), ml_dtypes.bfloat16)
        infos = {"a": describe(a, "a"), "b": describe(b, "b")}
        number = by_warps.arch_of(gpu(arch))
        if choose_warps(cut.bm * 100, cut.bn * 100, 4096, 132, number).room < cut.room:
            continue
        product = by_warps.with_function(product_of(infos))
        result = Result((64, 64), np.dtype(np.float16))
        step = by_warps.decide_by_warps([product], result, gpu(arch), None, Scratch(), cut).plan.steps[0]
        made = compile_cubin(entry_of(step.instance.program, arch).source, arch)
        assert made.spills == 0, (cut, made.registers)


def product_of(infos):
    """The product that `hgemm` makes of two arrays."""
    from prism.lib.algorithms.hgemm.product import Product
    from prism.lib.views import new_view

    a, b = (view_of(name, infos[name]) for name in "ab")
    out = new_view(OUT, a.scalar, (a.shape[0], b.shape[1]))
    return Product(a, b, out, None, None, 0, None, None, 1.0, 0.0, identity)


def test_tiles_leave_room() -> None:
    for arch in (80, 86, 89, 100, 120):
        for m, n, k in ((1, 4096, 4096), (512, 512, 512), (4096, 4096, 4096), (8192, 8192, 8192)):
            cut = choose_warps(m, n, k, 108, arch)
            assert cut.blocks * cut.room <= {80: 163, 100: 227}.get(arch, 99) * 1024
            assert replace(cut, outside_a=True).outer_a == 64
