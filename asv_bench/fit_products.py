"""Fit the trees that say what the models of products have wrong, to what was measured at random shapes.

    python asv_bench/fit_products.py [--of hgemm|sgemm] [--folds 6] [--write]

Reads tests/kernels/hgemm_random.json, or sgemm_random.json: microseconds by shape and by form, as `random_products.py --fit`
measures them; of 8-bit floats K is that of 16-bit ones. Prints how long what is chosen takes beside the best that was measured,
at shapes that a fit did not see (`--folds`), and with `--write` writes the trees.npy of their kernels, of all shapes.

Trees are whole ones of few levels, one after the other fitted to what those before left of the times' logarithms. Of each shape
the mean is taken away: only which form is faster counts, and of those that are near the best above all.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from random_products import PROCESSORS, Shape, sgemm_of

from prism.kernels.hgemm import Configuration
from prism.kernels.hgemm import estimate as hgemm_model
from prism.kernels.hgemm.candidates import all_cuts, parse_shape
from prism.kernels.hgemm.configuration import PACKED
from prism.kernels.hgemm.correction import FILE, write_trees
from prism.kernels.hgemm.singles import more_forms
from prism.lib.algorithms.sgemm.choice import TREES as SGEMM
from prism.lib.algorithms.sgemm.choice import name_of, ways
from prism.lib.algorithms.sgemm.facts import facts_of

ROOT = Path(__file__).parents[1]
CLOCK = 1980  # clocks a microsecond
DEPTH, TREES, RATE, BINS, LEAST, COLUMNS, SHAPES, WEIGHT, NEARER = 7, 300, 0.08, 32, 12, 0.4, 0.8, 3.0, 4.0
"""Levels; how many trees; how much each is believed; thresholds of a fact; forms of a side of a node, at least; shares of the
facts and of the shapes that a tree sees; forms that each leaf is taken to have had besides, which were as told; how much less a
form counts that takes longer than the best: e to the minus that, for each e-fold."""
TABLES = {"hgemm": ("hgemm_random.json", FILE), "sgemm": ("sgemm_random.json", SGEMM)}
"""What was measured, and where trees are kept."""
Many = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass
class Data:
    """What was measured: facts of each form at a shape, the logarithms of told clocks and of how much longer it took."""

    facts: Many
    told: Many
    more: Many
    shape: Whole

    def take(self, chosen: NDArray[np.bool_]) -> Data:
        """Return some of it."""
        return Data(self.facts[chosen], self.told[chosen], self.more[chosen], self.shape[chosen])


# -- Reading ----------------------------------------------------------------------------------------------------------


def read(of: str = "hgemm") -> Data:
    """Return what was measured."""
    table = json.loads((ROOT / "tests" / "kernels" / TABLES[of][0]).read_text())
    facts, told, times, shape = zip(*(rows_of if of == "hgemm" else rows_of_sgemm)(table), strict=True)
    clocks = np.log(np.concatenate(told))
    more = np.log(np.concatenate(times) * CLOCK) - clocks
    return Data(np.concatenate(facts), clocks, more, np.concatenate(shape))


def rows_of(table: dict[str, dict[str, float]]) -> Iterator[tuple[Many, Many, Many, Whole]]:
    """Yield the facts, told clocks and times of forms at each shape."""
    for number, (text, seen) in enumerate(table.items()):
        (m, n, k), layout = parse_shape(text)
        known = {one.name: one for one in (*all_cuts(), *more_forms(layout).some)}
        some = {name: known.get(name) or parse(name) for name in seen if name != "cuBLAS"}
        told, facts = hgemm_model.count(hgemm_model.Forms(list(some.values()), layout), m, n, k, PROCESSORS)
        yield facts, told, np.array([seen[name] for name in some]), np.full(len(some), number)


def rows_of_sgemm(table: dict[str, dict[str, float]]) -> Iterator[tuple[Many, Many, Many, Whole]]:
    """Yield the same of products of float32; of ways that there are no more, nothing."""
    for number, (text, seen) in enumerate(table.items()):
        (m, n, k), _ = parse_shape(text)
        product = sgemm_of(Shape("float32", m, n, k, text[-2:]))
        rows = [(way, told, seen.get(name_of(way))) for way, told in ways(product, PROCESSORS)]
        rows = [row for row in rows if row[2] is not None]
        if rows:
            some, told, times = zip(*rows, strict=True)
            facts = [facts_of(product, way, clocks, PROCESSORS) for way, clocks in zip(some, told, strict=True)]
            yield np.array(facts), np.array(told), np.array(times), np.full(len(rows), number)


def parse(name: str) -> Configuration:
    """Return the configuration that has a name."""
    tile, *words = name.replace(" pack ", " pack_").split()
    bm, bn, bk = map(int, tile.split("x"))
    facts = {"w": "consumers", "s": "stages", "a": "ahead", "p": "parts", "k": "shares", "slabs": "slabs"}
    found = Configuration(bm, bn, bk=bk, consumers=1, slabs=1)
    for word in words:
        if match := re.fullmatch(r"(slabs|[wsapk])(\d+)", word):
            found = replace(found, **{facts[match[1]]: int(match[2])})
        elif match := re.fullmatch(r"c(\d+)x(\d+)", word):
            found = replace(found, cluster_m=int(match[1]), cluster_n=int(match[2]))
        elif word.startswith("pack_"):
            found = replace(found, packed=PACKED.index(f" pack {word.removeprefix('pack_')}"))
        else:
            found = replace(found, trans=word == "t", straight=word == "straight")
    return found


# -- Trees ------------------------------------------------------------------------------------------------------------


def fit(data: Data, seed: int = 0) -> tuple[Whole, Many, Many]:
    """Return trees: of each the features and the thresholds of its nodes, and the values of its leaves."""
    random, (rows, facts) = np.random.default_rng(seed), data.facts.shape
    told = data.told + data.more
    edges = [np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])) for column in data.facts.T]
    bins = np.stack([np.searchsorted(edge, column) for edge, column in zip(edges, data.facts.T, strict=True)], 1)
    shapes, found, said = int(data.shape.max()) + 1, [], np.zeros(rows)
    best = np.full(shapes, np.inf)
    np.minimum.at(best, data.shape, told)
    weight = np.exp(-NEARER * (told - best[data.shape]))
    many = np.maximum(np.bincount(data.shape, weight, shapes), 1e-9)
    for _ in range(TREES):
        left = data.more - said
        left -= (np.bincount(data.shape, left * weight, shapes) / many)[data.shape]
        taken = np.isin(data.shape, random.choice(shapes, int(shapes * SHAPES), replace=False))
        some = random.choice(facts, int(facts * COLUMNS), replace=False)
        features, thresholds, node = grow(bins, edges, left, np.where(taken, weight, 0.0), some)
        count, total = (np.bincount(node, w, 1 << DEPTH) for w in (weight * taken, weight * taken * left))
        values = RATE * total / (count + WEIGHT)
        said += values[node]
        found.append((features, thresholds, values))
    features, thresholds, values = zip(*found, strict=True)
    return np.array(features), np.array(thresholds), np.array(values)


def grow(bins: Whole, edges: list[Many], left: Many, weight: Many, some: Whole) -> tuple[Whole, Many, Whole]:
    """Return a tree's features and thresholds, and the leaf of each row; `weight`: how much each row counts."""
    inner = (1 << DEPTH) - 1
    features, thresholds, node = np.zeros(inner, int), np.full(inner, 1e30), np.zeros(len(bins), int)
    cuts = np.zeros(inner, int) + BINS
    for level in range(DEPTH):
        first, width = (1 << level) - 1, 1 << level
        best = np.zeros(width)
        for fact in some[[len(edges[one]) > 0 for one in some]]:
            size = len(edges[fact]) + 1
            place = (node - first) * size + bins[:, fact]
            count, total = (
                np.bincount(place, w, width * size).reshape(width, size).cumsum(1) for w in (weight, weight * left)
            )
            others, rest = count[:, -1:] - count, total[:, -1:] - total
            gain = (
                total**2 / (count + WEIGHT)
                + rest**2 / (others + WEIGHT)
                - total[:, -1:] ** 2 / (count[:, -1:] + WEIGHT)
            )
            gain = np.where((count >= LEAST) & (others >= LEAST), gain, 0.0)[:, :-1]
            cut = gain.argmax(1)
            better = np.flatnonzero(gain[np.arange(width), cut] > best)
            best[better] = gain[better, cut[better]]
            features[first + better], cuts[first + better] = fact, cut[better]
            thresholds[first + better] = edges[fact][cut[better]]
        node = 2 * node + 1 + (bins[np.arange(len(bins)), features[node]] > cuts[node])
    return features, thresholds, node - inner


