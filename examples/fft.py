"""The Fourier transforms of the rows of a complex matrix: a block a row, four points a thread, exchanged in shared memory."""

import numpy as np

from prism.lang import (
    attr, block, complex64, const, constexpr, float32, grid, group, id, int32, intrinsic, partition, prism, ptr, requires, shared,
    template, thread,
)
from prism.lib.thread.operators import add, multiply, subtract


@intrinsic("cospif(x)", meaning=lambda x: np.cos(np.pi * x).astype(np.float32))
def cospi(x: float32 @ thread[1]) -> float32:
    """The cosine of x half turns: exact where it is 0, 1 or -1, and without the steps that bring large angles near 0."""


@intrinsic("sinpif(x)", meaning=lambda x: np.sin(np.pi * x).astype(np.float32))
def sinpi(x: float32 @ thread[1]) -> float32:
    """The sine of x half turns."""


@prism.device
@requires(thread[1])
def clockwise(a: complex64 @ thread[1]) -> complex64 @ thread[1]:
    """-i a: a quarter of a turn, clockwise."""
    return complex64(a.imag, -a.real)


@prism.kernel
@attr("__launch_bounds__(POINTS / 4)")
@template(POINTS=constexpr(int), STEPS=constexpr(int))
@requires(grid[1], block[1], thread["POINTS // 4"])
def transforms(x: ptr(const(complex64)) @ grid[1], y: ptr(complex64) @ grid[1]):
    """Stockham's algorithm in steps of four: no bit reversal, and both ends coalesced."""
    THREADS: constexpr(int) = POINTS // 4
    with partition(x, block[1], POINTS * id()) as source, partition(y, block[1], POINTS * id()) as target, group(block[1]):
        line: shared(complex64[POINTS])
        t: int32 @ thread[1] = id()
        v: complex64[4] @ thread[1]
        with group(thread[1]):
            for k in range(4):
                v[k] = source[t + THREADS * k]
        for step in range(STEPS, unroll=True):
            done: int32 @ block[1] = 1 << 2 * step  # the points of the transforms that are finished
            with group(thread[1]):
                halves: float32 = float32(t % done) / (-2 * done)
                turn: complex64 = complex64(cospi(halves), sinpi(halves))
                v[1] = multiply(v[1], turn)
                v[2] = multiply(v[2], multiply(turn, turn))
                v[3] = multiply(v[3], multiply(turn, multiply(turn, turn)))
                a: complex64 = add(v[0], v[2])
                b: complex64 = subtract(v[0], v[2])
                c: complex64 = add(v[1], v[3])
                d: complex64 = clockwise(subtract(v[1], v[3]))
                v[0] = add(a, c)
                v[1] = add(b, d)
                v[2] = subtract(a, c)
                v[3] = subtract(b, d)
            if step < STEPS - 1:
                with partition(line, thread[1], t // done * 4 * done + t % done) as place, group(thread[1]):
                    for k in range(4):
                        place[done * k] = v[k]
                with group(thread[1]):
                    for k in range(4):
                        v[k] = line[t + THREADS * k]
        with partition(target, thread[1], t) as mine, group(thread[1]):
            for k in range(4):
                mine[THREADS * k] = v[k]


def fft(x):
    """Return the transforms of the rows of a complex64 matrix of NumPy or CuPy: C-contiguous, 4, 16, ..., or 4096 columns."""
    y, points = x.copy(), x.shape[1]
    transforms[x.shape[0], points // 4](x, y, template={"POINTS": points, "STEPS": (points.bit_length() - 1) // 2})
    return y


if __name__ == "__main__":
    x = np.random.default_rng(0).normal(size=(20, 2, 1024)).astype(np.float32).view(np.complex64).reshape(20, 1024)
    wanted = np.fft.fft(x.astype(np.complex128))
    print("relative to the largest, off NumPy's by at most", np.abs(fft(x) - wanted).max() / np.abs(wanted).max())
