"""Arrays as the tensor copy engine sees them: what the driver is told, and what is refused, without a GPU."""

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism.runtime import tensor_maps
from prism.runtime.arguments import Arguments
from prism.runtime.arrays import CODED, ArrayInfo, describe
from prism.runtime.bind import bind
from prism.runtime.driver import DeviceError
from prism.runtime.entry import EntryParameter
from prism.runtime.tensor_maps import encode

drivers = pytest.importorskip("cuda.bindings.driver")

A = EntryParameter("a", "map", "bfloat16", True, (128, 64), 128)


def array(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any = "uint16", pointer: int = 4096) -> ArrayInfo:
    return ArrayInfo("cupy", "cuda", np.dtype(dtype), shape, strides, pointer, False, 0)


class Driver:
    """The driver's own types, and an encoder that records, which must be given room that is aligned as a map must be."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        word, long = ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(ctypes.c_uint64)
        enums = (ctypes.c_int,) * 4
        self.encode = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, long, long, word, word, *enums
        )(self._encode)  # fmt: skip
        self.status = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(drivers, name)

    def _encode(self, room: int, kind: int, rank: int, pointer: int, *rest: Any) -> int:
        assert room % 64 == 0
        arrays = [array[: rank - (k == 1)] for k, array in enumerate(rest[:4])]
        names = (
            "kind",
            "rank",
            "pointer",
            "extents",
            "strides",
            "box",
            "steps",
            "interleave",
            "swizzle",
            "promotion",
            "fill",
        )
        self.calls.append(SimpleNamespace(**dict(zip(names, (kind, rank, pointer, *arrays, *rest[4:]), strict=True))))
        ctypes.memset(room, len(self.calls), 128)
        return self.status

    def cuGetProcAddress(self, name: bytes, version: int, flags: int) -> tuple[Any, int, int]:
        assert (name, version, flags) == (b"cuTensorMapEncodeTiled", 12000, 0)
        address = ctypes.cast(self.encode, ctypes.c_void_p).value
        assert address is not None
        return drivers.CUresult(0), address, 0


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    fake = Driver()
    monkeypatch.setattr(tensor_maps, "driver", lambda: fake)
    for cached in (tensor_maps._encode, tensor_maps._encoder):
        cached.cache_clear()
    yield fake
    for cached in (tensor_maps._encode, tensor_maps._encoder):
        cached.cache_clear()


def test_what_the_driver_is_told(fake: Driver) -> None:
    assert encode(A, array((1000, 256), (1024, 2))) == bytes([1] * 128)
    (call,) = fake.calls
    assert call.kind == drivers.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
    assert (call.rank, call.pointer) == (2, 4096)
    assert call.extents == [256, 1000], "innermost first"
    assert call.strides == [1024], "without the last axis's"
    assert call.box == [64, 128] and call.steps == [1, 1]
    assert call.swizzle == drivers.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B
    assert call.interleave == 0 and call.fill == 0 and call.promotion == 3


@pytest.mark.parametrize(
    ("rows", "pointer", "promotion"), [(1024, 4096, 3), (1056, 4096, 3), (1040, 4096, 2), (1024, 4112, 2)]
)
def test_rows_that_begin_inside_sectors_bring_less(fake: Driver, rows: int, pointer: int, promotion: int) -> None:
    """Into the L2, at a miss: 128 bytes (2) for 256 (3), where rows are no multiple of 32 bytes."""
    encode(A, array((1000, 256), (rows, 2), pointer=pointer))
    assert fake.calls[0].promotion == promotion


@pytest.mark.parametrize(("columns", "tile", "promotion"), [(128, 128, 2), (96, 128, 2), (64, 64, 3), (256, 128, 3)])
def test_whole_rows_of_several_slabs_bring_less(fake: Driver, columns: int, tile: int, promotion: int) -> None:
    """As the next slab's copy asks for what is behind: rows that one copy has, or that are longer than a tile, bring more."""
    encode(EntryParameter("k", "map", "float16", True, (64, tile), 128), array((999, columns), (512, 2), "f2"))
    assert fake.calls[0].promotion == promotion


def test_a_wide_tile_is_copied_a_slab_at_a_time(fake: Driver) -> None:
    encode(EntryParameter("a", "map", "float32", False, (4, 16, 96), 64), array((9, 40, 96), (15360, 384, 4), "f4"))
    assert fake.calls[0].box == [16, 16, 4] and fake.calls[0].strides == [384, 15360]
    encode(EntryParameter("a", "map", "int8", False, (256,)), array((4096,), (1,), "i1"))
    assert (fake.calls[1].rank, fake.calls[1].extents, fake.calls[1].box) == (1, [4096], [256])


