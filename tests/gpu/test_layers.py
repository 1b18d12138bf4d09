"""Activations, rotary positions, cross-entropy and quantisation on a GPU: beside float64, and no further from it than torch."""

from __future__ import annotations

from typing import Any

import pytest

from prism import lib

torch = pytest.importorskip("torch")
DTYPES = (torch.bfloat16, torch.float16, torch.float32)
SHAPES = ((1, 1), (7, 33), (300, 1024), (64, 4099))


def normal(*shape: int, dtype: Any = torch.float32, scale: float = 3.0) -> Any:
    generator = torch.Generator("cuda").manual_seed(sum(shape))
    return (scale * torch.randn(*shape, device="cuda", generator=generator)).to(dtype)


def error(found: Any, wanted: Any) -> float:
    """The largest error, by the wanted number, or by 1 / 100 where that is less."""
    return float(((found.double() - wanted).abs() / wanted.abs().clamp(min=1e-2)).max())


def near(found: Any, theirs: Any, wanted: Any) -> None:
    """Check that what was found is hardly further from what is wanted than theirs: both are some roundings away from it."""
    found, theirs = found.detach(), theirs.detach()
    bound = max(1.5 * error(theirs, wanted), 4 * torch.finfo(found.dtype).eps)
    assert error(found, wanted) <= bound, (error(found, wanted), error(theirs, wanted))


