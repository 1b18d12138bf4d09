"""Bools whose bytes are neither 0 nor 1, on a GPU: as tests/lib/test_bools.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from tests.lib.test_bools import BYTES, CUMULATIVE, REDUCED, odd, same

cupy = pytest.importorskip("cupy")

SIZES = (5, 300, 4096, 70_001, 3_000_000)


def there(given: Any) -> Any:
    """The same bytes on the GPU."""
    return cupy.asarray(given.view(np.uint8)).view(cupy.bool_)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", BYTES)
def test_functions(kind: str, size: int) -> None:
    given, plain = odd(kind, size)
    x = there(given)
    for name in REDUCED:
        assert same(getattr(lib, name)(x).get(), getattr(np, name)(plain)), name
    for name, numpy in CUMULATIVE.items():
        assert same(getattr(lib, name)(x, axis=0).get(), numpy(plain)), name
    rows = size // 5 * 5
    for name in REDUCED:
        for shape in ((rows // 5, 5), (5, rows // 5)):
            for axis in (0, 1):
                found = getattr(lib, name)(x[:rows].reshape(shape), axis=axis).get()
                assert same(found, getattr(np, name)(plain[:rows].reshape(shape), axis=axis)), (name, shape, axis)
    for axis in (0, 1):
        found = lib.cumsum(x[:rows].reshape(5, -1), axis=axis).get()
        assert same(found, np.cumsum(plain[:rows].reshape(5, -1), axis=axis))


def test_segments_and_keys() -> None:
    given, plain = odd("mixed", 100_000)
    x, offsets = there(given), np.arange(0, 100_001, 1000)
    found = lib.segmented_reduce(x, cupy.asarray(offsets), "add", dtype=np.int64)
    assert found.get().tolist() == plain.reshape(-1, 1000).sum(axis=1).tolist()
    heads = np.flatnonzero(np.r_[True, plain[1:] != plain[:-1]])
    keys, lengths = lib.reduce_by_key(x, cupy.ones(100_000, np.int64))
    assert same(keys.get(), plain[heads]) and same(lengths.get(), np.diff(np.r_[heads, 100_000]))


@pytest.mark.parametrize("begin", [0, 3])
@pytest.mark.parametrize("at", [0, 20_000_017, 1 << 25])
def test_long_extremes(at: int, begin: int) -> None:
    """Of four bytes at once, also where they begin beside an aligned one: the first that changes the result is element `at`."""
    size = (1 << 25) + 5
    for name, numpy, rest in (("cummax", np.maximum, 0), ("cummin", np.minimum, 255)):
        bytes_ = np.random.default_rng(at).integers(0, 256, size + begin).astype(np.uint8)
        bytes_[: begin + at], bytes_[begin + at] = rest, 64 if rest == 0 else 0
        x = cupy.asarray(bytes_)[begin:].view(cupy.bool_)
        plain = bytes_[begin:] != 0
        assert same(getattr(lib, name)(x).get(), numpy.accumulate(plain)), name
        for reverse, exclusive in ((True, False), (False, True), (True, True)):
            found = lib.scan(x, "maximum" if rest == 0 else "minimum", reverse=reverse, exclusive=exclusive).get()
            wanted = numpy.accumulate(plain[::-1] if reverse else plain)
            wanted = np.r_[rest != 0, wanted[:-1]] if exclusive else wanted
            assert same(found, wanted[::-1] if reverse else wanted), (name, reverse, exclusive)
