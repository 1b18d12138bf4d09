"""Arguments packed and launches refused: all that needs no GPU.

Tests of prism/runtime: arguments, driver, entry, errors.
"""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism.lang.facts.launch_tests import Assumed
from prism.runtime import launch as launch_module
from prism.runtime.arguments import Arguments
from prism.runtime.driver import DeviceError
from prism.runtime.entry import Entry, EntryParameter
from prism.runtime.launch import AssumedError, Launcher, LaunchError, check_shape
from prism.runtime.scratch import Scratch

# -- Arguments --------------------------------------------------------------------------------------------------------

ALL = ("bool", "int8", "uint64", "int16", "float32", "int64", "uint8", "float64", "uint32", "int32", "uint16")
VALUES = (True, -5, 2**64 - 1, -300, 1.5, -(2**63), 255, 2.25, 2**32 - 1, -(2**31), 65535)


def unpack(held: tuple[Any, int], dtypes: tuple[str, ...]) -> list[Any]:
    """Read the arguments as the driver does: through the array of pointers."""
    pointers = (ctypes.c_void_p * len(dtypes)).from_address(held[1])
    found = []
    for pointer, dtype in zip(pointers, dtypes, strict=True):
        size = np.dtype(dtype).itemsize
        assert pointer is not None and pointer % size == 0
        found.append(np.frombuffer(ctypes.string_at(pointer, size), dtype)[0].item())
    return found


def test_every_dtype_is_packed_where_its_pointer_says() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        order = rng.permutation(len(ALL))
        dtypes = tuple(ALL[i] for i in order)
        arguments = Arguments("k", tuple(EntryParameter(f"p{i}", "scalar", d) for i, d in enumerate(dtypes)))
        values = [VALUES[i] for i in order]
        held = arguments.pack(values)
        assert unpack(held, dtypes) == values
        arguments.release(held)


def test_pointers_numpy_scalars_and_special_floats() -> None:
    parameters = (
        EntryParameter("x", "pointer", "int8"),
        EntryParameter("n", "scalar", "int64"),
        EntryParameter("a", "scalar", "float32"),
    )
    arguments = Arguments("k", parameters)
    kinds = ("uint64", "int64", "float32")
    assert unpack(arguments.pack((2**63 + 8, np.int32(-3), np.float64(0.5))), kinds) == [2**63 + 8, -3, 0.5]
    assert unpack(arguments.pack((0, 2**40, float("inf"))), kinds) == [0, 2**40, float("inf")]
    assert unpack(arguments.pack((0, 0, 1e300)), kinds)[2] == float("inf")
    assert np.isnan(unpack(arguments.pack((0, 0, float("nan"))), kinds)[2])


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("int32", 2**31, OverflowError), ("int32", -(2**31) - 1, OverflowError), ("uint32", -1, OverflowError),
        ("uint64", 2**64, OverflowError), ("int64", 2**63, OverflowError), ("int8", 128, OverflowError),
        ("int32", 1.5, TypeError), ("int32", "3", TypeError),
        ("int32", None, TypeError),
        ("float64", "3", TypeError), ("float32", 1j, TypeError), ("bool", 1, TypeError), ("bool", "x", TypeError),
        ("int64", np.float32(2), TypeError), ("float64", 10**400, OverflowError),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_named(dtype: str, value: object, error: type[Exception]) -> None:
    arguments = Arguments("k", (EntryParameter("a", "scalar", "int32"), EntryParameter("count", "scalar", dtype)))
    with pytest.raises(error, match="`count`"):
        arguments.pack((1, value))
    with pytest.raises(TypeError, match="`p` must be an address"):
        Arguments("k", (EntryParameter("p", "pointer", "int8"),)).pack(([],))


