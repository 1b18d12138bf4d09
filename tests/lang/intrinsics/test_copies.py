"""Asynchronous copies, and what waits for them: what they compile to, what they mean, what is wrong with them.

Tests of prism/lang/intrinsics/asynchronous.py; prism/lang/intrinsics/prefetches.py.
"""

import itertools
import re

import numpy as np
import pytest

from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics import asynchronous as wait
from prism.lang.intrinsics.copies import CACHES, load_bytes
from prism.lang.types import BFLOAT16, FLOAT32, FLOAT64, INT8, INT32, Pointer, TensorMap
from tests.lang.intrinsics.wgmma_kernels import pieces

MAP = "struct __align__(64) CUtensorMap { unsigned long long words[16]; };"


def shared(element, *shape, swizzle=0):
    return Pointer(element, space="shared", shape=shape or None, swizzle=swizzle)


def binding(tile, name="tile", tensor=None, start=None, given=(), **statics):
    start = (0,) * len(tile.shape or (0,)) if start is None else start
    maps = {} if tensor is None else {"tensor": tensor}
    return Binding(tile.element, statics, tiles={name: tile}, starts={name: start}, maps=maps, given=frozenset(given))


def program(*calls):
    """A kernel of such calls: pairs of a preamble and a statement."""
    body = "\n".join(f"    {call};" for _, call in calls)
    head = pieces(MAP, *(preamble for preamble, _ in calls), uses=body)
    return (
        f'{head}\n\nextern "C" __global__ void f(const __grid_constant__ CUtensorMap map, const float* p, float* q, '
        f"int i, int j) {{\n    extern __shared__ __align__(1024) unsigned char s[];\n    void* const bar = s + 65536;\n"
        f"{body}\n}}\n"
    )


def use(name, found, *operands, **more):
    intrinsic = TABLE[name]
    assert intrinsic.problem is None or intrinsic.problem(found) == ""
    return intrinsic.preamble(found), intrinsic.cuda(found, *operands, **more)


def ptx_of(nvrtc, *calls):
    return re.sub(r"%\w+", "%", nvrtc(program(*calls), "sm_90a").ptx)


# -- C++ --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 8, 16])
def test_cp_async(nvrtc, size):
    found, cache = Binding(FLOAT32, {"bytes": size}), "cg" if size == 16 else "ca"
    ptx = ptx_of(nvrtc, use("cp_async", found, "s", "p"), use("cp_async", found, "s", "p", "i"))
    assert f"cp.async.{cache}.shared.global [%], [%], {size};" in ptx
    assert f"cp.async.{cache}.shared.global [%], [%], {size}, %;" in ptx
    assert ptx.count("cp.async") == 2 and TABLE["cp_async"].min_arch == "sm_80"


