"""What is chosen for products of random shapes, beside what was measured there, on an H200 (asv_bench/random_products.py).

Tests of prism/lib/algorithms/sgemm/choice.py, prism/lib/algorithms/sgemm/facts.py; kernels/hgemm/singles.py, estimate.py and
correction.py.
"""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from prism.kernels.hgemm import choose_single
from prism.kernels.hgemm.configurations import resident_clusters
from prism.kernels.hgemm.correction import read_trees
from prism.kernels.hgemm.singles import forms
from prism.kernels.sgemm.cut import FewCut
from prism.lib.algorithms.sgemm import api as sgemms
from prism.lib.algorithms.sgemm.choice import TREES, name_of, ways
from prism.lib.algorithms.sgemm.facts import facts_of
from prism.lib.algorithms.sgemm.few import fit
from prism.lib.views import view_of
from prism.runtime.arrays import ArrayInfo

HOPPER = SimpleNamespace(host=False, arch="sm_90a", multiprocessors=132)


def table(name: str) -> dict[str, dict[str, float]]:
    """Return microseconds by shape and by way, of those within 1.5 of the best; those of cuBLAS too."""
    found: dict[str, dict[str, float]] = json.loads(Path(__file__).with_name(name).read_text())
    return found


def parsed(text: str) -> tuple[int, int, int, str]:
    size, layout = text.split()
    m, n, k = map(int, size.split("x"))
    return m, n, k, layout


def product_of(m: int, n: int, k: int, layout: str):
    """Return a product of float32 as the library has it."""

    def lying(name, rows, columns, how):
        strides = (4 * columns, 4) if how == "N" else (4, 4 * rows)
        return view_of(name, ArrayInfo("cai", "cuda", np.dtype("float32"), (rows, columns), strides, 1 << 40, False, 0))

    a, b, out = lying("a", m, k, layout[0]), lying("b", k, n, layout[1]), lying("out", m, n, "N")
    (product,) = sgemms.products_of(a, b, out, 1.0, 0.0)
    return product


def way_of(text: str) -> str:
    """Return what `sgemm` chooses for a shape, as the table names it."""
    product = product_of(*parsed(text))
    way = sgemms.choose_way(product, "auto", HOPPER)
    assert not isinstance(way, FewCut) or way == fit(way, product)
    return name_of(way)


def hgemm_of(text: str) -> str:
    m, n, k, layout = parsed(text)
    return choose_single(m, n, k, 132, (layout[0] == "T", layout[1] == "N")).name


@pytest.mark.check  # of measurements that are recorded, and not of code that runs
@pytest.mark.parametrize(
    ("name", "way", "mean", "most", "beside"),
    [("hgemm_random.json", hgemm_of, 1.03, 1.12, 1.18), ("sgemm_random.json", way_of, 1.035, 1.25, 1.15)],
)  # fmt: skip
def test_what_is_chosen_is_near_the_best(name: str, way, mean: float, most: float, beside: float) -> None:
    """Of shapes that the models were fitted to: `mean` times as long as the best in the mean, and `most` at 19 of 20.

    `beside`: the geometric mean of cuBLAS's time by its own. What was not measured at a shape is chosen at up to one of three:
    half of the shapes were measured before there were tiles of any width.
    """
    seen = table(name)
    chosen = {text: way(text) for text in seen}
    known = {text: seen[text][found] for text, found in chosen.items() if found in seen[text]}
    assert len(known) >= 0.6 * len(seen)
    behind = [took / min(us for one, us in seen[text].items() if one != "cuBLAS") for text, took in known.items()]
    assert math.exp(np.log(behind).mean()) <= mean and np.percentile(behind, 95) <= most
    assert math.exp(np.mean([math.log(seen[text]["cuBLAS"] / took) for text, took in known.items()])) >= beside


@pytest.mark.parametrize(
    "text", ["8880x14656x64 TN", "6304x12432x80 TN", "541x120x1016 NT", "150x696x1656 NT", "452x320x3904 NT"]
)
def test_parts_of_k_are_of_one_round(text: str) -> None:
    """Clusters that have parts of K run all at once: further rounds were chosen, and took two to nine times as long as told."""
    m, n, k, layout = parsed(text)
    outside = layout[0] == "T", layout[1] == "N"
    found = choose_single(m, n, k, 132, outside)
    size = (n, m) if found.transposes_out(found.packed_layout(outside)) else (m, n)
    assert found.parts == 1 or math.prod(found.tiles(*size)) <= resident_clusters(found, 132)
    large = forms(8192, 8192, 64, 132, outside).some
    assert large and all(one.parts == 1 for one in large), "a large result has more tiles than run"


@pytest.mark.parametrize("text", ["4x96x77 NT", "64x64x64 NN", "301x785x945 TT", "2000x3000x100 TN"])
def test_facts_of_all_ways_are_as_many_and_tell_them_apart(text: str) -> None:
    """Trees ask for no others; a fact that is no number would be of no side of a node."""
    product = product_of(*parsed(text))
    rows = [tuple(facts_of(product, way, told, 132)) for way, told in ways(product, 132)]
    features, _, _ = read_trees(TREES)
    assert {len(row) for row in rows} == {len(rows[0])} and features.max() < len(rows[0])
    assert len(set(rows)) == len(rows) and all(map(math.isfinite, sum(rows, ())))
