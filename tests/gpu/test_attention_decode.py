"""Attention for decoding on the GPU, beside float64: lengths, pages, tokens, dims, many blocks, graphs, latent; random calls."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import prism
from tests.gpu.test_attention import PAST

try:
    import cupy
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = torch = None

EPS = {"float16": 2.0**-11, "bfloat16": 2.0**-8}


def normal(*shape: int, kind: str = "float16") -> Any:
    return torch.randn(shape, device="cuda").to(getattr(torch, kind))


def exact(q, k, v, lengths, causal) -> tuple[Any, Any, Any]:
    """Return in float64 the result, that of values without signs, and the logarithms of the sums."""
    q, k, v = (x.double() for x in (q, k, v))
    batches, heads, tokens, _ = q.shape
    k, v = map(torch.nan_to_num, (k, v))
    of_keys = (batches, k.shape[1], -1)  # queries that share keys are rows of one product: keys are not repeated
    s = (q.reshape(*of_keys, q.shape[3]) @ k.mT / math.sqrt(q.shape[3])).view(batches, heads, tokens, -1)
    lengths = torch.as_tensor(lengths, device="cuda").clamp(0, k.shape[2])[:, None]
    end = lengths - tokens + torch.arange(1, tokens + 1, device="cuda") if causal else lengths.expand(-1, tokens)
    s = torch.where(torch.arange(k.shape[2], device="cuda") < end[:, None, :, None], s, -math.inf)
    lse = torch.logsumexp(s, -1)
    weights = torch.exp(s - torch.where(lse == -math.inf, 0, lse)[..., None]).view(*of_keys, k.shape[2])
    return *((weights @ x).view(batches, heads, tokens, -1) for x in (v, v.abs())), lse


def in_pages(x: Any, page: int, table: Any) -> Any:
    """Return a cache of pages x heads x keys of a page x dim; pages that no sequence has are NaN."""
    batches, heads, keys, dim = x.shape
    wide = table.shape[1]
    padded = torch.full((batches, heads, wide * page, dim), math.nan, device="cuda", dtype=x.dtype)
    padded[:, :, :keys] = x
    cache = torch.full((int(table.max()) + 2, heads, page, dim), math.nan, device="cuda", dtype=x.dtype)
    cache[table.long().ravel()] = (
        padded.reshape(batches, heads, wide, page, dim).transpose(1, 2).reshape(-1, heads, page, dim)
    )
    return cache


def check(
    batches,
    heads,
    share,
    tokens,
    keys,
    dims,
    *,
    kind="float16",
    page=0,
    ragged=False,
    causal=True,
    layout="bhld",
    times=3,
) -> None:
    q = normal(batches, heads, tokens, dims[0], kind=kind)
    k, v = (normal(batches, heads // share, keys, dim, kind=kind) for dim in dims)
    lengths = np.full(batches, keys)
    more: dict[str, Any] = {}
    if ragged:
        lengths = np.random.default_rng(keys).integers(0, keys + 1, batches)
        more["lengths"] = torch.as_tensor(lengths, dtype=torch.int32, device="cuda")
        for b, n in enumerate(lengths):
            k[b, :, n:] = v[b, :, n:] = math.nan
    wanted, size, lse = exact(q, k, v, lengths, causal)
    if page:
        wide = -(-keys // page)
        table = torch.randperm(batches * wide + 3, device="cuda")[: batches * wide].reshape(batches, wide).int()
        k, v = (in_pages(x, page, table) for x in (k, v))
        more["page_table"], more["lengths"] = table, torch.as_tensor(lengths, dtype=torch.int32, device="cuda")
    if layout == "blhd":
        q, k, v = (x.transpose(1, 2).contiguous() for x in (q, k, v))
    first = None
    for _ in range(times):
        found, logs = prism.lib.attention_decode(q, k, v, **more, causal=causal, layout=layout, lse=True)
        assert first is None or (torch.equal(found, first[0]) and torch.equal(logs, first[1])), (
            "not the same bits again"
        )
        first = found, logs
    found = (found.transpose(1, 2) if layout == "blhd" else found).double()
    bound = (
        (EPS[kind] + 2.0**-17) * size
        + EPS[kind] * wanted.abs()
        + (2.0**-24 if kind == "float16" else 2.0**-40) * (keys + 1)
    )
    assert bool(((found - wanted).abs() <= bound).all())
    none = lse == -math.inf
    assert torch.equal(logs == -math.inf, none)
    assert bool((torch.where(none, 0, logs - lse).abs() <= 2.0**-16 * (1 + torch.where(none, 0, lse).abs())).all())


@pytest.mark.parametrize("kind", EPS)
@pytest.mark.parametrize("dims", [(64, 64), (128, 128), (128, 64), (96, 40), (8, 8), (192, 128), (256, 256)])
def test_dims(dims: tuple[int, int], kind: str) -> None:
    for keys in (1, 63, 129, 1000):
        check(2, 4, 2, 1, keys, dims, kind=kind)


@pytest.mark.parametrize(
    ("tokens", "heads", "share"),
    [(1, 8, 8), (1, 9, 9), (1, 32, 32), (1, 64, 64), (2, 96, 96), (2, 32, 16), (3, 10, 5), (16, 4, 4)],
)
@pytest.mark.parametrize("page", [0, 1, 12, 16, 24, 256])
def test_queries_that_share_keys(tokens: int, heads: int, share: int, page: int) -> None:
    check(3, heads, share, tokens, 3000, (128, 128), page=page, ragged=True, layout="blhd")


@pytest.mark.parametrize(
    "shape",
    [(1, 32, 4, 1, 16384), (128, 32, 4, 1, 1024), (1, 8, 8, 1, 65536), (16, 64, 8, 1, 2000), (300, 4, 2, 1, 500)],
)
@pytest.mark.parametrize("ragged", [False, True])
def test_many_blocks(shape: tuple[int, ...], ragged: bool) -> None:
    """One sequence of many blocks; blocks of several sequences; more sequences than threads. The same bits each time."""
    check(*shape, (64, 64), ragged=ragged, times=10)


def random_kind(seed: int) -> dict[str, Any]:
    """Return what decides which kernels calls take: as many calls share it as a seed has."""
    of = random.Random(seed)
    return {
        "dims": of.choice([(64, 64), (128, 128), (128, 128), (64, 128), (96, 40), (256, 256)]), "kind": of.choice([*EPS]),
        "page": of.choice([0, 0, 1, 8, 16, 20, 64, 96]), "ragged": of.random() < 0.7, "causal": of.random() < 0.7,
    }  # fmt: skip


def check_random(seed: int, number: int) -> None:
    """Of any numbers of sequences, heads, tokens and keys."""
    of, at = random_kind(seed), random.Random(f"{seed} {number}")
    torch.manual_seed(100 * seed + number)
    share, kv_heads = at.choice([(1, 3), (4, 2), (8, 1), (5, 2), (32, 1)])
    keys = at.choice([1, 100, 128, 129, 700, 2500, at.randint(1, 200), at.randint(1, 5000)])
    layout = at.choice(["bhld", "blhd"])
    tokens = at.choice([1, 1, 1, 2, 4])
    check(at.choice([1, 2, 7, 40]), share * kv_heads, share, tokens, keys, **of, layout=layout, times=2)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(4, 50))])
def test_random_calls(seed: int) -> None:
    """Twenty calls of a kind, and fifty kinds: a thousand in all."""
    for number in range(20):
        check_random(seed, number)


@pytest.mark.parametrize("kind", EPS)
@pytest.mark.parametrize(
    ("batches", "heads", "tokens", "keys"), [(3, 16, 1, 3000), (2, 128, 1, 5000), (70, 32, 2, 700)]
)
@pytest.mark.parametrize("page", [0, 1, 64])
def test_latent(batches: int, heads: int, tokens: int, keys: int, page: int, kind: str) -> None:
    """A latent cache in pages and without: of ragged lengths, two strips of queries, several tokens."""
    q, cache = normal(batches, heads, tokens, 576, kind=kind), normal(batches, 1, keys, 576, kind=kind)
    lengths = np.random.default_rng(keys).integers(1, keys + 1, batches)
    for b, n in enumerate(lengths):
        cache[b, :, n:] = math.nan
    values = cache[..., :512]
    wanted, size, lse = exact(q, cache, values, lengths, True)
    more: dict[str, Any] = {"lengths": torch.as_tensor(lengths, dtype=torch.int32, device="cuda")}
    if page:
        wide = -(-keys // page)
        more["page_table"] = torch.randperm(batches * wide, device="cuda").reshape(batches, wide).int()
        cache = in_pages(cache, page, more["page_table"])
    q, cache = (x.transpose(1, 2).contiguous() for x in (q, cache))
    found, logs = prism.lib.attention_decode_latent(q, cache, lse=True, **more)
    for _ in range(3):
        assert torch.equal(prism.lib.attention_decode_latent(q, cache, **more), found), "not the same bits again"
    bound = (
        (EPS[kind] + 2.0**-17) * size
        + EPS[kind] * wanted.abs()
        + (2.0**-24 if kind == "float16" else 2.0**-40) * (keys + 1)
    )
    assert bool(((found.transpose(1, 2).double() - wanted).abs() <= bound).all())
    none = lse == -math.inf
    assert torch.equal(logs == -math.inf, none)
    assert bool((torch.where(none, 0, logs - lse).abs() <= 2.0**-16 * (1 + torch.where(none, 0, lse).abs())).all())


def test_cupy_arrays_and_graphs() -> None:
    q, k = (
        cupy.random.standard_normal((2, 4, 1, 64), dtype=np.float32),
        cupy.random.standard_normal((2, 2, 700, 64), dtype=np.float32),
    )
    q, k = q.astype(np.float16), k.astype(np.float16)
    found = prism.lib.attention_decode(q, k, k)
    assert isinstance(found, cupy.ndarray)
    one, two = (torch.from_dlpack(x) for x in (q, k))
    wanted, _, _ = exact(one, two, two, np.full(2, 700), True)
    assert bool((torch.from_dlpack(found).double() - wanted).abs().max() < 0.01)
    out = torch.zeros_like(one)
    prism.lib.attention_decode(one, two, two, out=out)
    out.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prism.lib.attention_decode(one, two, two, out=out)
    for _ in range(3):
        out.zero_()
        graph.replay()
        assert torch.equal(out, torch.from_dlpack(found))


def test_past_2_31_of_latent_caches() -> None:
    cache = torch.randn((4000, 1000, 1, 576), device="cuda", dtype=torch.float16)
    q = torch.randn((4000, 1, 16, 576), device="cuda", dtype=torch.float16)
    found = prism.lib.attention_decode_latent(q, cache)
    for part in (slice(0, 1), slice(-1, None)):
        wanted = prism.lib.attention_decode_latent(q[part], cache[part])
        assert float((found[part].float() - wanted.float()).abs().max()) <= 2.0**-10  # as below


def test_past_2_31() -> None:
    k, v = (torch.randn(PAST, device="cuda", dtype=torch.float16) for _ in range(2))
    q = torch.randn((*PAST[:2], 1, PAST[3]), device="cuda", dtype=torch.float16)
    found = prism.lib.attention_decode(q, k, v)
    for part in (slice(0, 1), slice(-1, None)):
        wanted = prism.lib.attention_decode(q[part], k[part], v[part])
        # Keys are cut elsewhere, and parts added up in another order: both are rounded once, to 11 bits, of numbers below 1.
        assert float((found[part].float() - wanted.float()).abs().max()) <= 2.0**-10