@pytest.mark.parametrize("cache", CACHES)
def test_bulk_copies(nvrtc, cache):
    load = binding(shared(FLOAT32, 256), "destination", cache=cache)
    store = binding(shared(FLOAT32, 256), "source", cache=cache)
    calls = [use("bulk_load", load, "s", "p", barrier="bar"), use("bulk_store", store, "q", "s")]
    calls += [use("bulk_load", load, "s", "p", "i", barrier="bar"), use("bulk_store", store, "q", "s", "i * 4")]
    ptx = ptx_of(nvrtc, *calls)
    hint, policy = (".L2::cache_hint", ", %") if cache else ("", "")
    complete = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    assert ptx.count(f"{complete}{hint} [%], [%], %, [%]{policy};") == 2
    assert ptx.count(f"cp.async.bulk.global.shared::cta.bulk_group{hint} [%], [%], %{policy};") == 2
    assert (f"createpolicy.fractional.L2::{cache}" in ptx) == bool(cache)
    assert "px_bulk_load" in calls[0][1] and "1024u" in calls[0][1] and "(unsigned int)(i * 4) * 4u" in calls[3][1]


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_tensor_copies(nvrtc, rank, cache):
    box = (2, 4, 8, 4, 16)[-rank:]
    found = binding(shared(FLOAT32, *box), tensor=TensorMap(FLOAT32, box), cache=cache)
    both = binding(shared(FLOAT32, *box), tensor=TensorMap(FLOAT32, box), cache=cache, multicast=3)
    indices = [*(f"j + {k}" for k in range(rank - 1)), "i"]
    calls = [use("tma_load", found, "s", "&map", *indices, barrier="bar")]
    calls += [use("tma_load", both, "s", "&map", *indices, barrier="bar")]
    calls += [use("tma_store", found, "&map", *indices, "s"), use("prefetch_map", Binding(None), "&map")]
    calls += [use("tma_prefetch", found, "&map", *indices)]
    ptx = ptx_of(nvrtc, *calls)
    hint, policy = (".L2::cache_hint", ", %") if cache else ("", "")
    at = "{" + ", ".join(["%"] * rank) + "}"
    complete = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
    assert f"{complete}{hint} [%], [%, {at}], [%]{policy};" in ptx
    assert f"{complete}.multicast::cluster{hint} [%], [%, {at}], [%], %{policy};" in ptx
    assert f"cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group{hint} [%, {at}], [%]{policy};" in ptx
    assert "prefetch.tensormap [%];" in ptx
    assert f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global [%, {at}];" in ptx


def test_a_wide_tile_is_a_copy_a_slab(nvrtc):
    tile, tensor = shared(BFLOAT16, 64, 256, swizzle=128), TensorMap(BFLOAT16, (64, 256), 128)
    load = use("tma_load", binding(tile, tensor=tensor), "s", "&map", "i", "j", barrier="bar")
    ask = use("tma_prefetch", binding(tile, tensor=tensor), "&map", "i", "j")
    assert "<4, 8192, 64>" in load[1] and "<4, 64>" in ask[1]
    ptx = nvrtc(program(load, ask), "sm_90a").ptx
    assert ptx.count("cp.async.bulk.tensor.2d") == ptx.count("cp.async.bulk.prefetch.tensor.2d") == 4
    copies = re.findall(r"\[(%r\d+)\], \[%rd\d+, \{(%r\d+), (%r\d+)\}\]", ptx)
    assert len({c[0] for c in copies}) == len({c[1] for c in copies}) == 4 and len({c[2] for c in copies}) == 1
    assert re.search(r"add\.s32\s+%r\d+, %r\d+, 24576", ptx) and re.search(r"add\.s32\s+%r\d+, %r\d+, 192", ptx)


def test_the_innermost_index_comes_first(nvrtc):
    found = binding(shared(FLOAT32, 4, 16), tensor=TensorMap(FLOAT32, (4, 16)))
    ptx = nvrtc(program(use("tma_load", found, "s", "&map", "1000", "2000", barrier="bar")), "sm_90a").ptx
    inner, outer = re.search(r"\{(%r\d+), (%r\d+)\}", ptx).groups()
    assert re.search(rf"mov\.\w32\s+{inner}, 2000", ptx) and re.search(rf"mov\.\w32\s+{outer}, 1000", ptx)