GATES = {
    "silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}  # fmt: skip


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gated_units(dtype: Any, gate: str) -> None:
    for shape in SHAPES:
        x, up, dy = (normal(*shape, dtype=dtype, scale=scale) for scale in (3.0, 1.0, 2.0))
        wide, theirs = ([v.detach().to(t).requires_grad_() for v in (x, up)] for t in (torch.float64, dtype))
        wanted, one = (GATES[gate](a) * b for a, b in (wide, theirs))
        near(lib.swiglu(x, up, gate=gate), one, wanted.detach())
        wanted.backward(dy.double())
        one.backward(dy)
        dx, dup = lib.swiglu_backward(dy, x, up, gate=gate)
        near(dx, theirs[0].grad, wide[0].grad)
        near(dup, theirs[1].grad, wide[1].grad)
        both = torch.cat([x, up], dim=-1)
        assert torch.equal(lib.swiglu(both, gate=gate), lib.swiglu(x, up, gate=gate))
        assert torch.equal(lib.swiglu_backward(dy, both, gate=gate), torch.cat([dx, dup], dim=-1))
        assert torch.equal(
            lib.swiglu(both[:, : shape[1]], both[:, shape[1] :], gate=gate), lib.swiglu(x, up, gate=gate)
        )


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gelu(dtype: Any, approximate: str) -> None:
    for shape in SHAPES:
        x, dy = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype, scale=2.0)
        wide, theirs = (x.detach().to(t).requires_grad_() for t in (torch.float64, dtype))
        wanted, one = (torch.nn.functional.gelu(v, approximate=approximate) for v in (wide, theirs))
        near(lib.gelu(x, approximate=approximate), one, wanted.detach())
        wanted.backward(dy.double())
        one.backward(dy)
        near(lib.gelu_backward(dy, x, approximate=approximate), theirs.grad, wide.grad)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_cross_entropy(dtype: Any, smoothing: float) -> None:
    for rows, classes in ((1, 1), (7, 33), (500, 1000), (16, 50_257), (3, 300_000), (1100, 40_001)):
        x = normal(rows, classes, dtype=dtype)
        labels = torch.randint(0, classes, (rows,), device="cuda")
        labels[::5] = -100
        wide, theirs = (x.detach().to(t).requires_grad_() for t in (torch.float64, dtype))
        of = [
            torch.nn.functional.cross_entropy(v, labels, label_smoothing=smoothing, reduction="none") for v in (wide, theirs)
        ]  # fmt: skip
        losses, logs = lib.cross_entropy(x, labels, label_smoothing=smoothing)
        assert float((losses.double() - of[0].detach()).abs().max()) <= 4e-6 * float(1 + of[0].detach().abs().max())
        assert float((logs.double() - wide.detach().logsumexp(1)).abs().max()) <= 4e-6 * float(1 + logs.abs().max())
        d = normal(rows, scale=1.0)
        for one in of:
            one.backward(d.to(one.dtype))
        found = lib.cross_entropy_backward(d, x, labels, logs, label_smoothing=smoothing)
        scale = float(wide.grad.abs().max())
        assert float((found.double() - wide.grad).abs().max()) <= max(
            1.02 * float((theirs.grad.double() - wide.grad).abs().max()),
            4e-6 * scale,
            torch.finfo(dtype).eps * scale / 2,
        )
        assert lib.cross_entropy_backward(d, x, labels.int(), logs, label_smoothing=smoothing, out=x) is x
        assert torch.equal(x, found) and not bool(x[::5].any())


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rope(dtype: Any, interleaved: bool) -> None:
    for shape, axis in (((2, 3, 100, 128), -2), ((2, 100, 3, 64), -3), ((50, 10), 0)):
        x = normal(*shape, dtype=dtype)
        angles = torch.outer(
            torch.arange(shape[axis], device="cuda"), 0.7 ** torch.arange(shape[-1] // 2, device="cuda")
        )
        cos, sin = angles.cos().float(), angles.sin().float()
        y = lib.rope(x, cos, sin, axis=axis, interleaved=interleaved)
        at = x.double().movedim(axis, -2)
        a, b = (at[..., 0::2], at[..., 1::2]) if interleaved else at.chunk(2, -1)
        c, s = cos.double(), sin.double()
        parts = (a * c - b * s, b * c + a * s)
        wanted = (torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)).movedim(-2, axis)
        assert float((y.double() - wanted).abs().max()) <= torch.finfo(dtype).eps * float(wanted.abs().max())
        fused = torch.cat([x, x], -1)[..., : shape[-1]]  # rows that are apart
        assert torch.equal(lib.rope(fused, cos, sin, axis=axis, interleaved=interleaved), y)
        back = lib.rope(y, cos, sin, axis=axis, interleaved=interleaved, inverse=True, out=y)
        assert back is y and float((y.double() - x.double()).abs().max()) <= 2 * torch.finfo(dtype).eps * float(
            x.abs().max()
        )


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2, torch.int8])
@pytest.mark.parametrize("dtype", DTYPES)
def test_quantize(dtype: Any, kind: Any) -> None:
    most = 127.0 if kind == torch.int8 else torch.finfo(kind).max
    for rows, n in ((5, 128), (300, 4096), (64, 5120), (3, 200_064)):
        x = normal(rows, n, dtype=dtype)
        x[0, :128] = 0
        for group in ("row", "tensor", 128, 64 if n % 64 == 0 else 1):
            q, scales = lib.quantize(x, kind, group=group)
            assert q.dtype == kind and q.shape == x.shape and scales.dtype == torch.float32
            cut = x.float().reshape((1, -1) if group == "tensor" else (rows, n) if group == "row" else (-1, group))
            top = cut.abs().amax(1, keepdim=True)
            whole = torch.full_like(top, most)  # torch multiplies by the inverse of a number
            by = torch.where(top == 0, 0.0, whole / top)
            wanted = (cut * by).round().to(kind) if kind == torch.int8 else (cut * by).to(kind)
            assert torch.equal(q.view(torch.uint8), wanted.reshape(x.shape).view(torch.uint8)), (group, rows, n)
            assert torch.equal(scales.reshape(-1, 1), torch.where(top == 0, 1.0, top / whole))


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2, torch.int8])
@pytest.mark.parametrize("dtype", DTYPES)
def test_norms_of_8_bits(dtype: Any, kind: Any) -> None:
    off = 0.5 / 127 if kind == torch.int8 else torch.finfo(kind).eps / 2
    for rows, n in ((5, 100), (300, 4096), (3, 40_000), (2, 600_000)):
        x, z, (w, b) = normal(rows, n, dtype=dtype), normal(rows, n, dtype=dtype), normal(2, n, dtype=dtype)
        for norm, columns in ((lib.rms_norm, (w,)), (lib.layer_norm, (w, b))):
            q, scales, total = norm(x, *columns, residual=z, dtype=kind)
            assert q.dtype == kind and q.shape == x.shape and scales.shape == (rows,) and torch.equal(total, x + z)
            wide = total.double() - (total.double().mean(-1, keepdim=True) if norm is lib.layer_norm else 0)
            wanted = wide * (wide.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * w.double()
            wanted = wanted + b.double() if norm is lib.layer_norm else wanted
            found = q.double() * scales[:, None].double()
            # 1 %: of what float32 was off before
            assert bool(((found - wanted).abs() <= 1.01 * off * wanted.abs().amax(-1, keepdim=True)).all()), (rows, n)
