"""A transformer's block through which torch's gradients flow: torch multiplies, prism.lib does all that is between the products.

    python -m examples.transformer_block

`Block` is one module with two sets of functions: `PRISM` and `TORCH` are drop-ins of each other. Run as a script it compares the
gradients of both with float64's, and on a GPU how long both take, forward and backward; torch's compiled, too.
"""

import types
from functools import partial

import torch
import torch.nn.functional as F

import prism
from examples.attention_autograd import array_of, attention, gradients, tensor_of


def call(function, *given, **options):
    """What a function of prism.lib makes of tensors, as tensors."""
    found = function(*(array_of(x) if isinstance(x, torch.Tensor) else x for x in given), **options)
    return tuple(map(tensor_of, found)) if isinstance(found, tuple) else tensor_of(found)


class AddAndNorm(torch.autograd.Function):
    """The root-mean-square norm of a sum, and the sum, which the residual path goes on with."""

    @staticmethod
    def forward(ctx, x, residual, weight):
        normal, total = call(prism.lib.rms_norm, x, weight, residual=array_of(residual))
        ctx.save_for_backward(total, weight)
        return normal, total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dnormal, dtotal):
        total, weight = ctx.saved_tensors
        dx, dweight = call(prism.lib.rms_norm_backward, dnormal.contiguous(), total, weight)
        dx += dtotal
        return dx, dx, dweight


class Norm(torch.autograd.Function):
    """The root-mean-square norm."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return call(prism.lib.rms_norm, x, weight)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dout):
        return call(prism.lib.rms_norm_backward, dout.contiguous(), *ctx.saved_tensors)


class Rope(torch.autograd.Function):
    """Rotary positions of batches x length x heads x dim."""

    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return call(prism.lib.rope, x, cos, sin, axis=1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dout):
        return call(prism.lib.rope, dout, *ctx.saved_tensors, axis=1, inverse=True), None, None


class SwiGlu(torch.autograd.Function):
    """`silu(gate) * up` of rows of gates, and behind them what they let through."""

    @staticmethod
    def forward(ctx, both):
        ctx.save_for_backward(both)
        return call(prism.lib.swiglu, both)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dout):
        return call(prism.lib.swiglu_backward, dout.contiguous(), *ctx.saved_tensors)


class CrossEntropy(torch.autograd.Function):
    """The mean loss of rows of scores; the gradient is written over them, so nobody may need them after."""

    @staticmethod
    def forward(ctx, scores, labels):
        losses, logs = call(prism.lib.cross_entropy, scores, labels)
        ctx.save_for_backward(scores, labels, logs)
        return losses.mean()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dloss):
        scores, labels, logs = ctx.saved_tensors
        d = (dloss / len(labels)).float().reshape(1)
        return call(prism.lib.cross_entropy_backward, d, scores, labels, logs, out=array_of(scores)), None


def rotated(x, cos, sin):
    """Rotary positions as torch's users write them."""
    a, b = x.chunk(2, -1)
    c, s = (one[:, None].to(x.dtype) for one in (cos, sin))
    return torch.cat([a * c - b * s, b * c + a * s], -1)


def add_and_norm(x, residual, weight):
    """What `AddAndNorm` does."""
    total = x + residual
    return F.rms_norm(total, weight.shape, weight, 1e-5), total


def attend(q, k, v):
    """Causal attention of batches x length x heads x dim by torch."""
    return F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)), is_causal=True).transpose(1, 2)


PRISM = types.SimpleNamespace(
    norm=Norm.apply, add_and_norm=AddAndNorm.apply, rope=Rope.apply, swiglu=SwiGlu.apply, loss=CrossEntropy.apply,
    attend=lambda q, k, v: attention(q, k, v, causal=True, layout="blhd"),
)  # fmt: skip
TORCH = types.SimpleNamespace(
    norm=lambda x, weight: F.rms_norm(x, weight.shape, weight, 1e-5), add_and_norm=add_and_norm, rope=rotated, attend=attend,
    swiglu=lambda both: F.silu(both.chunk(2, -1)[0]) * both.chunk(2, -1)[1], loss=F.cross_entropy,
)  # fmt: skip


