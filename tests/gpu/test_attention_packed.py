"""prism.lib.attention of packed sequences on the GPU, each beside float64 alone: lengths, neighbours, wrong offsets, graphs."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

import prism
from tests.gpu.test_attention import faults, normal

try:
    import cupy
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = torch = None

EDGES = (1, 7, 63, 64, 65, 0, 127, 128, 129, 191, 192, 193, 0, 255, 300)


def starts(lengths: Any, kind: Any = None) -> Any:
    return torch.tensor([0, *itertools.accumulate(lengths)], device="cuda", dtype=kind or torch.int32)


def three(
    lengths: Any, keys: Any, dims: tuple[int, int], *, heads: int = 4, kv_heads: int = 2, kind: str = "bfloat16"
) -> Any:
    dim, dim_v = dims
    sizes = (sum(lengths), heads, dim), (sum(keys), kv_heads, dim), (sum(keys), kv_heads, dim_v)
    return tuple(normal(*size, kind=kind) for size in sizes)


def check(q: Any, k: Any, v: Any, lengths: Any, keys: Any = None, kind: Any = None, **options: Any) -> None:
    """Compare each sequence with float64, its logarithms too."""
    more = {} if keys is None else {"key_offsets": starts(keys, kind)}
    keys = lengths if keys is None else keys
    found, logs = prism.lib.attention(q, k, v, offsets=starts(lengths, kind), lse=True, **more, **options)
    row = key = 0
    for s, (rows, count) in enumerate(zip(lengths, keys, strict=True)):
        here, there = slice(row, row + rows), slice(key, key + count)
        row, key = row + rows, key + count
        if rows:
            one = q[here], k[there], v[there], found[here], logs[:, here]
            assert not (wrong := faults(*one, layout="blhd", **options)), (s, rows, count, options, wrong)


@pytest.mark.parametrize("dims", [(64, 64), (128, 128), (256, 256), (72, 40), (192, 128)])
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_lengths(dims: tuple[int, int], kind: str) -> None:
    """At tiles' edges, and none at all, with as many keys as queries and with others."""
    others = EDGES[3:] + EDGES[:3]
    check(*three(EDGES, EDGES, dims, kind=kind), EDGES, causal=True)
    check(*three(EDGES, others, dims, kind=kind), EDGES, others)
    check(*three(EDGES, others, dims, kind=kind), EDGES, others, torch.int64, causal="top_left", window=(50, 9))
    few = (3, 1, 0, 30, 2)
    check(*three(few, few, dims, kind=kind), few, window=2)


def test_many_sequences() -> None:
    at = random.Random(0)
    lengths = [at.choice([0, 1, at.randint(2, 40), at.randint(2, 300)]) for _ in range(700)]
    check(*three(lengths, lengths, (64, 64)), lengths, causal=True)


@pytest.mark.parametrize("dim", [64, 128, 256])
def test_neighbours_have_no_part(dim: int) -> None:
    """Whatever a sequence holds, others have the same bits; what is behind the last one is not read, nor written."""
    lengths = (70, 130, 40, 300)
    q, k, v = three((*lengths, 50), (*lengths, 50), (dim, dim))
    offsets = starts(lengths)
    wanted = prism.lib.attention(q, k, v, offsets=offsets, causal=True)
    for x in (q, k, v):
        x[70:200] = torch.nan
        x[540:] = torch.inf
    out = torch.full_like(wanted, 7)
    prism.lib.attention(q, k, v, offsets=offsets, causal=True, out=out)
    for part in (slice(0, 70), slice(200, 540)):
        assert torch.equal(out[part], wanted[part])
    assert bool(out[70:200].isnan().any()) and bool((out[540:] == 7).all())


def test_as_the_same_batch() -> None:
    """Sequences of one length have the bits that a batch has."""
    q, k, v = three((192,) * 5, (192,) * 5, (128, 128))
    found = prism.lib.attention(q, k, v, offsets=starts((192,) * 5), causal=True)
    batch = prism.lib.attention(*(x.view(5, 192, *x.shape[1:]) for x in (q, k, v)), causal=True, layout="blhd")
    assert torch.equal(found, batch.view(found.shape))


@pytest.mark.parametrize("dim", [64, 256])
def test_wrong_offsets_write_nothing_outside(dim: int) -> None:
    """Offsets that fall, lead out, or are negative: rows may be wrong, but what lies around the result stays as it is."""
    at = random.Random(1)
    room = torch.full((700, 4, dim), 7.0, device="cuda", dtype=torch.bfloat16)
    logs = torch.zeros(4, 300, device="cuda")
    q, k, v = three((300,), (200,), (dim, dim))
    for number in range(40):
        far = at.choice([300, 1000, 2**31 - 1])
        offsets, of_keys = (
            torch.tensor([at.randint(-far, far) for _ in range(1 + number % 7)], device="cuda", dtype=torch.int32)
            for _ in range(2)
        )
        prism.lib.attention(q, k, v, offsets=offsets, key_offsets=of_keys, causal=number % 2 == 0, out=room[200:500])
        prism.lib.attention(q, k, v, offsets=offsets, key_offsets=of_keys, lse=True, out=(room[200:500], logs))
    torch.cuda.synchronize()
    assert bool((room[:200] == 7).all()) and bool((room[500:] == 7).all())


