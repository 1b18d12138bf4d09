"""Products of float32 whose epilogue is a function, on the reference machine, with all its checks: kernels, extras, batches.

Tests kernels/sgemm/finish.py, prism/lib/algorithms/sgemm/fused.py and prism/lib/algorithms/matmul/epilogues.py.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import prism
from prism.host.machine import run_step
from prism.host.plan import OUT, Buffer
from prism.interpret import SCHEDULES, schedules
from prism.kernels.sgemm import ring_configurations as rings
from prism.kernels.sgemm.cut import FewCut
from prism.lang import float32
from prism.lang.types.structs import dtype_called
from prism.lib.algorithms.hgemm.epilogue import REDUCED, SECOND, asked_for
from prism.lib.algorithms.sgemm.api import decide_sgemm
from prism.lib.epilogues import reduce, relu
from prism.runtime.arrays import describe
from prism.runtime.build import entry_of

GPU = SimpleNamespace(host=False, arch="sm_90a", multiprocessors=2, wave=lambda *_: 2)
AFTER = lambda x, i, j, bias, rows, before, k: max(x + bias, 0.0) * rows + before * k + float32(i - j)


def small(rng, *shape, kind=np.float32):
    return rng.integers(-3, 4, shape).astype(kind)


def wanted(sums, bias, rows, before, k):
    """What AFTER makes of a product, or a batch."""
    places = np.arange(sums.shape[-2])[:, None] - np.arange(sums.shape[-1])
    return np.maximum(sums + bias, 0) * rows.astype(np.float32) + before.astype(np.float32) * k + places


def made(arrays, results, epilogue, extra, *, cut, way="ring", schedule="round-robin", seed=0, **how) -> list[str]:
    """Run what a GPU would be given, on NumPy arrays; return the kernels' names. `results`: by name."""
    infos = {name: describe(x, name) for name, x in arrays.items()}
    out = describe(results[OUT]) if len(results) == 1 else None
    given = tuple(None if isinstance(one, np.ndarray) else one for one in extra)
    decision = decide_sgemm(infos, out, GPU, cut=cut, way=way, epilogue=asked_for(epilogue), extra=given, **how)
    assert decision.plan is not None, decision.copied
    room = np.full(decision.plan.scratch, 255, np.uint8)

    def found(buffer: Buffer, scalar: str):
        array = {**arrays, **results}.get(buffer.name, room)
        base = array if array.base is None else array.base
        begin = array.__array_interface__["data"][0] - base.__array_interface__["data"][0] + buffer.offset
        return base.reshape(-1).view(np.uint8)[begin:].view(dtype_called(scalar))

    for step in decision.plan.steps:
        run_step(step, found, check=True, schedule=schedule, seed=seed)
    return [step.instance.kernel.__qualname__ for step in decision.plan.steps]


def exact(m, n, k, cut, layout="TN", *, kind=np.float32, gap=4, beta=0.0, two=False, **options) -> list[str] | None:
    """Return the kernels that made a product with extras of every kind, if it is right, and nothing beside it is written."""
    rng = np.random.default_rng(m + n + k)
    a, b = small(rng, m, k), small(rng, k, n)
    left = a if layout[0] == "N" else np.ascontiguousarray(a.T).T
    right = b if layout[1] == "N" else np.ascontiguousarray(b.T).T
    extra = small(rng, n), small(rng, m, 1, kind=np.float16), small(rng, m, n, kind=kind), 2
    arrays = {"a": left, "b": right, **{f"extra[{x}]": one for x, one in enumerate(extra[:3])}}
    old = small(rng, m, n)
    room = np.full((m, n + (0 if two else gap)), np.nan, np.float32)
    results = {OUT: room[:, :n]}
    if beta:
        room[:, :n] = old
        arrays["c"] = old
    epilogue = AFTER
    if two:
        results[SECOND] = np.full((m, n), np.nan, np.float32)
        epilogue = (AFTER, lambda x, bias, rows, before, k: x - bias)
    names = made(arrays, results, epilogue, extra, cut=cut, alpha=2.0, beta=beta, **options)
    sums = 2 * (a @ b) + beta * old
    right = np.array_equal(room[:, :n], wanted(sums, *extra)) and np.isnan(room[:, n:]).all()
    if two:
        right = right and np.array_equal(results[SECOND], sums - extra[0])
    return names if right else None


