"""A call with `out=` that comes again and again is one call of the driver, known by all that it is given; and nothing else is."""

import dataclasses
import inspect
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import prism.lib as lib
from prism.host import call, front, warm
from prism.host.libraries import exactly
from tests.host.stand_ins import Array, Gpu, array, stand_in

MANY = front._OFTEN + 2 * front._AGAIN


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """One whose calls come to a default stream; `graphs` are made, and launched as such by `graph_launches`."""
    with stand_in(monkeypatch) as found:
        found.stream, found.graph_launches = 0, 0

        def graph_of(launch, ordinal, stream):
            def again() -> int:
                found.graph_launches += 1
                launch(stream)
                return 0

            return again, ()

        monkeypatch.setattr(warm, "graph_of", graph_of)
        monkeypatch.setattr(warm, "trial_of", lambda *given: None)  # one launch is no graph
        yield found


def known(function) -> int:
    """Return how many calls of a function are known."""
    reads = function.__globals__["patterns_"].values()
    return sum(
        given is not front._NEVER
        for read in reads
        if hasattr(read, "miss")
        for given in read.miss.__self__.known.values()
    )


def front_of(function):
    """Return what knows calls of a function that had arguments of one kind."""
    (read,) = (one for one in function.__globals__["patterns_"].values() if hasattr(one, "miss"))
    return read.miss.__self__


def often(call) -> None:
    for _ in range(MANY):
        call()


def test_what_comes_again_launches_the_same(gpu: Gpu) -> None:
    x, y = array(1000), array(1000)
    often(lambda: lib.scan(x, out=y))
    assert known(lib.scan) == 1
    before = len(gpu.launched)
    assert lib.scan(x, out=y) is y and lib.scan(x, "add", out=y) is y
    assert len(gpu.launched) == before + 2 and len({launch[:4] for launch in gpu.launched}) == 1
    assert {values[:2] for *_, values in gpu.launched} == {(x.data.ptr, y.data.ptr)}


def test_several_launches_are_one_graph(gpu: Gpu) -> None:
    x, offsets, y = array(1000), Array(np.arange(0, 1001, 10)), array(1000)
    often(lambda: lib.segmented_scan(x, offsets, out=y))
    before, launched = gpu.graph_launches, len(gpu.launched)
    lib.segmented_scan(x, offsets, out=y)
    assert known(lib.segmented_scan) == 1 and gpu.graph_launches == before + 1 and len(gpu.launched) == launched + 2


def test_memory_that_is_borrowed_stays_the_streams(gpu: Gpu) -> None:
    a, b, y = array((64, 4096)), array((4096, 64)), array((64, 64))
    often(lambda: lib.sgemm(a, b, out=y))
    assert known(lib.sgemm) == 1


