"""Scans and reductions of segments and of runs of equal keys, on NumPy arrays: against the definition, and the errors.

Tests of prism/lib/algorithms/keys/api.py; prism/lib/algorithms/segment_positions: api, cases; kernels/reduce/pairs.py.
"""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.lib import (
    Operator,
    reduce_by_key,
    run_length_encode,
    scan,
    scan_by_key,
    segmented_argmax,
    segmented_argmin,
    segmented_reduce,
    segmented_scan,
)
from tests.lib.oracles import CASES, Case
from tests.rarely import rarely

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


def scans(case: Case, x, starts, initial=None, exclusive=False):
    """The scan of each part that begins at one of `starts`."""
    begin = np.array([case.identity if initial is None else initial], case.dtype)
    found = [np.zeros(0, case.dtype)]
    for part in np.split(x, np.unique(starts[(starts > 0) & (starts < len(x))])):
        whole = case.inclusive(np.concatenate([begin, part]))
        found.append(whole[:-1] if exclusive else whole[1:])
    return np.concatenate(found).astype(case.dtype)


@pytest.mark.covering(1)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
def test_operators(case: Case, exclusive: bool) -> None:
    x = case.data(3000)
    offsets = np.sort(np.random.default_rng(0).integers(0, 3001, 20))
    found = segmented_scan(x, offsets, case.operator, exclusive=exclusive)
    assert np.array_equal(found, scans(case, x, offsets, exclusive=exclusive))
    keys = np.repeat(np.arange(21) % 4, np.diff(np.concatenate([[0], offsets, [3000]])))
    starts = np.flatnonzero(np.diff(keys)) + 1
    assert np.array_equal(
        scan_by_key(keys, x, case.operator, exclusive=exclusive), scans(case, x, starts, exclusive=exclusive)
    )
    parts = np.split(x, starts)
    unique, found = reduce_by_key(keys, x, case.operator)
    assert np.array_equal(unique, keys[np.concatenate([[0], starts])])
    assert np.array_equal(found, [case.inclusive(part)[-1] for part in parts])
    for count in (2, 20, 2000):
        bounds = np.sort(np.random.default_rng(count).integers(0, 3001, count + 1))
        found = segmented_reduce(x, bounds, case.operator)
        wanted = [
            case.inclusive(x[a:b])[-1] if b > a else case.identity for a, b in zip(bounds, bounds[1:], strict=False)
        ]
        assert np.array_equal(found, wanted)


def test_lengths_of_runs() -> None:
    x = np.repeat([3.0, np.nan, np.nan, -1.0], [500, 1, 1, 9])
    values, lengths = run_length_encode(x)
    assert np.array_equal(values, [3, np.nan, np.nan, -1], equal_nan=True) and lengths.tolist() == [500, 1, 1, 9]
    assert [one.size for one in run_length_encode(x[:0])] == [0, 0]
    for wrong in (np.zeros((2, 2)), np.zeros(3, "M8[s]")):
        with pytest.raises((TypeError, ValueError), match="`x`"):
            run_length_encode(wrong)
    for dtype in (np.int8, np.float16, np.int64, complex):
        for n, most in ((1, 1), (1000, 1), (1000, 5), (5000, 3000)):
            x = np.repeat(np.arange(n) % 3, np.random.default_rng(n).integers(1, most + 1, n))[:n].astype(dtype)
            starts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
            values, lengths = run_length_encode(x)
            assert np.array_equal(values, x[starts]) and np.array_equal(lengths, np.diff(starts, append=n))
    for size in (0, 2, 9):
        values, lengths = run_length_encode(np.array([7, 7, 8]), size=size, fill_value=-1)
        assert values.tolist() == ([7, 8] + [-1] * 7)[:size] and lengths.tolist() == ([2, 1] + [0] * 7)[:size]
        values, lengths = run_length_encode(x[:0], size=size)
        assert values.tolist() == lengths.tolist() == [0] * size


@settings(max_examples=60, deadline=None)
@given(size=st.integers(0, 300), count=st.integers(0, 40), data=st.data())
def test_any_offsets(size: int, count: int, data) -> None:
    case = CASES[0]
    x = case.data(size)
    kind = data.draw(st.sampled_from(["int32", "int64"]))
    offsets = np.array(data.draw(st.lists(st.integers(-5, size + 5), min_size=count + 1, max_size=count + 1)), kind)
    assert np.array_equal(segmented_scan(x, offsets, initial=3), scans(case, x, offsets, initial=3))
    found = segmented_reduce(x, offsets, initial=3)
    wanted = [
        x[max(a, 0) : max(b, 0)].sum(dtype=np.int32) + np.int32(3) for a, b in zip(offsets, offsets[1:], strict=False)
    ]
    assert found.shape == (count,) and np.array_equal(found, wanted)
    ends = np.random.default_rng(0).permutation(offsets)
    wanted = [x[max(a, 0) : max(b, 0)].sum(dtype=np.int32) for a, b in zip(offsets, ends, strict=True)]
    assert np.array_equal(segmented_reduce(x, offsets, ends=ends), wanted)