def shares(m, n, k, share):
    """A small tile, and so many steps of K for each block."""
    return rings.cut_in(rings.HOST, m, n, k, share)


@pytest.mark.parametrize(("schedule", "seed"), schedules(len(SCHEDULES) + 1))
def test_schedules(schedule: str, seed: int) -> None:
    assert exact(36, 68, 100, shares(36, 68, 100, 9), schedule=schedule, seed=seed) == ["ring_fused"]


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int32])
@pytest.mark.parametrize("beta", [0.0, 0.5])
@pytest.mark.parametrize("n", [68, 71])
def test_whole_tiles(layout: str, kind: type, beta: float, n: int) -> None:
    """Rows of the result that are whole words, and others, whose sums are turned."""
    names = exact(67, n, 40, shares(67, n, 40, 9), layout, kind=kind, beta=beta, gap=4 - n % 4)
    assert names is not None and names[-1] == "ring_fused"


@pytest.mark.parametrize(("n", "gap"), [(132, 4), (130, 1)])
def test_parts_of_k(n: int, gap: int) -> None:
    """The ring leaves parts, with no epilogue, and `combine` has it."""
    assert exact(36, n, 100, shares(36, n, 100, 3), gap=gap) == ["ring", "combine_fused"]
    assert exact(36, n, 100, shares(36, n, 100, 1), gap=gap, beta=0.5) == ["ring", "combine_fused"]


@pytest.mark.parametrize("layout", ["NN", "NT"])
@pytest.mark.parametrize("parts", [1, 4])
def test_few_rows(layout: str, parts: int) -> None:
    assert exact(7, 50, 300, FewCut(8, parts), layout, gap=0) == ["few_fused"]
    assert exact(1, 33, 70, FewCut(2, parts), layout, gap=3, beta=0.5) == ["few_fused"]


@pytest.mark.parametrize(
    "cut", [shares(36, 68, 100, 9), shares(36, 68, 100, 2), FewCut(64, 1)], ids=["whole", "parts", "few"]
)
def test_a_second_result(cut) -> None:
    names = exact(
        36 if not isinstance(cut, FewCut) else 5, 68, 100, cut if not isinstance(cut, FewCut) else FewCut(8), two=True
    )
    assert names is not None


@pytest.mark.parametrize("variant", ["naive", "tiled", "async", "ring"])
def test_other_variants_are_finished(variant: str) -> None:
    """What has no kernel of its own is finished by one more launch; as the library is called, on the reference machine."""
    rng = np.random.default_rng(0)
    a, b = small(rng, 20, 30), small(rng, 30, 26)
    extra = small(rng, 26), small(rng, 20, 1), small(rng, 20, 26), 2
    found = prism.lib.sgemm(a, b, epilogue=AFTER, extra=extra, variant=variant)
    assert np.array_equal(found, wanted(a @ b, *extra))


def test_a_result_whose_columns_are_dense() -> None:
    """Then the transpose is made, and rows are columns."""
    rng = np.random.default_rng(1)
    a, b, out = small(rng, 20, 30), small(rng, 30, 26), np.empty((26, 20), np.float32).T
    extra = small(rng, 26), small(rng, 20, 1), small(rng, 20, 26), 2
    for variant in ("auto", "ring"):
        out[:] = np.nan
        assert prism.lib.sgemm(a, b, epilogue=AFTER, extra=extra, out=out, variant=variant) is out
        assert np.array_equal(out, wanted(a @ b, *extra))


