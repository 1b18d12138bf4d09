"""Where the rows lie that a kernel sorts: equal ones side by side, or segments that offsets bound."""

from prism.lang import constexpr, int64, prism, requires, template, thread

ROWS, SEGMENTS = range(2)
"""Whether rows are equal, and lie side by side; or are segments, of which a kernel takes those whose lengths are in a range."""

NONE, BACK, GATHERED = range(3)
"""Whether the sorted elements are written: not; given back by their keys; or read again from where they lie."""


@prism.device
@requires(thread[1])
@template(MODE=constexpr(int))
def bounds_of(
    row: int64 @ thread[1], many: int64 @ thread[1], start: int64 @ thread[1], end: int64 @ thread[1],
    columns: int64 @ thread[1], n: int64 @ thread[1], least: int64 @ thread[1], most: int64 @ thread[1],
) -> (int64, int64) @ thread[1]:
    """Where row `row` of `many` begins, and how long it is; 0 where there is none, or it is not from `least` to `most` long.

    `start`, `end`: what is said of a segment; of rows nothing is.
    """
    begin: int64 = 0
    length: int64 = 0
    if row < many:
        if MODE == ROWS:
            begin = row * columns
            length = columns
        else:
            begin = min(max(start, 0), n)
            length = min(end, n) - begin
            if length < least or length > most:
                length = 0
    return begin, length
