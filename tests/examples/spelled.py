"""A program in the paper's spelling: its names of types, keywords and intrinsics, on one kernel with one function."""

# fmt: off
# ruff: noqa: F821, I001 - kernels declare memory without a value
from __future__ import annotations

from prism.lang import (
    __float_as_uint, attr, block, c_float, c_int, claim, const, constexpr, float4, float4_cast, grid, group, id, intrinsic,
    partition, prism, ptr, requires, shared, template, thread, uint, uint32_t, warp,
)


@prism("device")
@requires(thread[32])
def add_product(a: ptr(const(float)) @ thread[32], b: ptr(const(float)) @ thread[32], c: ptr(float) @ thread[32]):
    with group(thread[32]):
        stride : int @ thread[32] = 8
        tid : int @ thread[1] = id()
        regA : uint32_t[4] @ thread[1]
        regB : uint32_t[2] @ thread[1]
        regC : float[4] @ thread[1] = { 0 }
        corner : uint @ thread[1] = (tid // 4) * stride + tid % 4
        regA[0] = __float_as_uint(a[corner])
        regA[1] = __float_as_uint(a[corner + 8 * stride])
        regA[2] = __float_as_uint(a[corner + 4])
        regA[3] = __float_as_uint(a[corner + 8 * stride + 4])
        regB[0] = __float_as_uint(b[(tid % 4) * stride + tid // 4])
        regB[1] = __float_as_uint(b[(tid % 4 + 4) * stride + tid // 4])
        intrinsic.mma(
            regA[0], regA[1], regA[2], regA[3],
            regB[0], regB[1],
            regC[0], regC[1], regC[2], regC[3],
            out=[regC[0], regC[1], regC[2], regC[3]])
        with partition(c, offset=(tid // 4) * stride + 2 * (tid % 4), dimension=thread[1]) as c_thread:
            with group(thread[1]):
                c_thread[0] += regC[0]
                c_thread[1] += regC[1]
                c_thread[8 * stride] += regC[2]
                c_thread[8 * stride + 1] += regC[3]
    return


@prism("global")
@attr("__launch_bounds__(32)")
@template([("STEPS", c_int), ("N", c_int)])
@requires(grid[1], block[1], thread[32], smem=1280)
def product(A: ptr(const(c_float)) @ grid[1], B: ptr(const(c_float)) @ grid[1], C: ptr(c_float) @ grid[1], K: c_int @ grid[1]):
    with group(grid[1]):
        MMA_K : constexpr(int) = 8
        bid : const(int) @ block[1] = id()
        offset = lambda x: bid * 16 * N + x
        with partition(C, p=block[1], f=offset) as C_blk:
            with group(block[1]):
                A_smem : shared(float[16 * 8]) @ block[1]
                B_smem : shared(float[8 * 8]) @ block[1]
                C_smem : shared(float[16 * 8], align=16) @ block[1]
                idx = lambda x: id() * 4 + x
                with partition(C_smem, p=thread[1], f=idx) as C_th:
                    for i in range(0, 4, 1):
                        with group(thread[1]):
                            C_th[i] = 0
                tid : int @ thread[1] = id()
                step : int @ block[1] = 0
                while step < STEPS:
                    with partition(A_smem, dimension=thread[1], offset=tid * 4) as A_th:
                        with group(thread[1]):
                            for i in range(0, 4):
                                row : int @ thread[1] = bid * 16 + (tid * 4 + i) // MMA_K
                                A_th[i] = A[row * K + step * MMA_K + (tid * 4 + i) % MMA_K]
                    with partition(B_smem, dimension=thread[1], offset=tid * 2) as B_th:
                        with group(thread[1]):
                            for i in range(0, 2):
                                B_th[i] = B[(step * MMA_K + (tid * 2 + i) // N) * N + (tid * 2 + i) % N]
                    with claim(C_smem, scope=thread[32], offset=0) as C_warp:
                        match warp:
                            case 1:
                                add_product(A_smem, B_smem, C_warp)
                    step += 1
                with partition(C_blk, dimension=thread[1], offset=tid * 4) as C_thrd:
                    with group(thread[1]):
                        tmp : float4 @ thread[1] = float4_cast(C_smem[tid * 4])
                        tmp.x = tmp.x * 2.0
                        float4_cast[C_thrd[0]] = tmp
    return
