"""Arrays described, streams found, arguments bound: all that needs no GPU.

Tests of prism/runtime: bind, streams; prism/host/overlap.py.
"""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism.runtime import arrays, streams
from prism.runtime.arrays import ArrayInfo, describe, one_place
from prism.runtime.bind import bind
from prism.runtime.entry import EntryParameter
from prism.runtime.launch import LaunchError
from prism.runtime.streams import choose_stream, current_stream, stream_handle


class Shared:
    """An array of a library that Prism doesn't know."""

    def __init__(self, **facts: Any) -> None:
        base = {"shape": (4, 8), "typestr": "<f4", "data": (4096, False), "version": 3}
        self.__cuda_array_interface__ = {**base, **facts}


@pytest.fixture(autouse=True)
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_device_of", lambda pointer: 1 if pointer >= 1 << 20 else 0)


# -- Arrays -----------------------------------------------------------------------------------------------------------


def test_numpy() -> None:
    x = np.arange(24, dtype=np.int32).reshape(4, 6)[:, ::2]
    info = describe(x)
    assert (info.library, info.kind, info.device, info.shape) == ("numpy", "numpy", None, (4, 3))
    assert info.pointer == x.ctypes.data and info.strides == x.strides and not info.contiguous and not info.readonly
    x.flags.writeable = False
    assert describe(x).readonly
    assert describe(np.ones(())).contiguous
    assert describe(np.ones(3).view(np.recarray)).library == "numpy"


def test_records_by_the_cuda_array_interface() -> None:
    """The typestr says how many bytes, `descr` what they are; what has no name is padding."""
    dtype = np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"]}, align=True)
    facts = {"typestr": dtype.str, "descr": [("a", "|i1"), ("", "|V7"), ("b", "<f8")], "shape": (4,)}
    info = describe(Shared(**facts))
    assert info.dtype == dtype and info.scalar == "struct{a:int8,b:float64}" and info.contiguous
    assert describe(Shared(typestr="|V16", shape=(4,))).scalar == "void128"
    assert describe(Shared(typestr="|V16", descr=[("", "|V16")], shape=(4,))).scalar == "void128"
    titled = [(("bfloat16 a", "a"), "<u2"), ("b", "<u2")]
    assert describe(Shared(typestr="|V4", descr=titled, shape=(4,))).scalar == "struct{a:bfloat16,b:uint16}"
    parameter = EntryParameter("x", "pointer", info.scalar)
    assert bind("k", (parameter,), [Shared(**facts)]).values == (4096,)
    with pytest.raises(ValueError, match="`x` must be aligned to 16 bytes"):
        bind("k", (parameter,), [Shared(**{**facts, "data": (4104, False)})])
    with pytest.raises(TypeError, match="not of void128"):
        bind("k", (parameter,), [Shared(typestr="|V16", shape=(4,))])


@pytest.mark.parametrize("shape", [(), (0,), (1, 5), (5, 1), (3, 4, 5), (2, 0, 3)])
def test_contiguity_is_numpys(shape: tuple[int, ...]) -> None:
    for x in (np.ones(shape), np.ones(shape).T, np.ones((*shape, 2))[..., 0], np.broadcast_to(np.ones(()), shape)):
        assert describe(x).contiguous == x.flags.c_contiguous


def test_cuda_array_interface() -> None:
    info = describe(Shared(stream=7))
    assert (info.library, info.kind, info.device, info.pointer, info.producer) == ("cai", "cuda", 0, 4096, 7)
    assert info.dtype == np.float32 and info.strides == (32, 4) and info.contiguous
    assert describe(Shared(data=(4096, True))).readonly
    assert not describe(Shared(strides=(64, 4))).contiguous
    assert describe(Shared(shape=(0,), data=(0, False))).pointer == 0
    with pytest.raises(ValueError, match="`y`.*ambiguous"):
        describe(Shared(stream=0), "y")
    with pytest.raises(TypeError, match="`y` has a mask"):
        describe(Shared(mask=Shared()), "y")