def test_graphs_take_other_lengths() -> None:
    """A captured call reads its offsets when it runs: of as many sequences, other lengths."""
    q, k, v = three((1000,), (1000,), (128, 128))
    offsets, out = starts((400, 300, 300)), torch.zeros(1000, 4, 128, device="cuda", dtype=torch.bfloat16)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        prism.lib.attention(q, k, v, offsets=offsets, causal=True, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream), torch.cuda.graph(graph, stream=stream):
        prism.lib.attention(q, k, v, offsets=offsets, causal=True, out=out)
    for lengths in ((400, 300, 300), (1, 998, 1), (0, 0, 1000), (333, 333, 334)):
        offsets.copy_(starts(lengths))
        torch.cuda.synchronize()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, prism.lib.attention(q, k, v, offsets=starts(lengths), causal=True))


def test_strides_and_libraries() -> None:
    """Queries, keys and values as parts of one array, heads before rows, and CuPy's arrays."""
    together = normal(500, 3, 4, 64, kind="float16")
    q, k, v = together.unbind(1)
    wanted = prism.lib.attention(
        q.contiguous(), k.contiguous(), v.contiguous(), offsets=starts((100, 400)), causal=True
    )
    assert torch.equal(prism.lib.attention(q, k, v, offsets=starts((100, 400)), causal=True), wanted)
    turned = [x.transpose(0, 1).contiguous() for x in (q, k, v)]
    heads_first = prism.lib.attention(*turned, offsets=starts((100, 400)), causal=True, layout="bhld")
    assert torch.equal(heads_first.transpose(0, 1), wanted)
    given = [cupy.asarray(x.contiguous()) for x in (q, k, v)]
    found = prism.lib.attention(*given, offsets=cupy.array([0, 100, 500], dtype=cupy.int32), causal=True)
    assert torch.equal(torch.as_tensor(found, device="cuda"), wanted)
    with pytest.raises(TypeError, match="offsets"):
        prism.lib.attention(q, k, v, offsets=starts((100, 400)).cpu())


def random_kind(seed: int) -> dict[str, Any]:
    """Return what decides which kernel calls take: as many calls share it as a seed has."""
    at = random.Random(seed)
    causal = at.choice([False, True, True, "top_left"])
    return {
        "kind": at.choice(["bfloat16", "float16"]), "dim": at.choice([64, 64, 128, 128, 256]), "causal": causal,
        "window": causal is True and at.random() < 0.4, "few": at.random() < 0.3, "wide": at.random() < 0.5,
        "sinks": at.random() < 0.2,
    }  # fmt: skip


def random_call(seed: int, number: int) -> tuple[tuple[Any, Any, Any], list[int], list[int], Any, dict[str, Any]]:
    """Return arrays, lengths, the offsets' dtype and options of a call of a seed's kind."""
    of, at = random_kind(seed), random.Random(f"{seed} {number}")
    torch.manual_seed(100 * seed + number)
    share, kv_heads = at.choice([1, 2, 4]), at.choice([1, 2, 3])
    most = 60 if of["few"] else 600
    length = lambda: at.choice(
        [0, 1, at.randint(1, min(most, 64)), at.randint(1, most), min(most, 128 * at.randint(1, 3))]
    )
    lengths, keys = ([length() for _ in range(sequences)] for sequences in [at.choice([1, 2, at.randint(3, 40)])] * 2)
    keys = at.choice([lengths, keys])
    sizes = [*lengths, at.randint(1, 9)], [*keys, at.randint(1, 9)]
    heads = share * kv_heads
    arrays = three(*sizes, (of["dim"],) * 2, heads=heads, kv_heads=kv_heads, kind=of["kind"])
    options = {
        "causal": of["causal"], "window": (at.choice([0, at.randint(0, 300)]), None) if of["window"] else None,
        "scale": at.choice([None, at.uniform(0.01, 0.5)]),
        "sinks": torch.randn(heads, device="cuda") if of["sinks"] else None,
    }  # fmt: skip
    return arrays, lengths, keys, torch.int64 if of["wide"] else torch.int32, options


def check_random(seed: int, number: int) -> None:
    """Of lengths of which the keys' may be others; some rows and keys are behind the last sequence."""
    arrays, lengths, keys, index, options = random_call(seed, number)
    check(*arrays, lengths, keys, index, **options)


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(2, 50))])
def test_random_calls(seed: int) -> None:
    """Twenty calls of a kind, and fifty kinds: a thousand in all."""
    for number in range(20):
        check_random(seed, number)
