"""prism.lib.attention of 8-bit floats on the GPU, beside float64: dims, edges, options, layouts, strides, scales, graphs."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import prism
from tests.gpu.test_attention import exact, rms, weights_of

try:
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    torch = None

LENGTHS = (1, 15, 16, 17, 63, 64, 65, 95, 97, 127, 128, 129, 191, 192, 193, 257, 500)


KINDS = ("float8_e4m3fn", "float8_e5m2")


def normal(*shape: int, kind: str = KINDS[0]) -> Any:
    return torch.randn(shape, device="cuda").to(getattr(torch, kind))


def faults(
    q: Any, k: Any, v: Any, found: Any, layout: str = "bhld", scales: tuple[Any, Any, Any] = (1, 1, 1), **options: Any
) -> str:
    """Return what is wrong with a call's result.

    A weight is off by 2^-4 of it, or by 2^-18 of the largest. Hopper adds with 14 bits: a score of some units is off by less than
    2^-6, which is as much of its weight, and sums of 500 keys by less than that of the sum without signs.
    """
    q, k, v = (x.double() * scale for x, scale in zip((q, k, v), scales, strict=True))
    wanted, size, _ = exact(q, k, v, layout=layout, **options)
    here = found.double()[None] if found.ndim == 3 else found.double()
    here = here.transpose(1, 2) if layout == "blhd" else here
    bound = (
        (2.0**-4 + 2.0**-5) * size
        + 2.0**-8 * wanted.abs()
        + 2.0**-18 * v.abs().max() * k.shape[2 if layout == "bhld" else 1]
    )
    wrong = ~((here - wanted).abs() <= bound)
    return (
        f"{int(wrong.sum())} of {wrong.numel()} are wrong, first {wrong.nonzero()[0].tolist()}"
        if bool(wrong.any())
        else ""
    )


def check(q: Any, k: Any, v: Any, **options: Any) -> None:
    found = prism.lib.attention(q, k, v, **options)
    assert not (what := faults(q, k, v, found, **options)), (
        tuple(q.shape),
        tuple(k.shape),
        tuple(v.shape),
        options,
        what,
    )


@pytest.mark.parametrize("causal", [False, True])
def test_dims(causal: bool) -> None:
    torch.manual_seed(0)
    for dim, dim_v in (
        (16, 16),
        (32, 64),
        (64, 64),
        (64, 128),
        (96, 96),
        (112, 80),
        (128, 128),
        (192, 128),
        (256, 256),
    ):
        check(normal(1, 3, 300, dim), normal(1, 3, 333, dim), normal(1, 3, 333, dim_v), causal=causal)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    torch.manual_seed(0)
    for dim, causal in ((64, False), (128, True), (256, False)):
        check(*(normal(2, 2, 500, dim, kind=kind) for _ in range(3)), causal=causal)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [600, 4096])
def test_errors_are_those_of_rounded_weights(length: int, kind: str) -> None:
    """The root mean square is that of exact sums of weights rounded to 8 bits, as torch rounds them, to a tenth.

    Torch has no attention of 8-bit floats. A weight is rounded beside the largest score so far, there beside the largest one; and
    Hopper's sums have 14 bits.
    """
    torch.manual_seed(0)
    for dim, causal in ((64, False), (128, False), (128, True), (256, True)):
        q, k, v = (normal(1, 2, length, dim, kind=kind) for _ in range(3))
        wanted = exact(q, k, v, causal=causal)[0]
        weights, values, _ = weights_of(q, k, v, kind=torch.float64, causal=causal)
        top = weights.amax(-1, keepdim=True)
        rounded = (256 * weights / top).float().to(torch.float8_e4m3fn).double() * top / 256
        theirs = rms((rounded @ values).bfloat16() - wanted)
        ours = rms(prism.lib.attention(q, k, v, causal=causal) - wanted)
        assert ours <= 1.1 * theirs, (dim, causal, ours, theirs)


def test_edges() -> None:
    torch.manual_seed(0)
    for (rows, keys), dim in itertools.product(
        zip(LENGTHS, random.Random(0).sample(LENGTHS, len(LENGTHS)), strict=True), (64, 128, 256)
    ):
        check(normal(2, 2, rows, dim), normal(2, 1, keys, dim), normal(2, 1, keys, dim), causal=dim == 128)


def test_options() -> None:
    torch.manual_seed(0)
    q, k, v = normal(2, 200, 4, 64), normal(2, 333, 2, 64), normal(2, 333, 2, 64)
    for options in (
        {"window": 50},
        {"softcap": 3.0},
        {"sinks": torch.randn(4, device="cuda")},
        {"causal": "top_left"},
        {"scale": 0.3},
    ):
        check(q, k, v, layout="blhd", **options)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_scales(kind: str) -> None:
    torch.manual_seed(0)
    q, k, v = normal(2, 4, 100, 128), normal(2, 2, 300, 128), normal(2, 2, 300, 128)
    scales = tuple(0.5 + torch.rand(2, heads, device="cuda") for heads in (4, 2, 2))
    named = dict(zip(("q_scale", "k_scale", "v_scale"), scales, strict=True))
    found = prism.lib.attention(q, k, v, **named, out_dtype=getattr(torch, kind))
    assert found.dtype == getattr(torch, kind)
    assert not faults(q, k, v, found, scales=tuple(scale.double()[..., None, None] for scale in scales))


def test_memory_is_read_only_where_keys_are() -> None:
    """What lies behind the last key is NaN."""
    torch.manual_seed(0)
    room = torch.full((1, 2, 64, 128), 0x7F, dtype=torch.uint8, device="cuda").view(torch.float8_e4m3fn)
    k, v = room.clone(), room.clone()
    k[:, :, :37], v[:, :, :37] = normal(1, 2, 37, 128), normal(1, 2, 37, 128)
    check(normal(1, 2, 70, 128), k[:, :, :37], v[:, :, :37])


def test_calls_are_equal_bit_by_bit_and_captured() -> None:
    torch.manual_seed(0)
    q, k, v = (normal(2, 3, 700, 128) for _ in range(3))
    first = prism.lib.attention(q, k, v, causal=True)
    for _ in range(20):
        assert torch.equal(prism.lib.attention(q, k, v, causal=True), first)
    out, graph = torch.zeros_like(first), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prism.lib.attention(q, k, v, causal=True, out=out)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, first)


def test_random_calls() -> None:
    chance = random.Random(0)
    torch.manual_seed(0)
    for _ in range(150):
        own, share, batches = chance.randint(1, 3), chance.randint(1, 3), chance.randint(1, 2)
        dim, dim_v = chance.choice([(64, 64), (48, 64), (128, 128), (112, 128), (256, 240)])
        rows, keys = chance.choice(LENGTHS), chance.choice(LENGTHS)
        options: dict[str, Any] = {"causal": chance.random() < 0.5, "layout": chance.choice(["bhld", "blhd"])}
        shapes = ((own * share, rows, dim), (own, keys, dim), (own, keys, dim_v))
        given = [
            normal(batches, *(shape if options["layout"] == "bhld" else (shape[1], shape[0], shape[2])))
            for shape in shapes
        ]
        check(*given, **options)
