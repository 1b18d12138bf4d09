"""prism.lib.attention on the GPU, beside float64: dims, edges, options, layouts, strides, streams, graphs; 10^3 random calls."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest

import prism
from tests.kernels.test_attention import near_head

try:
    import cupy
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = torch = None

EPS = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
LENGTHS = (1, 7, 63, 64, 65, 79, 80, 81, 127, 128, 129, 191, 192, 193, 255, 257, 500)


def normal(*shape: int, kind: str = "float16") -> Any:
    return torch.randn(shape, device="cuda").to(getattr(torch, kind))


def weights_of(
    q, k, v, *, causal=False, window=None, scale=None, softcap=None, sinks=None, score=None, kind=None, **_
) -> tuple[Any, Any, Any]:
    """Return weights of keys, values, and logarithms of sums, of batches x heads x lengths; a key more with sinks."""
    (heads, rows, dim), keys = q.shape[1:], k.shape[2]
    q, k, v = (x.to(kind) for x in (q, k, v))
    k, v = (x.repeat_interleave(heads // k.shape[1], 1) for x in (k, v))
    s = (1 / math.sqrt(dim) if scale is None else scale) * (q @ k.mT)
    s = s if softcap is None else softcap * torch.tanh(s / softcap)
    row, column = torch.arange(rows, device="cuda")[:, None], torch.arange(keys, device="cuda")
    if score is not None:  # near_head
        head = torch.arange(heads, device="cuda")[:, None, None]
        s = torch.where((row + column) % 3 < 2, s - 0.25 * (row - column) * head, -math.inf)
    place = row if causal == "top_left" else row + keys - rows
    before, behind = window if isinstance(window, tuple) else (window, window)
    seen = torch.ones(rows, keys, dtype=torch.bool, device="cuda")
    seen = seen & (column <= place) if causal else seen
    seen = seen if before is None else seen & (column >= place - before)
    seen = seen if behind is None else seen & (column <= place + behind)
    s = torch.where(seen, s, -math.inf)
    if sinks is not None:
        more = sinks.to(kind)[:, None, None].expand(*s.shape[:3], 1)
        s, v = torch.cat([s, more], -1), torch.cat([v, v.new_zeros(*v.shape[:2], 1, v.shape[3])], 2)
    lse = torch.logsumexp(s, -1) if s.shape[-1] else torch.full(s.shape[:3], -math.inf, dtype=s.dtype, device="cuda")
    return torch.exp(s - torch.where(lse == -math.inf, 0, lse)[..., None]), v, lse


def exact(q, k, v, *, layout="bhld", **options):
    """Return in float64 the result, that of values without signs, and the logarithms of the sums."""
    q, k, v = (x[None] if x.ndim == 3 else x for x in (q, k, v))
    if layout == "blhd":
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    weights, values, lse = weights_of(q, k, v, kind=torch.float64, **options)
    return weights @ values, weights @ values.abs(), lse


def faults(q, k, v, found, logs, layout="bhld", **options) -> str:
    """Return what is wrong with a call's result, as tests/kernels/test_attention.py bounds it."""
    wanted, size, lse = exact(q, k, v, layout=layout, **options)
    here = found.double()[None] if found.ndim == 3 else found.double()
    here = here.transpose(1, 2) if layout == "blhd" else here
    kind = str(q.dtype).removeprefix("torch.")
    least = 2.0**-24 if kind == "float16" else 2.0**-40
    largest = float(v.double().abs().sum(-3 if layout == "blhd" else -2).max()) if v.numel() else 0.0
    bound = (EPS[kind] + 2.0**-17) * size + EPS[kind] * wanted.abs() + least * (1 + largest)
    wrong = ~((here - wanted).abs() <= bound)
    if bool(wrong.any()):
        return f"{int(wrong.sum())} of {wrong.numel()} are wrong, first {wrong.nonzero()[0].tolist()}"
    if logs is None:
        return ""
    logs = logs.double().reshape(lse.shape)
    none = lse == -math.inf
    near = (torch.where(none, 0, logs - lse).abs() <= 2.0**-16 * (1 + torch.where(none, 0, lse).abs())).all()
    return "" if bool(near) and torch.equal(logs == -math.inf, none) else "logarithms are wrong"


def check(q, k, v, **options) -> None:
    found = prism.lib.attention(q, k, v, **options)
    found, logs = found if options.get("lse") else (found, None)
    assert not (wrong := faults(q, k, v, found, logs, **options)), (
        tuple(q.shape),
        tuple(k.shape),
        tuple(v.shape),
        options,
        wrong,
    )