def test_what_waits(nvrtc):
    lines = [
        wait.mbarrier_init("bar", 3), wait.mbarrier_init_fence(), wait.mbarrier_arrive("bar"), wait.mbarrier_arrive_copies("bar"),
        "px_mbarrier_arrive_remote(bar, i);", wait.mbarrier_expect("bar", "j"), wait.mbarrier_wait("bar", "i"),
        wait.mbarrier_wait("bar", "j"), wait.mbarrier_wait("bar", "i", cluster=True), wait.cp_async_commit(),
        wait.cp_async_wait(2), wait.bulk_commit(), wait.bulk_wait(1), wait.bulk_wait(0, read=True), wait.wgmma_fence(),
        wait.wgmma_commit(), wait.wgmma_wait(1), wait.proxy_fence(), wait.proxy_fence("global"), wait.cluster_barrier(),
        f"*{wait.map_text('s', 'i')} = 1", f"q[{wait.rank_text()}] = 1", "float d[4] = {}", wait.keep("d"), "int e[4] = {}",
        wait.keep("e"), "px_half h[4] = {}", wait.keep("h"),
    ]  # fmt: skip
    ptx = ptx_of(nvrtc, *(("", line.rstrip(";")) for line in lines))
    for text in (
        "mbarrier.init.shared::cta.b64 [%], %;", "fence.mbarrier_init.release.cluster;",
        "mbarrier.arrive.shared::cta.b64 _, [%];",
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%];", "mapa.shared::cluster.u32 there, %, %;",
        "mbarrier.arrive.shared::cluster.b64 _, [there];",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%], %;", "mbarrier.try_wait.parity.shared::cta.b64 done, [%], %;",
        "cp.async.commit_group;",
        "cp.async.wait_group 2;", "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 1;",
        "cp.async.bulk.wait_group.read 0;",
        "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 1;",
        "fence.proxy.async.shared::cta;", "fence.proxy.async.global;", "barrier.cluster.arrive.release.aligned;",
        "barrier.cluster.wait.acquire.aligned;", "mapa.u64 %, %, %;", "mov.u32 %, %;",
    ):  # fmt: skip
        assert text in ptx, text
    assert len(re.findall(r"^again_\w+:", ptx, re.MULTILINE)) == 3


def test_helpers_come_once_and_only_where_they_are_called():
    assert wait.helpers("") == wait.helpers("px_other(1)") == []
    text = wait.mbarrier_wait("bar", "0") + wait.mbarrier_wait("bar", "1") + wait.cluster_barrier()
    assert [re.search(r"\bpx_\w+", piece)[0] for piece in wait.helpers(text)] == [
        "px_smem",
        "px_mbarrier_wait",
        "px_cluster_barrier",
    ]
    assert len(wait.helpers("px_keep(d)")) == 1 and len(wait.helpers("px_keep(d) px_half")) == 2


def test_what_a_load_completes():
    tensor = TensorMap(BFLOAT16, (64, 256), 128)
    assert load_bytes(binding(shared(BFLOAT16, 128, 256, swizzle=128), tensor=tensor)) == 64 * 256 * 2
    tile = shared(FLOAT32, 8, 32)
    assert load_bytes(binding(tile, "destination")) == 1024
    assert load_bytes(binding(tile, "destination", start=(2, 0))) == 768
    assert load_bytes(binding(tile, "destination", given=["n"])) is None


# -- Meanings ---------------------------------------------------------------------------------------------------------


class Recorded:
    """What a copy's meaning says."""

    def __init__(self):
        self.said = []

    def align(self, reference, bytes):
        self.said.append(("align", reference, bytes))

    def require(self, holds, text):
        if not np.all(holds):
            self.said.append(("wrong", text))

    def copy(self, destination, source, elements, valid=None):
        self.said.append(("copy", destination, source, elements, None if valid is None else list(valid)))

    def load_tile(self, tile, tensor, multicast=0, relative=False):
        self.said.append(("load", tile, tensor, multicast, relative))

    def store_tile(self, tensor, tile):
        self.said.append(("store", tensor, tile))


def said(name, found, *operands):
    transfer = Recorded()
    TABLE[name].meaning(found, transfer, *operands)
    return transfer.said


def test_cp_async_means():
    found = Binding(FLOAT32, {"bytes": 8})
    aligned = [("align", "s", 8), ("align", "p", 8)]
    assert said("cp_async", found, "s", "p") == [*aligned, ("copy", "s", "p", 2, None)]
    assert said("cp_async", found, "s", "p", np.array([0, 4, 8])) == [*aligned, ("copy", "s", "p", 2, [0, 1, 2])]
    assert ("wrong", "`valid` is not from 0 to 8 bytes") in said("cp_async", found, "s", "p", np.array([0, 12]))
    assert ("wrong", "`valid` is no multiple of an element's 4 bytes") in said(
        "cp_async", found, "s", "p", np.array([2])
    )
    assert said("cp_async", Binding(INT8, {}), "s", "p")[-1] == ("copy", "s", "p", 16, None)


