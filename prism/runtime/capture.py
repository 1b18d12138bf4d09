"""While a CUDA graph is captured: what may not happen, machine code made or loaded, and which launches begin early."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from prism.runtime import scratch
from prism.runtime.driver import driver

_KERNEL = 0  # CU_GRAPH_NODE_TYPE_KERNEL
_known: set[int] = set()
_deciding: ContextVar[tuple[int, str] | None] = ContextVar("what is decided, and for which stream", default=None)


def require_outside(stream: int, what: str) -> None:
    """Check, before a kernel is made ready, that no graph is being captured on the stream it is for.

    Raises:
        RuntimeError: one is. Nothing was asked of the driver that would invalidate the capture.
    """
    if scratch.capturing(stream):
        raise RuntimeError(
            f"{what} is not ready, and a CUDA graph is being captured: its kernel would have to be compiled and loaded here; "
            "make the same call once before the capture"
        )


@contextmanager
def deciding(stream: int | None, what: str) -> Iterator[None]:
    """Inside, `require_loading` refuses what `require_outside` does: a call is decided, which may take a new kernel or none."""
    token = _deciding.set(None if stream is None else (stream, what))
    try:
        yield
    finally:
        _deciding.reset(token)


def require_loading() -> None:
    """Check that a kernel may be made ready here.

    Raises:
        RuntimeError: inside `deciding`, for a stream on which a graph is being captured.
    """
    asked = _deciding.get()
    if asked is not None:
        require_outside(*asked)


def let_follow(*handles: Any) -> None:
    """Say that a kernel, of the driver's handles for it, lets the launch behind it begin before it has ended."""
    _known.update(int(handle) for handle in handles)


def follows(stream: int) -> bool:
    """Whether all that the next launch in a stream's capture waits for are kernels that let it begin early, or nothing.

    In a graph an early launch behind anything else begins later than a plain one.
    """
    status, _, _, _, nodes, *_ = driver().cuStreamGetCaptureInfo(stream)
    return int(status) != 0 or all(_lets(node) for node in nodes or ())


def _lets(node: Any) -> bool:
    cuda = driver()
    status, kind = cuda.cuGraphNodeGetType(node)
    if int(status) != 0 or int(kind) != _KERNEL:
        return False
    status, launched = cuda.cuGraphKernelNodeGetParams(node)
    return int(status) == 0 and not _known.isdisjoint((int(launched.func), int(launched.kern)))
