"""A kernel around one wgmma, in C++: for the tests of what the compiler makes of it, and of what the GPU computes."""

from prism.lang.emit.halves import short_pieces
from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics import asynchronous as wait
from prism.lang.types import (
    BFLOAT16,
    FLOAT8_E4M3FN,
    FLOAT8_E5M2,
    FLOAT16,
    FLOAT32,
    INT8,
    INT32,
    UINT8,
    Fragment,
    Pointer,
    tiles,
)  # fmt: skip

WGMMA = TABLE["wgmma"]


def tile(element, rows, columns, swizzle):
    return Pointer(element, space="shared", shape=(rows, columns), swizzle=swizzle)


def bound(a, b, accumulator, starts=((0, 0), (0, 0)), **statics):
    """The binding of a wgmma of tiles, each (element, rows, columns, swizzle), and of a fragment, (element, columns, rows)."""
    sum_, columns, *rows = accumulator
    return Binding(
        a[0], statics, tiles={"a": tile(*a), "b": tile(*b)}, starts=dict(zip("ab", starts, strict=True)),
        fragments={"accumulator": Fragment(sum_, *(rows or [64]), columns)},
    )  # fmt: skip


def simple(element, sum_, columns, k=64, span=128, rows=64, **statics):
    """A binding of tiles that are all of the product: `transpose_a`, `transpose_b` as given."""
    shape_a = (k, rows) if statics.get("transpose_a") else (rows, k)
    shape_b = (k, columns) if statics.get("transpose_b") else (columns, k)
    return bound((element, *shape_a, span), (element, *shape_b, span), (sum_, columns, rows), **statics)


def pieces(*preambles, uses):
    """What stands before a kernel of this text, each piece once, as the emitter has it."""
    text = "\n\n".join(preambles)
    found = [*short_pieces(text + uses), *wait.helpers(text + uses)]
    found += [piece.strip("\n") for piece in text.split("\n\n") if piece.strip()]
    return "\n\n".join(dict.fromkeys(found))


