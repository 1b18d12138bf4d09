"""prism.lib.attention_backward on the GPU, beside float64: dims, edges, shared heads, layouts, strides; as near as torch's."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

import prism
from tests.gpu.test_attention import PAST, normal
from tests.gpu.test_attention_packed import EDGES, starts
from tests.kernels.test_attention_backward import NAMES

try:
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    torch = None

EPS = {"float16": 2.0**-11, "bfloat16": 2.0**-8}


def exact(q, k, v, dout, scale, ahead, back=1 << 30, cap=None) -> list[tuple[Any, Any]]:
    """Return in float64 each gradient, and what it may be off by: as tests/kernels/test_attention_backward.py has it."""
    q, k, v, dout = (x.double() for x in (q, k, v, dout))
    share = q.shape[1] // k.shape[1]
    wide_k, wide_v = (x.repeat_interleave(share, 1) for x in (k, v))
    row, column = torch.arange(q.shape[2], device="cuda")[:, None], torch.arange(k.shape[2], device="cuda")
    scores = scale * (q @ wide_k.mT)
    tanh = torch.zeros_like(scores) if cap is None else torch.tanh(scores / cap)
    scores = scores if cap is None else cap * tanh
    scores = torch.where((column <= row + ahead) & (column >= row - back), scores, -math.inf)
    lse = torch.logsumexp(scores, -1, keepdim=True)
    weights = torch.exp(scores - torch.where(lse == -math.inf, 0, lse))
    out = weights @ wide_v
    bent = 1 - tanh**2
    slopes = bent * weights * (dout @ wide_v.mT - (dout * out).sum(-1, keepdim=True))
    near = bent * weights * ((dout.abs() * out.abs()).sum(-1, keepdim=True) + dout.abs() @ wide_v.abs().mT / 64)
    added = lambda x: x.unflatten(1, (-1, share)).sum(2)
    found = scale * slopes @ wide_k, added(scale * slopes.mT @ q), added(weights.mT @ dout)
    size = (
        scale * (slopes.abs() + near) @ wide_k.abs(),
        added(scale * (slopes.abs() + near).mT @ q.abs()),
        added(weights.mT @ dout.abs()),
    )
    most = scale * wide_k.abs().sum(2).max(), scale * share * q.abs().sum(2).max(), share * dout.abs().sum(2).max()
    return [(want, (one, float(many))) for want, one, many in zip(found, size, most, strict=True)]


def check(q, k, v, dout, *, ahead=None, back=None, layout="bhld", **options) -> tuple[Any, ...]:
    """Call forward and backward, and compare; return what was found."""
    names = ("causal", "window", "scale", "softcap")
    common = {"layout": layout} | {name: options[name] for name in names if name in options}
    out, lse = prism.lib.attention(q, k, v, lse=True, **common)
    found = prism.lib.attention_backward(dout, q, k, v, out, lse, layout=layout, **options)
    turn = (lambda x: x.transpose(1, 2)) if layout == "blhd" else lambda x: x
    kind = str(q.dtype).removeprefix("torch.")
    scale = options.get("scale", 1 / math.sqrt(q.shape[-1]))
    bounds = (1 << 30 if one is None else one for one in (ahead, back))
    wanted = exact(*map(turn, (q, k, v, dout)), scale, *bounds, options.get("softcap"))
    assert not (wrong := faults(map(turn, found), wanted, kind)), (wrong, tuple(q.shape), tuple(k.shape), options)
    return found


def faults(found: Iterable[Any], wanted: list[tuple[Any, Any]], kind: str) -> list[str]:
    """Return which gradients are further from float64's than roundings lead."""
    least = 2.0**-24 if kind == "float16" else 2.0**-40
    wrong = []
    for name, one, (want, (size, many)) in zip(NAMES, found, wanted, strict=True):
        bound = (EPS[kind] + 2.0**-16) * size + EPS[kind] * want.abs() + least * (1 + many)
        if not bool(((one.double() - want).abs() <= bound).all()):
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("kind", EPS)
@pytest.mark.parametrize("dims", [(8, 8), (64, 64), (72, 40), (96, 96), (128, 128), (64, 128), (128, 64)])
@pytest.mark.parametrize("deterministic", [False, True])
def test_dims(dims: tuple[int, int], kind: str, deterministic: bool) -> None:
    """At tiles' edges, of queries and of keys."""
    for (rows, keys), causal in itertools.product([(1, 1), (64, 128), (65, 300), (300, 65), (513, 513)], (False, True)):
        shapes = ((4, rows, dims[0]), (2, keys, dims[0]), (2, keys, dims[1]), (4, rows, dims[1]))
        arrays = [normal(2, *shape, kind=kind) for shape in shapes]
        check(*arrays, causal=causal, ahead=keys - rows if causal else None, deterministic=deterministic)


