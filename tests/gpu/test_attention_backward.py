"""prism.lib.attention_backward on the GPU, beside float64: dims, edges, shared heads, layouts, strides; as near as torch's."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

import prism
from tests.gpu.test_attention import PAST, normal
from tests.kernels.test_attention_backward import NAMES

try:
    import torch
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    torch = None

EPS = {"float16": 2.0**-11, "bfloat16": 2.0**-8}


def exact(q, k, v, dout, scale, ahead) -> list[tuple[Any, Any]]:
    """Return in float64 each gradient, and what it may be off by: as tests/kernels/test_attention_backward.py has it."""
    q, k, v, dout = (x.double() for x in (q, k, v, dout))
    share = q.shape[1] // k.shape[1]
    wide_k, wide_v = (x.repeat_interleave(share, 1) for x in (k, v))
    row, column = torch.arange(q.shape[2], device="cuda")[:, None], torch.arange(k.shape[2], device="cuda")
    scores = torch.where(column <= row + ahead, scale * (q @ wide_k.mT), -math.inf)
    lse = torch.logsumexp(scores, -1, keepdim=True)
    weights = torch.exp(scores - torch.where(lse == -math.inf, 0, lse))
    out = weights @ wide_v
    slopes = weights * (dout @ wide_v.mT - (dout * out).sum(-1, keepdim=True))
    near = weights * ((dout.abs() * out.abs()).sum(-1, keepdim=True) + dout.abs() @ wide_v.abs().mT / 64)
    added = lambda x: x.unflatten(1, (-1, share)).sum(2)
    found = scale * slopes @ wide_k, added(scale * slopes.mT @ q), added(weights.mT @ dout)
    size = (
        scale * (slopes.abs() + near) @ wide_k.abs(),
        added(scale * (slopes.abs() + near).mT @ q.abs()),
        added(weights.mT @ dout.abs()),
    )
    most = scale * wide_k.abs().sum(2).max(), scale * share * q.abs().sum(2).max(), share * dout.abs().sum(2).max()
    return [(want, (one, float(many))) for want, one, many in zip(found, size, most, strict=True)]


def check(q, k, v, dout, *, ahead=None, layout="bhld", **options) -> tuple[Any, ...]:
    """Call forward and backward, and compare; return what was found."""
    common = {"layout": layout} | {name: options[name] for name in ("causal", "scale") if name in options}
    out, lse = prism.lib.attention(q, k, v, lse=True, **common)
    found = prism.lib.attention_backward(dout, q, k, v, out, lse, layout=layout, **options)
    turn = (lambda x: x.transpose(1, 2)) if layout == "blhd" else lambda x: x
    kind = str(q.dtype).removeprefix("torch.")
    least = 2.0**-24 if kind == "float16" else 2.0**-40
    scale = options.get("scale", 1 / math.sqrt(q.shape[-1]))
    wanted = exact(*map(turn, (q, k, v, dout)), scale, 1 << 30 if ahead is None else ahead)
    for name, one, (want, (size, many)) in zip(NAMES, found, wanted, strict=True):
        bound = (EPS[kind] + 2.0**-16) * size + EPS[kind] * want.abs() + least * (1 + many)
        assert bool(((turn(one).double() - want).abs() <= bound).all()), (name, tuple(q.shape), tuple(k.shape), options)
    return found


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


def test_a_call_again_has_the_same_bits() -> None:
    q, k, v, dout = (normal(2, 4, 1000, 128, kind="bfloat16") for _ in range(4))
    first, again = (check(q, k, v, dout, deterministic=True) for _ in range(2))
    assert all(torch.equal(x, y) for x, y in zip(first, again, strict=True))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dim", [64, 128])
def test_long_ones_as_near_as_torch(dim: int, causal: bool) -> None:
    """The errors' root mean square is at most that of torch's, to some percent: its own backward rounds the same factors."""
    q, k, v, dout = (normal(1, 2, 4096, dim, kind="bfloat16") for _ in range(4))
    found = check(q, k, v, dout, causal=causal, ahead=0 if causal else None)
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
