"""Where the rows lie that a kernel sorts: equal ones side by side, or segments that offsets bound."""

from prism.lang import block, const, constexpr, dtype, int32, int64, prism, ptr, requires, template, thread

ROWS, SEGMENTS = range(2)
"""Whether rows are equal, and lie side by side; or are segments, of which a kernel takes those whose lengths are in a range."""

NONE, BACK, GATHERED = range(3)
"""Whether the sorted elements are written: not; given back by their keys; or read again from where they lie."""


@prism("device")
@requires(thread[1])
@template(O=dtype, MODE=constexpr(int))
def bounds_of(
    row: int64 @ thread[1], many: int64 @ thread[1], starts: ptr(const(O)) @ thread[1], ends: ptr(const(O)) @ thread[1],
    columns: int64 @ thread[1], n: int64 @ thread[1], least: int64 @ thread[1], most: int64 @ thread[1],
) -> (int64, int32) @ thread[1]:
    """Where row `row` of `many` begins, and how long it is; 0 where there is none, or it is not from `least` to `most` long."""
    begin: int64 = 0
    length: int64 = 0
    if row < many:
        if MODE == ROWS:
            begin = row * columns
            length = columns
        else:
            begin = min(max(int64(starts[row]), 0), n)
            length = min(int64(ends[row]), n) - begin
            if length < least or length > most:
                length = 0
    return begin, int32(length)


@prism("device")
@requires(block[1])
@template(O=dtype, MODE=constexpr(int))
def block_bounds_of(
    row: int64 @ block[1], many: int64 @ block[1], starts: ptr(const(O)) @ block[1], ends: ptr(const(O)) @ block[1],
    columns: int64 @ block[1], n: int64 @ block[1], least: int64 @ block[1], most: int64 @ block[1],
) -> (int64, int64) @ block[1]:
    """`bounds_of`, of a row that is a block's."""
    begin: int64 = 0
    length: int64 = 0
    if row < many:
        if MODE == ROWS:
            begin = row * columns
            length = columns
        else:
            begin = min(max(int64(starts[row]), 0), n)
            length = min(int64(ends[row]), n) - begin
            if length < least or length > most:
                length = 0
    return begin, length
