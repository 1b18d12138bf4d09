"""Selection on NumPy arrays, against NumPy: random calls, lazy arrays, functions, and the errors; and warm calls of a GPU.

Tests of prism/lib/algorithms/select: api, calls, parts, into, runs, plan, ships, cases.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from prism import lib
from prism.host import call as calls
from prism.host.plan import instance_of
from prism.kernels import select as kernels
from prism.lang import int64, prism, requires, thread
from prism.lib.algorithms.select import plan
from prism.lib.algorithms.select.plan import Kind
from prism.lib.algorithms.select.ships import instances
from prism.lib.cases import NUMBERS
from tests.host.stand_ins import Gpu, array, stand_in
from tests.rarely import rarely

L = lib.lazy
DTYPES = (*NUMBERS, "bool", "complex64", "complex128")


@prism("device")
@requires(thread[1])
def is_odd(x: int64 @ thread[1]) -> bool @ thread[1]:
    return x % 2 != 0


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        yield found


def fixed(found, size, value):
    """What `size` and `fill_value` make of a result."""
    full = np.full((size, *found.shape[1:]), value, found.dtype)
    full[: len(found)] = found[:size]
    return full


def same(x):
    return x


def compare(function, arguments, wanted, random, put=same, host=same) -> None:
    """Make a call in a way that is drawn, on arrays where `put` puts them, and compare what `host` gives of the results."""
    arguments = tuple(map(put, arguments))
    several = isinstance(wanted, tuple)
    every = wanted if several else (wanted,)
    match random.integers(3):
        case 0:
            found = function(*arguments)
        case 1:
            *found, number = map(host, function(*arguments, count=True))
            assert number.dtype == np.int64 and number.shape == (1,) and number[0] == len(every[0])
            found = [one[: number[0]] for one in found]
            found = tuple(found) if several else found[0]
        case _:
            size = int(random.choice([0, 1, len(every[0]), random.integers(0, 3000)]))
            found = function(*arguments, size=size, fill_value=1)
            filled = (
                (1, 0) if function is lib.run_length_encode else (1,) * len(every)
            )  # runs that are not there are empty
            every = tuple(fixed(one, size, value) for one, value in zip(every, filled, strict=True))
    assert isinstance(found, tuple) == several
    for one, other in zip(map(host, found if several else (found,)), every, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def runs(x):
    return x[np.concatenate([np.ones(min(1, x.size), bool), x[1:] != x[:-1]])]


def draw(random, dtype: str, shape):
    x = random.integers(0, 3, shape).astype(dtype) * (random.random(shape) < random.random()).astype(dtype)
    if x.dtype.kind in "fc" and random.integers(2):
        x[random.random(shape) < 0.1] = random.choice([np.nan, -0.0])
    match random.integers(4) if x.ndim else 0:  # how it lies
        case 1:
            return np.repeat(x, 2, -1)[..., ::2]
        case 2:
            return np.asfortranarray(x)
        case 3:
            return x[::-1]
        case _:
            return x


def one_call(seed: int, put=same, host=same) -> None:
    """A dozen calls of random arrays; `put`, `host`: how these come to where the calls are, and results back."""
    random = np.random.default_rng(seed)
    axes = int(random.integers(3))
    shape = tuple(int(random.integers(0, (3000, 50, 12)[axes])) for _ in range(axes + 1))
    dtype = str(random.choice(DTYPES))
    x, condition = draw(random, dtype, shape), draw(random, str(random.choice(DTYPES)), shape)
    few = condition.ravel()[: random.integers(0, condition.size + 1)]
    keys, values = condition.ravel(), x.ravel()
    edges = np.concatenate([np.ones(min(1, x.size), bool), keys[1:] != keys[:-1]])
    for function, arguments, wanted in (
        (lib.select, (x, condition), x[condition != 0]), (lib.extract, (condition, x), np.extract(condition, x)),
        (lib.compress, (few, x), np.compress(few, x)), (lib.flatnonzero, (x,), np.flatnonzero(x)),
        (lib.nonzero, (x,), np.nonzero(x)), (lib.argwhere, (x,), np.argwhere(x)),
        (lib.unique_consecutive, (x,), runs(values)), (lib.unique_by_key, (condition, x), (keys[edges], values[edges])),
    ):  # fmt: skip
        compare(function, arguments, wanted, random, put, host)
    starts = np.flatnonzero(np.concatenate([np.ones(min(1, x.size), bool), values[1:] != values[:-1]]))
    begins = np.zeros(x.size, np.int64)
    begins[starts[1:]] = 1
    found = [host(part) for part in lib.unique_consecutive(put(x), True)]
    assert found[0].tobytes() == values[starts].tobytes() and np.array_equal(found[1], np.cumsum(begins).reshape(shape))
    if not dtype.startswith("complex"):
        compare(lib.run_length_encode, (values,), (values[starts], np.diff(starts, append=x.size)), random, put, host)

    other = draw(random, str(random.choice(DTYPES)), shape)
    one, two = condition != 0, (condition == 0) & (other != 0)
    given, first, second = map(put, (x, condition, other))
    for found, wanted in (
        (lib.split(given, first), (x[one], x[~one])), (lib.split3(given, first, second), (x[one], x[two], x[~one & ~two])),
    ):  # fmt: skip
        for part, other in zip(found, wanted, strict=True):
            assert part.dtype == other.dtype and host(part).tobytes() == other.tobytes()
    whole, number = map(host, lib.split(given, first, count=True))
    assert number == one.sum() and whole.tobytes() == x[one].tobytes() + x[~one].tobytes()
    *parts, numbers = map(host, lib.split3(given, first, second, count=True))
    assert numbers.tolist() == [one.sum(), two.sum()]
    for part, other in zip(parts, (x[one], x[two], x[~one & ~two]), strict=True):
        assert part[: other.size].tobytes() == other.tobytes()


@pytest.mark.parametrize("seed", rarely(range(8), but=range(4)))
def test_random_calls(seed: int) -> None:
    one_call(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1000, 2416))
def test_many_random_calls(seed: int) -> None:
    one_call(seed)


def test_conditions_that_are_lists_and_numbers() -> None:
    x = np.arange(6.0)
    for condition in ([0, 1, 0, 0, 1], (True, False), True, 0, np.True_):
        assert np.array_equal(lib.extract(condition, x), np.extract(condition, x))
    assert lib.compress([0, 1, 0], [3, 4, 5]).tolist() == [4] and lib.extract([1, 0], 7).tolist() == [7]
    with pytest.raises(ValueError, match="`condition` must have 1 axis"):
        lib.compress(True, x)
    for function in ("sum", "prod", "any", "all"):
        assert getattr(lib, function)([2, 0, 3], where=[True, False, True]) == getattr(np, function)(
            [2, 0, 3], where=[True, False, True]
        )


def test_runs_with_what_each_element_is_in_and_how_many_there_are() -> None:
    x = np.array([[7, 7, 8], [8, 8, 7]])
    for given in (x, L.of(x), x.tolist(), np.asfortranarray(x)):
        values, inverse, counts = lib.unique_consecutive(given, True, True)
        assert (
            values.tolist() == [7, 8, 7] and counts.tolist() == [2, 3, 1] and inverse.tolist() == [[0, 0, 1], [1, 1, 2]]
        )
    values, counts, number = lib.unique_consecutive(x, return_counts=True, count=True)
    assert number == 3 and values[:3].tolist() == [7, 8, 7] and counts[:3].tolist() == [2, 3, 1]
    values, inverse, counts = lib.unique_consecutive(x, True, True, size=5, fill_value=-1)
    assert values.tolist() == [7, 8, 7, -1, -1] and counts.tolist() == [2, 3, 1, 0, 0] and inverse.max() == 2
    assert [one.size for one in lib.unique_consecutive(x[:0], True, True)] == [0, 0, 0]
    values, inverse, counts = lib.unique_consecutive(np.array([np.nan, np.nan, 1j]), True, True)
    assert inverse.tolist() == [0, 1, 2] and counts.tolist() == [1, 1, 1]
    with pytest.raises(TypeError, match="dtype <U1"):
        lib.unique_consecutive(np.array(["a"]), True)


def test_a_function_of_the_elements() -> None:
    x = np.random.default_rng(0).integers(-9, 10, 5000)
    assert np.array_equal(lib.select(x, is_odd), x[x % 2 != 0])
    assert np.array_equal(lib.select(x, lambda e: e > 3), x[x > 3])
    assert np.array_equal(lib.select(x, lambda e: e & 4), x[x & 4 != 0])  # of numbers: what is not zero
    assert np.array_equal(lib.select(x[::2], is_odd), x[::2][x[::2] % 2 != 0])
    assert np.array_equal(lib.select(x, L.map(is_odd, x)), x[x % 2 != 0])
    assert np.array_equal(lib.select(x, L.map(is_odd, x + 1)), x[x % 2 == 0])  # of another array
    with np.errstate(all="ignore"):
        y = x.astype(np.float16)
    assert np.array_equal(lib.select(y, lambda e: e > 1), y[y > 1])


@pytest.mark.parametrize("dtype", ["int8", "bool", "uint8"])
def test_bytes_of_any_type_by_a_function(dtype: str) -> None:
    """They are moved as bytes, and asked as what they are: negative numbers are below others."""
    x = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 200, 5000).astype(dtype)
    least = 3
    function = (lambda e: e) if dtype == "bool" else (lambda e: e < least)
    low = x if dtype == "bool" else x < least
    found = lib.select(x, function)
    assert found.dtype == x.dtype and np.array_equal(found, x[low])
    for one, part in zip(lib.split(x, function), (x[low], x[~low]), strict=True):
        assert one.dtype == x.dtype and np.array_equal(one, part)
    if dtype == "int8":
        parts = lib.split3(x, lambda e: e < 0, lambda e: e < least)
        assert np.array_equal(np.concatenate(parts), [*x[x < 0], *x[(x >= 0) & (x < least)], *x[x >= least]])


def test_splits_by_functions_that_name_numbers() -> None:
    """Elements are read once, and nothing is decided anew for other numbers; functions without numbers stand beside them."""
    x = np.random.default_rng(0).integers(-9, 10, 5000).astype(np.float32)
    calls.forget()
    for low, high in ((-3, 4), (1, 8)):
        two = lambda e: e < 5
        assert np.array_equal(lib.split(x, lambda e: e < low)[1], x[~(x < low)])
        for first, second, at, to in (
            (lambda e: e < low, lambda e: e < high, low, high),
            (lambda e: e < low, two, low, 5),
            (two, lambda e: e < high, 5, high),
        ):
            wanted = x[x < at], x[(x >= at) & (x < to)], x[(x >= at) & (x >= to)]
            for found, part in zip(lib.split3(x, first, second), wanted, strict=True):
                assert np.array_equal(found, part)
    known = [one.decision.plan for one in calls._known.values()]
    assert len(known) == 4 and all(dict(plan.steps[0].instance.template)["OWN"] for plan in known)


def test_three_parts_and_how_many_are_in_them() -> None:
    x = np.random.default_rng(0).integers(-9, 10, 5000)
    for first, second in ((x < -3, x < 4), (lambda e: e < -3, lambda e: e < 4)):
        *found, numbers = lib.split3(x, first, second, count=True)
        wanted = x[x < -3], x[(x >= -3) & (x < 4)], x[x >= 4]
        assert numbers.tolist() == [part.size for part in wanted[:2]]
        for one, part in zip(found, wanted, strict=True):
            assert one.shape == x.shape and np.array_equal(one[: part.size], part)
    *found, numbers = lib.split3(x[:0], x[:0], x[:0], count=True)
    assert numbers.tolist() == [0, 0] and all(one.shape == (0,) for one in found)


def test_a_function_of_the_elements_reads_them_once() -> None:
    """Its kernel has no mask, and the function for a template argument; so it is where the mask is a map of the array."""
    x = np.arange(100)
    for condition in (is_odd, L.map(is_odd, x)):
        calls.forget()
        lib.select(x, condition)
        ((_, known),) = calls._known.items()
        (step,) = known.decision.plan.steps
        template = dict(step.instance.template)
        assert template["OWN"] and template["TEST"] is is_odd


def test_lazy_arrays() -> None:
    x = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    y = L.of(x)
    assert np.array_equal(lib.select(y * 2, y > 0.5), (x * 2)[x > 0.5])
    assert np.array_equal(lib.compress(y > 0.5, L.arange(5000)), np.flatnonzero(x > 0.5))
    assert np.array_equal(lib.flatnonzero(y > 0.5), np.flatnonzero(x > 0.5))
    assert np.array_equal(lib.argwhere(L.of(x.reshape(50, 100)) > 0.5), np.argwhere(x.reshape(50, 100) > 0.5))
    assert np.array_equal(lib.unique_consecutive(L.cast(y, "int32")), runs(x.astype(np.int32)))
    assert np.array_equal(lib.select(L.cast(y, "int8"), y), x.astype(np.int8)[x != 0])
    assert np.array_equal(lib.flatnonzero(L.of(x > 0)), np.flatnonzero(x > 0))


def test_structs() -> None:
    x = np.zeros(700, np.dtype([("a", np.int32), ("b", np.float64)], align=True))
    x["a"], x["b"], mask = np.arange(700), np.arange(700) / 2, np.arange(700) % 3 == 0
    for kind in (x.dtype, np.dtype([("a", np.int32), ("b", np.int32)]), np.dtype([("a", np.int16)])):
        given = np.zeros(700, kind)
        given["a"] = np.arange(700)
        assert np.array_equal(lib.select(given, mask), given[mask])
        assert np.array_equal(lib.select(given, mask, size=500), fixed(given[mask], 500, np.zeros((), kind)))
    with pytest.raises(TypeError, match="`x` has dtype"):
        lib.flatnonzero(x)
    with pytest.raises(TypeError, match="`x` has dtype"):
        lib.select(np.zeros(700, np.dtype([("a", np.int32), ("b", np.int32), ("c", np.int32)])), mask)


def test_bfloat16() -> None:
    kind = pytest.importorskip("ml_dtypes").bfloat16
    x = np.random.default_rng(0).integers(-1, 2, 700).astype(kind)
    x[5], flags = -0.0, x.astype(np.float32) != 0
    flags[5] = False
    assert np.array_equal(lib.select(x, flags), x[flags]) and np.array_equal(lib.flatnonzero(x), np.flatnonzero(flags))
    assert np.array_equal(lib.select(x, x), x[flags]) and np.array_equal(lib.unique_consecutive(x), runs(x))
    assert np.array_equal(lib.select(x, lambda e: e > 0, size=700, fill_value=2), fixed(x[x > 0], 700, kind(2)))


def test_a_condition_of_other_lengths() -> None:
    x = np.arange(10)
    assert np.array_equal(lib.compress(np.array([0.0, 2.5, np.nan]), x), [1, 2])
    assert lib.compress(np.zeros(0, bool), x).shape == (0,)
    longer = np.arange(12) < 10
    for function in (lib.compress, lib.extract):
        assert np.array_equal(function(longer, x), x)
        with pytest.raises(IndexError, match="`condition` is true behind the 10 elements"):
            function(np.ones(11, bool), x)
        with pytest.raises(ValueError, match="`condition` has 12 elements, and `x` has 10"):
            function(lib.lazy.of(longer), x)
    with pytest.raises(ValueError, match="`condition` must have 1 axis, not 2"):
        lib.compress(np.ones((2, 2), bool), x)
    with pytest.raises(ValueError, match=r"`condition` must have shape \(10,\), as `x`, not \(9,\)"):
        lib.select(x, np.ones(9, bool))


def test_errors() -> None:
    x = np.arange(10)
    with pytest.raises(ValueError, match="`keys` and `values` must have one shape"):
        lib.unique_by_key(x, x[:9])
    with pytest.raises(TypeError, match="`values` has dtype"):
        lib.unique_by_key(x, np.zeros(10, np.dtype([("a", np.int32), ("b", np.int32), ("c", np.int32)])))
    with pytest.raises(ValueError, match="`count` and `size`"):
        lib.flatnonzero(x, count=True, size=3)
    with pytest.raises(ValueError, match="`size` must not be negative: -1"):
        lib.select(x, x, size=-1)
    with pytest.raises(TypeError, match="`size` must be an integer, not float"):
        lib.select(x, x, size=2.0)
    with pytest.raises(OverflowError):
        lib.select(x.astype(np.int8), x, size=20, fill_value=300)
    with pytest.raises(TypeError, match="`fill_value`"):
        lib.flatnonzero(x, size=20, fill_value=1.5)
    with pytest.raises(ValueError, match="`stream`"):
        lib.flatnonzero(x, stream=3)
    with pytest.raises(TypeError, match="`x`"):
        lib.flatnonzero({1})
    with pytest.raises(TypeError, match="`condition`"):
        lib.select(x, {True})
    with pytest.raises(ValueError, match=r"`first` must have shape \(10,\), as `x`, not \(3,\)"):
        lib.split3(x, x[:3], x)
    with pytest.raises(TypeError, match="`second` must be an array or a function, not int"):
        lib.split3(x, x, 3)
    with pytest.raises(ValueError, match="no plan"):
        lib.plan(lib.split, x, x)
    with pytest.raises(ValueError, match="`x` has no dimensions"):
        lib.nonzero(np.array(3))
    with pytest.raises(ValueError, match="no plan"):
        lib.plan(lib.flatnonzero, x)


def test_warm_calls_on_a_gpu(gpu: Gpu) -> None:
    """Decided once for each way to give the result; the exact one has as many elements as the kernel says."""
    x, mask = array(5000), array(5000, "bool")
    for number in (5000, 0, 37):
        gpu.count = number
        assert lib.flatnonzero(x).shape == lib.compress(mask, x).shape == lib.select(x, mask).shape == (number,)
        assert lib.nonzero(x)[0].shape == (number,) and str(lib.flatnonzero(x).dtype) == "int64"
        values, counted = lib.flatnonzero(x, count=True)
        assert values.shape == (5000,) and counted.shape == (1,)
        assert lib.flatnonzero(x, size=30).shape == (30,) and lib.compress(mask, x, size=9).shape == (9,)
    assert gpu.decided == 6
    gpu.capturing = True
    with pytest.raises(RuntimeError, match="pass count=True"):
        lib.flatnonzero(x)
    lib.flatnonzero(x, count=True)
    lib.flatnonzero(x, size=30)


def test_usual_kernels_ship() -> None:
    """Of every size, and of each kind of selection."""
    shipping = {one.request for one in instances(None)}
    values, places = Kind("uint32", "uint32"), Kind(places=True)
    runs = Kind("float32", "float32", compared="float32", own=True, edges=True)
    for n in (size + more for size in (1 << log for log in range(6, 29)) for more in (0, 1)):
        for kind in (values, places, runs):
            assert plan.instance_for(kind, kind.configuration(n)).request in shipping
        for kinds in ([values], [values] * 2, [Kind("uint64", "uint64")] * 2):
            c = plan.cut_of(n, plan.apart_configurations(kinds), kernels.APART_MIDDLE.get(kinds[0].size))
            assert plan.apart_for(kinds, c).request in shipping
        c = plan.cut_of(n, plan.encode_configurations(runs))
        assert instance_of(kernels.encode, plan.encode_of(runs, c)).request in shipping
        c = plan.cut_of(n, plan.paired_configurations(runs, values))
        assert instance_of(kernels.unique_pairs, plan.paired_of(runs, values, c)).request in shipping


def test_tiles_of_splits_that_are_neither_short_nor_long() -> None:
    """All of 2^20 elements of 8 bytes are under way at once; fewer have smaller tiles, and more have those of long arrays."""
    kinds = [Kind("uint64", "uint64")] * 2
    found, middle = plan.apart_configurations(kinds), kernels.APART_MIDDLE[8]
    assert [plan.cut_of(n, found, middle) for n in (1 << 19, 1 << 20, 1 << 21)] == [found[1], middle, found[-1]]


PLAIN = [dtype for dtype in DTYPES if dtype != "bfloat16"]  # those of `stand_ins`


@pytest.mark.parametrize("size", rarely([10, 3000, 70_000, 600_000, 5_000_000], but=[10]))
@pytest.mark.parametrize("mask", rarely(PLAIN, but=["complex128"]))
def test_what_a_gpu_launches_for_each_two_types_can_be_compiled(gpu: Gpu, mask: str, size: int) -> None:
    """Bytes by a mask of 16 bytes an element could not. The reference machine has tiles of its own, so random calls miss it."""
    calls = lib.select, lib.split, lib.unique_by_key, lambda x, condition: lib.split3(x, condition, condition)
    for dtype in ("uint8", "float16", "int32", "float64", "complex128"):  # of each size
        x, condition = array(size, dtype), array(size, mask)
        for function in calls:
            function(*((condition, x) if function is lib.unique_by_key else (x, condition)))
    assert all(one.program.entry.name for one in {launched[0] for launched in gpu.launched})


def test_a_warm_call_of_a_function_makes_no_lazy_array(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    x = array(5000, "int64")
    for number in (40, 7):
        gpu.count = number
        assert lib.select(x, is_odd).shape == lib.select(x, lambda e: e > 1).shape == (number,)
        monkeypatch.setattr(lib.lazy, "map", lambda *given: pytest.fail("it is made"))
    assert gpu.decided == 2


def test_compress_along_axes_and_into_an_array() -> None:
    x, condition = np.arange(120).reshape(4, 5, 6), np.array([1, 0, 1, 1])
    for axis in (None, 0, 1, -1):
        assert np.array_equal(lib.compress(condition, x, axis), np.compress(condition, x, axis))
    out = np.zeros(6, int)[::2]
    assert lib.compress(condition, x, out=out) is out and out.tolist() == [0, 2, 3]
    for call, error, text in (
        (lambda: lib.compress(np.ones(6), x, 0), IndexError, "`condition` is true behind the 4 elements"),
        (lambda: lib.compress(condition, x, 3), np.exceptions.AxisError, "axis 3"),
        (lambda: lib.compress(condition, x, out=np.zeros(4, int)), ValueError, "`out` must have shape"),
        (lambda: lib.compress(condition, x, out=np.zeros(3)), TypeError, "`out` must be of int64"),
        (lambda: lib.compress(condition, x, 0, size=3), ValueError, "without `axis`"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_select_into_an_array_and_in_place() -> None:
    """As CUB's selections in place: what is kept comes to the beginning of `out`, which may be `x`; behind it is what was."""
    x = np.arange(12).reshape(3, 4)
    for condition in (x % 3 == 0, lambda e: e % 3 == 0, L.of(x) % 3 == 0):
        out = np.full(15, -1)
        found = lib.select(x, condition, out=out)
        assert found.tolist() == [0, 3, 6, 9] and found.base is out and (out[4:] == -1).all()
        values, number = lib.select(x, condition, out=out, count=True)
        assert values is out and number.tolist() == [4] and out[:4].tolist() == [0, 3, 6, 9] and (out[12:] == -1).all()
        few = np.full(6, -1)
        assert lib.select(x, condition, out=few, size=6, fill_value=7) is few and few.tolist() == [0, 3, 6, 9, 7, 7]
        own = x.copy()
        found = lib.select(own, condition, out=own)
        assert found.tolist() == [0, 3, 6, 9] and np.shares_memory(found, own) and own[1:].tolist() == x[1:].tolist()
    strided = np.arange(24)[::2]
    assert lib.select(strided, strided > 17, out=strided).tolist() == [18, 20, 22] and strided[:4].tolist() == [
        18,
        20,
        22,
        6,
    ]
    nothing = np.zeros(0)
    assert lib.select(nothing, nothing > 0, out=nothing).size == 0
    for wrong, what, error in (
        (np.zeros(11, int), "`out` has 11 elements", ValueError),
        (np.zeros(12), "`out` must be of int64", TypeError),
        (np.zeros((12, 2), int)[:, 0].reshape(3, 4), "`out` of several axes", ValueError),
        ([1, 2], "`out`", TypeError),
    ):
        with pytest.raises(error, match=what):
            lib.select(x, x > 2, out=wrong)
    with pytest.raises(ValueError, match="`out` has 5 elements"):
        lib.select(x, x > 2, out=np.zeros(5, int), size=6)
    fixed = np.zeros(12, int)
    fixed.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        lib.select(x, x > 2, out=fixed)


def test_runs_of_more_than_one_element() -> None:
    for x in (
        np.array([7, 7, 9, 8, 8]),
        np.array([1]),
        np.array([2, 2]),
        np.array([np.nan, np.nan, 1, 1]),
        np.array([True] * 3),
    ):
        starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
        lengths = np.diff(np.append(starts, x.size))
        found = lib.run_length_encode(x, nontrivial=True)
        assert np.array_equal(found[0], starts[lengths > 1]) and np.array_equal(found[1], lengths[lengths > 1])
        first, many, number = lib.run_length_encode(x, nontrivial=True, count=True)
        assert number[0] == found[0].size and np.array_equal(many[: number[0]], found[1])
        first, many = lib.run_length_encode(x, nontrivial=True, size=4)
        assert first.tolist() == [*found[0], *[x.size] * (4 - found[0].size)]
        assert many.tolist() == [*found[1], *[0] * (4 - found[0].size)]
    with pytest.raises(ValueError, match="pass one of them"):
        lib.run_length_encode(x, count=True, size=3)
