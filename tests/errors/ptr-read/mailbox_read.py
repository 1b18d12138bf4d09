from __future__ import annotations

from prism.lang import grid, mailbox, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(words: ptr(mailbox(int)) @ grid[1]):
    n: int @ thread[1] = words[0]  # error: ptr-read