@pytest.mark.parametrize("values", [(), (1,), (1, True, 3)])
def test_the_number_of_arguments(values: tuple[object, ...]) -> None:
    arguments = Arguments("k", (EntryParameter("a", "scalar", "int32"), EntryParameter("b", "scalar", "bool")))
    with pytest.raises(LaunchError, match=r"`k` takes 2 arguments \(a, b\), \d given"):
        arguments.pack(values)


def test_no_parameters() -> None:
    assert Arguments("k", ()).pack(())[1] != 0


def test_packing_among_threads() -> None:
    arguments = Arguments("k", tuple(EntryParameter(f"p{i}", "scalar", "int64") for i in range(4)))

    def work(seed: int) -> bool:
        for i in range(2000):
            held = arguments.pack([seed, i, seed, i])
            good = unpack(held, ("int64",) * 4) == [seed, i, seed, i]
            arguments.release(held)
            if not good:
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


# -- Shapes -----------------------------------------------------------------------------------------------------------

ENTRY = Entry("k", "", "sm_90a", (EntryParameter("n", "scalar", "int32"),), 64, 32, 2, 256)


@pytest.mark.parametrize("shape", [(0, 32), (2, 0), (-2, 32), (2, 33), (3, 32), (2, 288), (2**31, 32), (2, 2048)])
def test_shapes_that_the_bound_refuses(shape: tuple[int, int]) -> None:
    with pytest.raises(LaunchError, match="`k`") as caught:
        check_shape(ENTRY, *shape)
    assert caught.value.code == "launch" and isinstance(caught.value, ValueError)


def test_shapes_that_are_no_integers() -> None:
    for bad in (1.0, "2", True, None):
        with pytest.raises(TypeError, match="number of blocks"):
            check_shape(ENTRY, bad, 32)  # type: ignore[arg-type]
    check_shape(ENTRY, np.int64(2), 256)  # type: ignore[arg-type]


def launcher(ordinal: int = 0) -> Launcher:
    loaded: Any = SimpleNamespace(function=11, device=SimpleNamespace(ordinal=ordinal))
    return Launcher(ENTRY, loaded)


@pytest.mark.parametrize("ordinal", [0, 1])
def test_what_the_driver_is_told(fake: Any, ordinal: int) -> None:
    launcher(ordinal)(4, 64, 99, (7,))
    assert fake.launched == [(11, 4, 1, 1, 64, 1, 1, 64, 99, 7)]


@pytest.mark.parametrize(("held", "kinds"), [(1, (6,)), (2, (6,)), (3, ()), (4, (6,)), (5, (6,))])
def test_a_kernel_that_waits_by_itself_is_launched_early(fake: Any, held: int, kinds: Any) -> None:
    """Two blocks on each of two multiprocessors: beside two others there is room for none, for two, or (uneven) for one."""
    here = SimpleNamespace(ordinal=0, sm_count=2)
    loaded: Any = SimpleNamespace(function=11, kernel=12, device=here, occupancy=lambda threads, shared: held)
    one = Launcher(replace(ENTRY, programmatic=True), loaded)
    for _ in range(2):
        one(4, 64, 99, (7,))
    one.serialize()(4, 64, 99, (7,))
    assert fake.launched == 3 * [(11, 4, 1, 1, 64, 1, 1, 64, 99, 7)] and fake.kinds == [kinds, kinds, ()]


def test_nothing_is_launched_on_an_error(fake: Any) -> None:
    for shape, values in (((3, 64), (7,)), ((4, 64), (2**40,)), ((4, 64), ())):
        with pytest.raises((LaunchError, OverflowError)):
            launcher()(*shape, 0, values)
    assert not fake.launched


def test_the_drivers_refusal(fake: Any) -> None:
    fake.status = 700
    with pytest.raises(DeviceError, match="launching `k` with 4 blocks of 64 threads") as caught:
        launcher()(4, 64, 0, (7,))
    assert caught.value.code == "CUDA_ERROR_OF_THE_TEST"


# -- what is assumed of a launch ----------------------------------------------------------------------------------------