@pytest.mark.parametrize(
    "facts",
    [
        {"data": None}, {"data": (4096,)}, {"shape": 4}, {"shape": (-4, 8)}, {"shape": None}, {"strides": (4,)},
        {"strides": 4}, {"stream": "a"}, {"typestr": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_cuda_array_interface_of_another_form(facts: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="`y`"):
        describe(Shared(**facts), "y")


def test_a_cuda_array_interface_that_lacks_what_it_needs() -> None:
    for key in ("shape", "typestr", "data"):
        shared = Shared()
        del shared.__cuda_array_interface__[key]
        with pytest.raises(TypeError, match=f"`y`: its __cuda_array_interface__ is not of that form: '{key}'"):
            describe(shared, "y")
    with pytest.raises(ValueError, match="gives stream -3"):
        describe(Shared(stream=-3), "y")


def test_a_type_of_which_only_arrays_on_a_gpu_have_the_interface() -> None:
    """Which of its two arrays comes first doesn't matter; jax's type is such a one."""

    class Either:
        def __init__(self, here: bool) -> None:
            if not here:
                self.__cuda_array_interface__ = Shared().__cuda_array_interface__

        def __dlpack__(self, **_: Any) -> Any:
            return np.arange(3.0).__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    for first in (True, False):

        class One(Either):
            pass

        there, here = One(here=False), One(here=True)
        found = {x: describe(x).library for x in ((there, here) if first else (here, there))}
        assert found[here] == "numpy" and found[there] == ("cai" if first else "numpy")
    nothing = Shared()
    describe(nothing)
    del nothing.__cuda_array_interface__
    with pytest.raises(TypeError, match="`y` must be an array"):
        describe(nothing, "y")


@pytest.mark.parametrize(
    "bad",
    [[1, 2], 3, "text", None, np.float32(1), object(), (1,), {"a": 1}, np.ndarray, Shared],
    ids=lambda bad: type(bad).__name__,
)
def test_what_is_no_array(bad: object) -> None:
    with pytest.raises(TypeError, match=r"`out` must be an array of NumPy, CuPy.*, not "):
        describe(bad, "out")


def test_masked_arrays_are_refused() -> None:
    with pytest.raises(TypeError, match="`x` is a masked array"):
        describe(np.ma.masked_array([1, 2], [0, 1]))


def test_matrices_are_refused() -> None:
    """Flattened, one still has two axes: kernels read beyond its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        x = np.matrix([[1.0, 2.0]])
    with pytest.raises(TypeError, match=r"`x` is a numpy.matrix, .*: pass `x.A`"):
        describe(x, "x")
    assert describe(x.A).shape == (1, 2)


def test_dlpack_on_the_host() -> None:
    x = np.arange(6)

    class Other:
        __dlpack__, __dlpack_device__ = x.__dlpack__, x.__dlpack_device__

    assert describe(Other()).pointer == x.ctypes.data


def test_dlpack_elsewhere() -> None:
    class Other:
        def __dlpack__(self) -> None:
            raise AssertionError

        def __dlpack_device__(self) -> tuple[int, int]:
            return 10, 0

    with pytest.raises(TypeError, match="`x` is on a device"):
        describe(Other())


def test_cupy_and_torch_are_known_by_name() -> None:
    memory = SimpleNamespace(ptr=4096, device_id=3)
    ndarray = type("ndarray", (), {"__module__": "cupy._core.core"})
    x = type("Mine", (ndarray,), {})()
    x.data, x.dtype, x.shape, x.strides = memory, np.dtype("int8"), (3,), (1,)
    info = describe(x)
    assert (info.library, info.device, info.pointer, info.owner) == ("cupy", 3, 4096, x)
    tensor = type("Tensor", (), {"__module__": "torch"})()
    tensor.is_cuda, tensor.device = False, "cpu"
    with pytest.raises(TypeError, match="`x` is a torch tensor on cpu"):
        describe(tensor)


def test_one_place() -> None:
    host, first, second = describe(np.ones(3)), describe(Shared()), describe(Shared(data=(1 << 20, False)))
    assert one_place({}) is None
    assert one_place({"x": host, "y": host}) is None
    assert one_place({"x": first, "y": first}) == 0
    with pytest.raises(ValueError, match="`x` is on GPU 0, `out` on GPU 1"):
        one_place({"x": first, "out": second})
    with pytest.raises(TypeError, match="`x` is on the host, `out` on GPU 1"):
        one_place({"x": host, "out": second})


# -- Streams ----------------------------------------------------------------------------------------------------------


def test_stream_handles() -> None:
    assert stream_handle(0) == 0 and stream_handle(np.uint64(77)) == 77
    assert stream_handle(SimpleNamespace(__cuda_stream__=lambda: (0, 55))) == 55
    assert stream_handle(SimpleNamespace(__cuda_stream__=(0, 56))) == 56
    assert stream_handle(SimpleNamespace(cuda_stream=57)) == 57
    assert stream_handle(SimpleNamespace(ptr=58)) == 58
    for bad in ("s", True, 1.5, object(), [1]):
        with pytest.raises(TypeError, match="`stream` must be a stream"):
            stream_handle(bad)
    with pytest.raises(ValueError, match="-1"):
        stream_handle(-1)


def test_the_stream_is_the_librarys_own_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda device: SimpleNamespace(ptr=100 + device)))
    torch = SimpleNamespace(cuda=SimpleNamespace(current_stream=lambda d: SimpleNamespace(cuda_stream=200 + d)))
    monkeypatch.setitem(__import__("sys").modules, "cupy", cupy)
    monkeypatch.setitem(__import__("sys").modules, "torch", torch)

    def info(library: str, producer: int | None = None) -> ArrayInfo:
        return ArrayInfo(library, "cuda", np.dtype("f4"), (1,), (4,), 4096, False, 2, producer)

    assert current_stream(info("cupy")) == 102
    assert current_stream(info("torch")) == 202
    assert current_stream(info("cai", 9)) == 9
    assert choose_stream(None, [info("cupy"), info("torch")]) == 102
    assert choose_stream(5, [info("cupy")]) == 5
    assert choose_stream(None, []) == streams.LEGACY


# -- Binding ----------------------------------------------------------------------------------------------------------

PARAMETERS = (
    EntryParameter("x", "pointer", "float32", const=True),
    EntryParameter("out", "pointer", "float32"),
    EntryParameter("n", "scalar", "int32"),
)


def test_arguments_are_bound() -> None:
    bound = bind("k", PARAMETERS, (Shared(data=(4096, True)), Shared(data=(8192, False)), 3))
    assert bound.values == (4096, 8192, 3) and bound.device == 0 and list(bound.arrays) == ["x", "out"]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((Shared(), Shared()), LaunchError, r"`k` takes 3 arguments \(x, out, n\), 2 given"),
        ((Shared(), [1], 3), TypeError, "`out` must be an array"),
        ((Shared(typestr="<f8"), Shared(), 3), TypeError, "`x` must be an array of float32, not of float64"),
        ((Shared(), Shared(data=(8192, True)), 3), ValueError, "`out` is read-only"),
        ((Shared(strides=(64, 4)), Shared(), 3), ValueError, "`x` must be C-contiguous"),
        ((Shared(), Shared(data=(1 << 20, False)), 3), ValueError, "`x` is on GPU 0, `out` on GPU 1"),
        ((np.ones(3, "f4"), Shared(), 3), TypeError, "copies nothing"),
        (
            (Shared(typestr=">f4"), Shared(), 3),
            TypeError,
            "`x` must be an array of float32, not of >f4, in another byte order",
        ),
    ],
)
def test_arguments_that_do_not_fit(arguments: tuple[Any, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        bind("k", PARAMETERS, arguments)
