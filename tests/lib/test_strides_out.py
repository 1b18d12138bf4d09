"""`out=` of any strides: what kernels assume of the places of results holds in every call, and what overlaps is made beside."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import prism
from prism.host.axes import c_strides, collapse
from prism.lang.intrinsics.layouts import nest

SHAPES = [(3, 5), (1, 5), (3, 1), (1, 1), (2, 3, 5), (2, 1, 5), (1, 3, 5), (2, 3, 1)]


def layouts(shape: tuple[int, ...]):
    """Arrays of zeros of a shape, with their memory: in each order, with gaps, backwards, with any stride of 1 element."""
    n = len(shape)
    for order in (range(n), range(n)[::-1], (*range(n)[1:], 0)):
        for gap in (0, 3):
            strides, step = [0] * n, 1
            for k in [*order][::-1]:
                strides[k] = step if shape[k] > 1 else 7
                step *= shape[k] + gap
            memory = np.zeros(2 * step + 8, np.float32)
            yield as_strided(memory, shape, [4 * s for s in strides]), memory
            back = as_strided(memory, shape, [4 * s for s in strides])
            yield (back[..., ::-1, :] if n > 1 else back[::-1]), memory


@pytest.mark.covering(1)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("variant", ["auto", "warps"])
def test_sgemm_writes_results_of_any_strides(shape: tuple[int, ...], variant: str) -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(-4, 5, (*shape[:-1], 4)).astype(np.float32)
    b = rng.integers(-4, 5, (*shape[:-2], 4, shape[-1])).astype(np.float32)
    for out, memory in layouts(shape):
        memory[:] = 0
        assert prism.lib.sgemm(a, b, out=out, variant=variant) is out
        assert np.array_equal(out, a @ b)
        assert np.count_nonzero(memory) <= np.count_nonzero(a @ b)


@pytest.mark.parametrize("strides", [(0, 20, 4), (4, 20, 4), (60, 0, 4), (8, 20, 4)])
def test_results_that_overlap_are_made_beside_and_copied(strides: tuple[int, ...]) -> None:
    a, b = np.ones((2, 3, 4), np.float32), np.ones((2, 4, 5), np.float32)
    memory = np.zeros(64, np.float32)
    out = as_strided(memory, (2, 3, 5), strides)
    prism.lib.sgemm(a, b, out=out)
    assert (out == 4).all()


def test_places_of_reductions_nest_whatever_the_array() -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        shape = tuple(int(n) for n in rng.integers(1, 5, 4))
        order = rng.permutation(4)
        x = np.zeros([shape[k] for k in order]).transpose(np.argsort(order))
        axes = tuple(k for k in range(4) if rng.integers(2))
        strides = tuple(s // 8 * int(rng.choice((-1, 1))) for s in x.strides)
        for found in (collapse(shape, strides, axes), collapse(shape, c_strides(shape), axes)):
            if found is not None:
                assert nest(((found.outer, found.outer_step), (1, 0), (found.inner, found.inner_step)))
                assert nest(((found.outer, 3 * found.inner), (3, found.inner), (found.inner, 1)))
