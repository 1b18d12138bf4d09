"""Shapes of launches: how many blocks, of how many threads, a kernel takes."""

from __future__ import annotations

MAX_BLOCKS = 2**31 - 1


def shape_fault(title: str, what: str, number: int, multiple: int | None, most: int) -> str | None:
    """Return why a kernel of this title does not take this number of blocks or threads (`what`); None where it does.

    `multiple`: what the kernel requires it to be a multiple of; `most`: the largest there is.
    """
    each = " a block" if what == "threads" else ""
    if not 1 <= number <= most:
        return f"`{title}` takes 1 to {most} {what}{each}, not {number}"
    if multiple is not None and number % multiple != 0:
        return f"`{title}` needs a multiple of {multiple} {what}{each} (its @requires), not {number}"
    return None