def ask(trees: tuple[Whole, Many, Many], facts: Many) -> Many:
    """Return what trees add to the logarithm of told clocks."""
    features, thresholds, values = trees
    node, tree = np.zeros((len(facts), len(features)), int), np.arange(len(features))
    for _ in range(DEPTH):
        node = 2 * node + 1 + (facts[np.arange(len(facts))[:, None], features[tree, node]] > thresholds[tree, node])
    found: Many = values[tree, node - features.shape[1]].sum(1)
    return found


# -- Judging ----------------------------------------------------------------------------------------------------------


def judge(data: Data, said: Many) -> str:
    """Return how far told times are off within a shape, and how much longer what is chosen takes than the best."""
    behind, errors = [], []
    for number in np.unique(data.shape):
        (rows,) = np.nonzero(data.shape == number)
        if len(rows) < 5:
            continue
        told, took = data.told[rows] + said[rows], data.told[rows] + data.more[rows]
        errors += list(told - took - (told - took).mean())
        behind.append(took[told.argmin()] - took.min())
    mean, late = np.exp(np.mean(behind)), np.exp(np.percentile(behind, [50, 75, 90, 95, 99]))
    found = f"{len(behind)} shapes, error {np.std(errors):.3f}, chosen {mean:.3f} x the best"
    return f"{found}; of 50, 75, 90, 95, 99 %: {late.round(3)}"


def across(data: Data, folds: int) -> Many:
    """Return what trees say of shapes that they were not fitted to."""
    shapes = int(data.shape.max()) + 1
    fold = np.random.default_rng(0).permutation(shapes) % folds
    said = np.zeros(len(data.more))
    for number in range(folds):
        out = fold[data.shape] == number
        said[out] = ask(fit(data.take(~out)), data.facts[out])
    return said


def main() -> int:
    """Fit, say how good it is, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--of", choices=TABLES, default="hgemm")
    parser.add_argument("--folds", type=int, default=6)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    data = read(options.of)
    print(f"{len(data.more)} times\nas counted:        {judge(data, np.zeros(len(data.more)))}")
    if options.folds:
        print(f"shapes not seen:   {judge(data, across(data, options.folds))}")
    if options.write:
        trees = fit(data)
        write_trees(*trees, TABLES[options.of][1])
        print(f"those of the fit:  {judge(data, ask(trees, data.facts))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
