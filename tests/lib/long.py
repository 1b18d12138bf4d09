"""Calls on one long array of bytes, with what they must give: past 2^31 elements on a GPU, and short ones here.

Each takes a library and a number of elements, and asserts. Of what is there is known without another library's kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism import lib
from prism.lib import lazy


def marked(library: Any, n: int) -> tuple[Any, list[int]]:
    """Return zeros with 1, 2, ... at some places, no two side by side: both ends, between, and where 32 bits end."""
    places = sorted({0, 5, n // 3, n // 3 + 2, n // 2, n - 3, *(p for p in (2**31 - 1, 2**31 + 1) if p < n - 3)})
    x = library.zeros(n, np.uint8)
    for k, place in enumerate(places):
        x[place] = k + 1
    return x, places


def stairs(library: Any, n: int) -> tuple[Any, list[int]]:
    """Return 0, 1 and 2 in ascending order, and where 1 and 2 begin."""
    x = library.zeros(n, np.uint8)
    x[n // 3 :] = 1
    x[n - 2 :] = 2
    return x, [n // 3, n - 2]


def host(x: Any) -> Any:
    """Return an array, or a number, as NumPy's."""
    return np.asarray(x.get() if hasattr(x, "get") else x)


def differences(library: Any, n: int) -> None:
    x, places = marked(library, n)
    for call in (lib.diff, lib.ediff1d, lambda x: lib.adjacent_difference(x)[1:]):
        y = call(x)
        assert y.shape == (n - 1,) and int(lib.count_nonzero(y)) == 2 * len(places) - 1
        for k, place in enumerate(places):
            assert int(y[place]) == 256 - (k + 1) and (not place or int(y[place - 1]) == k + 1)


def search(library: Any, n: int) -> None:
    x, (first, second) = stairs(library, n)
    values = library.asarray(np.array([0, 1, 2, 3], np.uint8))
    assert host(lib.searchsorted(x, values)).tolist() == [0, first, second, n]
    assert host(lib.searchsorted(x, values, "right")).tolist() == [first, second, n, n]
    assert host(lib.digitize(values, x)).tolist() == [first, second, n, n]
    assert int(lib.find(x, lambda e: e > 1)) == second and int(lib.find(x, lambda e: e > 2)) == -1


def indices(library: Any, n: int) -> None:
    x, places = marked(library, n)
    at = library.asarray(np.array([*places, 1, n - 1]))
    wanted = [*range(1, len(places) + 1), 0, 0]
    assert host(lib.take(x, at)).tolist() == wanted
    assert host(lib.take_along_axis(x.reshape(1, n), at.reshape(1, -1), 1)).tolist() == [wanted]


def lengths(library: Any, n: int) -> None:
    x, (first, second) = stairs(library, n)
    values, counts = lib.run_length_encode(x)
    assert host(values).tolist() == [0, 1, 2] and host(counts).tolist() == [first, second - first, n - second]
    assert bool((lib.repeat(values, counts) == x).all()) and bool((lib.run_length_decode(values, counts) == x).all())
    assert host(lib.unique_consecutive(x)).tolist() == [0, 1, 2]
    assert [host(one).tolist() for one in lib.unique_by_key(x, x)] == [[0, 1, 2]] * 2


def parts(library: Any, n: int) -> None:
    x, places = marked(library, n)
    some, rest = lib.split(x, x > 0)
    assert (
        host(some).tolist() == [*range(1, len(places) + 1)]
        and rest.shape == (n - len(places),)
        and not bool(rest.any())
    )
    one, two, three = lib.split3(x, x > 1, x > 0)
    assert one.size == len(places) - 1 and host(two).tolist() == [1] and three.size == n - len(places)
    for function in (lib.compress, lib.extract):
        assert host(function(x > 0, x)).tolist() == host(some).tolist()
    assert host(lib.argwhere(x)).ravel().tolist() == places


def extremes(library: Any, n: int) -> None:
    x, places = marked(library, n)
    x[places[-1]] = 200
    assert [int(one) for one in lib.minmax(x)] == [0, 200]
    assert [int(one) for one in lib.argminmax(x)] == [1, places[-1]]
    half = n // 2 - 1
    found = lib.segmented_argmax(x, library.asarray(np.array([0, half, n])))  # positions in their segments
    assert host(found).tolist() == [max(place for place in places if place < half), places[-1] - half]


