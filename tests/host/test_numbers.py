"""Numbers of a call: their bits, told apart by type and value, and how to find them asked for once for each dtype."""

from collections.abc import Callable

import numpy as np
import pytest

from prism.host import numbers, repeat
from prism.host.repeat import Notes
from prism.runtime.arrays import ArrayInfo

X = np.ones(3)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_known", "_ways"):
        monkeypatch.setattr(numbers, name, {})


@pytest.mark.parametrize("value", [0.0, -0.0, 1, 1.0, True, 2.5, -3, np.float32(7), np.nan])
@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int64"])
def test_bits_are_those_of_numpy(kind: str, value: object) -> None:
    if kind == "int64" and value != value:
        return
    wanted = int.from_bytes(np.array(value).astype(kind).tobytes(), "little")

    def way(x: ArrayInfo, out: ArrayInfo | None) -> Callable[[object], object]:
        assert x.owner is X and out is None
        return lambda given: np.array(given).astype(kind)[()]

    for _ in range(2):
        assert numbers.bits_of((kind,), value, way, X) == wanted


def test_what_has_no_bits() -> None:
    wide = lambda *_: np.complex128
    assert numbers.bits_of(("wide",), 1, wide, X) is None, "more than 8 bytes"

    def refused(value: object) -> object:
        raise TypeError

    assert numbers.bits_of(("refused",), 1, lambda *_: refused, X) is None
    assert numbers.bits_of(([],), 1, lambda *_: np.float32, X) is None, "what can't be looked up"
    assert numbers.bits_of(("fine",), 1, lambda *_: np.float32, [1]) is None, "no array"
    assert numbers.bits_of(("fine",), 1, lambda *_: np.float32, X, [1]) is None, "no array for the result"
    token = repeat.noting.set(Notes())
    try:
        assert numbers.bits_of(("fine",), 1, lambda *_: np.float32, X) is None, "a plan is made for good"
    finally:
        repeat.noting.reset(token)
    assert numbers.bits_of(("fine",), 1, lambda *_: np.float32, X) == np.float32(1).view(np.uint32)


def test_how_is_asked_once_and_only_so_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "_MOST", 3)
    asked = []
    for value in range(8):
        numbers.bits_of(("int",), value, lambda *_: asked.append(1) or np.int64, X)
        assert len(numbers._known) <= 3
    assert len(asked) == 1
    numbers.bits_of(("int",), 0, lambda *_: asked.append(2) or np.int64, X.astype("int8"))
    numbers.bits_of(("int",), 0, lambda *_: asked.append(3) or np.int64, X, X)
    assert asked == [1, 2, 3], "of other dtypes once more"