def test_the_drivers_refusal(fake: Driver) -> None:
    fake.status = 1
    with pytest.raises(DeviceError, match=r"describing an array of shape \(1000, 256\).*CUDA_ERROR_INVALID_VALUE"):
        encode(A, array((1000, 256), (512, 2)))


def test_a_map_is_encoded_once_for_an_array_and_a_tile(fake: Driver) -> None:
    info = array((1000, 256), (512, 2))
    first = encode(A, info)
    assert encode(A, info) is first and len(fake.calls) == 1
    for other in (
        array((1000, 256), (1024, 2)),
        array((999, 256), (512, 2)),
        array((1000, 256), (512, 2), pointer=8192),
    ):
        assert encode(A, other) != first
    assert encode(EntryParameter("a", "map", "bfloat16", True, (64, 64), 128), info) != first


def test_strides_that_are_never_used_do_not_matter(fake: Driver) -> None:
    encode(EntryParameter("a", "map", "float32", True, (1, 8)), array((1, 9), (36, 4), "f4"))
    assert fake.calls[0].strides == [48]
    encode(EntryParameter("a", "map", "float32", True, (8, 4)), array((8, 1), (48, 44), "f4"))
    assert fake.calls[1].strides == [48]


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (array((1000, 256), (512, 4)), "`a` must have its last axis's elements one after the other"),
        (
            array((1000, 255), (510, 2)),
            r"`a` must have strides that are multiples of 16 bytes.*\(510, 2\): pad its rows",
        ),
        (array((1000, 256), (-512, 2)), "multiples of 16 bytes"),
        (array((2, 256), (1 << 41, 2)), "multiples of 16 bytes"),
        (array((1000, 256), (512, 2), pointer=4098), "`a` begins at an address that is no multiple of 16 bytes"),
        (array((0, 256), (512, 2)), r"`a` is empty: .*\(0, 256\)"),
        (array(((1 << 32) + 1, 1), (16, 2)), "at most 2\\^32"),
    ],
)
def test_arrays_that_the_engine_does_not_take(fake: Driver, info: ArrayInfo, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        encode(A, info)
    assert not fake.calls


# -- Binding and packing ----------------------------------------------------------------------------------------------


class Shared:
    def __init__(self, **facts: Any) -> None:
        base = {"shape": (256, 64), "typestr": "<u2", "data": (4096, False), "version": 3}
        self.__cuda_array_interface__ = {**base, **facts}


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prism.runtime.arrays._device_of", lambda pointer: 0)


@pytest.mark.parametrize(
    ("argument", "error", "text"),
    [
        (Shared(shape=(16384,)), ValueError, r"`a` must have 2 axes, not 1: shape \(16384,\)"),
        (Shared(typestr="<f4"), TypeError, "`a` must be an array of bfloat16, not of float32"),
        (np.zeros((2, 2, 2), np.uint16), ValueError, "`a` must have 2 axes, not 3"),
        (3, TypeError, "`a` must be an array of NumPy"),
    ],
)
def test_arguments_for_tensor_maps(one_gpu: None, argument: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        bind("k", (A,), (argument,))


def test_an_array_for_a_tensor_map_need_not_be_contiguous(one_gpu: None, fake: Driver) -> None:
    given = Shared(strides=(1024, 2), data=(4096, True))
    bound = bind("k", (A,), (given,))
    assert bound.device == 0 and bound.values == (bound.arrays["a"],)
    with pytest.raises(ValueError, match="`a` is read-only"):
        bind("k", (EntryParameter("a", "map", "bfloat16", False, (128, 64), 128),), (given,))


def test_maps_are_packed_where_the_kernel_looks_for_them(fake: Driver) -> None:
    parameters = (EntryParameter("n", "scalar", "int8"), A, EntryParameter("x", "pointer", "int8"), A)
    arguments = Arguments("k", parameters)
    one, two = array((1000, 256), (512, 2)), array((1000, 256), (1024, 2))
    held = arguments.pack([-3, one, 4096, two])
    pointers = (ctypes.c_void_p * 4).from_address(held[1])
    assert all(p is not None and p % 64 == 0 for p in pointers[1::2])
    assert [ctypes.string_at(p or 0, 128) for p in pointers[1::2]] == [bytes([1] * 128), bytes([2] * 128)]
    assert ctypes.string_at(pointers[0] or 0, 1) == b"\xfd"
    assert ctypes.c_uint64.from_address(pointers[2] or 0).value == 4096
    arguments.release(held)
    assert arguments.pack([0, bytes(128), 0, two]) == held
    for bad in (4096, bytes(64), np.zeros((2, 2))):
        with pytest.raises(TypeError, match="`a` must be an array or its tensor map"):
            arguments.pack([0, bad, 0, two])


@pytest.mark.parametrize(
    "kind, bits", [("bfloat16", np.uint16), ("float8_e4m3fn", np.uint8), ("float8_e5m2", np.uint8)]
)
def test_floats_of_torch_that_numpy_has_not_are_known_and_are_no_integers(kind: str, bits: type) -> None:
    tensor = type("Tensor", (), {"__module__": "torch"})()
    tensor.is_cuda, tensor.layout, tensor.dtype = True, 0, f"torch.{kind}"
    tensor.is_conj = tensor.is_neg = lambda: False
    tensor.stride, tensor.shape, tensor.data_ptr = lambda: (64, 1), (128, 64), lambda: 4096
    tensor.device = SimpleNamespace(index=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, "torch", SimpleNamespace(strided=0))
        info = describe(tensor)
    size = np.dtype(bits).itemsize
    assert info.dtype == CODED[kind] and info.scalar == kind and info.strides == (64 * size, size)
    assert info.dtype != bits and describe(np.zeros(3, bits)).scalar == bits.__name__
    assert bind("k", (EntryParameter("x", "pointer", kind),), (np.zeros(3, bits),)).values, "bits will do"


def test_rows_that_end_inside_a_piece_are_not_written() -> None:
    """The engine clips rows by 16 bytes: it would write beyond a row of 250 elements of 2 bytes."""
    wide = np.zeros((129, 256), np.float16)
    parameter = EntryParameter("y", "map", "float16", box=(64, 64), swizzle=128)
    bind("f", (parameter,), (wide[:, :248],))
    with pytest.raises(ValueError, match="`y` is written by tensor copies, and its rows of 500 bytes"):
        bind("f", (parameter,), (wide[:, :250],))
    bind("f", (replace(parameter, const=True),), (wide[:, :250],))


def test_integers_of_64_bits_have_no_sign(fake: Driver) -> None:
    """The engine has no sum of signed ones, and the bits are the same."""
    encode(EntryParameter("a", "map", "int64", False, (8, 16)), array((80, 160), (1280, 8), "i8"))
    assert fake.calls[0].kind == drivers.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_UINT64


def test_an_axis_that_is_broadcast(fake: Driver) -> None:
    """As of keys that several heads have in common."""
    encode(EntryParameter("k", "map", "float16", True, (1, 64, 64), 128), array((8, 77, 64), (0, 128, 2), "f2"))
    assert fake.calls[0].strides == [128, 0]


def test_four_axes_in_any_order(fake: Driver) -> None:
    """(batch, heads, length, dim) as the view of (batch, length, heads, dim) that it often is, in the view's own order."""
    parameter = EntryParameter("k", "map", "float16", True, (1, 1, 64, 128), 128)
    encode(parameter, array((2, 8, 77, 128), (157696, 256, 2048, 2), "f2"))
    (call,) = fake.calls
    assert (call.rank, call.extents, call.strides) == (4, [128, 77, 8, 2], [2048, 256, 157696])
    assert call.box == [64, 64, 1, 1]
    with pytest.raises(ValueError, match=r"`k` must have strides that are multiples of 16.*\(157696, 200, 2048, 2\)"):
        encode(parameter, array((2, 8, 77, 128), (157696, 200, 2048, 2), "f2"))


@pytest.mark.parametrize(
    ("shape", "strides", "apart"),
    [
        ((2, 8, 77, 64), (78848, 128, 1024, 2), True),
        ((2, 8, 77, 64), (78848, 9856, 128, 2), True),
        ((2, 8, 77, 64), (78848, 9840, 128, 2), False),
        ((2, 8, 77, 64), (0, 9856, 128, 2), False),
        ((1, 8, 77, 64), (0, 9856, 128, 2), True),
        ((2, 8, 77, 64), (78848, 9856, 64, 2), False),
    ],
)
def test_where_tensor_copies_write_elements_lie_apart(one_gpu: None, shape: Any, strides: Any, apart: bool) -> None:
    given = Shared(typestr="<f2", shape=shape, strides=strides)
    for const in (True, False):
        parameter = EntryParameter("o", "map", "float16", const, (1, 1, 64, 64), 128)
        if const or apart:
            assert bind("k", (parameter,), (given,)).arrays["o"].shape == shape
        else:
            with pytest.raises(ValueError, match="`o` is written by tensor copies, and elements of it share memory"):
                bind("k", (parameter,), (given,))