class Block(torch.nn.Module):
    """Attention and a gated layer, with norms before them, and the scores of words behind: of batches x length x dim."""

    def __init__(self, dim, heads, hidden, words, rows=PRISM):
        super().__init__()
        self.heads, self.rows = heads, rows
        self.first, self.second = (torch.nn.Parameter(1 + torch.randn(dim) / 10) for _ in range(2))
        shapes = {"qkv": (3 * dim, dim), "out": (dim, dim), "up": (2 * hidden, dim), "down": (dim, hidden), "words": (words, dim)}
        self.weights = torch.nn.ParameterDict({name: torch.randn(shape) / shape[1] ** 0.5 for name, shape in shapes.items()})

    def forward(self, x, cos, sin, labels):
        """The mean loss of predicting `labels`, one for each place."""
        rows, (batches, length, _) = self.rows, x.shape
        parts = (F.linear(rows.norm(x, self.first), self.weights["qkv"]).view(batches, length, 3, self.heads, -1).unbind(2))
        q, k = (rows.rope(one, cos, sin) for one in parts[:2])
        seen = rows.attend(q, k, parts[2]).reshape(x.shape)
        normal, x = rows.add_and_norm(F.linear(seen, self.weights["out"]), x, self.second)
        x = x + F.linear(rows.swiglu(F.linear(normal, self.weights["up"])), self.weights["down"])
        scores = F.linear(x, self.weights["words"])
        return rows.loss(scores.view(-1, scores.shape[-1]), labels.view(-1))


def angles_of(length, dim, device):
    """The cosines and sines of the angles of places and pairs, of float32."""
    speed = 10_000.0 ** -torch.linspace(0, 1, dim // 2 + 1, device=device)[:-1]
    angles = torch.outer(torch.arange(length, device=device).float(), speed)
    return angles.cos(), angles.sin()


def errors(block, x, given):
    """How far gradients of the input and of all weights are off float64's, by the root of the mean square, for each library."""
    names = [name for name, _ in block.named_parameters()]

    def found(rows, dtype):
        block.rows = rows

        def loss(x, *weights):
            return torch.func.functional_call(block, dict(zip(names, weights, strict=True)), (x, *given))

        weights = [one.detach().to(dtype) for one in block.parameters()]
        return gradients(loss, [x.to(dtype), *weights], torch.ones((), device=x.device))

    exact = found(TORCH, torch.float64)
    off = {}
    for name, rows in (("prism", PRISM), ("torch", TORCH)):
        pairs = zip(found(rows, x.dtype), exact, ["x", *names], strict=True)
        off[name] = {key: float((one.double() - want).norm() / want.norm()) for one, want, key in pairs}
    return off


def milliseconds(step, times=20):
    """The median time of a step on a GPU."""
    for _ in range(3):
        step()
    took = []
    for _ in range(times):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        step()
        end.record()
        end.synchronize()
        took.append(begin.elapsed_time(end))
    return sorted(took)[times // 2]


def steps_of(block, x, given, compiled=True):
    """A step forward and backward, of each library, by its name."""
    both = {"prism": PRISM, "torch": TORCH}

    def step(rows, module):
        block.rows = rows
        block.zero_grad(set_to_none=True)
        module(x, *given).backward()

    found = {name: partial(step, rows, block) for name, rows in both.items()}
    if compiled:
        fast = torch.compile(block)
        found["torch, compiled"] = partial(step, TORCH, fast)
    return found


if __name__ == "__main__":
    torch.manual_seed(0)
    on = "cuda" if torch.cuda.is_available() else "cpu"
    kind = torch.bfloat16 if on == "cuda" else torch.float16
    batches, length, dim, heads, hidden, words = ((4, 2048, 2048, 16, 5632, 32_000) if on == "cuda" else (1, 24, 64, 2, 96, 50))
    block = Block(dim, heads, hidden, words).to(on, kind)
    x = torch.randn(batches, length, dim, device=on, dtype=kind)
    given = (*angles_of(length, dim // heads, on), torch.randint(0, words, (batches, length), device=on))
    small = (x[:1, :256], given[0][:256], given[1][:256], given[2][:1, :256])
    for name, off in errors(block, small[0], small[1:]).items():
        print(f"{name}: gradients are off float64's by", ", ".join(f"{key} {value:.1e}" for key, value in off.items()))
    if on == "cuda":
        for name, step in steps_of(block, x, given).items():
            print(f"{name}: {milliseconds(step):.2f} ms forward and backward")