@pytest.mark.parametrize("dim", [64, 128])
def test_edges(dim: int) -> None:
    lengths = (1, 63, 64, 65, 95, 97, 127, 128, 129, 255, 257)
    for rows, keys in itertools.product(lengths, lengths):
        q, k, v, dout = (normal(1, heads, n, dim) for heads, n in ((2, rows), (1, keys), (1, keys), (2, rows)))
        check(q, k, v, dout, causal="top_left", ahead=0, deterministic=(rows + keys) % 2 == 0)


def test_layouts_and_strides() -> None:
    q, k, v, dout = normal(2, 70, 4, 64), normal(2, 90, 2, 64), normal(2, 90, 2, 64), normal(2, 70, 4, 64)
    check(q, k, v, dout, layout="blhd")
    check(*(x.transpose(1, 2) for x in (q, k, v, dout)), scale=0.3)
    wide = [normal(2, 4, 130, 136)[..., 3:131] for _ in range(4)]  # rows that don't begin at multiples of 16 bytes
    check(*wide, causal=True, ahead=0)


@pytest.mark.parametrize("kind", EPS)
@pytest.mark.parametrize("dims", [(136, 136), (192, 128), (192, 192), (256, 256), (256, 192), (64, 256)])
def test_heads_of_more_than_128(dims: tuple[int, int], kind: str) -> None:
    for (rows, keys), causal in itertools.product([(1, 1), (65, 300), (300, 65), (513, 513)], (False, True)):
        shapes = ((4, rows, dims[0]), (2, keys, dims[0]), (2, keys, dims[1]), (4, rows, dims[1]))
        arrays = [normal(1, *shape, kind=kind) for shape in shapes]
        check(*arrays, causal=causal, ahead=keys - rows if causal else None)


@pytest.mark.parametrize("dim", [64, 128, 256])
@pytest.mark.parametrize("deterministic", [False, True])
def test_windows_and_caps(dim: int, deterministic: bool) -> None:
    q, k, v, dout = (normal(1, heads, n, dim) for heads, n in ((4, 500), (2, 700), (2, 700), (4, 500)))
    how = {"deterministic": deterministic}
    check(q, k, v, dout, window=100, back=-100, ahead=300, **how)
    check(q, k, v, dout, window=(70, None), causal="top_left", back=70, ahead=0, **how)
    check(q, k, v, dout, softcap=1.5, **how)
    check(q, k, v, dout, softcap=20.0, window=(0, 900), causal=True, back=-200, ahead=200, **how)


@pytest.mark.parametrize("deterministic", [False, True])
def test_sinks(deterministic: bool) -> None:
    """Their gradients, and those of the others, beside torch's of float64: off by a few roundings, all in all."""
    q, k, v, dout = (normal(2, 4, n, 64) for n in (300, 400, 400, 300))
    sinks = torch.tensor([0.5, -1.0, 3.0, 0.0], device="cuda")
    out, lse = prism.lib.attention(q, k, v, sinks=sinks, lse=True)
    found = prism.lib.attention_backward(dout, q, k, v, out, lse, sinks=sinks, deterministic=deterministic)
    leaves = [x.double().requires_grad_() for x in (q, k, v, sinks)]
    scores = leaves[0] @ leaves[1].mT / 8
    wide = torch.cat([scores, leaves[3][:, None, None].expand(2, 4, 300, 1)], -1).softmax(-1)
    wanted = torch.autograd.grad(wide[..., :-1] @ leaves[2], leaves, dout.double())
    for one, want in zip(found, wanted, strict=True):
        assert float((one.double() - want).norm()) <= 4 * EPS["float16"] * float(want.norm())