def test_bulk_copies_mean():
    tile = shared(FLOAT32, 8, 32)
    for name, operand in (("bulk_load", "destination"), ("bulk_store", "source")):
        aligned = [("align", "x", 16), ("align", "y", 16)]
        assert said(name, binding(tile, operand), "x", "y") == [*aligned, ("copy", "x", "y", 256, None)]
        assert said(name, binding(tile, operand, start=(1, 4)), "x", "y")[-1] == ("copy", "x", "y", 220, None)
        assert said(name, binding(tile, operand, given=["n"]), "x", "y", np.int32(12))[-1] == (
            "copy",
            "x",
            "y",
            12,
            None,
        )
        assert "no multiple of 16 bytes" in said(name, binding(tile, operand, given=["n"]), "x", "y", np.int32(6))[0][1]
        assert "negative" in said(name, binding(tile, operand, given=["n"]), "x", "y", np.int32(-4))[0][1]


def test_tensor_copies_mean():
    found = binding(shared(FLOAT32, 4, 16), tensor=TensorMap(FLOAT32, (4, 16)))
    assert said("tma_load", found, "s", "t") == [("load", "s", "t", 0, False)]
    assert said("tma_store", found, "t", "s") == [("store", "t", "s")]
    several = binding(shared(FLOAT32, 4, 16), tensor=TensorMap(FLOAT32, (4, 16)), multicast=5)
    assert said("tma_load", several, "s", "t") == [("load", "s", "t", 5, False)]
    near = binding(shared(FLOAT32, 4, 16), tensor=TensorMap(FLOAT32, (4, 16)), multicast=5, relative=True)
    assert said("tma_load", near, "s", "t") == [("load", "s", "t", 5, True)]
    assert TABLE["prefetch_map"].meaning(Binding(None), "m") is None
    assert TABLE["tma_prefetch"].meaning(found, "memory", "t") is None


# -- What is wrong ----------------------------------------------------------------------------------------------------


def test_cp_async_moves_whole_elements():
    problem = TABLE["cp_async"].problem
    assert problem(Binding(FLOAT64, {"bytes": 4})) == "4 bytes are less than one float64"
    assert problem(Binding(FLOAT64, {"bytes": 8})) == problem(Binding(INT8, {})) == ""


@pytest.mark.parametrize(
    "tile, start, given, what",
    [
        (shared(FLOAT32, 8, 32), None, (), ""),
        (shared(FLOAT32, 8, 32), (None, None), ("n",), ""),
        (shared(FLOAT32), (None,), ("n",), ""),
        (shared(FLOAT32), (0,), (), "say how many elements: `n=...`"),
        (shared(FLOAT32, 8, 32), (None, 0), (), "say how many elements"),
        (shared(FLOAT32, 5), None, (), "a multiple of 16 bytes, and 5 float32 have 20"),
        (shared(FLOAT32, 8, 32), (0, 2), ("n",), "begins 8 bytes into its object"),
        (shared(BFLOAT16, 64, 64, swizzle=128), None, (), "declare it without `swizzle=128`"),
        (Pointer(FLOAT32, shape=(8,)), None, (), "is shared memory"),
    ],
)
@pytest.mark.parametrize("name, operand", [("bulk_load", "destination"), ("bulk_store", "source")])
def test_bulk_problems(name, operand, tile, start, given, what):
    found = TABLE[name].problem(binding(tile, operand, start=start, given=given))
    assert what in found and bool(what) == bool(found)


WIDE, BOX = shared(BFLOAT16, 128, 128, swizzle=128), TensorMap(BFLOAT16, (128, 128), 128)
HALF = TensorMap(BFLOAT16, (64, 128), 128)


