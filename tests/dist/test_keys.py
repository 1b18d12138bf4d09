"""prism.dist's runs of equal keys, by ranks that are threads: beside the library's of the whole arrays.

Tests of prism/dist/_keys.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from tests.dist.ranks import cut, results, run
from tests.dist.test_scan import FILL

KEYS = np.array([1, 1, 2, 2, 2, 2, 2, 2, 3, 1, 1, 4, 4, 4])
LENGTHS = [(3, 0, 2, 2, 7), (8, 6), (1, 1, 1, 0, 11), (0, 14), (6, 5, 3)]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("op", ["add", "maximum", FILL], ids=["add", "maximum", "last"])
def test_runs_over_borders(lengths: tuple[int, ...], op: Any) -> None:
    for kind in ("int32", "float16"):
        values = np.random.default_rng(0).integers(0, 5, len(KEYS)).astype(kind)
        ks, vs, size = cut(KEYS, lengths), cut(values, lengths), len(lengths)
        found = results(size, lambda c, vs=vs: prism.dist.reduce_by_key(ks[c.rank], vs[c.rank], op, comm=c))
        wanted = prism.lib.reduce_by_key(KEYS, values, op)
        for k in (0, 1):
            np.testing.assert_array_equal(np.concatenate([one[k] for one in found]), wanted[k])
        scanned = results(size, lambda c, vs=vs: prism.dist.scan_by_key(ks[c.rank], vs[c.rank], op, comm=c))
        right = prism.lib.scan_by_key(KEYS, values, op)
        np.testing.assert_array_equal(np.concatenate(scanned), right)
        assert scanned[0].dtype == right.dtype


def test_one_run_over_all_ranks_and_nothing_at_all() -> None:
    found = results(5, lambda c: prism.dist.reduce_by_key(np.zeros(3, int), np.ones(3), comm=c))
    assert [one[1].tolist() for one in found] == [[15.0], [], [], [], []]
    found = results(2, lambda c: prism.dist.reduce_by_key(np.zeros(0, int), np.ones(0), comm=c))
    assert [one[1].tolist() for one in found] == [[], []]


def test_errors() -> None:
    found = run(2, lambda c: prism.dist.reduce_by_key(np.zeros(3, int), np.ones(3 + c.rank), comm=c))
    assert all("rank 1: " in str(one) for one in found), found
    found = run(2, lambda c: prism.dist.scan_by_key(np.zeros(3, int), np.ones(3, complex), comm=c))
    assert all("of up to 8 bytes" in str(one) for one in found)
