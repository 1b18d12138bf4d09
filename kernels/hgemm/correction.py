"""What a model of clocks has wrong, by trees of a form's facts that were fitted to what was measured (docs/hgemm.md)."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Many = NDArray[np.float64]
Trees = tuple[NDArray[np.intp], NDArray[np.float32], Many]
FILE = Path(__file__).with_name("trees.npy")
LEAF = 10_000
"""Values of leaves are kept in whole parts of which this many are one."""
TOGETHER = 64
"""Rows that are asked of at once: what is known of more of them does not fit into a core's cache, which takes twice as long."""


def correct(facts: Many, file: Path = FILE) -> Many:
    """Return how many times longer than told each form takes, by its row of facts; `file`: of which trees are asked."""
    trees = read_trees(file)
    logs = [_add_leaves(facts[at : at + TOGETHER], trees) for at in range(0, len(facts), TOGETHER)]
    return np.exp(np.concatenate(logs)) if logs else np.ones(0)


def _add_leaves(facts: Many, trees: Trees) -> Many:
    """Return the sum of the leaves that each row of facts comes to, one of every tree."""
    features, thresholds, values = trees
    (count, inner), (rows, columns) = features.shape, facts.shape  # `inner`: nodes that are no leaves, of a whole tree
    row, tree = np.arange(rows)[:, None] * columns, np.arange(count) * inner
    node, known = np.zeros((rows, count), np.intp), facts.ravel()
    for _ in range(inner.bit_length()):
        at = node + tree
        node = 2 * node + 1 + (known.take(features.take(at) + row) > thresholds.take(at))
    leaf = node - inner + np.arange(count) * (inner + 1)
    return np.asarray(values.take(leaf).sum(1))


@functools.cache
def read_trees(file: Path = FILE) -> Trees:
    """Return each tree's features and thresholds, by node, and the values of its leaves; all trees are whole, and as deep."""
    found = np.load(file)
    return found["feature"].astype(np.intp), np.ascontiguousarray(found["threshold"]), found["value"] / LEAF


def write_trees(features: NDArray[np.int64], thresholds: Many, values: Many, file: Path) -> None:
    """Keep trees, as `read_trees` has them: one that is read in a part of the time that text of numbers would take."""
    inner = features.shape[1]
    fields = [("feature", "u1", inner), ("threshold", "<f4", inner), ("value", "<i2", inner + 1)]
    found = np.zeros(len(features), fields)
    found["feature"], found["threshold"], found["value"] = features, thresholds, (values * LEAF).round()
    np.save(file, found)
    read_trees.cache_clear()
