"""What a model of clocks has wrong, by trees of a form's facts that were fitted to what was measured (docs/hgemm.md)."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Many = NDArray[np.float64]
FILE = Path(__file__).with_name("trees.json")


def correct(facts: Many, file: Path = FILE) -> Many:
    """Return how many times longer than told each form takes, by its row of facts; `file`: of which trees are asked."""
    features, thresholds, values = read_trees(file)
    tree, row = np.arange(len(features)), np.arange(len(facts))[:, None]
    node = np.zeros((len(facts), len(features)), int)
    inner = features.shape[1]  # nodes that are no leaves, of a whole tree
    while (node < inner).any():
        node = 2 * node + 1 + (facts[row, features[tree, node]] > thresholds[tree, node])
    return np.exp(values[tree, node - inner].sum(1))


@functools.cache
def read_trees(file: Path = FILE) -> tuple[NDArray[np.int64], Many, Many]:
    """Return each tree's features and thresholds, by node, and the values of its leaves; all trees are whole, and as deep."""
    found = json.loads(file.read_text())
    return np.array(found["features"]), np.array(found["thresholds"], float), np.array(found["values"], float) / 10_000
