"""What the examples are run on, on the CPU and on a GPU: each against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from examples import (
    attention,
    fft,
    flash_attention,
    histogram,
    kmeans,
    layernorm,
    linear,
    radix_partition,
    rle,
    rope,
    softmax,
    spmv,
    stream_compaction,
    tile_ring,
    tile_store,
)

Array = Any
Put = Callable[[Array], Array]
"""A NumPy array where the example is to run: itself, or a CuPy array."""


def host(x: Array) -> Array:
    """A result as a NumPy array."""
    return x if isinstance(x, np.ndarray) else x.get()


def softmax_of(rows: int, columns: int, spread: float) -> Callable[[Put], None]:
    def run(put: Put) -> None:
        x = np.random.default_rng(0).normal(0, spread, (rows, columns)).astype(np.float32)
        wanted = softmax.reference(x.astype(np.float64))
        found = host(softmax.softmax(put(x)))
        # The difference of two floats of at most 8 * spread is rounded, which exp makes relative; exp is off by 1 ulp; then a sum
        # of positive terms (a rounding for each of 15 levels) and a quotient.
        np.testing.assert_allclose(found, wanted, rtol=2.0**-23 * (16 * spread + 16), atol=1e-37)

    return run


def layernorm_of(rows: int, columns: int) -> Callable[[Put], None]:
    def run(put: Put) -> None:
        random = np.random.default_rng(1)
        x = random.normal(3, 2, (rows, columns)).astype(np.float32)
        scale, shift = random.normal(size=(2, columns)).astype(np.float32)
        wanted = layernorm.reference(*(part.astype(np.float64) for part in (x, scale, shift)))
        found = host(layernorm.layernorm(put(x), put(scale), put(shift)))
        # A row of one column has variance 0: its differences are 0 exactly. Else: the mean is off by 2^-24 of |x| < 16 for each
        # of at most 20 levels of the sum, and what is divided by is about 2.
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-24 * 20 * 16 * max(1.0, float(abs(scale).max())))

    return run


CLOSE = 5 * 2.0**-11
"""What an attention may be off by: its weights are rounded to float16, and of a row they are a mean of numbers below 5."""


def checked_attention(heads: int, n: int, d: int) -> Callable[[Put], None]:
    """Needs tensor cores of sm_90a where it runs on a GPU."""

    def run(put: Put) -> None:
        q, k, v = np.random.default_rng(4).normal(size=(3, heads, n, d)).clip(-4.9, 4.9).astype(np.float16)
        o = put(np.zeros(q.shape, np.float32))
        flash_attention.attention(put(q), put(k), put(v), o)
        assert np.abs(host(o) - flash_attention.reference(q, k, v)).max() < CLOSE

    return run


def compaction_of(size: int, positive: float) -> Callable[[Put], None]:
    def run(put: Put) -> None:
        random = np.random.default_rng(2)
        x = random.random(size, np.float32) + 0.5
        x[random.random(size) >= positive] *= -1
        assert np.array_equal(host(stream_compaction.positives(put(x))), x[x > 0])

    return run


def runs_of(runs: int, longest: int) -> Callable[[Put], None]:
    def run(put: Put) -> None:
        lengths = np.random.default_rng(3).integers(1, longest, runs, endpoint=True)
        values = np.arange(runs, dtype=np.int32) % 5 - 2
        found = rle.encoded(put(np.repeat(values, lengths)))
        assert np.array_equal(host(found[0]), values) and np.array_equal(host(found[1]), lengths)

    return run


def spmv_of(rows: int, columns: int, density: float) -> Callable[[Put], None]:
    def run(put: Put) -> None:
        matrix = spmv.random_matrix(rows, columns, density)
        x = np.random.default_rng(5).normal(size=columns).astype(np.float32)
        found = host(spmv.spmv(*(put(part) for part in (*matrix, x))))
        starts, where, values = matrix
        # Each product is rounded, and each sum: of a row's n elements at most n / 4 in a lane, then 5 levels of shuffles.
        longest = int(np.diff(starts).max(initial=0))
        magnitudes = spmv.reference(starts, where, abs(values), abs(x))
        assert (abs(found - spmv.reference(*matrix, x)) <= 2.0**-23 * (longest / 4 + 6) * magnitudes).all()

    return run


def histogram_of(size: int, spread: int) -> Callable[[Put], None]:
    def run(put: Put) -> None:
        x = np.random.default_rng(6).integers(256 - spread, 256, size, dtype=np.uint8)
        bins = put(np.full(256, 3, np.uint32))
        found = histogram.histogram(put(x), bins)
        assert found is bins and np.array_equal(host(bins), 3 + np.bincount(x, minlength=256))

    return run


def fft_of(rows: int, points: int) -> Callable[[Put], None]:
    def run(put: Put) -> None:
        x = np.random.default_rng(7).normal(size=(rows, points, 2)).astype(np.float32).view(np.complex64)[..., 0]
        wanted = np.fft.fft(x.astype(np.complex128))
        # A step of four adds two roundings to each point, and a product by a power of the angle at most eight more (the angle's
        # sine, its powers); errors of independent points add up as the points themselves do. 6 steps: 60 roundings, at most.
        assert abs(host(fft.fft(put(x))) - wanted).max() < 60 * 2.0**-24 * abs(wanted).max()

    return run


def rope_of(rows: int, dim: int) -> Callable[[Put], None]:
    def run(put: Put) -> None:
        x = np.random.default_rng(5).normal(size=(rows, dim)).astype(np.float32)
        # An angle of up to `rows` radians is off by some 2^-21 of itself: an exponent of up to 14, rounded to float32, and exp2.
        atol = 2.0**-20 * max(rows, 4) * float(abs(x).max())
        np.testing.assert_allclose(host(rope.rope(put(x))), rope.reference(x), rtol=0, atol=atol)

    return run


def kmeans_of(n: int, k: int, d: int) -> Callable[[Put], None]:
    def run(put: Put) -> None:
        random = np.random.default_rng(6)
        x = (random.integers(-3, 4, (n, d)) + random.choice([-20, 0, 20], (n, 1))).astype(np.float32)
        centres = (0.5 + np.arange(k, dtype=np.float32)[:, None] * 20 - 20).repeat(d, axis=1)
        label, moved = kmeans.step(put(x), put(centres))
        wanted = kmeans.reference(x, centres)
        assert np.array_equal(host(label), wanted[0])
        # Sums of whole numbers are exact in any order; NumPy's mean of float32 rounds its quotient as this one does.
        np.testing.assert_allclose(host(moved), wanted[1], rtol=2.0**-22)

    return run


def partition_of(size: int, shift: int, below: int = 2**32) -> Callable[[Put], None]:
    def run(put: Put) -> None:
        x = np.random.default_rng(7).integers(0, below, size, dtype=np.uint32)
        assert np.array_equal(host(radix_partition.radix_partition(put(x), shift)), radix_partition.reference(x, shift))

    return run


def tiles_of(rows: int, columns: int) -> Callable[[Put], None]:
    """Tensor copies: a GPU must be sm_90 or later. Sums of whole numbers are exact."""

    def run(put: Put) -> None:
        random = np.random.default_rng(8)
        x, factor = (random.integers(-9, 10, shape).astype(np.float32) for shape in ((rows, columns), rows))
        assert np.array_equal(host(tile_ring.column_sums(put(x))), x.sum(axis=0))
        assert np.array_equal(host(tile_store.scaled(put(x), put(factor))), x * factor[:, None])

    return run


def linear_of(m: int, n: int, k: int) -> Callable[[Put], None]:
    """Tensor cores of sm_90a. Products and sums of small whole numbers are exact."""

    def run(put: Put) -> None:
        random = np.random.default_rng(9)
        x, w = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (n, k)))
        bias = random.integers(-9, 10, n).astype(np.float32)
        y = put(np.full((m, n), -1, np.float32))
        assert np.array_equal(host(linear.linear(put(x), put(w), put(bias), y)), linear.reference(x, w, bias))

    return run


def attention_of(heads: int, n: int, d: int) -> Callable[[Put], None]:
    """Tensor cores of sm_90a."""

    def run(put: Put) -> None:
        q, k, v = np.random.default_rng(4).normal(size=(3, heads, n, d)).clip(-4.9, 4.9).astype(np.float16)
        o = attention.attention(put(q), put(k), put(v), put(np.zeros(q.shape, np.float32)))
        assert np.abs(host(o) - attention.reference(q, k, v)).max() < CLOSE

    return run


HOPPER: dict[str, Callable[[Put], None]] = {
    **{f"tiles-{rows}x{columns}": tiles_of(rows, columns) for rows, columns in ((1, 64), (100, 128), (96, 64))},
    **{f"linear-{m}x{n}x{k}": linear_of(m, n, k) for m, n, k in ((128, 128, 64), (128, 256, 384))},
    **{f"attention-{heads}x{n}x{d}": attention_of(heads, n, d) for heads, n, d in ((1, 64, 64), (2, 128, 64))},
}
"""On the CPU, and on a GPU with tensor copies and tensor cores."""
CASES: dict[str, Callable[[Put], None]] = {
    **{f"rope-{rows}x{dim}": rope_of(rows, dim) for rows, dim in ((1, 2), (7, 64), (300, 6))},
    **{f"kmeans-{n}x{k}x{d}": kmeans_of(n, k, d) for n, k, d in ((1, 1, 1), (500, 3, 2), (129, 20, 5))},
    **{
        f"partition-{size}-{shift}-{below}": partition_of(size, shift, below)
        for size, shift, below in ((1, 0, 2**32), (1024, 4, 2**32), (3001, 28, 2**32), (2500, 0, 2))
    },
    **{
        f"softmax-{rows}x{columns}-{spread}": softmax_of(rows, columns, spread)
        for rows, columns, spread in ((1, 1, 1), (3, 127, 1), (2, 128, 30), (5, 1000, 1), (2, 129, 0))
    },
    **{
        f"layernorm-{rows}x{columns}": layernorm_of(rows, columns)
        for rows, columns in ((1, 1), (3, 127), (2, 128), (5, 1000))
    },
    **{
        f"compaction-{size}-{positive}": compaction_of(size, positive)
        for size, positive in ((1, 1), (1, 0), (511, 0.5), (512, 1), (513, 0), (5000, 0.1), (3000, 0.9))
    },
    **{
        f"runs-{runs}-{longest}": runs_of(runs, longest)
        for runs, longest in ((1, 1), (1, 2000), (512, 1), (513, 1), (300, 9), (20, 700))
    },
    **{
        f"spmv-{rows}x{columns}-{density}": spmv_of(rows, columns, density)
        for rows, columns, density in (
            (1, 1, 1),
            (1, 5, 0),
            (33, 70, 0.05),
            (100, 300, 0.04),
            (7, 1000, 0.9),
            (129, 20, 0.5),
        )
    },
    **{
        f"histogram-{size}-{spread}": histogram_of(size, spread)
        for size, spread in ((0, 1), (1, 1), (15, 256), (16, 2), (4111, 1), (10_000, 256))
    },
    **{
        f"fft-{rows}x{points}": fft_of(rows, points) for rows, points in ((1, 4), (3, 16), (2, 64), (3, 256), (2, 1024))
    },
}
LARGE: dict[str, Callable[[Put], None]] = {
    "softmax-large": softmax_of(5000, 4000, 1),
    "layernorm-large": layernorm_of(5000, 4000),
    "compaction-large": compaction_of(20_000_001, 0.5),
    "runs-large": runs_of(3_000_000, 9),
    "spmv-large": spmv_of(20_000, 5_000, 0.003),
    "histogram-large": histogram_of(100_000_007, 200),
    "fft-large": fft_of(3000, 4096),
}
"""For a GPU only."""
