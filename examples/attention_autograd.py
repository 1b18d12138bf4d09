"""Attention through which torch's gradients flow: its forward and backward passes by prism.lib, and no score in memory.

    out = attention(q, k, v, causal=True)
    out.sum().backward()

Tensors on a GPU are taken where they are; those on the CPU as NumPy arrays, which run on the reference machine.
"""

import torch

import prism


def array_of(tensor):
    """A tensor as prism.lib takes it."""
    return tensor.detach() if tensor.is_cuda else tensor.detach().numpy()


def tensor_of(array):
    """What prism.lib returns, as a tensor."""
    return array if isinstance(array, torch.Tensor) else torch.from_numpy(array)


class Attention(torch.autograd.Function):
    """`softmax(scale * q @ k.T) @ v`; options are those that prism.lib.attention and attention_backward share."""

    @staticmethod
    def forward(ctx, q, k, v, options):
        out, lse = map(tensor_of, prism.lib.attention(*map(array_of, (q, k, v)), lse=True, **options))
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.options = options
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dout):
        arrays = map(array_of, (dout, *ctx.saved_tensors))
        again = torch.are_deterministic_algorithms_enabled()  # whether the user wants the same bits each time
        found = prism.lib.attention_backward(*arrays, deterministic=again, **ctx.options)
        return (*map(tensor_of, found), None)


def attention(q, k, v, **options):
    """Attention of batches x heads x length x dim, of float16 or, on a GPU, bfloat16: see prism.lib.attention."""
    return Attention.apply(q, k, v, options)


def gradients(function, arrays, dout):
    """The gradients of a function's arguments, where `dout` is that of its result."""
    leaves = [x.detach().clone().requires_grad_() for x in arrays]
    return torch.autograd.grad(function(*leaves), leaves, dout.to(leaves[0].dtype))


if __name__ == "__main__":
    torch.manual_seed(0)
    on = "cuda" if torch.cuda.is_available() else "cpu"
    shape = (2, 8, 4096, 128) if on == "cuda" else (1, 2, 100, 32)
    q, k, v, dout = (torch.randn(shape, device=on, dtype=torch.float16) for _ in range(4))
    theirs = torch.nn.functional.scaled_dot_product_attention
    exact = gradients(lambda *x: theirs(*x, is_causal=True), [x.double() for x in (q, k, v)], dout)
    ways = {"prism": lambda *x: attention(*x, causal=True), "torch": lambda *x: theirs(*x, is_causal=True)}
    for name, function in ways.items():
        found = zip(gradients(function, (q, k, v), dout), exact, strict=True)
        off = [(one.double() - want).square().mean().sqrt().item() for one, want in found]
        print(f"{name}: gradients of q, k and v are off float64's by", ", ".join(f"{x:.1e}" for x in off))