FEW = ("<=", ("*", "int32", ("argument", 0), ("count", False, True, 1, 1, "int32")), ("number", 640))
ASSUMING = replace(ENTRY, assumed=(Assumed("n * count(thread[1]) <= 640", 7, FEW),))


def test_a_launch_of_which_what_is_assumed_does_not_hold(fake: Any) -> None:
    one = Launcher(ASSUMING, launcher().loaded)
    for _ in range(2):
        one(4, 64, 99, (10,))
        for threads, n in ((96, 10), (64, 11)):
            with pytest.raises(AssumedError) as caught:
                one(4, threads, 99, (n,))
            where = "`k` assumes `n * count(thread[1]) <= 640` (line 7), which does not hold of this launch"
            assert str(caught.value) == f"{where}: n = {n}, {threads} threads a block"
    with pytest.raises(AssumedError, match=r"has no value, as 2000000000 \* 64 does not fit in int32, of this launch"):
        one(4, 64, 99, (2 * 10**9,))
    for values, error in (((), LaunchError), ((1, 2), LaunchError), (("1",), TypeError), ((2**40,), OverflowError)):
        with pytest.raises(error):
            one(4, 64, 99, values)
    one(2, 32, 99, (np.int16(20),))
    assert [launched[4:] for launched in fake.launched] == [(64, 1, 1, 64, 99, 10)] * 2 + [(32, 1, 1, 64, 99, 20)]


def test_a_launch_that_is_held_or_late_is_tested_too(fake: Any) -> None:
    one = Launcher(ASSUMING, launcher().loaded)
    one.prepare(4, 64, 99, (10,))
    for again in (lambda: one.prepare(4, 64, 99, (11,)), lambda: one.serialize()(4, 64, 99, (11,))):
        with pytest.raises(AssumedError):
            again()
    assert not fake.launched


# -- cooperative launches -----------------------------------------------------------------------------------------------

COOPERATIVE = Entry("k", "", "sm_90a", (EntryParameter("n", "scalar", "int64"),), 64, 32, cooperative=True)


def cooperative(monkeypatch: pytest.MonkeyPatch) -> Launcher:
    monkeypatch.setattr(launch_module, "SCRATCH", Scratch())
    found = SimpleNamespace(ordinal=0, sm_count=10)
    loaded: Any = SimpleNamespace(function=11, device=found, occupancy=lambda threads, shared: 3)
    return Launcher(COOPERATIVE, loaded)


def test_a_cooperative_launch_gets_a_word_for_its_stream(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = cooperative(monkeypatch)
    for stream in (99, 98, 99):
        launcher(4, 64, stream, (7,))
    first, second, third = fake.launched
    assert first == (11, 4, 1, 1, 64, 1, 1, 64, 99, 7, 1 << 20)
    assert second[-1] == 2 << 20 and third == first
    assert len(fake.allocated) == 2


def test_a_captured_cooperative_launch_has_the_streams_word(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = cooperative(monkeypatch)
    fake.capturing = 1
    launcher(4, 64, 99, (7,))
    fake.capturing = 0
    launcher(4, 64, 99, (7,))
    assert len(fake.allocated) == 1 and fake.launched[0] == fake.launched[1]


def test_more_blocks_than_run_at_once(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = cooperative(monkeypatch)
    fake.status = 720
    monkeypatch.setattr(type(fake), "CUresult", TooLarge)
    with pytest.raises(LaunchError, match="GPU 0 holds 30 of 64 threads each, not 31"):
        launcher(31, 64, 0, (7,))


class TooLarge(int):
    name = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"


@pytest.mark.parametrize("values", [(), (1, 2)])
def test_the_word_is_no_argument(fake: Any, monkeypatch: pytest.MonkeyPatch, values: tuple[int, ...]) -> None:
    with pytest.raises(LaunchError, match=rf"`k` takes 1 arguments \(n\), {len(values)} given"):
        cooperative(monkeypatch)(4, 64, 0, values)
    assert not fake.launched