@pytest.mark.parametrize("dim", [64, 128, 192])
@pytest.mark.parametrize("heads", [1, 2, 8])
def test_a_call_again_has_the_same_bits(dim: int, heads: int) -> None:
    """100 calls of heads that 8, 4 or 1 share, while another stream keeps the GPU's memory busy, and so moves blocks in time."""
    many, other = 100, torch.cuda.Stream()
    q, dout = (normal(1, 8, 1500, dim, kind="bfloat16") for _ in range(2))
    k, v = (normal(1, heads, 1500, dim, kind="bfloat16") for _ in range(2))
    out, lse = prism.lib.attention(q, k, v, causal=True, lse=True)
    busy = torch.zeros(1 << 26, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(other):
        for _ in range(many):
            busy += 1
    first = prism.lib.attention_backward(dout, q, k, v, out, lse, causal=True, deterministic=True)
    unlike = torch.zeros((), dtype=torch.int64, device="cuda")
    for _ in range(many - 1):
        again = prism.lib.attention_backward(dout, q, k, v, out, lse, causal=True, deterministic=True)
        for x, y in zip(first, again, strict=True):
            unlike += (x != y).sum()
    torch.cuda.synchronize()
    assert not int(unlike) and float(busy[0]) == many


@pytest.mark.parametrize("kind", EPS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dim", [64, 128, 256])
@pytest.mark.parametrize("deterministic", [False, True])
def test_long_ones_as_near_as_torch(dim: int, causal: bool, kind: str, deterministic: bool) -> None:
    """The errors' root mean square is at most that of torch's, to some percent: its own backward rounds the same factors."""
    q, k, v, dout = (normal(1, 2, 4096, dim, kind=kind) for _ in range(4))
    found = check(q, k, v, dout, causal=causal, ahead=0 if causal else None, deterministic=deterministic)
    leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    result = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
    theirs = torch.autograd.grad(result, leaves, dout)
    wanted = exact(q, k, v, dout, 1 / math.sqrt(dim), 0 if causal else 1 << 30)
    for name, one, other, (want, _) in zip(NAMES, found, theirs, wanted, strict=True):
        ours, its = (float((x.double() - want).pow(2).mean().sqrt()) for x in (one, other))
        assert ours <= 1.05 * its, (name, ours, its)


def test_past_2_31() -> None:
    q, k, v, dout = (torch.randn(PAST, device="cuda", dtype=torch.float16) for _ in range(4))
    out, lse = prism.lib.attention(q, k, v, causal=True, lse=True)
    found = prism.lib.attention_backward(dout, q, k, v, out, lse, causal=True, deterministic=True)
    for part in (slice(0, 1), slice(-1, None)):
        of_part = (x[part] for x in (dout, q, k, v, out, lse))
        wanted = prism.lib.attention_backward(*of_part, causal=True, deterministic=True)
        assert all(torch.equal(one[part], other) for one, other in zip(found, wanted, strict=True))


# -- Packed sequences -----------------------------------------------------------------------------------------------------


def check_packed(
    lengths: Sequence[int], keys: Sequence[int], *, dim: int = 64, heads: int = 4, kv_heads: int = 2, kind: str = "bfloat16",
    causal: bool | str = False, back: int | None = None, deterministic: bool = False, wide: bool = False,
) -> None:  # fmt: skip
    """Call forward and backward of sequences, and compare each with float64; a few rows and keys are behind the last."""
    rows, of = (sum(lengths) + 5, sum(keys) + 3), {"kind": kind}
    shapes = (rows[0], heads, dim), (rows[1], kv_heads, dim), (rows[1], kv_heads, dim), (rows[0], heads, dim)
    q, k, v, dout = (normal(*shape, **of) for shape in shapes)
    index = torch.int64 if wide else torch.int32
    how: dict[str, Any] = {"offsets": starts(lengths, index), "key_offsets": starts(keys, index), "causal": causal}
    how["window"] = None if back is None else (back, None)
    out, lse = prism.lib.attention(q, k, v, lse=True, **how)
    found = prism.lib.attention_backward(dout, q, k, v, out, lse, deterministic=deterministic, **how)
    row = key = 0
    for s, (many, count) in enumerate(zip(lengths, keys, strict=True)):
        here, there = slice(row, row + many), slice(key, key + count)
        row, key = row + many, key + count
        parts = [found[0][here], found[1][there], found[2][there]]
        if not many or not count:
            assert not any(bool(part.any()) for part in parts), (s, many, count)
            continue
        alone = [x.transpose(0, 1)[None] for x in (q[here], k[there], v[there], dout[here])]
        shift = count - many if causal != "top_left" else 0
        ahead, far = shift if causal else 1 << 30, 1 << 30 if back is None else back - shift
        wanted = exact(*alone, 1 / math.sqrt(dim), ahead, far)
        wrong = faults((x.transpose(0, 1)[None] for x in parts), wanted, kind)
        assert not wrong, (wrong, s, many, count, causal, back, deterministic)


@pytest.mark.parametrize("dim", [64, 128, 72, 256])
@pytest.mark.parametrize("deterministic", [False, True])
def test_packed(dim: int, deterministic: bool) -> None:
    """At tiles' edges, and none at all, with as many keys as queries and with others."""
    common = {"dim": dim, "deterministic": deterministic}
    others = [*EDGES[3:], *EDGES[:3]]
    check_packed([0, 0, 1000], [0, 0, 1000], causal=True, **common)
    check_packed([*EDGES], [*EDGES], causal=True, **common)
    check_packed([*EDGES], others, kind="float16", **common)
    check_packed([*EDGES], others, causal="top_left", back=50, wide=True, **common)


@pytest.mark.parametrize("dim", [64, 128, 256])
@pytest.mark.parametrize("deterministic", [False, True])
def test_tiles_without_rows_or_keys_read_nothing(dim: int, deterministic: bool) -> None:
    """Shared memory is full of NaN, which the call before has left there: none of it is multiplied, not by 0 either."""
    q, k, v, dout = (torch.full((64, 4, 256, dim), torch.nan, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    prism.lib.attention_backward(dout, q, k, v, q, torch.zeros((64, 4, 256), device="cuda"))
    lengths, keys = (14, 0, 3, 125, 60, 200), (0, 0, 128, 0, 70, 0)
    check_packed(lengths, keys, dim=dim, deterministic=deterministic)


# -- Random calls ---------------------------------------------------------------------------------------------------------


def random_kind(seed: int) -> dict[str, Any]:
    """Return what decides which kernels calls take: as many calls share it as a seed has."""
    of = random.Random(seed)
    dims = of.choice([64, 64, 128, 128, 40, 192]), of.choice([64, 128, 72])
    return {
        "kind": of.choice([*EPS]), "dims": dims if of.random() < 0.3 else (dims[0],) * 2, "masked": of.random() < 0.6,
        "far": of.random() < 0.3, "cap": of.choice([None, None, None, 1.5, 20.0]), "deterministic": of.random() < 0.4,
        "packed": of.random() < 0.2,
    }  # fmt: skip


def check_random(seed: int, number: int) -> None:
    """Of any lengths and shared heads, scales and windows; a fifth of the seeds has packed sequences."""
    of, at = random_kind(seed), random.Random(f"{seed} {number}")
    torch.manual_seed(100 * seed + number)
    length = lambda most: at.choice([1, at.randint(1, 70), at.randint(1, most), 64 * at.randint(1, 6)])
    share, kv_heads, dims = at.choice([1, 1, 2, 3]), at.choice([1, 2]), of["dims"]
    causal = at.choice([True, "top_left"]) if of["masked"] else False
    before = at.choice([0, at.randint(0, 40), at.randint(0, 500)]) if of["far"] else None
    how = {"causal": causal, "deterministic": of["deterministic"]}
    if of["packed"]:
        many = at.choice([1, 2, 9])
        lengths, keys = ([at.choice([0, length(300)]) for _ in range(many)] for _ in range(2))
        of_heads = {"heads": share * kv_heads, "kv_heads": kv_heads, "dim": dims[0], "kind": of["kind"]}
        check_packed(lengths, keys, back=before, wide=at.random() < 0.5, **of_heads, **how)
        return
    rows, keys_of, batches = length(600), length(600), at.choice([1, 2])
    shift = 0 if causal == "top_left" else keys_of - rows
    shapes = ((share * kv_heads, rows, dims[0]), (kv_heads, keys_of, dims[0]), (kv_heads, keys_of, dims[1]))
    q, k, v, dout = (normal(batches, *shape, kind=of["kind"]) for shape in (*shapes, (*shapes[0][:2], dims[1])))
    window = {} if before is None else {"window": (before, None), "back": before - shift}
    ahead = shift if causal else None
    check(q, k, v, dout, ahead=ahead, softcap=of["cap"], scale=at.uniform(0.02, 0.3), **how, **window)


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(2, 50))])
def test_random_calls(seed: int) -> None:
    """Twenty calls of a kind, and fifty kinds: a thousand in all."""
    for number in range(20):
        check_random(seed, number)
