"""Structs and complex numbers on the GPU: in a kernel, by value, in scans, reductions and collectives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from tests.lang.types.test_structs import Affine as Floats
from tests.lang.types.test_structs import Mixed, Point, fields, in_pairs, passed_on, turned
from tests.lib.test_structs import COMPOSE, JOIN, Affine, Extent, Short, collectives, compose, composed, maps

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


class Records:
    """A NumPy array of structs on the GPU, shared by `__cuda_array_interface__` with its `descr`, which any CuPy can do."""

    def __init__(self, x: Any) -> None:
        self.dtype, self.shape = x.dtype, x.shape
        self.memory = cupy.asarray(np.frombuffer(x.tobytes(), np.uint8))
        descr, at = [], 0
        for name in x.dtype.names:
            kind, offset, *title = x.dtype.fields[name]
            descr += [("", f"|V{offset - at}")] if offset > at else []
            descr.append(((*title, name) if title else name, kind.str))
            at = offset + kind.itemsize
        descr += [("", f"|V{x.dtype.itemsize - at}")] if x.dtype.itemsize > at else []
        facts = {"shape": x.shape, "typestr": x.dtype.str, "descr": descr, "version": 3}
        self.__cuda_array_interface__ = {**facts, "data": (self.memory.data.ptr, False), "stream": 1}

    def get(self) -> Any:
        cupy.cuda.Device().synchronize()
        return np.frombuffer(self.memory.get().tobytes(), self.dtype).reshape(self.shape)


def structured(x: Any) -> Any:
    """A CuPy array of structs; CuPy has them from 14 on."""
    try:
        return cupy.asarray(x)
    except (TypeError, ValueError) as error:
        pytest.skip(f"CuPy {cupy.__version__} has no arrays of structs: {error}")


def test_fields_and_structs_by_value() -> None:
    x, wanted = np.zeros(64, Mixed), np.zeros(64, Mixed)
    x["small"], x["half"], x["wide"], x["brain"] = np.arange(64) - 32, np.arange(64) / 4, np.arange(64), 0x3F80
    more = Mixed(100, 0.5, 2.5, False, 7)
    fields[1, 64](x, wanted, more)
    y = Records(np.zeros(64, Mixed))
    fields[1, 64](Records(x), y, more)
    found = y.get()
    assert all(np.array_equal(found[name], wanted[name]) for name in Mixed.names)


@pytest.mark.parametrize("kind", [Floats, Mixed, Point], ids=str)
def test_shared_memory_and_shuffles(kind: Any) -> None:
    x = np.zeros(128, kind)
    for name, scalar in kind.fields:
        x[name] = np.arange(128) % 2 if scalar.kind == "bool" else np.arange(128)
    y = Records(np.zeros_like(x))
    turned[2, 64](Records(x), y, template={"T": kind})
    wanted = x.reshape(2, 64)[:, ::-1].reshape(2, 32, 2)[:, :, ::-1].reshape(-1)
    assert all(np.array_equal(y.get()[name], wanted[name]) for name in kind.names)


def test_vectors_of_structs() -> None:
    x = np.zeros(64, Floats)
    x["scale"], x["shift"] = np.arange(64), -np.arange(64)
    wanted, y = np.zeros_like(x), Records(np.zeros_like(x))
    in_pairs[1, 32](x, wanted)
    in_pairs[1, 32](Records(x), y)
    assert np.array_equal(y.get(), wanted)


@pytest.mark.parametrize("kind", [Floats, Mixed, Point], ids=str)
def test_mailboxes(kind: Any) -> None:
    """Of more than 8 bytes in two words, which arrive one after the other."""
    blocks = 2000
    x = np.zeros(blocks, kind)
    for name, scalar in kind.fields:
        x[name] = np.arange(blocks) % 100 % (2 if scalar.kind == "bool" else 100)
    words = cupy.zeros(blocks * (2 if kind.bytes <= 8 else 4), cupy.uint64)
    given = Records(x)
    for epoch in range(1, 20):
        y = Records(np.zeros_like(x))
        passed_on[blocks, 1](words, given, y, epoch, template={"T": kind})
        found = y.get()
        assert all(np.array_equal(found[name][1:], x[name][:-1]) for name in kind.names)


def test_collectives() -> None:
    x = maps(Affine, 512)
    arrays = [Records(np.zeros(size, Affine)) for size in (512, 4, 2)]
    collectives[2, 64](Records(x), *arrays, Affine(1, 0), 512, template={"OP": compose})
    blocks = [composed(part) for part in x.reshape(2, 256)]
    y, z, w = (array.get() for array in arrays)
    assert np.array_equal(y, np.concatenate(blocks)) and np.array_equal(w, np.stack([part[-1] for part in blocks]))
    assert np.array_equal(z, np.stack([composed(part)[-1] for part in x.reshape(4, 128)]))


@pytest.mark.parametrize("kind", [Affine, Short], ids=str)
def test_scans_and_reductions_of_maps(kind: Any) -> None:
    for size in (1, 33, 5000, 70_001, 1_000_003):
        x = maps(kind, size)
        wanted, given = composed(x), structured(x)
        assert np.array_equal(cupy.asnumpy(prism.lib.scan(given, COMPOSE)), wanted), size
        assert cupy.asnumpy(prism.lib.reduce(given, COMPOSE)) == wanted[-1], size
        out = structured(np.zeros_like(x))
        assert prism.lib.scan(given, COMPOSE, out=out) is out and np.array_equal(cupy.asnumpy(out), wanted)


def test_axes_of_maps() -> None:
    x = maps(Affine, 400, 701)
    for axis in (0, 1):
        rows = [np.ascontiguousarray(row) for row in (x if axis else x.T)]
        wanted = np.stack([composed(row) for row in rows], 1 - axis)
        assert np.array_equal(cupy.asnumpy(prism.lib.scan(structured(x), COMPOSE, axis=axis)), wanted)
        assert np.array_equal(
            cupy.asnumpy(prism.lib.reduce(structured(x), COMPOSE, axis=axis)), np.take(wanted, -1, axis)
        )


def test_structs_of_16_bytes_many_times() -> None:
    """Totals in pairs of words: no half of an older launch is taken for this one's."""
    x = np.zeros(3_000_000, Extent)
    x["first"] = x["last"] = np.arange(x.size)
    x["any"] = np.random.default_rng(0).random(x.size) < 0.001
    wanted = prism.lib.scan(x[:20_000], JOIN)
    given, out = structured(x), structured(np.zeros_like(x))
    for _ in range(100):
        prism.lib.scan(given, JOIN, out=out)
        found = cupy.asnumpy(out)
        assert np.array_equal(found[:20_000], wanted)
    places = np.flatnonzero(x["any"])
    assert cupy.asnumpy(prism.lib.reduce(given, JOIN)).item() == (places[0], places[-1], 1)


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_complex_numbers(kind: str) -> None:
    random = np.random.default_rng(0)
    for size in (1, 1000, 70_001, 3_000_001):
        x = (random.integers(-8, 9, size) + 1j * random.integers(-8, 9, size)).astype(kind)  # sums are exact
        given = cupy.asarray(x)
        assert np.array_equal(cupy.asnumpy(prism.lib.cumsum(given)), np.cumsum(x.astype("complex128")).astype(kind))
        assert complex(prism.lib.sum(given)) == complex(np.sum(x.astype("complex128")))
    m = x[:3_000_000].reshape(1500, 2000)
    for axis in (0, 1):
        assert np.array_equal(cupy.asnumpy(prism.lib.cumsum(cupy.asarray(m), axis=axis)), np.cumsum(m, axis=axis))
        assert np.array_equal(cupy.asnumpy(prism.lib.sum(cupy.asarray(m), axis=axis)), np.sum(m, axis=axis))
    turns = np.exp(1j * random.uniform(0, 7, 1000)).astype(kind)
    bound = 1000 * 4 * np.finfo(kind).eps  # each product is off by no more than 2 sqrt(2) eps, and all have modulus 1
    found = cupy.asnumpy(prism.lib.cumprod(cupy.asarray(turns)))
    assert (np.abs(found - np.cumprod(turns.astype("complex128"))) <= bound).all()


def test_a_misaligned_array_is_refused() -> None:
    room = cupy.zeros(1000, cupy.uint8)
    facts = {"shape": (10,), "typestr": "|V8", "descr": [("scale", "<f4"), ("shift", "<f4")], "version": 3}
    wrong = type("Wrong", (), {"__cuda_array_interface__": {**facts, "data": (room.data.ptr + 4, False)}})()
    with pytest.raises(ValueError, match="`x` must be aligned to 8 bytes"):
        in_pairs[1, 5](wrong, wrong)