def first_ones(library: Any, n: int) -> None:
    x, places = marked(library, n)
    values, positions = lib.top_k(x, 3)
    assert host(values).tolist() == [len(places) - k for k in range(3)] and host(positions).tolist() == places[:-4:-1]
    y, (first, second) = stairs(library, n)
    for k, value in ((first, 0), (first + 1, 1), (second, 1), (second + 1, 2)):  # counted from 1
        assert int(lib.kthvalue(y, k)[0]) == value
    assert float(lib.median(y)) == 1 and float(lib.quantile(y, 0.25)) == 0


def merges(library: Any, n: int) -> None:
    x, (first, _) = stairs(library, n // 2)
    y, (other, _) = stairs(library, n - n // 2)
    found = lib.merge(x, y)
    assert found.shape == (n,) and not bool((found[1:] < found[:-1]).any())
    assert int(lib.count_nonzero(found)) == n - first - other


def made(library: Any, n: int) -> None:
    x, places = marked(library, n)
    y = lib.evaluate(lazy.flip(lazy.of(x)))
    assert [int(y[n - 1 - place]) for place in places] == [*range(1, len(places) + 1)]
    assert int(lib.count_nonzero(y)) == len(places)


def members(library: Any, n: int) -> None:
    x, places = marked(library, n)
    found = lib.isin(x, library.asarray(np.array([1, 3], np.uint8)))
    assert host(lib.flatnonzero(found)).tolist() == [places[0], places[2]]


def layouts(library: Any, n: int) -> None:
    x, places = marked(library, n)
    y = lib.copy(x[::-1])
    assert int(lib.count_nonzero(y)) == len(places) and all(int(y[n - 1 - p]) == k + 1 for k, p in enumerate(places))
    rows = x[: n - n % 3].reshape(-1, 3)
    inside = [(k, p) for k, p in enumerate(places) if p < n - n % 3]
    for call in (lib.transpose, lib.permute):
        y = call(rows)
        assert y.shape == (3, n // 3) and int(lib.count_nonzero(y)) == len(inside)
        assert all(int(y[p % 3, p // 3]) == k + 1 for k, p in inside)
    wide = lib.transpose(x[: n - n % 65].reshape(65, -1))
    inside = [(k, p) for k, p in enumerate(places) if p < n - n % 65]
    assert all(int(wide[p % (n // 65), p // (n // 65)]) == k + 1 for k, p in inside)
    assert int(lib.count_nonzero(wide)) == len(inside)


def packings(library: Any, n: int) -> None:
    n -= n % 192
    x, places = marked(library, n)
    q = x.reshape(-1, 192)
    packed = lib.pack_weights(q, bits=4)
    y = lib.unpack_weights(packed, *q.shape).reshape(-1)
    assert int(lib.count_nonzero(y)) == int(lib.count_nonzero(x)) and all(
        int(y[p]) == int(x[p]) for p in places if p < n
    )


def layers(library: Any, n: int) -> None:
    n -= n % 6
    x = library.zeros(n, np.float16)
    places = [0, n // 3 + 1, n - 1]
    for p in places:
        x[p] = 1
    for y, wanted in (
        (lib.gelu(x), 0.8413), (lib.gelu_backward(x, x), 1.0833), (lib.swiglu(x, x), 0.7311),
        (lib.swiglu_backward(x, x, x)[1], 0.7311), (lib.quantize(x, "int8", group=6)[0], 127),
        (lib.rope(x.reshape(-1, 1, 2), *(library.full((1, 1), v, np.float32) for v in (1, 0))).reshape(-1), 1),
        (lib.quantize(x, "int8", group="tensor")[0], 127),
    ):  # fmt: skip
        assert int(lib.count_nonzero(y)) == len(places) and all(abs(float(y[p]) - wanted) < 1e-3 for p in places)
        del y
    scores, labels = library.zeros((2, n // 2), np.float16), library.full(2, n // 2 - 1, np.int64)
    losses, logs = lib.cross_entropy(scores, labels)
    assert np.allclose(host(losses), np.log(n // 2), rtol=1e-4)
    gradient = lib.cross_entropy_backward(library.ones(1, np.float32), scores, labels, logs, out=scores)
    assert all(
        abs(float(gradient[k, -1]) + 1 - 2 / n) < 1e-3 and abs(float(gradient[k, 1]) - 2 / n) < 1e-5 for k in range(2)
    )


def rows_of_eleven(library: Any, n: int) -> None:
    n -= n % 11
    places = [0, n // 3 + 1, n - 1]
    x = library.zeros((n // 11, 11), np.float16)
    x.reshape(-1)[places] = 1
    calls: tuple[tuple[Callable[[], Any], float, float], ...] = (  # above what it is at these places alone, and what there
        (lambda: lib.softmax(x), 0.15, 0.2137), (lambda: lib.log_softmax(x), -2, -1.5432),
        (lambda: lib.softmax_backward(x, lib.softmax(x)), 0, 0.1680),
        (lambda: lib.log_softmax_backward(x, lib.log_softmax(x)), 0, 0.7863),
        (lambda: lib.rms_norm(x, eps=1), 0, 0.9574), (lambda: lib.layer_norm(x, eps=1), 0, 0.8737),
        (lambda: lib.rms_norm_backward(x, x, eps=1), 0, 0.8776), (lambda: lib.layer_norm_backward(x, x, eps=1), 0, 0.8070),
        (lambda: lib.rows(x, lambda x, top: x * top, "max"), 0, 1),
    )  # fmt: skip
    for make, above, wanted in calls:
        y = make()
        assert int(lib.count_nonzero(lazy.of(y) > above)) == len(places)
        assert all(abs(float(y.reshape(-1)[p]) - wanted) < 2e-3 for p in places)
        del y


CHECKS: dict[Callable[[Any, int], None], tuple[str, ...]] = {
    differences: ("diff", "ediff1d", "adjacent_difference"),
    search: ("searchsorted", "digitize", "find"),
    indices: ("take", "take_along_axis"),
    lengths: ("run_length_encode", "repeat", "run_length_decode", "unique_consecutive", "unique_by_key"),
    parts: ("split", "split3", "compress", "extract", "argwhere"),
    extremes: ("minmax", "argminmax", "segmented_argmax", "segmented_argmin"),
    first_ones: ("top_k", "topk", "kthvalue", "median", "quantile"),
    merges: ("merge",),
    made: ("evaluate",),
    members: ("isin", "in1d"),
    layouts: ("copy", "transpose", "permute"),
    packings: ("pack_weights", "unpack_weights"),
    layers: (
        "gelu", "gelu_backward", "swiglu", "swiglu_backward", "rope", "quantize", "cross_entropy", "cross_entropy_backward",
    ),
    rows_of_eleven: (
        "softmax", "log_softmax", "softmax_backward", "log_softmax_backward", "rms_norm", "layer_norm", "rms_norm_backward",
        "layer_norm_backward", "rows",
    ),
}  # fmt: skip
"""What is looked at here, and of which functions: `topk` and `in1d` are other names, `segmented_argmin` the other extreme."""
ELSEWHERE = {
    "test_past_2_31.py": (
        "scan", "cumsum", "segmented_scan", "segmented_reduce", "reduce_by_key", "scan_by_key", "reduce", "sum", "max", "min",
        "argmax", "argmin", "any", "count_nonzero", "hgemm", "sgemm",
    ),
    "test_stress.py": ("all",),
    "test_select.py": ("select", "flatnonzero", "nonzero"),
    "test_histogram.py": ("histogram", "bincount"),
    "test_sort.py": ("sort",),
    "test_attention.py": ("attention",),
    "test_attention_decode.py": ("attention_decode", "attention_decode_latent"),
    "test_attention_backward.py": ("attention_backward",),
}  # fmt: skip
"""The modules of tests/gpu that look at others."""
ALIKE = {
    "scan": ("cumprod", "cummax", "cummin", "cumulative_sum", "cumulative_prod"),
    "reduce": ("prod",),
    "sort": (
        "argsort", "sort_by_key", "segmented_sort", "segmented_argsort", "segmented_sort_by_key", "lexsort", "sort_complex",
        "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "intersect1d", "union1d", "setdiff1d",
        "setxor1d",
    ),
    "merge": ("merge_by_key",),
    "top_k": ("segmented_top_k",),
    "kthvalue": ("partition", "argpartition"),
    "quantile": ("percentile", "nanmedian", "nanpercentile", "nanquantile"),
    "histogram": ("histogram2d", "histogramdd"),
    "hgemm": ("matmul", "grouped_matmul", "quantized_matmul"),
}  # fmt: skip
"""Functions that are looked at through one whose kernels, or whose counting, they share: no test has them so long."""
