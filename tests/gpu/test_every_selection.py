"""Each function of selections, runs, positions and differences, on arrays of NumPy, CuPy and torch, beside NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from prism import lib

cupy = pytest.importorskip("cupy")
torch = pytest.importorskip("torch")

RANDOM = np.random.default_rng(3)
X = RANDOM.integers(0, 6, 1000) * (RANDOM.random(1000) < 0.6)
ARRAYS: dict[str, np.ndarray] = {
    "x": X,
    "mask": X > 2,
    "f": RANDOM.standard_normal(1000).astype(np.float32),
    "runs": np.sort(X),
    "grid": X.reshape(25, 40),
    "edges": np.arange(6),
    "at": RANDOM.integers(0, 1000, 300),
    "column": RANDOM.integers(0, 40, (25, 3)),
    "offsets": np.array([0, 10, 400, 1000]),
    "many": RANDOM.integers(0, 4, 1000),
    "z": (RANDOM.standard_normal(1000) + 1j * RANDOM.standard_normal(1000)).astype(np.complex64),
}
PUT = {
    "numpy": lambda x: x.copy(),
    "cupy": lambda x: cupy.asarray(x),
    "torch": lambda x: torch.as_tensor(x, device="cuda"),
}
LIBRARY = {"numpy": np.ndarray, "cupy": cupy.ndarray, "torch": torch.Tensor}


def begins(x: np.ndarray) -> np.ndarray:
    return np.concatenate([[True], x[1:] != x[:-1]])


def lengths(x: np.ndarray) -> np.ndarray:
    return np.diff(np.append(np.flatnonzero(begins(x)), x.size))


def changed(name: str, do: Callable[[np.ndarray], Any]) -> np.ndarray:
    found = ARRAYS[name].copy()
    do(found)
    return found


def first_of(parts: np.ndarray, pick: Callable[[np.ndarray], Any]) -> np.ndarray:
    return np.array([pick(parts[begin:end]) for begin, end in zip((0, 10, 400), (10, 400, 1000), strict=True)])


A = ARRAYS
UNKNOWN = {  # a result of unknown length, in all three ways
    "nonzero": (lambda a, **how: lib.nonzero(a["x"], **how), np.nonzero(A["x"])),
    "flatnonzero": (lambda a, **how: lib.flatnonzero(a["mask"], **how), np.flatnonzero(A["mask"])),
    "argwhere": (lambda a, **how: lib.argwhere(a["grid"], **how), np.argwhere(A["grid"])),
    "compress": (lambda a, **how: lib.compress(a["mask"], a["f"], **how), A["f"][A["mask"]]),
    "extract": (lambda a, **how: lib.extract(a["mask"], a["x"], **how), A["x"][A["mask"]]),
    "select": (lambda a, **how: lib.select(a["x"], lambda e: e > 2, **how), A["x"][A["mask"]]),
    "unique_consecutive": (lambda a, **how: lib.unique_consecutive(a["x"], **how), A["x"][begins(A["x"])]),
    "unique_by_key": (
        lambda a, **how: lib.unique_by_key(a["runs"], a["f"], **how),
        (A["runs"][begins(A["runs"])], A["f"][begins(A["runs"])]),
    ),
    "run_length_encode": (lambda a, **how: lib.run_length_encode(a["x"], **how), (A["x"][begins(A["x"])], lengths(A["x"]))),
    "reduce_by_key": (
        lambda a, **how: lib.reduce_by_key(a["runs"], a["many"], **how),
        (np.unique(A["runs"]), np.bincount(A["runs"], A["many"])[np.unique(A["runs"])].astype(int)),
    ),
}  # fmt: skip
CALLS = {
    "split": (lambda a: lib.split(a["x"], a["mask"]), (A["x"][A["mask"]], A["x"][~A["mask"]])),
    "split3": (
        lambda a: lib.split3(a["x"], lambda e: e < 1, lambda e: e < 3),
        (A["x"][A["x"] < 1], A["x"][(A["x"] >= 1) & (A["x"] < 3)], A["x"][A["x"] >= 3]),
    ),
    "unique_consecutive with all": (
        lambda a: lib.unique_consecutive(a["x"], True, True),
        (A["x"][begins(A["x"])], np.cumsum(begins(A["x"])) - 1, lengths(A["x"])),
    ),
    "a lambda of complex numbers": (lambda a: lib.evaluate(lib.lazy.map(lambda z: z + z, a["z"])), A["z"] + A["z"]),
    "select in place": (lambda a: lib.select(a["x"], a["mask"], out=a["x"]), A["x"][A["mask"]]),
    "compress with out": (
        lambda a: lib.compress(a["mask"], a["x"], out=a["x"][: int(A["mask"].sum())]),
        A["x"][A["mask"]],
    ),
    "run_length_decode": (lambda a: lib.run_length_decode(a["x"], a["many"]), np.repeat(A["x"], A["many"])),
    "repeat": (lambda a: lib.repeat(a["grid"], 3, 1), np.repeat(A["grid"], 3, 1)),
    "nontrivial": (
        lambda a: lib.run_length_encode(a["x"], nontrivial=True),
        (np.flatnonzero(begins(A["x"]))[lengths(A["x"]) > 1], lengths(A["x"])[lengths(A["x"]) > 1]),
    ),
    "find": (lambda a: lib.find(a["x"], lambda e: e == 5), np.flatnonzero(A["x"] == 5)[0]),
    "searchsorted": (
        lambda a: lib.searchsorted(a["runs"], a["x"], "right"),
        np.searchsorted(A["runs"], A["x"], "right"),
    ),
    "digitize": (lambda a: lib.digitize(a["f"], a["edges"]), np.digitize(A["f"], A["edges"])),
    "isin": (lambda a: lib.isin(a["x"], a["edges"][2:4]), np.isin(A["x"], [2, 3])),
    "take": (lambda a: lib.take(a["f"], a["at"]), A["f"][A["at"]]),
    "take_along_axis": (
        lambda a: lib.take_along_axis(a["grid"], a["column"], 1),
        np.take_along_axis(A["grid"], A["column"], 1),
    ),
    "put": (lambda a: (lib.put(a["x"], a["edges"], 9), a["x"])[1], changed("x", lambda x: np.put(x, A["edges"], 9))),
    "place": (
        lambda a: (lib.place(a["x"], a["mask"], a["edges"]), a["x"])[1],
        changed("x", lambda x: np.place(x, A["mask"], A["edges"])),
    ),
    "putmask": (
        lambda a: (lib.putmask(a["x"], a["mask"], a["edges"]), a["x"])[1],
        changed("x", lambda x: np.putmask(x, A["mask"], A["edges"])),
    ),
    "diff": (lambda a: lib.diff(a["grid"], axis=0), np.diff(A["grid"], axis=0)),
    "ediff1d": (lambda a: lib.ediff1d(a["x"], 1, 2), np.ediff1d(A["x"], 1, 2)),
    "adjacent_difference": (lambda a: lib.adjacent_difference(a["x"]), np.diff(A["x"], prepend=0)),
    "minmax": (lambda a: lib.minmax(a["grid"], 1), (A["grid"].min(1), A["grid"].max(1))),
    "argminmax": (lambda a: lib.argminmax(a["f"]), (A["f"].argmin(), A["f"].argmax())),
    "segmented_argmin": (lambda a: lib.segmented_argmin(a["f"], a["offsets"]), first_of(A["f"], np.argmin)),
    "segmented_argmax": (lambda a: lib.segmented_argmax(a["f"], a["offsets"]), first_of(A["f"], np.argmax)),
    "any": (lambda a: lib.any(a["z"], where=a["mask"]), np.any(A["z"], where=A["mask"])),
    "all": (lambda a: lib.all(a["grid"], 0), np.all(A["grid"], 0)),
    "count_nonzero": (lambda a: lib.count_nonzero(a["z"]), np.count_nonzero(A["z"])),
    "max": (lambda a: lib.max(a["z"]), A["z"].max()),
    "min": (lambda a: lib.min(a["z"]), A["z"].min()),
    "argmax": (lambda a: lib.argmax(a["z"]), A["z"].argmax()),
    "sum": (lambda a: lib.sum(a["x"], where=a["mask"]), np.sum(A["x"], where=A["mask"])),
}


def on_host(found: Any) -> np.ndarray:
    return np.asarray(found.cpu() if isinstance(found, torch.Tensor) else cupy.asnumpy(found))


def check(found: Any, wanted: Any, library: str) -> None:
    """Compare results, one or several; all are arrays of the library, but scalars of NumPy."""
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            check(one, other, library)
        return
    assert isinstance(found, LIBRARY[library]) or (library == "numpy" and np.ndim(wanted) == 0)
    assert np.array_equal(on_host(found), wanted)


@pytest.mark.parametrize("library", PUT)
@pytest.mark.parametrize("name", CALLS)
def test_a_function(name: str, library: str) -> None:
    call, wanted = CALLS[name]
    check(call({key: PUT[library](value) for key, value in ARRAYS.items()}), wanted, library)


@pytest.mark.parametrize("library", PUT)
@pytest.mark.parametrize("name", UNKNOWN)
def test_a_result_of_unknown_length(name: str, library: str) -> None:
    """Cut; whole, with its number; and of a fixed size, less and more than there are."""
    call, wanted = UNKNOWN[name]
    a = {key: PUT[library](value) for key, value in ARRAYS.items()}
    check(call(a), wanted, library)
    every = wanted if isinstance(wanted, tuple) else (wanted,)
    *full, number = call(a, count=True)
    full = full[0] if isinstance(full[0], tuple) else full
    many = len(every[0])
    assert int(on_host(number)[0]) == many
    for one, other in zip(full, every, strict=True):
        assert np.array_equal(on_host(one)[:many], other)
    for size in (many // 2, many + 3):
        fixed = call(a, size=size)
        for one, other in zip(fixed if isinstance(fixed, tuple) else (fixed,), every, strict=True):
            assert len(one) == size and np.array_equal(on_host(one)[:many], other[:size])
