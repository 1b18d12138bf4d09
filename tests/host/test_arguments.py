"""What functions of the library ask of their arguments: each error names the argument, by the name that the caller knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism.host import arguments
from prism.runtime.arrays import BFLOAT16, describe


def test_arrays_are_of_one_library_and_place() -> None:
    x = np.zeros(3)
    infos = arguments.describe_all({"x": x, "keys": x}, {"x": "values"})
    assert list(infos) == ["x", "keys"] and infos["x"].owner is x
    for given, called, match in [
        ({"x": {3}}, {}, "`x` must be an array"),
        ({"x": x, "keys": "1"}, {}, "`keys` must be an array"),
        ({"x": None}, {"x": "values"}, "`values` must be an array"),
    ]:
        with pytest.raises(TypeError, match=match):
            arguments.describe_all(given, called)


def test_a_result() -> None:
    x = np.zeros(3)
    infos = arguments.describe_all({"x": x}, {"x": "a"})
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="`out` is read-only"):
        arguments.describe_result(frozen, infos, {"x": "a"})
    assert arguments.describe_result(x, infos, {}).owner is x
    refused: list[tuple[Any, Any, str]] = [
        (np.zeros(3, np.float32), TypeError, "`out` must be of float64, the result's dtype, not of float32"),
        (np.zeros(3, ">f8"), TypeError, "in another byte order"),
        (np.zeros(4), ValueError, r"`out` must have shape \(3,\), the result's, not \(4,\)"),
        (np.zeros(6)[::2], ValueError, "`out` must be C-contiguous"),
    ]
    for out, kind, match in refused:
        with pytest.raises(kind, match=match):
            arguments.require_result(describe(out, "out"), "float64", (3,))
    arguments.require_result(describe(np.zeros(3), "out"), "float64", (3,))


def test_dtypes_by_any_name() -> None:
    class Torch:
        def __str__(self) -> str:
            return "torch.float16"

    assert arguments.scalar_of("float32") == arguments.scalar_of(np.float32) == "float32"
    assert arguments.scalar_of(Torch()) == "float16" and arguments.scalar_of("torch.bfloat16") == "bfloat16"
    assert arguments.dtype_of(BFLOAT16) is BFLOAT16 and arguments.dtype_of("bfloat16") is BFLOAT16
    with pytest.raises(TypeError, match="`out_dtype`: "):
        arguments.dtype_of("float33", "out_dtype")


def test_numbers_are_known_by_their_bits() -> None:
    values = [None, 1, 1.0, True, 0.0, -0.0, np.float32(1), np.float64(1), np.int32(1)]
    known = [arguments.exactly(value) for value in values]
    assert len(set(known)) == len(values) and known == [arguments.exactly(value) for value in values]


def test_what_must_be_copied() -> None:
    x = np.zeros((4, 4))
    odd = np.zeros(33, np.uint8)[1:].view(np.float64)
    arrays = {"a": x, "b": x.T, "c": x[:, ::2], "d": x.astype(">f8"), "e": odd}
    assert arguments.not_plain({name: describe(array) for name, array in arrays.items()}) == ("b", "c", "d", "e")
