"""Elements moved along any number of axes, which are in memory: for arrays of more axes than other kernels take as arguments."""

from prism.lang import (
    attr, const, dtype, grid, group, id, int32, int64, partition, prism, ptr, requires, template, thread,
)  # fmt: skip

THREADS = 256


@prism.kernel
@requires(grid[1], thread[1])
def note_axis(
    table: ptr(int64) @ grid[1], at: int32 @ grid[1], extent: int64 @ grid[1], source: int64 @ grid[1], target: int64 @ grid[1],
):
    """Put an axis into the table that `move_axes` reads: its extent, and its steps in x and in y.

    Perspective: grid, of one warp.
    Test:        tests/kernels/test_move_pieces.py
    """
    me: int32 @ thread[1] = id()
    with partition(table, thread[1], 3 * at + me) as mine, group(thread[1]):
        if me < 3:
            mine[0] = extent if me == 0 else (source if me == 1 else target)


@prism.kernel
@template(T=dtype)
@requires(grid[1], thread[1])
@attr("__launch_bounds__(256)")
def move_axes(
    x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], table: ptr(const(int64)) @ grid[1], x0: int64 @ grid[1],
    axes: int32 @ grid[1],
    many: int64 @ grid[1],
):
    """`y[index . targets] = x[x0 + index . sources]` for each of `many` indices.

    Perspective: grid, of a thread for each.
    Shapes:      `table`: an extent, a step in x and a step in y of each axis, the innermost last.
    Cost:        a division for each axis: many times a copy's time.
    Test:        tests/kernels/test_move_pieces.py
    """
    me: int64 @ thread[1] = id()
    with partition(y, thread[1], lambda i: i, races="none") as mine, group(thread[1]):
        if me < many:
            rest: int64 = me
            source: int64 = x0
            target: int64 = 0
            for k in range(axes):
                a: int32 = axes - 1 - k
                upper: int64 = rest // table[3 * a]
                digit: int64 = rest - upper * table[3 * a]
                source = source + digit * table[3 * a + 1]
                target = target + digit * table[3 * a + 2]
                rest = upper
            mine[target] = x[source]


EXAMPLES = {"note_axis": {}, "move_axes": {"T": "uint32"}}