def test_a_batch() -> None:
    """Each product has rows of the extras of its own, and counts its rows from 0."""
    rng = np.random.default_rng(2)
    for b in (small(rng, 3, 30, 26), small(rng, 30, 26)):
        a, extra = small(rng, 3, 20, 30), (small(rng, 26), small(rng, 3, 20, 1), small(rng, 3, 20, 26), 2)
        for out in (None, np.empty((3, 26, 20), np.float32).transpose(0, 2, 1)):
            found = prism.lib.sgemm(a, b, epilogue=AFTER, extra=extra, out=out)
            assert np.array_equal(found, wanted(a @ b, *extra))
        first, other = prism.lib.sgemm(a, b, epilogue=(None, lambda x: -x))
        assert np.array_equal(first, a @ b) and np.array_equal(other, -(a @ b))


def test_nothing_to_add_up_and_nothing_to_make() -> None:
    """Where K is 0, or alpha, sums are 0, and the epilogue is of these; a result of no elements has none."""
    empty, bias = np.empty((3, 0), np.float32), np.array([-1, 2], np.float32)
    for a, b, alpha in ((empty, empty[:2].T, 1.0), (np.ones((3, 4), np.float32), np.ones((4, 2), np.float32), 0.0)):
        found = prism.lib.sgemm(a, b, alpha=alpha, epilogue=lambda x, c: relu(x + c), extra=bias)
        assert np.array_equal(found, [[0, 2]] * 3)
    first, other = prism.lib.sgemm(empty.T, empty[:, :2], epilogue=(None, relu))
    assert first.shape == other.shape == (0, 0) or first.shape == (0, 2)


def test_results_that_are_given() -> None:
    """Of two epilogues a tuple of arrays, to which they are copied; of one an array, which may be an extra too."""
    rng = np.random.default_rng(3)
    a, b = small(rng, 20, 30), small(rng, 30, 26)
    two = np.empty((20, 26), np.float32), np.empty((20, 52), np.float32)[:, ::2]
    found = prism.lib.sgemm(a, b, epilogue=(None, lambda x: x + 1.0), out=two)
    assert found[0] is two[0] and np.array_equal(two[0], a @ b) and np.array_equal(two[1], a @ b + 1)
    before = small(rng, 20, 26)
    sums = a @ b + before
    assert np.array_equal(prism.lib.sgemm(a, b, epilogue=lambda x, y: x + y, extra=before, out=before), sums)
    assert np.array_equal(before, sums)


def test_an_old_result() -> None:
    """`c` is added before the epilogue, of two results too."""
    rng = np.random.default_rng(4)
    a, b, c = small(rng, 20, 30), small(rng, 30, 26), small(rng, 20, 26)
    found = prism.lib.sgemm(a, b, c, alpha=2.0, beta=-1.0, epilogue=relu)
    assert np.array_equal(found, np.maximum(2 * (a @ b) - c, 0))
    two = (lambda x, y: max(x + y, 0.0), None)  # None takes nothing besides
    first, other = prism.lib.sgemm(a, b, c, beta=1.0, epilogue=two, extra=c)
    assert np.array_equal(first, np.maximum(a @ b + 2 * c, 0)) and np.array_equal(other, a @ b + c)
    with pytest.raises(TypeError, match="`epilogue` takes 1 argument"):
        prism.lib.sgemm(a, b, epilogue=relu, extra=c)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (36, 68), (5, 130), (131, 33), (700, 129)])
