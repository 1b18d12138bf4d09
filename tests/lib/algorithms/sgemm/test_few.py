"""Products of few rows, the host's side: how B lies, which cut is taken, and a launch, run on the reference machine."""

import numpy as np
import pytest

from prism.host.machine import run_on_host
from prism.host.plan import OUT, Plan
from prism.kernels.sgemm.cut import FewCut
from prism.lib.algorithms.sgemm import few
from prism.lib.algorithms.sgemm.api import products_of
from prism.lib.views import view_of
from prism.runtime.arrays import ArrayInfo, describe


def product(a, b, out, alpha=1.0, beta=0.0):
    (found,) = products_of(*(view_of(name, x) for name, x in (("a", a), ("b", b), (OUT, out))), alpha, beta)
    return found


def lying(rows: int, columns: int, how: str = "C", begins: int = 0) -> ArrayInfo:
    strides = (4 * columns, 4) if how == "C" else (4, 4 * rows)
    return ArrayInfo("cai", "cuda", np.dtype("float32"), (rows, columns), strides, (1 << 40) + 4 * begins, False, 0)


@pytest.mark.parametrize(
    ("n", "k", "how", "begins", "along", "vector"),
    [
        (40, 36, "C", 0, False, 4), (41, 36, "C", 0, False, 1), (40, 37, "C", 0, False, 4), (42, 36, "C", 0, False, 2),
        (40, 36, "C", 1, False, 1), (40, 36, "C", 2, False, 2), (40, 36, "F", 0, True, 4), (41, 36, "F", 0, True, 4),
        (40, 37, "F", 0, True, 1), (40, 38, "F", 0, True, 2), (1, 36, "F", 0, True, 4),
    ],
)  # fmt: skip
def test_how_b_lies(n: int, k: int, how: str, begins: int, along: bool, vector: int) -> None:
    """What is of the other way of lying is as if it were not there."""
    found = few.fit(FewCut(2, lanes=8, side=1), product(lying(2, k), lying(k, n, how, begins), lying(2, n)))
    assert (found.along, found.vector) == (along, vector)
    assert (found.lanes, found.side) == ((32, 1) if along else (8, 4))


def test_elements_that_lie_apart() -> None:
    apart = ArrayInfo("cai", "cuda", np.dtype("float32"), (36, 40), (4 * 80, 8), 1 << 40, False, 0)
    assert few.fit(FewCut(2), product(lying(2, 36), apart, lying(2, 40))).vector == 0


@pytest.mark.parametrize(("k", "some"), [(1 << 30, True), ((1 << 30) + 1, False)])
def test_a_long_axis_is_left_to_others(k: int, some: bool) -> None:
    """What is asked for behind its end has a number of 32 bits."""
    assert any(few.ways(product(lying(1, k), lying(k, 1), lying(1, 1)), 132)) == some


def test_what_is_chosen() -> None:
    """Rows to the next of 1, 2, 4, 8 and 16, more parts for few columns; none of more rows."""

    def best(m: int, n: int, k: int) -> FewCut:
        ways = few.ways(product(lying(m, k), lying(k, n), lying(m, n)), 132)
        return min(ways, key=lambda way: way[1])[0]

    assert [best(m, 512, 512).rows for m in (1, 2, 3, 5, 9, 16)] == [1, 2, 4, 8, 16, 16]
    assert not list(few.ways(product(lying(17, 64), lying(64, 64), lying(17, 64)), 132))
    assert best(1, 64, 4096).parts == 8 > best(1, 1 << 16, 4096).parts


@pytest.mark.parametrize("how", ["C", "F"])
def test_a_launch(how: str) -> None:
    rng = np.random.default_rng(0)
    a, b, out = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((3, 200), (200, 70), (3, 70)))
    held = np.asarray(b, order=how)
    wanted = 2 * (a @ b) - out
    found = product(describe(a), describe(held), describe(out), 2.0, -1.0)
    step = few.step_of(found, FewCut(4, 2))
    flat = {"a": a.reshape(-1), "b": held.ravel(order="K"), OUT: out.reshape(-1)}
    arrays = {name: describe(x) for name, x in flat.items()}
    run_on_host(Plan((step,)), arrays, check=True)
    assert np.array_equal(out, wanted)