@pytest.mark.parametrize(
    "way", ["x", "out", "shape", "dtype", "stream", "option", "kind of option", "sign of zero", "thread"]
)
def test_whatever_is_new_goes_to_the_function(gpu: Gpu, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    x, y = array((1, 1000)), array((1, 1000))
    often(lambda: lib.softmax(x, scale=0.0, out=y))
    assert known(lib.softmax) == 1
    made = []
    function = lib.softmax.__globals__["learn_"].__self__.function
    monkeypatch.setitem(
        lib.softmax.__globals__, "function_", lambda *given, **named: made.append(1) or function(*given, **named)
    )
    options = {"scale": 0.0, "out": y}
    if way == "x":
        x = array((1, 1000))
    elif way == "out":
        options["out"] = array((1, 1000))
    elif way == "shape":
        x, options["out"] = (Array.at(one.data.ptr, (10, 100), "float32") for one in (x, y))
    elif way == "dtype":
        x, options["out"] = (Array.at(one.data.ptr, (1, 1000), "float16") for one in (x, y))
    elif way == "stream":
        gpu.stream = 1
    elif way == "option":
        options["scale"] = 2.0
    elif way == "kind of option":
        options["scale"] = 0
    elif way == "sign of zero":
        options["scale"] = -0.0
    if way == "thread":
        other = threading.Thread(target=lambda: lib.softmax(x, **options))
        other.start()
        other.join()
    else:
        lib.softmax(x, **options)
    assert made == [1]


def test_small_results_are_made_and_copied_into(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    x, wide = array((64, 32)), array((64, 64))
    often(lambda: lib.transpose(x))
    function = lib.transpose.__globals__["learn_anew_"].__self__.function
    made = []
    monkeypatch.setitem(
        lib.transpose.__globals__,
        "function_",
        lambda *given, **named: made.append(named["out"]) or function(*given, **named),
    )
    before = len(gpu.launched)
    found, other = lib.transpose(x), lib.transpose(x)
    assert found.shape == (32, 64) and found.dtype == x.dtype and found is not other
    assert [values[:2] for *_, values in gpu.launched[before:]] == [(x.data.ptr, y.data.ptr) for y in (found, other)]
    assert None not in made  # the result was given, where it was asked at all
    made.clear()
    assert lib.transpose(wide).shape == (64, 64) and made == [None]
    lib.transpose(x, -1, -2)
    lib.transpose(Array(np.zeros((64, 64), np.float32)[:, ::2]))
    assert made == [None] * 3
    call.forget()
    lib.transpose(x)
    assert made == [None] * 4


def test_large_results_are_made_by_the_function(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "_SMALL", 64 * 32 * 4 - 1)
    x = array((64, 32))
    often(lambda: lib.transpose(x))
    assert not lib.transpose.__globals__["anew_"]


def test_what_copies_is_not_known(gpu: Gpu) -> None:
    x, y = Array(np.zeros(2000, np.float32)[::2]), array(1000)
    often(lambda: lib.scan(x, out=y))
    assert known(lib.scan) == 0
    same = array(1010)
    often(lambda: lib.scan(same[:1000], out=same[5:1005]))
    assert known(lib.scan) == 0


def test_complex_tensors_of_torch_are_not_known(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conjugated view has the address, shape and dtype of what it is of; that it is one, is not read."""
    x, place = array(1000, "complex64"), array((), "int64")
    often(lambda: lib.argmax(x, out=place))
    assert known(lib.argmax) == 1
    call.forget()
    plain = front.describe
    monkeypatch.setattr(front, "describe", lambda one: dataclasses.replace(plain(one), library="torch"))
    often(lambda: lib.argmax(x, out=place))
    assert known(lib.argmax) == 0
    real = array(1000)
    often(lambda: lib.argmax(real, out=place))
    assert known(lib.argmax) == 1


def test_what_waits_is_not_known(gpu: Gpu) -> None:
    x, bins, y = array(1000), array(10), array(1000, "int64")
    gpu.count = 1
    often(lambda: lib.digitize(x, bins, out=y))
    assert known(lib.digitize) == 0 and front._unread in lib.digitize.__globals__["patterns_"].values()


def test_a_launch_that_fails_is_made_by_the_function(gpu: Gpu) -> None:
    x, y = array(1000), array(1000)
    often(lambda: lib.scan(x, out=y))
    known_calls = front_of(lib.scan).known
    known_calls.update(dict.fromkeys(known_calls, (lambda: 201, ())))
    before = len(gpu.launched)
    assert lib.scan(x, out=y) is y and len(gpu.launched) == before + 1


def test_calls_that_are_forgotten(gpu: Gpu) -> None:
    x, y = array(1000), array(1000)
    often(lambda: lib.scan(x, out=y))
    call.forget()
    assert known(lib.scan) == 0
    often(lambda: lib.scan(x, out=y))
    assert known(lib.scan) == 1


def test_only_so_many_are_known(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "_MOST", 2)
    monkeypatch.setattr(front, "_COUNTED", 3)
    for _ in range(5):
        x, y = array(1000), array(1000)
        often(lambda: lib.scan(x, out=y))
        assert 1 <= known(lib.scan) <= 2


def test_lambdas_are_known_by_their_code_unless_they_name_something(gpu: Gpu) -> None:
    x, y = array((10, 100)), array((10, 100))
    for _ in range(MANY):
        lib.rows(x, lambda a, b: a - b, "max", out=y)
    assert known(lib.rows) == 1
    number = 2.0
    for _ in range(MANY):
        lib.rows(x, lambda a, b: a - number * b, "max", out=y)
    assert known(lib.rows) == 1


def test_a_name_of_pythons_may_become_one_of_the_files() -> None:
    """A lambda that is made anew stands for what its names are then."""
    space: dict[str, Any] = {}
    make = eval("lambda: (lambda v: max(v, 0))", space)
    assert exactly(make()) == exactly(make())
    space["max"] = min
    with pytest.raises(TypeError, match="another in each call"):
        exactly(make())


def test_options_that_compare_equal_are_told_apart() -> None:
    values = [
        1,
        True,
        1.0,
        0.0,
        -0.0,
        (1,),
        (True,),
        [1],
        (1.0,),
        (0.0,),
        (-0.0,),
        np.float32(1),
        np.int64(1),
        "1",
        b"1",
        None,
    ]
    assert len({exactly(value) for value in values}) == len(values)
    assert exactly((1, 2)) == exactly(tuple([1, 2])) and exactly([0.5, 2]) == exactly([0.5, 2])
    with pytest.raises(TypeError, match="another in each call"):
        exactly(np.zeros(3))


def test_a_front_looks_as_its_function_does() -> None:
    function = inspect.unwrap(lib.scan)
    assert inspect.signature(lib.scan) == inspect.signature(function) and lib.scan.__doc__ == function.__doc__
    assert pickle.loads(pickle.dumps(lib.scan)) is lib.scan
    with pytest.raises(TypeError, match=r"scan\(\) missing 1 required positional argument: 'x'"):
        lib.scan()
    assert np.array_equal(lib.scan(np.arange(4), out=np.zeros(4, int)), [0, 1, 3, 6])


def test_numbers_are_read_in_each_call(gpu: Gpu) -> None:
    """One plan for all values of `initial`, whose bits the launch gets."""
    x, y, keys = array(1000), array(1000), array(1000, "int32")
    offsets, sums, total = Array(np.arange(0, 1001, 10)), array(100), array(())
    calls = {
        "scan": lambda value: lib.scan(x, initial=value, out=y),
        "segmented_scan": lambda value: lib.segmented_scan(x, offsets, initial=value, out=y),
        "segmented_reduce": lambda value: lib.segmented_reduce(x, offsets, initial=value, out=sums),
        "scan_by_key": lambda value: lib.scan_by_key(keys, x, initial=value, out=y),
        "reduce_by_key": lambda value: lib.reduce_by_key(keys, x, initial=value, count=True),
        "reduce": lambda value: lib.reduce(x, initial=value, out=total),
        "sum": lambda value: lib.sum(x, initial=value, out=total),
    }
    for name, made in calls.items():
        before, given = gpu.decided, []
        for value in (1.5, 2.5, 3, 4.5, -0.0):
            gpu.launched.clear()
            made(value)
            every = [one for *_, values in gpu.launched for one in values]
            given.append(np.float32(value).view(np.uint32) in every or float(value) in every)
        assert gpu.decided == before + 1 and all(given), name


def test_several_calls_are_one_graph(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes of them for the next stays, and is copied to where the results are to be."""
    monkeypatch.setattr(front, "graph_of", warm.graph_of)
    x, values, places = array((8, 100)), array((8, 5)), array((8, 5), "int64")
    often(lambda: lib.top_k(x, 5, axis=1, out=(values, places)))
    before, launched, decided = gpu.graph_launches, len(gpu.launched), gpu.decided
    pair = (values, places)
    assert lib.top_k(x, 5, axis=1, out=pair) is pair
    assert known(lib.top_k) == 1 and gpu.graph_launches == before + 1 and len(gpu.launched) > launched + 1
    assert gpu.decided == decided
    monkeypatch.setattr(front, "_KEPT", 10)
    call.forget()
    often(lambda: lib.top_k(x, 5, axis=1, out=(values, places)))
    assert known(lib.top_k) == 0


def test_a_plan_is_one_launch_too(gpu: Gpu) -> None:
    """Of the same thread it is the one that the function's front has; on another stream, or in another thread, launches."""
    x, offsets, y = array(1000), Array(np.arange(0, 1001, 10)), array(1000)
    often(lambda: lib.segmented_scan(x, offsets, out=y))
    plan = lib.plan(lib.segmented_scan, x, offsets, out=y)
    often(plan)
    assert len(plan._direct) == 1
    (found,) = plan._direct.values()
    assert [found] == [one for one in front_of(lib.segmented_scan).known.values() if one is not front._NEVER]
    before, launched = gpu.graph_launches, len(gpu.launched)
    assert plan() is y and gpu.graph_launches == before + 1 and len(gpu.launched) == launched + 2
    gpu.stream = 7
    plan()
    gpu.stream = 0
    other = threading.Thread(target=plan)
    other.start()
    other.join()
    assert gpu.graph_launches == before + 1 and len(gpu.launched) == launched + 6
    plan._direct = dict.fromkeys(plan._direct, (lambda: 201, ()))
    plan()
    assert len(gpu.launched) == launched + 8, "what fails is launched"


def test_what_is_made_beside_a_launch_is_not_known(gpu: Gpu) -> None:
    """Of two calls the second is made beside its result, and copied there: the first alone would not do."""
    scan = inspect.unwrap(lib.scan)

    def twice(x, *, out=None, stream=None):
        scan(x, out=out, stream=stream)
        return scan(x[:500], out=out[10:510], stream=stream) and out

    found, x = front.front(twice), array(1000)
    for _ in range(MANY):
        assert found(x, out=x) is x
    assert known(found) == 0
    plain = front.front(lambda x, *, out=None, stream=None: scan(x, out=out, stream=stream))
    often(lambda: plain(x, out=x))
    assert known(plain) == 1