@pytest.mark.parametrize("kind", EPS)
@pytest.mark.parametrize(
    "dims",
    [
        (8, 8),
        (32, 32),
        (64, 64),
        (72, 40),
        (96, 96),
        (128, 128),
        (64, 128),
        (192, 128),
        (192, 192),
        (256, 256),
        (64, 256),
    ],
)
def test_dims(dims: tuple[int, int], kind: str) -> None:
    """At tiles' edges, of queries and of keys."""
    for (rows, keys), causal in itertools.product(
        [(1, 1), (64, 80), (65, 300), (300, 65), (513, 513), (1000, 257)], (False, True)
    ):
        q, k, v = (normal(2, 2, n, dim, kind=kind) for n, dim in ((rows, dims[0]), (keys, dims[0]), (keys, dims[1])))
        check(q, k, v, causal=causal, lse=True)


@pytest.mark.parametrize("dim", [64, 128, 256])
def test_edges(dim: int) -> None:
    for rows, keys in itertools.product(LENGTHS, LENGTHS):
        q, k, v = normal(1, 2, rows, dim), normal(1, 1, keys, dim), normal(1, 1, keys, dim)
        check(q, k, v, causal="top_left" if (rows + keys) % 2 else True, lse=rows % 2 == 0)


# -- Errors beside torch's --------------------------------------------------------------------------------------------

NEAR = 1.01
"""The error's root mean square is at most torch's, to the percent that rounding of other partial sums may differ by."""
SPLIT = 1.0005
"""Of few short heads flash makes parts of as many keys as our tiles have: the same weights, rounded alike, and the same error but
for the order of sums. On an H200 it was 0.9999 to 1.0001 of flash's with 500 and 700 keys."""
SHORT = (2, 4, 1000, 128), (2, 2, 1300, 128)
CASES: dict[str, dict[str, Any]] = {
    "all keys": {}, "causal": {"causal": True}, "from the top": {"causal": "top_left"}, "window": {"window": (200, 30)},
    "causal window": {"causal": True, "window": 200}, "softcap": {"softcap": 2.0}, "sinks": {"sinks": [0.5, -1.0, 3.0, 8.0]},
    "function of scores": {"score": near_head}, "large scores": {"scale": 1.0}, "negative scale": {"scale": -0.1},
    "all together": {"causal": True, "window": 400, "softcap": 5.0, "sinks": [0.5, -1.0, 3.0, 8.0], "scale": 0.2},
}  # fmt: skip


def rms(off: Any) -> float:
    return float(off.double().square().mean().sqrt())


def composed(q: Any, k: Any, v: Any, **options: Any) -> Any:
    """Return what torch makes, op by op: weights in float32, rounded to the arrays' dtype, and their product with the values."""
    weights, values, _ = weights_of(q, k, v, kind=torch.float32, **options)
    return weights.to(q.dtype) @ values.to(q.dtype)


@pytest.mark.parametrize("kind", EPS)
@pytest.mark.parametrize("name", CASES)
def test_as_near_as_torch(name: str, kind: str) -> None:
    """In each case as near as torch's operations one by one, of which the scores are of float32."""
    torch.manual_seed(0)
    q, k, v = normal(*SHORT[0], kind=kind), normal(*SHORT[1], kind=kind), normal(*SHORT[1], kind=kind)
    options = dict(CASES[name])
    if "sinks" in options:
        options["sinks"] = torch.tensor(options["sinks"], device="cuda")
    wanted = exact(q, k, v, **options)[0]
    ours = rms(prism.lib.attention(q, k, v, **options) - wanted)
    theirs = rms(composed(q, k, v, **options) - wanted)
    assert ours <= NEAR * theirs, (ours, theirs)