@settings(max_examples=60, deadline=None)
@given(keys=st.lists(st.integers(0, 3), max_size=300), kind=st.sampled_from([*DTYPES, "bool"]))
def test_any_keys(keys: list[int], kind: str) -> None:
    labels, x = np.array(keys, kind), CASES[0].data(len(keys))
    starts = np.flatnonzero(np.diff(labels.astype(np.int8))) + 1
    assert np.array_equal(scan_by_key(labels, x), scans(CASES[0], x, starts))
    unique, found = reduce_by_key(labels, x)
    first = np.concatenate([[0], starts])[: len(keys)]
    assert unique.dtype == labels.dtype and np.array_equal(unique, labels[first])
    assert np.array_equal(found, [part.sum(dtype=np.int32) for part in np.split(x, starts)][: len(first)])


@pytest.mark.parametrize("kind", DTYPES)
def test_dtypes(kind: str) -> None:
    x = np.random.default_rng(0).integers(0, 4, 500).astype(kind)  # sums are exact, in float16 too
    offsets = np.array([0, 17, 17, 300, 500], np.int32)
    wanted = [x[a:b].sum(dtype=kind) for a, b in zip(offsets, offsets[1:], strict=False)]
    assert segmented_reduce(x, offsets).dtype == x.dtype and np.array_equal(segmented_reduce(x, offsets), wanted)
    exact = [int(x[a:b].astype(int).sum()) for a, b in zip(offsets, offsets[1:], strict=False)]
    assert np.array_equal(segmented_reduce(x, offsets, dtype=np.int64), exact)
    found = segmented_scan(x, offsets, dtype=np.float64)
    assert found.dtype == np.float64 and found[-1] == exact[-1]


def test_every_nan_is_a_run() -> None:
    keys = np.array([1.0, np.nan, np.nan, 2.0, -0.0, 0.0])
    unique, found = reduce_by_key(keys, np.ones(6, np.int32))
    assert np.array_equal(unique, [1, np.nan, np.nan, 2, -0.0], equal_nan=True) and found.tolist() == [1, 1, 1, 1, 2]


def test_the_count_beside() -> None:
    unique, found, count = reduce_by_key(np.array([5, 5, 7]), np.array([1, 2, 3]), count=True)
    assert count.dtype == np.int64 and count.tolist() == [2]
    assert unique[:2].tolist() == [5, 7] and found[:2].tolist() == [3, 3] and unique.shape == found.shape == (3,)
    assert reduce_by_key(np.zeros(0), np.zeros(0), count=True)[2].tolist() == [0]


def test_out_and_overlap() -> None:
    x, offsets = CASES[0].data(700), np.array([0, 100, 700])
    wanted = scans(CASES[0], x, offsets)
    out = np.empty(700, np.int32)
    assert segmented_scan(x, offsets, out=out) is out and np.array_equal(out, wanted)
    same = x.copy()
    segmented_scan(same, offsets, out=same)
    assert np.array_equal(same, wanted)
    keys = np.repeat([3, 9], [100, 600]).astype(np.int32)
    assert np.array_equal(scan_by_key(keys, x, out=keys), wanted)
    bounds = np.array([0, 100, 700], np.int32)
    segmented_reduce(x, bounds, out=bounds[1:])
    assert bounds[1:].tolist() == [wanted[99], wanted[-1]]


def test_one_segment_is_a_scan() -> None:
    x = CASES[0].data(2000)
    assert np.array_equal(segmented_scan(x, np.zeros(0, np.int32)), scan(x))
    assert np.array_equal(scan_by_key(np.zeros(2000), x), scan(x))


