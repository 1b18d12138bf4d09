from __future__ import annotations

from prism.lang import mailbox, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(words: ptr(mailbox(int)) @ thread[1]):
    words[0] = 1  # error: ptr-read
