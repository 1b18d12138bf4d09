"""A thread's program: one element each (the paper's `add_m_thread`, in the appendix on the scan)."""

from prism.lang import const, grid, group, id, int32, partition, prism, ptr, requires, thread


@prism.kernel
@requires(grid[1], thread[1])
def add_m(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1]):
    """`y[i] = x[i] + m` for each of `n` elements, one a thread.

    Perspective: grid; the memory goes from the grid straight to its threads.
    Shapes:      at least `n` threads in all; those beyond do nothing.
    Repaired:    the paper's has no guard: its last block writes beyond the array.
    Test:        tests/examples/test_paper.py
    """
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], offset=i) as source:
        with partition(y, thread[1], offset=i) as target:
            with group(thread[1]):
                if i < n:
                    target[0] = source[0] + m
