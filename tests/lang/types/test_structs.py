"""Structs: declared, laid out as NumPy's, made, taken apart, moved; on the reference machine and through NVRTC.

Tests of prism/lang/check/vectors.py; prism/lang/emit/program.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import prism
from prism.lang import (
    bfloat16,
    block,
    bool_,
    complex64,
    const,
    dtype,
    float16,
    float32,
    float64,
    grid,
    group,
    id,
    int8,
    int32,
    int64,
    load_vector,
    mailbox,
    partition,
    ptr,
    publish,
    receive,
    requires,
    shared,
    shuffle_xor,
    store_vector,
    struct,
    template,
    thread,
    uint16,
    uint32,
    vector,
    warp,
)  # fmt: skip
from prism.lang.types.structs import Struct, alignment_of, dtype_called, scalar_called, struct_of
from prism.runtime.arguments import Arguments
from prism.runtime.entry import EntryParameter


@struct
@dataclass
class Affine:
    """x -> scale * x + shift"""

    scale: float32
    shift: float32


@struct
class Mixed:
    small: int8
    half: float16
    brain: bfloat16
    flag: bool_
    wide: float64


@struct
class Point:
    x: float32
    y: float32
    z: float32


# -- Declarations -----------------------------------------------------------------------------------------------------


def test_a_struct_is_laid_out_as_numpys_aligned_dtype() -> None:
    assert isinstance(Mixed, Struct)
    assert Mixed.dtype.names == ("small", "half", "brain", "flag", "wide")
    assert [Mixed.dtype.fields[name][1] for name in Mixed.dtype.names] == [0, 2, 4, 6, 8]  # type: ignore[index]
    assert (Mixed.bytes, Mixed.align) == (16, 16)
    assert (Point.bytes, Point.align, alignment_of(Point)) == (12, 4, 4)
    assert np.zeros(3, Affine).dtype == np.dtype([("scale", "<f4"), ("shift", "<f4")])


def test_a_value_on_the_host() -> None:
    assert Affine(2, 3).item() == (2.0, 3.0)
    assert Affine(2, shift=3) == Affine(scale=2, shift=3)
    assert hash(Affine(2, 3)) == hash(Affine(2, 3))
    assert Mixed(1, 2, 1.5, True, 0)["brain"] == 0x3FC0  # bits
    for given in ((1,), (1, 2, 3)):
        with pytest.raises(TypeError, match="`Affine` takes scale, shift"):
            Affine(*given)
    with pytest.raises(TypeError, match="takes scale, shift"):
        Affine(1, scale=2)


def test_structs_of_the_same_fields_are_the_same_type() -> None:
    @struct
    class Line:
        scale: float32
        shift: float32

    assert Line == Affine and hash(Line) == hash(Affine) and Line != Point
    assert scalar_called(Affine.key) == Affine == struct_of(Affine.dtype)
    assert struct_of(np.dtype("complex64")) == complex64 != make_complex()
    assert scalar_called("struct{a:int32") is None and scalar_called("struct{a:none}") is None
    assert dtype_called("complex64") == np.complex64


def test_a_field_of_bfloat16_is_known_by_its_title() -> None:
    """To NumPy it is an integer; its title tells, so that the two dtypes differ."""

    @struct
    class Plain:
        a: uint16
        b: uint16

    @struct
    class Brain:
        a: bfloat16
        b: bfloat16

    x = np.zeros(8, Brain)
    assert x.dtype != Plain.dtype and x["a"].dtype == np.uint16 and Brain != Plain
    for array in (x, x[::2], x.copy(), x.reshape(2, 4), np.empty_like(x), x[:1], Brain(1, 2)):
        assert struct_of(array.dtype) == Brain
    assert struct_of(np.zeros(8, Plain).dtype) == Plain
    assert Brain.value((1, 2)).tobytes() == Brain(1, 2).tobytes() == np.array([0x3F80, 0x4000], np.uint16).tobytes()


def make_complex() -> Any:
    @struct
    class Complex:
        real: float32
        imag: float32

    return Complex


@pytest.mark.parametrize("given", ["f4,i8", ">f4,>f4", [("a", "f4", 2)], [("a", [("b", "f4")])], "O,f4", "f4"], ids=str)
def test_other_dtypes_are_no_structs(given: Any) -> None:
    """Packed with a gap missing, another byte order, an array or a record in a field, an object, no record at all."""
    assert struct_of(np.dtype(given)) is None


def declared(**fields: Any) -> type:
    return type("Wrong", (), {"__annotations__": fields})


@pytest.mark.parametrize(
    ("cls", "fault"),
    [
        (declared(), "has no fields"),
        (declared(a=str), "`a` of the struct `Wrong` must be a scalar of Prism"),
        (declared(a=Affine), "must be a scalar of Prism"),
        (declared(a=vector(float32, 2)), "must be a scalar of Prism"),
        (declared(__a=int32), "names that begin with `__`"),
        (type("Wrong", (int,), {"__annotations__": {"a": int32}}), "has a base class"),
        (type("Wrong", (), {"__annotations__": {"a": int32}, "a": 3}), "has a default"),
        (3, "marks a class"),
    ],
    ids=str,
)
def test_what_is_no_struct(cls: Any, fault: str) -> None:
    with pytest.raises(TypeError, match=fault):
        struct(cls)


# -- In kernels -------------------------------------------------------------------------------------------------------


def compiles(kernel: Any, **template: Any) -> str:
    compiled = prism.compile(kernel, template=template)
    assert compiled.cubin
    return str(compiled.cuda)


@prism.lang.prism("global")
@requires(grid[1], block[1], thread[32])
def fields(x: ptr(const(Mixed)) @ grid[1], y: ptr(Mixed) @ grid[1], more: Mixed @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[1]):
        v: Mixed = x[i]
        items: Mixed[2]
        items[0] = v
        items[1] = Mixed(small=v.small + more.small, half=v.half, brain=v.brain, flag=not v.flag, wide=v.wide)
        items[i % 2].wide = x[i].wide + 1
        v.brain = items[1].brain + more.brain
        v.half += more.half
        v.small = items[1].small
        v.flag = items[1].flag
        v.wide = items[1].wide if i % 2 == 1 else items[0].wide
        mine[0] = v if i != 3 else more


def test_fields_are_read_and_written() -> None:
    x, y = np.zeros(64, Mixed), np.zeros(64, Mixed)
    x["small"], x["half"], x["wide"] = np.arange(64) - 32, np.arange(64) / 4, np.arange(64)
    x["brain"] = 0x3F80  # 1
    fields[1, 64](x, y, Mixed(100, 0.5, 2.5, False, 7), check=True)
    assert y[3].item() == Mixed(100, 0.5, 2.5, False, 7).item()
    rest = np.arange(64) != 3
    assert np.array_equal(y["small"][rest], (x["small"] + np.int8(100))[rest])
    assert np.array_equal(y["half"][rest], (x["half"] + np.float16(0.5))[rest])
    assert (y["brain"][rest] == 0x4060).all()  # 3.5
    assert y["flag"][rest].all()
    assert np.array_equal(y["wide"][rest], (x["wide"] + 1)[rest])
    text = compiles(fields)
    assert "signed char small_; px_half half_; px_bf16 brain_; bool flag_; double wide_;" in text


@prism.lang.prism("global")
@template(T=dtype)
@requires(grid[1], block[1], thread[64])
def turned(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
        bytes_before: shared(int8[3])
        tile: shared(T[64])
        with partition(bytes_before, thread[1], t) as flag, group(thread[1]):
            if t < 3:
                flag[0] = 0
        with partition(tile, thread[1], t) as slot:
            with group(warp[1]):
                other: T @ thread[1] = shuffle_xor(x[i], 1)
                with group(thread[1]):
                    slot[0] = other
        with group(thread[1]):
            mine[0] = T(tile[63 - t])


@pytest.mark.parametrize("kind", [Affine, Mixed, Point, complex64, make_complex()], ids=str)
def test_structs_in_shared_memory_and_shuffled(kind: Any) -> None:
    """Point has 12 bytes: it lies at multiples of 4, between bytes of another object."""
    x = np.random.default_rng(0).integers(0, 100, (128, kind.bytes), np.uint8)
    x = np.frombuffer(x.tobytes(), kind.numpy).copy()
    for name, scalar in kind.fields:
        x[name] = np.arange(128) % 2 if scalar.kind == "bool" else np.arange(128)
    x = x.view(kind.dtype)
    y = np.zeros_like(x)
    turned[2, 64](x, y, check=True)
    expected = x.reshape(2, 64)[:, ::-1].reshape(2, 32, 2)[:, :, ::-1].reshape(-1)
    assert y.tobytes() == np.ascontiguousarray(expected).tobytes() or np.array_equal(y, expected)
    compiles(turned, T=kind)


@prism.lang.prism("global")
@requires(grid[1], block[1], thread[32])
def in_pairs(x: ptr(const(Affine)) @ grid[1], y: ptr(Affine) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], 2 * i) as mine, group(thread[1]):
        two: vector(Affine, 2) = load_vector(x[2 * i], 2)
        first: Affine = two[0]
        two[0] = Affine(first.shift, first.scale)
        store_vector(mine[0], two)


def test_vectors_of_structs() -> None:
    x = np.zeros(64, Affine)
    x["scale"], x["shift"] = np.arange(64), -np.arange(64)
    y = np.zeros_like(x)
    in_pairs[1, 32](x, y, check=True)
    assert np.array_equal(y["scale"][::2], x["shift"][::2]) and np.array_equal(y["scale"][1::2], x["scale"][1::2])
    assert "uint4" in compiles(in_pairs)


@prism.lang.prism("global")
@template(T=dtype)
@requires(grid[1], block[1], thread[1])
def passed_on(
    words: ptr(mailbox(T)) @ grid[1], x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], epoch: uint32 @ grid[1]
):
    b: int32 @ thread[1] = id()
    with partition(y, thread[1], b) as mine, group(thread[1]):
        publish(words[b], x[b], epoch)
        before: T[2]
        receive(words[b - 1], before, 1, 1 if b > 0 else 0, x[b], epoch)
        mine[0] = before[0]


@pytest.mark.parametrize("kind", [make_complex(), Mixed, Point, complex64], ids=str)
def test_mailboxes_of_structs(kind: Any) -> None:
    """A word of 8 or 16 bytes, or two of them: the second half of the array is a word that nobody asks for."""
    x = np.zeros(8, kind.numpy)
    for name, scalar in kind.fields:
        x[name] = np.arange(8) % 2 if scalar.kind == "bool" else np.arange(8) + 1
    x = x.view(kind.dtype)
    y, words = np.zeros_like(x), np.zeros(8 * (2 if kind.bytes <= 8 else 4), np.uint64)
    for epoch in (1, 2):
        passed_on[8, 1](words, x, y, epoch, template={"T": kind}, check=True, schedule="starved")
        assert y[0] == x[0] and np.array_equal(y[1:], x[:-1])
    assert ("px_word_missing" in compiles(passed_on, T=kind)) == (kind.bytes > 8)


@prism.lang.prism("global")
@requires(grid[1], thread[1])
def untold(words: ptr(mailbox(Mixed)) @ grid[1], y: ptr(int32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        mine[0] = 1


def test_a_mailbox_that_nobody_uses_has_a_type() -> None:
    assert compiles(untold).count("struct px_word_pair") == 1


@prism.lang.prism("global")
@requires(grid[1], block[1], thread[1])
def unwritten(y: ptr(float32) @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        v: Affine
        mine[0] = v.scale


def test_a_checked_run_reports_a_struct_without_a_value() -> None:
    with pytest.raises(prism.interpret.MachineError, match="`v` is read before it has a value"):
        unwritten[1, 1](np.zeros(1, np.float32), check=True)


def test_a_struct_of_the_wrong_kind_is_refused_at_the_launch() -> None:
    x = np.zeros(64, np.dtype([("scale", "<f4"), ("offset", "<f4")]))
    with pytest.raises(TypeError, match="`x` must be an array of struct"):
        in_pairs[1, 32](x, x)
    with pytest.raises(TypeError, match="`more`"):
        fields[1, 32](np.zeros(32, Mixed), np.zeros(32, Mixed), 3)


# -- Launching --------------------------------------------------------------------------------------------------------


def test_structs_are_packed_where_the_kernel_has_them() -> None:
    """By value, each at a multiple of its alignment: a float, then 16 bytes, then 12."""
    parameters = (
        EntryParameter("a", "scalar", "float32"),
        EntryParameter("m", "scalar", Mixed.key),
        EntryParameter("p", "scalar", Point.key),
    )
    arguments = Arguments("kernel", parameters)
    buffer, *_ = arguments.pack((1.0, Mixed(1, 2, 3, True, 4), (5.0, 6.0, 7.0)))
    raw = bytes(buffer)
    assert raw[16:32] == Mixed(1, 2, 3, True, 4).tobytes() and raw[32:44] == Point(5, 6, 7).tobytes()
    with pytest.raises(TypeError, match="`m`: 3 is no `struct`"):
        arguments.pack((1.0, 3, (5.0, 6.0, 7.0)))


def test_an_entry_with_structs_survives_json() -> None:
    entry = prism.compile(fields).entry
    assert type(entry).from_json(entry.to_json()) == entry
    assert entry.parameters[0].numpy == Mixed.dtype and entry.parameters[2].align == 16
    with pytest.raises(ValueError, match="unknown dtype"):
        EntryParameter("x", "pointer", "struct{}")


@prism.lang.prism("global")
@requires(grid[1], thread[1])
def two_kinds(x: ptr(const(Affine)) @ grid[1], y: ptr(int64) @ grid[1], n: int64 @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):
        p: Point = Point(1, 2, 3)
        mine[0] = int64(p.z) + n


def test_each_struct_is_defined_once() -> None:
    text = compiles(two_kinds)
    assert text.count("struct __align__(4) ") == 1 and Affine.cuda in text
    assert text.index(f"struct __align__(4) {Point.cuda}") < text.index("__global__")