@pytest.mark.parametrize(
    "tile, start, tensor, what",
    [
        (WIDE, None, BOX, ""),
        (WIDE, None, HALF, ""),
        (WIDE, (64, 0), HALF, ""),
        (WIDE, (None, 0), HALF, ""),
        (shared(BFLOAT16, 2, 64, 128, swizzle=128), (None, 0, 0), HALF, ""),
        (shared(BFLOAT16, 2, 32, 128), (0, 0, 0), TensorMap(BFLOAT16, (64, 128)), "the tile has 2 x 32 x 128 elements"),
        (shared(BFLOAT16, 2, 64, 128), (1, 0, 0), TensorMap(BFLOAT16, (64, 128)), ""),
        (shared(BFLOAT16, 4, 64), None, TensorMap(BFLOAT16, (4, 64)), ""),
        (shared(BFLOAT16, 4, 64, swizzle=128), None, TensorMap(BFLOAT16, (4, 64), 128), ""),
        (WIDE, (64, 0), BOX, "rows 64 to 191 are not in the tile, which has 128"),
        (WIDE, (4, 0), HALF, ""),
        (WIDE, (65, 0), HALF, "rows 65 to 128 are not in the tile"),
        (WIDE, (None, 0), TensorMap(BFLOAT16, (1, 128), 128), ""),
        (WIDE, (7, 0), TensorMap(BFLOAT16, (60, 128), 128), ""),
        (shared(BFLOAT16, 64, 64, swizzle=64), (2, 0), TensorMap(BFLOAT16, (6, 64), 64), ""),
        (
            shared(BFLOAT16, 64, 64, swizzle=64),
            (1, 0),
            TensorMap(BFLOAT16, (6, 64), 64),
            "begins at a multiple of 2 rows, not at 1",
        ),
        (
            shared(BFLOAT16, 64, 16, swizzle=32),
            (4, 0),
            TensorMap(BFLOAT16, (6, 16), 32),
            "has a multiple of 4 rows, not 6",
        ),
        (shared(FLOAT32, 64, 16), (2, 0), TensorMap(FLOAT32, (3, 16)), ""),
        (shared(FLOAT32, 64, 16), (None, 0), TensorMap(FLOAT32, (3, 16)), ""),  # the reference machine looks
        (shared(FLOAT32, 64, 16), (1, 0), TensorMap(FLOAT32, (3, 16)), "begins at a multiple of 2 rows, not at 1"),
        (shared(FLOAT32, 256), (32,), TensorMap(FLOAT32, (64,)), ""),
        (shared(FLOAT32, 256), (16,), TensorMap(FLOAT32, (64,)), "begins at a multiple of 32 elements, not at 16"),
        (WIDE, (0, 64), HALF, "whole rows"),
        (WIDE, (0, None), HALF, "whole rows"),
        (WIDE, None, TensorMap(BFLOAT16, (128, 64), 128), "128 x 128 elements, and the tensor map moves 128 x 64"),
        (WIDE, None, TensorMap(BFLOAT16, (256, 128), 128), "moves 256 x 128"),
        (WIDE, None, TensorMap(BFLOAT16, (128, 128)), "the tile has swizzle=128, and the tensor map swizzle=0"),
        (WIDE, None, TensorMap(FLOAT32, (128, 128), 128), "the tile holds bfloat16, and the tensor map float32"),
        (shared(BFLOAT16), (0,), BOX, "by its name"),
        (shared(BFLOAT16, 512, 128, swizzle=128), None, TensorMap(BFLOAT16, (512, 128), 128), "of 1 to 256"),
        (shared(BFLOAT16, 64), None, TensorMap(BFLOAT16, (2, 64)), "the tile has 64 elements"),
        (WIDE, None, TensorMap(BFLOAT16, (1, 1, 128, 128), 128), ""),
        (WIDE, None, TensorMap(BFLOAT16, (1, 128, 1, 128), 128), ""),
        (WIDE, None, TensorMap(BFLOAT16, (2, 16, 4, 128), 128), ""),
        (WIDE, (64, 0), TensorMap(BFLOAT16, (1, 16, 4, 128), 128), ""),
        (WIDE, (96, 0), TensorMap(BFLOAT16, (1, 16, 4, 128), 128), "rows 96 to 159 are not in the tile, which has 128"),
        (WIDE, (4, 0), TensorMap(BFLOAT16, (1, 16, 4, 128), 128), ""),
        (WIDE, None, TensorMap(BFLOAT16, (2, 128, 1, 128), 128), "moves 2 x 128 x 1 x 128"),
        (shared(BFLOAT16, 3, 64, 128, swizzle=128), (2, 0, 0), TensorMap(BFLOAT16, (1, 16, 4, 128), 128), ""),
        (shared(BFLOAT16, 3, 64, 128), (None, 0, 0), TensorMap(BFLOAT16, (2, 16, 4, 128)), "the tile has 3 x 64 x 128"),
        (shared(BFLOAT16, 8, 8, 128), None, TensorMap(BFLOAT16, (4, 16, 128)), "the tile has 8 x 8 x 128"),
        (shared(BFLOAT16, 64), None, TensorMap(BFLOAT16, (1, 1, 64)), ""),
    ],
)
@pytest.mark.parametrize("name", ["tma_load", "tma_store"])
def test_tensor_problems(name, tile, start, tensor, what):
    found = TABLE[name].problem(binding(tile, tensor=tensor, start=start))
    assert what in found and bool(what) == bool(found)


