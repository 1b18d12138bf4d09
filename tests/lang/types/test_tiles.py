"""Where an element of a tile is: against the pattern spelled out, and the C++ against the Python."""

import itertools
import re

import numpy as np
import pytest

from prism.lang.types import BFLOAT16, FLOAT32, FLOAT64, INT8, SCALARS, Pointer, TensorMap, Vector, tiles

SHAPES = {BFLOAT16: (24, 128), FLOAT32: (16, 64), INT8: (8, 256), FLOAT64: (8, 32)}


def tile(element, shape, swizzle=0):
    return Pointer(element, space="shared", shape=shape, swizzle=swizzle)


def spelled_out(t, row, column):
    """The offset of an element of a tile of two extents, as the figures of the CUDA driver's tensor maps have it."""
    (rows, columns), size, span = t.shape, t.element.bytes, t.swizzle
    if not span:
        return (row * columns + column) * size
    slab, inside = divmod(column * size, span)
    line, piece = divmod(row * span + inside, 128)  # lines of 128 bytes, pieces of 16
    piece, byte = divmod(piece, 16)
    piece ^= {128: line % 8, 64: line % 4, 32: line % 2}[span]
    return slab * rows * span + line * 128 + piece * 16 + byte


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("element", SHAPES, ids=str)
def test_every_element_has_its_place(element, swizzle):
    t = tile(element, SHAPES[element], swizzle)
    places = {index: tiles.byte_offset(t, *index) for index in np.ndindex(*t.shape)}
    assert sorted(places.values()) == list(range(0, tiles.bytes_of(t), element.bytes))
    assert all(place == spelled_out(t, *index) for index, place in places.items())


def test_slabs():
    wide = tile(BFLOAT16, (128, 256), 128)
    assert tiles.slabs(wide) == (4, 64) and tiles.slab_bytes(wide) == 128 * 128
    assert tiles.box(wide) == (128, 64) and tiles.bytes_of(wide) == 128 * 256 * 2
    narrow = tile(BFLOAT16, (128, 64), 128)
    assert tiles.slabs(narrow) == (1, 64) and tiles.slab_bytes(narrow) == tiles.bytes_of(narrow)
    assert tiles.slabs(tile(BFLOAT16, (128, 256))) == (1, 256)
    assert tiles.slabs(TensorMap(BFLOAT16, (2, 16, 128), 64)) == (4, 32)
    assert tiles.start_offset(wide, 8, 72) == 128 * 128 + 8 * 128 + 8 * 2


def run(text, **names):
    """C++ integer arithmetic as Python's, which agrees on what is not negative."""
    text = re.sub(r"px_swizzle<(\d+)>", r"swizzled[\1]", text.replace("(unsigned int)", "").replace("(int)", ""))
    swizzled = {span: lambda row, column, span=span: tiles.swizzle(row + column, span) for span in (32, 64, 128)}
    return eval(re.sub(r"(\d)u\b", r"\1", text).replace("/", "//"), {"swizzled": swizzled, **names})


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("shape", [(128,), (16, 64), (16, 128), (2, 8, 128)], ids=str)
def test_the_text_says_the_same(shape, swizzle):
    t, names = tile(BFLOAT16, shape, swizzle), "ijk"[: len(shape)]
    for index in itertools.islice(np.ndindex(*shape), 0, None, 7):
        for given in (list(names), [*map(str, index)], [*names[:-1], str(index[-1])]):
            values = dict(zip(names, index, strict=True))
            assert run(tiles.offset_text(t, *given), **values) == tiles.byte_offset(t, *index)
            assert run(tiles.start_text(t, *given), **values) == tiles.start_offset(t, *index)


def test_constants_fold():
    t = tile(BFLOAT16, (16, 128), 128)
    assert tiles.start_text(t, "0", "0") == tiles.offset_text(t, "0", "0") == "0"
    assert tiles.start_text(t, "8", "64") == "2048 + 1024"
    assert tiles.start_text(tile(INT8, (16, 128)), "i", "0") == "(int)(i) * 128"


def test_the_text_compiles(nvrtc):
    t = tile(BFLOAT16, (16, 128), 128)
    text = (
        f'{tiles.SWIZZLE}\nextern "C" __global__ void f(int* out, int i, long long j) '
        f"{{ out[0] = {tiles.offset_text(t, 'i', 'j')}; }}"
    )
    assert nvrtc(text, "sm_90a").cubin


@pytest.mark.parametrize(
    "element, shape, swizzle, what",
    [
        (BFLOAT16, (64, 64), 128, ""),
        (BFLOAT16, (64, 20), 0, ""),
        (BFLOAT16, (64, 64), 16, "0, 32, 64, 128"),
        (BFLOAT16, (64, 32), 128, "64 bytes, which is no multiple of the swizzle's 128"),
        (BFLOAT16, (4, 64), 128, ""),
        (BFLOAT16, (4, 128), 128, "multiples of 8, not 4"),
        (Vector(SCALARS["float32"], 4), (64, 8), 128, ""),
    ],
)
def test_shapes(element, shape, swizzle, what):
    found = tiles.shape_problem(element, shape, swizzle)
    assert what in found and bool(what) == bool(found)


@pytest.mark.parametrize(
    "tensor, what",
    [
        (TensorMap(BFLOAT16, (256, 256), 128), ""),
        (TensorMap(BFLOAT16, (256, 64)), ""),
        (TensorMap(FLOAT32, (256,)), ""),
        (TensorMap(BFLOAT16, (512, 64), 128), "1 to 256"),
        (TensorMap(BFLOAT16, (64, 320), 64), ""),
        (TensorMap(BFLOAT16, (64, 320)), "1 to 256"),
        (TensorMap(BFLOAT16, (64, 20)), "multiple of 16 bytes, not 40"),
        (TensorMap(BFLOAT16, (2, 2, 2, 2, 2, 64)), "1 to 5 extents"),
        (TensorMap(BFLOAT16, (2, 65), 128), "no multiple"),
    ],
    ids=str,
)
def test_maps(tensor, what):
    found = tiles.map_problem(tensor)
    assert what in found and bool(what) == bool(found)
