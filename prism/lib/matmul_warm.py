"""Calls of `hgemm`, `sgemm` and `matmul` that were made before, ready to be made again: what they came down to, by arguments."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from prism.runtime.arrays import ArrayInfo
from prism.runtime.device import current_device
from prism.runtime.launch import Launcher
from prism.runtime.streams import choose_stream


@dataclass(frozen=True, slots=True)
class Call:
    """All that a call came down to; `where` tells the library and the device, whose current stream is asked for."""

    launch: Launcher
    blocks: int
    threads: int
    values: tuple[Any, ...]
    where: ArrayInfo


CALLS: dict[Any, Call] = {}
_KINDS: dict[Any, str] = {}  # the results' dtypes of calls without `out`
_MOST = 4096


def repeated(key: Any, stream: Any) -> bool:
    """Make the call again that is kept under `key`; return whether there is one."""
    kept = None if key is None else CALLS.get(key)
    if kept is None:
        return False
    kept.launch(kept.blocks, kept.threads, choose_stream(stream, (kept.where,)), kept.values)
    return True


def keep(key: Any, call: Call) -> None:
    """Keep a call; when there are too many, forget them all."""
    if len(CALLS) >= _MOST:
        CALLS.clear()
    CALLS[key] = call


def key(a: Any, b: Any, c: Any, bias: Any, out: Any, *rest: Any) -> Any:
    """Return what tells a call from all others, its arrays' memory included; None where calls are not kept."""
    cls = type(a)
    facts = _FACTS.get((cls.__module__.partition(".")[0], cls.__name__))
    if facts is None or out is None or type(b) is not cls or type(out) is not cls:
        return None
    try:
        more = (None if c is None else facts(c), None if bias is None else facts(bias))
        found = (facts(a), facts(b), facts(out), more, rest)
        hash(found)
    except (AttributeError, TypeError):
        return None
    return found


def _torch_facts(x: Any) -> Any:
    return x.data_ptr(), x.shape, x.stride(), x.dtype


def _cupy_facts(x: Any) -> Any:
    return x.data.ptr, x.shape, x.strides, x.dtype


_FACTS = {("torch", "Tensor"): _torch_facts, ("cupy", "ndarray"): _cupy_facts}


# -- room for results -----------------------------------------------------------------------------------------------------


def keep_kind(a: Any, b: Any, asked: Any, kind: str) -> None:
    """Keep the dtype of a result."""
    if len(_KINDS) >= _MOST:
        _KINDS.clear()
    _KINDS[_kind_key(a, b, asked)] = kind


def _kind_key(a: Any, b: Any, asked: Any) -> Any:
    return type(a), a.dtype, b.dtype, a.shape, b.shape, str(asked)


def room(a: Any, b: Any, asked: Any) -> Any:
    """Return room for the result of a call like one that was made before, or None."""
    try:
        kind = _KINDS.get(_kind_key(a, b, asked))
    except (AttributeError, TypeError):
        return None
    if kind is None:
        return None
    shape = (a.shape[0], b.shape[1])
    if hasattr(a, "data_ptr"):
        return a.new_empty(shape, dtype=getattr(sys.modules["torch"], kind))
    dtype = a.dtype if a.dtype.name == kind else np.dtype(kind)
    return sys.modules["cupy"].empty(shape, dtype) if a.device.id == current_device() else None
