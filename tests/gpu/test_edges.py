"""Which way edges run, asked by a kernel: of all types, up and down, with equal ones, NaN, and neither."""

import numpy as np
import pytest

from prism import lib

cupy = pytest.importorskip("cupy")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")


def tables(kind: str) -> list[np.ndarray]:
    """Return edges of a type: short ones and some of more than a block has threads."""
    low = 0 if kind.startswith("u") else -60
    rising = [
        np.arange(low, low + 120, 3),
        np.array([low, low, 5, 5, 5, 90]),
        np.full(7, 4),
        np.sort(np.random.default_rng(0).integers(low, 120, 3001)),
        np.array([1, 2]),
    ]
    neither = [np.array([1, 3, 2]), np.array([3, 1, 2]), np.concatenate([np.arange(low, 100), [98]])]
    found = [table.astype(kind) for table in (*rising, *(table[::-1] for table in rising), *neither)]
    if kind in FLOATS:
        for spot in (0, 1, 40, 1500, 3000):
            for table in (found[3], found[8]):
                changed = table.copy()
                changed[spot] = np.nan
                found.append(changed)
        found += [
            np.array([np.nan, np.nan], kind),
            np.array([0.0, -0.0, 1], kind),
            np.array([-np.inf, 0, np.inf], kind),
        ]
    return [np.ascontiguousarray(table) for table in found]


def in_order(bins: np.ndarray) -> bool:
    """Whether NaN, if there is one, is where a sort puts it: of others NumPy takes the order, but what a search finds is open."""
    return any(
        np.array_equal(bins[::step].astype(float), np.sort(bins).astype(float), equal_nan=True) for step in (1, -1)
    )


@pytest.mark.parametrize("kind", (*INTEGERS, *FLOATS))
def test_edges_of_all_types_as_numpy_says_it(kind: str) -> None:
    x = np.random.default_rng(1).integers(0, 110, 5003).astype(kind)
    if kind in FLOATS:
        x[::97] = np.nan
    refused = 0
    for bins in tables(kind):
        for right in (False, True):
            try:
                wanted = np.digitize(x, bins, right)
            except ValueError:
                refused += 1
                with pytest.raises(ValueError, match="monotonically"):
                    lib.digitize(cupy.asarray(x), cupy.asarray(bins), right)
            else:
                for _ in range(2):  # the second is the call that was made ready
                    found = lib.digitize(cupy.asarray(x), cupy.asarray(bins), right)
                    assert found.shape == wanted.shape and found.dtype == wanted.dtype
                    if in_order(bins):
                        assert np.array_equal(cupy.asnumpy(found), wanted), (bins[:9], right)
    assert refused >= 6


@pytest.mark.parametrize("kind", (*INTEGERS, *FLOATS))
def test_counts_between_edges_of_all_types(kind: str) -> None:
    x = np.random.default_rng(2).integers(0, 110, 5003).astype(kind)
    for bins in tables(kind):
        rises = not np.any(bins[:-1] > bins[1:]) and not (kind in FLOATS and np.isnan(bins).any())
        if rises:
            counts, same = lib.histogram(cupy.asarray(x), cupy.asarray(bins))
            assert np.array_equal(cupy.asnumpy(counts), np.histogram(x, bins)[0]) and same.dtype == bins.dtype
        else:
            with pytest.raises(ValueError, match="monotonically"):
                lib.histogram(cupy.asarray(x), cupy.asarray(bins))
