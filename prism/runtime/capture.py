"""What may not happen while a CUDA graph is captured: machine code made, or loaded."""

from __future__ import annotations

from prism.runtime import scratch


def require_outside(stream: int, what: str) -> None:
    """Check, before a kernel is made ready, that no graph is being captured on the stream it is for.

    Raises:
        RuntimeError: one is. Nothing was asked of the driver that would invalidate the capture.
    """
    if scratch.capturing(stream):
        raise RuntimeError(
            f"{what} is not ready, and a CUDA graph is being captured: its kernel would have to be compiled and loaded here; "
            "make the same call once before the capture, on this stream"
        )