def test_multicast_is_a_mask_of_blocks():
    assert TABLE["tma_load"].problem(binding(WIDE, tensor=BOX, multicast=0xFFFF)) == ""
    assert "at most 16 blocks" in TABLE["tma_load"].problem(binding(WIDE, tensor=BOX, multicast=1 << 16))


def test_what_they_do_to_memory():
    effects = {name: (i.effect, i.asynchronous, i.touches_memory) for name, i in TABLE.items() if i.asynchronous}
    assert effects == {
        "cp_async": ("write of `destination`, read of `source`", "cp_async", True),
        "bulk_load": ("write of `destination`, read of `source`", "load", True),
        "bulk_reduce": ("atomic update of `destination`, read of `source`", "bulk", True),
        "bulk_store": ("write of `destination`, read of `source`", "bulk", True),
        "st_async": ("write of `destination`", "remote", True),
        "tma_load": ("write of `tile`, read of `tensor`", "load", True),
        "tma_reduce": ("atomic update of `tensor`, read of `tile`", "bulk", True),
        "tma_store": ("write of `tensor`, read of `tile`", "bulk", True),
        "wgmma": ("update of `accumulator`, read of `a`, read of `b`", "wgmma", True),
    }
    for name, least in itertools.product(
        (
            "bulk_load",
            "bulk_reduce",
            "bulk_store",
            "tma_load",
            "tma_reduce",
            "tma_store",
            "prefetch_map",
            "tma_prefetch",
        ),
        ("sm_90",),
    ):
        assert TABLE[name].min_arch == least


def test_older_chips_have_none(nvrtc):
    load = binding(shared(INT32, 256), "destination")
    for call, before in (
        (use("bulk_load", load, "s", "p", barrier="bar"), "sm_89"),
        (use("prefetch_map", Binding(None), "&map"), "sm_89"),
        (
            use("tma_prefetch", binding(shared(FLOAT32, 4, 16), tensor=TensorMap(FLOAT32, (4, 16))), "&map", "i", "j"),
            "sm_89",
        ),
        (use("cp_async", Binding(INT32, {}), "s", "p"), "sm_75"),
    ):
        assert nvrtc(program(call), "sm_90").cubin
        with pytest.raises(AssertionError):
            nvrtc(program(call), before)