@pytest.mark.parametrize("length", [500, 2048, 4096, 16384])
@pytest.mark.parametrize("causal", [False, True])
def test_as_near_as_kernels_of_torch(length: int, causal: bool) -> None:
    """As near as torch's flash kernels, and cuDNN's."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    torch.manual_seed(0)
    for dim, kind in itertools.product((64, 96, 128, 192, 256), EPS) if length < 16384 else ((128, "bfloat16"),):
        q, k, v = (normal(1, 2, length, dim, kind=kind) for _ in range(3))
        found = prism.lib.attention(q, k, v, causal=causal)
        assert not faults(q, k, v, found, None, causal=causal)
        wanted = exact(q, k, v, causal=causal)[0]
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            with sdpa_kernel(backend):
                theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            ours, other = rms(found - wanted), rms(theirs - wanted)
            split = backend == SDPBackend.FLASH_ATTENTION and length == 500
            assert ours <= (SPLIT if split else 1.0) * other, (dim, kind, backend, ours, other)


def random_kind(seed: int) -> dict[str, Any]:
    """Return what decides which kernel calls take: as many calls share it as a seed has."""
    at = random.Random(seed)
    dim = at.choice([32 * at.randint(1, 8), 64, 128, 256])
    return {
        "kind": at.choice(list(EPS)), "dims": (dim, at.choice([dim, dim, 32 * at.randint(1, 8)])), "few": at.random() < 0.25,
        "ahead": at.random() < 0.6, "back": at.random() < 0.35, "lse": at.random() < 0.5, "sinks": at.random() < 0.25,
        "softcap": at.uniform(0.5, 30) if at.random() < 0.25 else None, "turned": at.random() < 0.1,
        "score": near_head if at.random() < 0.12 else None,
    }  # fmt: skip


def random_call(seed: int, number: int) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return the arrays and options of a call of a seed's kind: any shapes, strides, alignment and masks."""
    of, at = random_kind(seed), random.Random(f"{seed} {number}")
    torch.manual_seed(100 * seed + number)
    layout, axes = at.choice(["bhld", "blhd"]), at.choice([3, 4, 4])
    dim, dim_v = (n - 8 * at.choice([0, 0, 1, 2, 3]) for n in of["dims"])  # tiles have a multiple of 32
    share, kv_heads, batches = (
        at.choice([1, 1, 2, 3, 8]),
        at.choice([1, 2, 3]),
        at.choice([1, 2, 3]) if axes == 4 else 1,
    )
    most = 150 if of["score"] else 700
    rows = at.randint(1, 64) if of["few"] else at.choice([at.randint(65, most), 128, at.choice([65, 127, 129])])
    keys = at.choice([rows, at.randint(1, 40), at.randint(1, most), 64 * at.randint(1, most // 64), 0])

    def laid(heads: int, length: int, width: int) -> Any:
        inside = (heads, length) if layout == "bhld" else (length, heads)
        shape = (batches, *inside, width) if axes == 4 else (*inside, width)
        how = at.choice(["dense", "dense", "wide", "odd", "turned", "shifted"])
        if how == "wide":
            return normal(*shape[:-1], width + 8, kind=of["kind"])[..., :width]
        if how == "odd":  # rows that don't begin at multiples of 16 bytes
            return normal(*shape[:-1], width + 3, kind=of["kind"])[..., 1 : width + 1]
        if how == "turned":
            return normal(*shape[::-1], kind=of["kind"]).permute(*range(axes)[::-1])
        if how == "shifted":
            return normal(math.prod(shape) + 1, kind=of["kind"])[1:].reshape(shape)
        return normal(*shape, kind=of["kind"])

    heads = share * kv_heads
    far = lambda: at.choice([0, at.randint(0, 50), at.randint(0, 600)])
    by_window = of["ahead"] and at.random() < 0.4
    window = (far() if of["back"] else None, far() if by_window else None)
    options = {
        "causal": at.choice([True, "top_left", "bottom_right"]) if of["ahead"] and not by_window else False,
        "layout": layout, "lse": of["lse"], "window": None if window == (None, None) else window,
        "scale": -at.uniform(0.01, 0.3) if of["turned"] else at.choice([None, at.uniform(0.01, 0.5)]),
        "softcap": of["softcap"], "sinks": torch.randn(heads, device="cuda") if of["sinks"] else None, "score": of["score"],
    }  # fmt: skip
    return laid(heads, rows, dim), laid(kv_heads, keys, dim), laid(kv_heads, keys, dim_v), options


def check_random(seed: int, number: int) -> None:
    *arrays, options = random_call(seed, number)
    check(*arrays, **options)


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(2, 50))])
def test_random_calls(seed: int) -> None:
    """Twenty calls of a kind, and fifty kinds: a thousand in all."""
    for number in range(20):
        check_random(seed, number)