def kernel(binding, accumulate=""):
    """A kernel that multiplies tiles from global memory, once: `d` is [element of a thread][thread], `a`, `b` row-major."""
    sum_, count = binding.fragments["accumulator"].element.cuda, binding.fragments["accumulator"].size
    fills, at = "", 0
    for operand in "ab":
        t = binding.tiles[operand]
        (rows, columns), cuda = t.shape, t.element.cuda
        fills += (
            f"    for (int i = threadIdx.x; i < {rows * columns}; i += 128)\n"
            f"        *({cuda}*)(frame + {at} + {tiles.offset_text(t, f'i / {columns}', f'i % {columns}')}) = {operand}[i];\n"
        )
        at += -(-tiles.bytes_of(t) // 1024) * 1024
    starts = [tiles.start_offset(binding.tiles[o], *binding.starts[o]) for o in "ab"]
    second = -(-tiles.bytes_of(binding.tiles["a"]) // 1024) * 1024
    given = [f"frame + {starts[0]}", f"frame + {second + starts[1]}", *([accumulate] if accumulate else [])]
    a, b = (binding.tiles[o].element.cuda for o in "ab")
    text = (
        f'extern "C" __global__ void __launch_bounds__(128) f(const {a}* a, const {b}* b, {sum_}* d, bool keep_old) {{\n'
        f"    extern __shared__ __align__(1024) unsigned char frame[];\n{fills}    {sum_} acc[{count}];\n"
        f"    for (int i = 0; i < {count}; ++i) acc[i] = d[i * 128 + threadIdx.x];\n    {wait.proxy_fence()}\n"
        f"    __syncthreads();\n    {wait.keep('acc')}\n    {wait.wgmma_fence()}\n"
        f"    {WGMMA.cuda(binding, 'acc', *given)};\n    {wait.wgmma_commit()}\n    {wait.wgmma_wait(0)}\n"
        f"    {wait.keep('acc')}\n"
        f"    for (int i = 0; i < {count}; ++i) d[i * 128 + threadIdx.x] = acc[i];\n}}\n"
    )
    return f"{pieces(tiles.SWIZZLE, WGMMA.preamble(binding), uses=text)}\n\n{text}"


def together(texts):
    """Several such texts as one, their kernels named f0, f1, ..."""
    parts = [text.split('extern "C"') for text in texts]
    heads = dict.fromkeys(piece.strip("\n") for head, _ in parts for piece in head.split("\n\n") if piece.strip())
    return "\n\n".join(
        [*heads, *(f'extern "C"{body.replace(" f(", f" f{n}(", 1)}' for n, (_, body) in enumerate(parts))]
    )


def frame_bytes(binding):
    """The shared memory of such a kernel."""
    return sum(-(-tiles.bytes_of(t) // 1024) * 1024 for t in binding.tiles.values())


def cases():
    """Bindings of every type, swizzle and layout, with tiles of one slab and several, and parts of tiles, by name."""
    types = [
        (BFLOAT16, FLOAT32),
        (FLOAT16, FLOAT32),
        (FLOAT16, FLOAT16),
        (FLOAT32, FLOAT32),
        (INT8, INT32),
        (UINT8, INT32),
    ]
    types += [(FLOAT8_E4M3FN, FLOAT32), (FLOAT8_E5M2, FLOAT32), (FLOAT8_E4M3FN, FLOAT16)]
    for element, sum_ in types:
        for span in (128, 64, 32):
            for spans in (1, 2):
                k = span * spans // element.bytes
                yield f"{element}-{sum_}-{span}x{spans}", simple(element, sum_, 64, k, span)
    for element in (BFLOAT16, FLOAT16):
        for span in (128, 64, 32):
            for a, b in ((True, False), (False, True), (True, True)):
                yield (
                    f"{element}-{'t' if a else 'n'}{'t' if b else 'n'}-{span}",
                    simple(element, FLOAT32, 128, 64, span, transpose_a=a, transpose_b=b),
                )
    part = (BFLOAT16, 192, 192, 128), (BFLOAT16, 128, 128, 64)
    yield "part", bound(*part, (FLOAT32, 48), ((64, 96), (72, 32)))
    yield "part-t", bound(*part, (FLOAT32, 64), ((96, 64), (32, 64)), transpose_a=True, transpose_b=True)
    yield "mixed-spans", bound((BFLOAT16, 64, 64, 32), (BFLOAT16, 256, 64, 128), (FLOAT32, 256))
    yield "e4m3-e5m2", bound((FLOAT8_E4M3FN, 64, 128, 128), (FLOAT8_E5M2, 64, 128, 64), (FLOAT32, 64))
    yield "e5m2-e4m3-halves", bound((FLOAT8_E5M2, 128, 64, 64), (FLOAT8_E4M3FN, 24, 64, 32), (FLOAT16, 24, 128))
    yield "s8-u8", bound((INT8, 64, 64, 64), (UINT8, 24, 64, 32), (INT32, 24))
    for span in (128, 64, 32):
        yield f"128-rows-{span}", simple(BFLOAT16, FLOAT32, 128, 128, span, rows=128)
        yield f"128-rows-t-{span}", simple(FLOAT16, FLOAT32, 32, 64, span, rows=128, transpose_a=True)
    yield (
        "192-rows-part",
        bound((BFLOAT16, 384, 128, 128), (BFLOAT16, 64, 128, 64), (FLOAT32, 64, 192), ((128, 32), (0, 32))),
    )
    yield (
        "192-rows-part-t",
        bound(
            (BFLOAT16, 64, 320, 128), (BFLOAT16, 64, 64, 64), (FLOAT32, 64, 192), ((32, 128), (0, 32)), transpose_a=True
        ),
    )
    yield "256-rows-halves", simple(FLOAT16, FLOAT16, 64, rows=256)
    yield "128-rows-tf32", simple(FLOAT32, FLOAT32, 64, rows=128)
    yield "128-rows-s8", simple(INT8, INT32, 48, 128, rows=128)
