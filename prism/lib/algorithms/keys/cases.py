"""Calls of the functions of runs of equal keys: runs of about seven elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.lib.cases import Case, exact, numbers


def _with_keys(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return (np.cumsum(random.random(shape) < 1 / 7).astype(np.int32) % 5, *numbers(random, shape, dtype))


def _starts(keys: Any) -> Any:
    return np.flatnonzero(np.concatenate([np.ones(min(1, keys.size), bool), keys[1:] != keys[:-1]]))


def _sums(x: Any) -> Any:
    return np.concatenate([np.zeros(1, exact(x).dtype), np.cumsum(exact(x), dtype=exact(x).dtype)])


def _keys(random: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any]:
    return (_with_keys(random, shape, dtype)[0].astype(dtype),)


def _lengths(x: Any) -> tuple[Any, Any]:
    starts = _starts(x)
    return x[starts], np.diff(np.append(starts, x.size))


def _scan(keys: Any, x: Any) -> Any:
    starts = _starts(keys)
    first = np.repeat(starts, np.diff(np.append(starts, keys.size)))
    return (_sums(x)[1:] - _sums(x)[first]).astype(x.dtype)


def _reduce(keys: Any, x: Any) -> tuple[Any, Any]:
    starts = _starts(keys)
    return keys[starts], np.diff(_sums(x)[np.append(starts, keys.size)]).astype(x.dtype)


def _counted(keys: Any, x: Any) -> tuple[Any, Any, Any]:
    return keys, x, np.array([x.size])


def _long_runs(x: Any) -> tuple[Any, Any]:
    starts, lengths = _starts(x), _lengths(x)[1]
    return starts[lengths > 1], lengths[lengths > 1]


def _fixed(found: tuple[Any, Any], size: int, fills: tuple[int, int]) -> tuple[Any, Any]:
    one, other = (
        np.append(x[:size], np.full(max(size - x.size, 0), fill)) for x, fill in zip(found, fills, strict=True)
    )
    return one.astype(found[0].dtype), other.astype(found[1].dtype)


_FEW: dict[str, Any] = {"out": False, "shapes": ((1000,), (0,), (1,)), "large": ((1,), (1 << 20,))}
CASES = (
    Case("scan_by_key", _with_keys, _scan),
    Case("reduce_by_key", _with_keys, _reduce, out=False, planned=False),
    Case("run_length_encode", _keys, _lengths, out=False, planned=False),
    Case(
        "run_length_encode",
        _keys,
        lambda x: _counted(*_lengths(x)),
        {"count": True},
        out=False,
        planned=False,
        cut=True,
    ),
    Case("reduce_by_key", _with_keys, lambda *given: _counted(*_reduce(*given)), {"count": True}, out=False, cut=True),
    Case(
        "reduce_by_key",
        _with_keys,
        lambda *given: _fixed(_reduce(*given), 300, (1, 1)),
        {"size": 300, "fill_value": 1},
        ("int32", "float32"),
        **_FEW,
        planned=False,
    ),
    Case(
        "run_length_encode",
        _keys,
        lambda x: _fixed(_lengths(x), 300, (1, 0)),
        {"size": 300, "fill_value": 1},
        ("int32", "float32"),
        **_FEW,
        planned=False,
    ),
    Case("run_length_encode", _keys, _long_runs, {"nontrivial": True}, ("int32", "float16"), **_FEW, planned=False),
)