def test_a_number_to_fill_with_is_named_where_it_is_none() -> None:
    x, none = np.array([7, 7, 8], np.int32), np.array([], np.int32)
    with pytest.raises(TypeError, match="`fill_value` is 'a', which is no int32"):
        reduce_by_key(x, x, size=5, fill_value="a")
    for runs in (x, none, x.astype(ml_dtypes.bfloat16)):
        with pytest.raises(TypeError, match="`fill_value` is 'a', which is no"):
            run_length_encode(runs, size=5, fill_value="a")
        with pytest.raises(TypeError, match="`fill_value` is 1j, which is no"):
            run_length_encode(runs, size=5, fill_value=1j)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (({1}, np.zeros(2, int)), {}, TypeError, "`x` must be an array"),
        ((np.zeros(4), "02"), {}, TypeError, "`offsets` must be an array"),
        ((np.zeros(4), np.zeros(2)), {}, TypeError, "`offsets` must be of int32 or int64, not of float64"),
        ((np.zeros((2, 2)), np.zeros(2, int)), {}, ValueError, "`x` must have 1 axis"),
        ((np.zeros(4), np.zeros((2, 2), int)), {}, ValueError, "`offsets` must have 1 axis"),
        ((np.zeros(4), np.zeros(2, int)), {"dtype": "O"}, TypeError, "`dtype` is dtype object"),
        ((np.zeros(4), np.zeros(2, int)), {"stream": 0}, ValueError, "`stream` is for arrays on a GPU"),
        ((np.zeros(4), np.zeros(2, int), "sum"), {}, ValueError, "`op` must be one of"),
        ((np.zeros(4), np.zeros(2, int)), {"out": np.zeros(9)}, ValueError, "`out` must have shape"),
        ((np.zeros(4), np.zeros(2, int)), {"initial": "a"}, TypeError, "`initial` must be a number"),
    ],
)
def test_wrong_arguments(arguments, options, error, words) -> None:
    for function in (segmented_scan, segmented_reduce):
        with pytest.raises(error, match=words):
            function(*arguments, **options)


def test_wrong_ends() -> None:
    x, starts = np.zeros(4), np.zeros(2, np.int32)
    with pytest.raises(TypeError, match="`ends` must be of int32"):
        segmented_reduce(x, starts, ends=np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="`ends` must have as many elements as `offsets`, 2, not 3"):
        segmented_reduce(x, starts, ends=np.zeros(3, np.int32))
    with pytest.raises(ValueError, match="`offsets` must have one element more"):
        segmented_reduce(x, starts[:0])


@pytest.mark.parametrize(
    ("function", "name"), [(segmented_scan, "x"), (segmented_reduce, "x"), (scan_by_key, "values")]
)
def test_messages_speak_of_what_the_caller_wrote(function, name: str) -> None:
    x, beside, called = np.zeros(3, object), np.zeros(3, int), function.__name__
    arguments = (beside, x) if name == "values" else (x, beside)
    with pytest.raises(TypeError, match=f"`{name}` has dtype object, which {called} does not support"):
        function(*arguments)
    with pytest.raises(TypeError, match=f"`{name}` has dtype object, which {called} does not convert to int32"):
        function(*arguments, dtype="int32")


def test_wrong_keys() -> None:
    for function in (scan_by_key, reduce_by_key):
        with pytest.raises(TypeError, match="`keys` must be an array"):
            function({1}, np.zeros(2))
        with pytest.raises(TypeError, match="`keys` has dtype complex128"):
            function(np.zeros(2, complex), np.zeros(2))
        with pytest.raises(ValueError, match="`keys` and `values` must have one shape"):
            function(np.zeros(3), np.zeros(2))
        with pytest.raises(ValueError, match="`keys` must have 1 axis"):
            function(np.zeros((2, 1)), np.zeros((2, 1)))


def test_operators_of_ones_own_need_not_commute() -> None:
    assert not Operator(CASES[-1].function, identity=1 << 32).commutative


@pytest.mark.parametrize("kind", rarely(["float32", "int64", "bool", "float16", "uint8"], but=["float32"]))
def test_where_the_best_of_each_segment_is(kind: str) -> None:
    """Equal ones, NaN, empty segments, segments that overlap, and bounds outside of the array."""
    random = np.random.default_rng(0)
    for n, segments in ((50, 7), (3000, 4), (3000, 900)):
        x = random.integers(0, 9, n).astype(kind)
        if x.dtype.kind == "f":
            x[random.random(n) < 0.02] = np.nan
        starts, ends = random.integers(0, n + 1, (2, segments))
        for function, oracle in ((segmented_argmin, np.argmin), (segmented_argmax, np.argmax)):
            wanted = [oracle(x[a:b]) if b > a else -1 for a, b in zip(starts, ends, strict=True)]
            found = function(x, starts, ends=ends)
            assert found.dtype == np.int64 and found.tolist() == wanted
    x = np.array([3, 1, 4])
    assert segmented_argmax(x, np.array([-5, 9], np.int32)).tolist() == [2]
    with pytest.raises(TypeError, match="complex128"):
        segmented_argmin(x * 1j, np.array([0, 3]))
    with pytest.raises(TypeError, match="`out` must be of int64"):
        segmented_argmin(x, np.array([0, 3]), out=np.zeros(1))