def test_out_of_any_strides() -> None:
    """Where kernels write, or beside and copied; what is beside the result stays as it is."""
    q, k, v = normal(2, 3, 70, 64), normal(2, 3, 90, 64), normal(2, 3, 90, 128)
    wanted = prism.lib.attention(q, k, v)
    for room, cut in (
        (torch.full((2, 3, 70, 136), 7.0, device="cuda"), (slice(None),) * 3 + (slice(0, 128),)),
        (torch.full((2, 3, 70, 131), 7.0, device="cuda"), (slice(None),) * 3 + (slice(1, 129),)),
        (torch.full((2, 3, 72, 128), 7.0, device="cuda"), (slice(None),) * 2 + (slice(1, 71),)),
        (torch.full((2, 6, 70, 128), 7.0, device="cuda"), (slice(None), slice(None, None, 2))),
    ):
        room = room.half()
        out = room[cut]
        assert prism.lib.attention(q, k, v, out=out) is out
        assert torch.equal(out, wanted)
        out.fill_(7.0)
        assert bool((room == 7).all())
    turned = torch.empty(2, 70, 3, 128, device="cuda", dtype=torch.float16).transpose(1, 2)
    assert torch.equal(prism.lib.attention(q, k, v, out=turned), wanted)
    wide = normal(2, 3, 90, 256)  # written from registers
    beside = torch.full((2, 3, 70, 264), 7.0, device="cuda").half()
    prism.lib.attention(q, k, wide, out=beside[..., :256])
    assert torch.equal(beside[..., :256], prism.lib.attention(q, k, wide)) and bool((beside[..., 256:] == 7).all())
    pair = torch.empty_like(wanted), torch.empty(2, 3, 70, device="cuda")
    found = prism.lib.attention(q, k, v, lse=True, out=pair)
    assert found[0] is pair[0] and found[1] is pair[1]
    assert not faults(q, k, v, *pair)


def test_cupy_arrays() -> None:
    q, k, v = (cupy.random.standard_normal((2, 100, 64), dtype=np.float32).astype(np.float16) for _ in range(3))
    found, logs = prism.lib.attention(q, k, v, causal=True, lse=True)
    assert isinstance(found, cupy.ndarray) and isinstance(logs, cupy.ndarray)
    assert not faults(*(torch.as_tensor(x, device="cuda") for x in (q, k, v, found, logs)), causal=True)


def test_streams_and_graphs() -> None:
    """Tiles are drawn from a counter a stream: calls on many streams, in graphs, and warm ones give the same bits."""
    q, k, v = (normal(2, 4, 1000, 128) for _ in range(3))
    wanted = prism.lib.attention(q, k, v, causal=True)
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(4)]
    found = []
    for number in range(40):
        with torch.cuda.stream(streams[number % 4]):
            found.append(prism.lib.attention(q, k, v, causal=True))
    torch.cuda.synchronize()
    assert all(torch.equal(one, wanted) for one in found)
    out = torch.zeros_like(wanted)
    prism.lib.attention(q, k, v, causal=True, out=out, stream=streams[0])
    torch.cuda.synchronize()
    assert torch.equal(out, wanted)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(streams[1]), torch.cuda.graph(graph, stream=streams[1]):  # whose counter is there by now
        for _ in range(5):
            prism.lib.attention(q, k, v, causal=True, out=out)
    for _ in range(3):
        out.zero_()
        q.copy_(normal(2, 4, 1000, 128))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, prism.lib.attention(q, k, v, causal=True))


def test_the_same_call_gives_the_same_bits() -> None:
    q, k, v = (normal(1, 8, 3000, 64, kind="bfloat16") for _ in range(3))
    wanted = prism.lib.attention(q, k, v, causal=True)
    assert all(torch.equal(prism.lib.attention(q, k, v, causal=True), wanted) for _ in range(20))


def test_infinite_and_missing_numbers_stay_in_their_rows() -> None:
    q, k, v = (normal(1, 2, 200, 64) for _ in range(3))
    wanted = prism.lib.attention(q, k, v)
    q[0, 1, 7] = math.nan
    found = prism.lib.attention(q, k, v)
    assert bool(found[0, 1, 7].isnan().all())
    found[0, 1, 7] = wanted[0, 1, 7]
    assert torch.equal(found, wanted)


PAST = 4100, 8, 512, 128
"""Of more than 2^31 elements: 4 GB of 16 bits each."""


def test_past_2_31() -> None:
    """What the first and the last batch give is what they give alone: heads are made in an order that their lengths decide."""
    q, k, v = (torch.randn(PAST, device="cuda", dtype=torch.float16) for _ in range(3))
    found, logs = prism.lib.attention(q, k, v, causal=True, lse=True)
    for part in (slice(0, 1), slice(-1, None)):
        wanted, of_wanted = prism.lib.attention(q[part], k[part], v[part], causal=True, lse=True)
        assert torch.equal(found[part], wanted) and torch.equal(logs[part], of_wanted)
