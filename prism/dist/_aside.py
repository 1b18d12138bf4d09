"""What is sent while a GPU computes: messages on a stream of their own, ordered with the one that computes.

An engine on the host blocks while it sends. What it sends is copied to the host and back on that stream too, so the GPU goes on
with what was queued before.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from prism.host.memory import working
from prism.runtime.arrays import ArrayInfo

_streams: dict[tuple[str, int], Any] = {}


class Aside:
    """A stream beside the current one of an array's library; of arrays on the host nothing: what is sent is there at once.

    A context, at whose end the current stream waits for all that was sent: until then messages' memory must be kept.
    """

    def __init__(self, info: ArrayInfo) -> None:
        self._info = info
        self._other: Any = None
        self._begun: Any = None
        if info.device is None:
            return
        cuda = sys.modules[info.library].cuda
        self._current = cuda.current_stream(info.device) if info.library == "torch" else cuda.get_current_stream()
        key = info.library, info.device
        if key not in _streams:
            with working(info, None):
                _streams[key] = cuda.Stream(info.device) if info.library == "torch" else cuda.Stream(non_blocking=True)
        self._other = _streams[key]
        # It is waited for when something is sent: until then the host has else to do.
        self._begun = self._record(self._current)

    def _record(self, stream: Any) -> Any:
        return stream.record_event() if self._info.library == "torch" else stream.record()

    def __enter__(self) -> Aside:
        return self

    def __exit__(self, *exception: object) -> None:
        self.join(self.mark())

    @property
    def handle(self) -> int:
        """The stream, as the driver has it."""
        if self._other is None:
            return 0
        return int(self._other.cuda_stream if self._info.library == "torch" else self._other.ptr)

    def event(self) -> Any:
        """Return what stands for all that is queued to be computed by now, for `sending`."""
        return None if self._other is None else self._record(self._current)

    def begin(self) -> None:
        """Let what is sent wait for what was queued when this was made; once: from then on it waits for nothing."""
        if self._begun is not None:
            self._other.wait_event(self._begun)
            self._begun = None

    def sending(self, after: Any = None) -> contextlib.AbstractContextManager[Any]:
        """Return the context in which messages go beside what is computed; `after`: what they wait for."""
        if self._other is None:
            return contextlib.nullcontext()
        self.begin()
        if after is not None:
            self._other.wait_event(after)
        return working(self._info, self.handle)

    def mark(self) -> Any:
        """Return what stands for all that was sent by now, for `join`."""
        return None if self._other is None else self._record(self._other)

    def join(self, sent: Any) -> None:
        """Let what is computed next wait for what was sent by then."""
        if sent is not None:
            self._current.wait_event(sent)