def test_reductions(axis: int, m: int, n: int) -> None:
    """Of rows and of columns, beside two results, at every edge of tiles, in a short tile and in a long one."""
    rng = np.random.default_rng(m + n)
    a, b, bias = small(rng, m, 20), small(rng, 20, n), small(rng, n)
    sums = a @ b
    results = {OUT: np.full((m, n), np.nan, np.float32), SECOND: np.full((m, n), np.nan, np.float32)}
    results[REDUCED] = np.full(n if axis == 0 else m, np.nan, np.float32)
    after = (lambda x, c: x + c, reduce(lambda x, c: x * x - c, axis=axis), None)
    names = made(
        {"a": a, "b": b, "extra[0]": bias}, results, after, (bias,), cut=None, way="auto", schedule="random", seed=m
    )
    assert names[-2:] == ["finish_reduced", "combine_parts"]
    assert np.array_equal(results[OUT], sums + bias) and np.array_equal(results[SECOND], sums)
    assert np.array_equal(results[REDUCED], (sums * sums - bias).sum(axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_of_any_layout(axis: int) -> None:
    """Of a result whose columns are dense, of a maximum, with `c`; of nothing it is what the operator begins with."""
    rng = np.random.default_rng(5)
    a, b, c = small(rng, 20, 30), small(rng, 30, 26), small(rng, 20, 26)
    given = np.empty((26, 20), np.float32).T, np.empty(26 if axis == 0 else 20, np.float32)
    sums = a @ b - c
    found = prism.lib.sgemm(a, b, c, beta=-1.0, epilogue=(None, reduce(op="maximum", axis=axis)), out=given)
    assert found[0] is given[0] and np.array_equal(given[0], sums) and np.array_equal(given[1], sums.max(axis))
    below = prism.lib.sgemm(a, b, epilogue=(None, reduce(lambda x: -1.0 - abs(x), op="maximum", axis=axis)))[1]
    assert np.array_equal(below, (-1 - abs(a @ b)).max(axis))  # nothing is 0, where the result ends
    turned, most = prism.lib.sgemm(b.T, a.T, epilogue=(None, reduce(op="minimum", axis=axis)))
    assert np.array_equal(turned, (a @ b).T) and np.array_equal(most, (a @ b).min(1 - axis))
    y, total = prism.lib.sgemm(a[:0], b, epilogue=(None, reduce(axis=0)))
    assert y.shape == (0, 26) and np.array_equal(total, np.zeros(26))
    y, most = prism.lib.sgemm(a, b[:, :0], epilogue=(None, reduce(op="maximum", axis=1)))
    assert y.shape == (20, 0) and np.array_equal(most, np.full(20, -np.inf))


def test_bad_calls() -> None:
    a, b = np.ones((4, 6), np.float32), np.ones((6, 5), np.float32)
    with pytest.raises(ValueError, match="`extra\\[0\\]` must have shape"):
        prism.lib.sgemm(a, b, epilogue=lambda x, y: x + y, extra=np.ones(3, np.float32))
    with pytest.raises(TypeError, match="`epilogue` takes 2 arguments"):
        prism.lib.sgemm(a, b, epilogue=lambda x, y: x + y)
    with pytest.raises(ValueError, match="not of a batch: reduce the result"):
        prism.lib.sgemm(a[None], b, epilogue=(None, reduce(relu, op="maximum", axis=1)))
    with pytest.raises(ValueError, match="at most one reduction"):
        prism.lib.sgemm(a, b, epilogue=(None, reduce(), reduce(axis=0)))
    with pytest.raises(ValueError, match="at most one reduction"):
        prism.lib.sgemm(a, b, epilogue=(reduce(),))
    with pytest.raises(TypeError, match="`out` must be a tuple of 2 arrays"):
        prism.lib.sgemm(a, b, epilogue=(None, reduce()), out=np.empty((4, 5), np.float32))
    with pytest.raises(TypeError, match="`out` must be a tuple of 2 arrays"):
        prism.lib.sgemm(a, b, epilogue=(None, relu), out=np.empty((4, 5), np.float32))
    with pytest.raises(ValueError, match="`out` is a tuple of 2"):
        prism.lib.sgemm(a, b, epilogue=relu, out=(a, b))
    with pytest.raises(TypeError, match="must be a device function"):
        prism.lib.sgemm(a, b, epilogue=3)


def test_no_barrier_is_added() -> None:
    """A kernel with an epilogue waits as often as that without: records are read by who needs them."""
    arrays = {name: describe(np.ones(shape, np.float32)) for name, shape in (("a", (36, 40)), ("b", (40, 68)))}
    waits = []
    for epilogue in (None, asked_for(lambda x: x + 1.0)):
        decision = decide_sgemm(arrays, None, GPU, cut=shares(36, 68, 40, 9), way="ring", epilogue=epilogue)
        (step,) = decision.plan.steps
        text = entry_of(step.instance.program, "sm_90a").source
        waits.append((text.count("mbarrier_wait("), text.count("bar.sync"), text.count("__syncthreads")))
    assert waits[0] == waits[1]
    assert any(waits[0])
