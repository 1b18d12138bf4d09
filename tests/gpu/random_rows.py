"""Random calls on rows, of layers, losses and copies, beside float64, in several processes.

    python -m tests.gpu.random_rows [--kinds 24] [--calls 1000] [--jobs 8] [--seconds 60] [FUNCTION ...]

Needs a GPU and torch. Seeds and numbers are as of tests/gpu/random_orders.py. Rows are of 1 to 2^20 elements; arrays are whole,
or views, whose rows are apart and begin anywhere. An error may be what rounding the result is, and some roundings of float32.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tests.gpu.random_orders import main

DTYPES = ("bfloat16", "float16", "float32")
WIDTHS = (1, 8, 64, 300, 1024, 4096, 16_384, 40_000, 131_072, 262_144, 1 << 20)
"""Of which a seed chooses one: rows are at most so long, and longer than the one before, but for what alignment asks."""


class Drawn:
    """What a seed and a number choose: the dtype and about how long rows are, and then arrays."""

    def __init__(self, seed: int, number: int, longest: int = 1 << 20) -> None:
        import torch

        kind, self.random = np.random.default_rng(seed), np.random.default_rng([seed, number])
        self.kind, self.dtype = kind, getattr(torch, DTYPES[kind.integers(3)])
        widths = [n for n in WIDTHS if n <= longest]
        place = int(kind.integers(len(widths)))
        of = int(kind.choice([1, 2, 8, 8]))  # what lengths are a multiple of
        low = widths[place - 1] if place else 0
        self.n = max(1, int(self.random.integers(low + 1, widths[place] + 1)) // of * of)
        self.rows = int(self.random.integers(1, max(2, min(500, (1 << 20) // self.n))))
        self.apart = bool(kind.integers(3) == 0)
        self.generator = torch.Generator("cuda").manual_seed(1000 * seed + number)

    def array(self, *shape: int, scale: float = 1.0) -> Any:
        """Return numbers of the dtype: rows may be apart, and begin anywhere."""
        import torch

        *outer, n = shape
        room = n + int(self.random.integers(1, 9)) if self.apart and outer else n
        found = scale * torch.randn(*outer, room, device="cuda", generator=self.generator)
        return found.to(self.dtype)[..., room - n :]

    def matrix(self, scale: float = 1.0) -> Any:
        """Return rows of numbers."""
        return self.array(self.rows, self.n, scale=scale)

    def weights(self) -> tuple[Any, Any]:
        """Return two numbers of each column: of the rows' dtype, or of float32."""
        first, second = self.array(self.n), self.array(self.n)
        return (first.float(), second.float()) if self.kind.integers(2) else (first, second)


def near(found: Any, wanted: Any, units: float = 1.0, rounding: float = 3e-6, floor: float = 0.0) -> None:
    """Check that an error is at most `units` roundings of the dtype's, and `rounding` of the largest number or `floor`."""
    import torch

    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    if not found.numel():
        return
    largest = max(float(wanted.abs().max()), floor)
    bound = units * torch.finfo(found.dtype).eps * wanted.abs() + rounding * largest + 1e-7
    off = (found.double() - wanted).abs()
    worst = float((off / bound).max())
    assert worst <= 1, f"{worst:.2f} times what it may be, of {tuple(found.shape)} {found.dtype}"


def check_softmax(seed: int, number: int) -> None:
    """Along any axis, with scales and masks, and gradients."""
    import torch

    from prism import lib

    draw = Drawn(seed, number)
    log, masked, inner = bool(draw.kind.integers(2)), draw.kind.integers(4) == 0, draw.kind.integers(5) == 0
    scale = float(draw.random.choice([1.0, 0.125, -2.0]))
    x = draw.matrix(2.0)
    mask = torch.rand(x.shape, device="cuda", generator=draw.generator) < 0.7 if masked else None
    if masked:
        mask[:, 0] = True
    given, axis = (x.T, 0) if inner else (x, -1)
    wide = scale * x.double()
    wide = torch.where(mask, wide, -torch.inf) if masked else wide
    function, backward = (lib.log_softmax, lib.log_softmax_backward) if log else (lib.softmax, lib.softmax_backward)
    y = function(given, axis, scale=scale, mask=mask.T if masked and inner else mask)
    y = y.T if inner else y
    wanted = torch.log_softmax(wide, -1) if log else torch.softmax(wide, -1)
    there = torch.isfinite(wanted)
    assert bool((torch.isfinite(y) == there).all())
    # a sum of so many terms is off by less; the largest term's exponent is rounded
    near(torch.where(there, y, 0), torch.where(there, wanted, 0), rounding=4e-6)
    if not masked:
        dout, at = draw.matrix(), y.double()
        found = backward(dout, y.contiguous(), scale=scale)
        share = at.exp() if log else at
        wanted = dout.double() - share * dout.double().sum(-1, keepdim=True)
        if not log:
            wanted = at * (dout.double() - (dout.double() * at).sum(-1, keepdim=True))
        near(found, scale * wanted, rounding=1e-5, floor=float(dout.abs().max()))


def normal(x: Any, centred: bool) -> tuple[Any, Any]:
    """Return rows of float64 as norms make them, and the factors."""
    wide = x.double() - x.double().mean(-1, keepdim=True) if centred else x.double()
    factor = (wide.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
    return wide * factor, factor


def check_norm(seed: int, number: int) -> None:
    """With and without weights, bias and residual."""
    from prism import lib

    draw = Drawn(seed, number)
    centred, weighed, more = (bool(one) for one in draw.kind.integers(2, size=3))
    x, z, (w, b) = draw.matrix(), draw.matrix(), draw.weights()
    given = {"weight": w} if weighed else {}
    if weighed and centred:
        given["bias"] = b
    if more:
        given["residual"] = z
    total = x + z if more else x
    wanted, factor = normal(total, centred)
    wanted = wanted * (w.double() if weighed else 1) + (b.double() if "bias" in given else 0)
    function = lib.layer_norm if centred else lib.rms_norm
    amplified = 1e-6 * float(factor.max())  # a mean is rounded, and divided by what is left of the row
    found = function(x, **given)
    found, *rest = found if more else (found,)
    near(found, wanted, rounding=4e-6 + amplified, floor=1.0)
    assert not more or bool((rest[0] == total).all())


def check_norm_quantized(seed: int, number: int) -> None:
    """Of norms rounded to whole numbers of 8 bits: half of one off, and what numbers before were off."""
    from prism import lib

    draw = Drawn(seed, number)
    centred, more = (bool(one) for one in draw.kind.integers(2, size=2))
    x, z, (w, b) = draw.matrix(), draw.matrix(), draw.weights()
    given = {"weight": w, **({"bias": b} if centred else {}), **({"residual": z} if more else {})}
    wanted, factor = normal(x + z if more else x, centred)
    wanted = wanted * w.double() + (b.double() if centred else 0)
    q, scales, *rest = (lib.layer_norm if centred else lib.rms_norm)(x, **given, dtype="int8")
    off = (q.double() * scales[:, None].double() - wanted).abs()
    bound = 0.501 * scales[:, None].double() + (4e-6 + 1e-6 * float(factor.max())) * wanted.abs().max().clamp(min=1.0)
    assert bool((off <= bound).all()), float((off / bound).max())
    assert not more or bool((rest[0] == x + z).all())


def check_gradients(seed: int, number: int) -> None:
    """Of norms: what rows are given, and weights; twice the same bits."""
    import torch

    from prism import lib

    draw = Drawn(seed, number)
    centred, weighed, bias = (bool(one) for one in draw.kind.integers(2, size=3))
    x, g, (w, _) = draw.matrix(), draw.matrix(), draw.weights()
    of = (w,) if weighed else ()
    more = {"bias": bias} if centred else {}
    function = lib.layer_norm_backward if centred else lib.rms_norm_backward
    found, again = (function(g, x, *of, **more) for _ in range(2))
    found, again = (one if isinstance(one, tuple) else (one,) for one in (found, again))
    assert all(torch.equal(one, other) for one, other in zip(found, again, strict=True))
    h, factor = normal(x, centred)
    scaled = g.double() * (w.double() if weighed else 1)
    off = scaled - h * (scaled * h).mean(-1, keepdim=True) - (scaled.mean(-1, keepdim=True) if centred else 0)
    worst = float(factor.max()) * float(scaled.abs().max())
    near(found[0], factor * off, rounding=1e-5, floor=worst * max(1.0, float(factor.max()) / 30))
    sums = ([(g.double() * h)] if weighed else []) + ([g.double()] if centred and bias else [])
    for one, terms in zip(found[1:], sums, strict=True):
        near(one, terms.sum(0), rounding=1e-5, floor=float(terms.abs().sum(0).max()) * (1 + 1e-2 * float(factor.max())))


def check_loss(seed: int, number: int) -> None:
    """Cross-entropy with ignored labels and smoothing; the gradient in place."""
    import torch

    from prism import lib

    draw = Drawn(seed, number)
    smoothing = float(draw.kind.choice([0.0, 0.1]))
    x = draw.matrix(3.0).contiguous() if draw.kind.integers(2) else draw.matrix(3.0)
    labels = torch.randint(0, draw.n, (draw.rows,), device="cuda", generator=draw.generator)
    labels[:: int(draw.random.integers(2, 9))] = -100
    wide = x.double().requires_grad_()
    wanted = torch.nn.functional.cross_entropy(wide, labels, label_smoothing=smoothing, reduction="none")
    losses, logs = lib.cross_entropy(x, labels, label_smoothing=smoothing)
    near(losses, wanted.detach(), rounding=6e-6, floor=4.0)
    d = torch.randn(draw.rows, device="cuda", generator=draw.generator)
    wanted.backward(d.double())
    found = lib.cross_entropy_backward(d, x, labels, logs, label_smoothing=smoothing)
    near(found, wide.grad, rounding=6e-6, floor=float(d.abs().max()))
    if x.is_contiguous():
        assert lib.cross_entropy_backward(d, x, labels, logs, label_smoothing=smoothing, out=x) is x and torch.equal(
            x, found
        )


def check_activation(seed: int, number: int) -> None:
    """Gated and plain, with gradients, whole and of halves; rotary positions."""
    import torch

    from prism import lib

    draw = Drawn(seed, number, 40_000)
    gates = {"silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu}
    gates["gelu_tanh"] = lambda x: torch.nn.functional.gelu(x, approximate="tanh")
    gate = str(draw.kind.choice([*gates]))
    x, up, dy = draw.matrix(2.0), draw.matrix(), draw.matrix()
    wide = [one.double().requires_grad_() for one in (x, up)]
    wanted = gates[gate](wide[0]) * wide[1]
    near(lib.swiglu(x, up, gate=gate), wanted.detach(), 2)
    wanted.backward(dy.double())
    for one, other in zip(lib.swiglu_backward(dy, x, up, gate=gate), wide, strict=True):
        near(one, other.grad, 2)
    both = torch.cat([x, up], -1)
    assert torch.equal(lib.swiglu(both, gate=gate), lib.swiglu(x.contiguous(), up.contiguous(), gate=gate))
    half = max(1, draw.n // 2)
    turned = draw.array(draw.rows, 2 * half)
    angles = torch.rand(draw.rows, half, device="cuda", generator=draw.generator)
    a, b, c, s = *turned.double().chunk(2, -1), angles.cos().double(), angles.sin().double()
    y = lib.rope(turned, angles.cos(), angles.sin(), axis=0)
    near(y, torch.cat([a * c - b * s, b * c + a * s], -1))


def check_quantize(seed: int, number: int) -> None:
    """By rows, groups and as a whole."""
    import torch

    from prism import lib

    draw = Drawn(seed, number)
    group = draw.kind.choice(["row", "tensor", "8"])
    x = draw.matrix()
    group = int(group) if group == "8" and draw.n % 8 == 0 else "row" if group == "8" else str(group)
    q, scales = lib.quantize(x, "int8", group=group)
    cut = x.float().reshape((1, -1) if group == "tensor" else (draw.rows, -1) if group == "row" else (-1, 8))
    top = cut.abs().amax(1, keepdim=True)
    by = torch.where(top == 0, 0.0, torch.full_like(top, 127.0) / top)
    assert torch.equal(q, (cut * by).round().to(torch.int8).reshape(q.shape))
    assert torch.equal(scales.reshape(-1, 1), torch.where(top == 0, 1.0, top / 127.0)) or bool(
        torch.allclose(scales.reshape(-1, 1), torch.where(top == 0, 1.0, top / 127.0), rtol=2e-7)
    )


def check_copy(seed: int, number: int) -> None:
    """Permutations of up to five axes, whole and cut, of 1 to 16 bytes: to the bit."""
    import torch

    from prism import lib

    kind, random = np.random.default_rng(seed), np.random.default_rng([seed, number])
    dtype = (torch.uint8, torch.bfloat16, torch.float32, torch.float64, torch.complex128)[kind.integers(5)]
    axes = int(kind.integers(2, 6))
    most = int(2 ** (random.integers(8, 23) / axes))
    shape = tuple(int(n) for n in random.integers(1, max(2, 2 * most), axes))
    x = torch.randint(0, 255, (*shape[:-1], shape[-1] + 3), device="cuda", dtype=torch.uint8).to(dtype)
    x = x[..., 3:] if kind.integers(2) else x[..., :-3]
    x = x.contiguous() if kind.integers(2) else x
    order = tuple(int(k) for k in random.permutation(axes))
    assert torch.equal(lib.permute(x, order), x.permute(order))


CHECKS = {
    "softmax": check_softmax, "norm": check_norm, "norm8": check_norm_quantized, "gradients": check_gradients, "loss": check_loss,
    "activation": check_activation, "quantize": check_quantize, "copy": check_copy,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(CHECKS, str(__doc__)))
