"""The host's time of warm calls of prism.lib.hgemm and prism.lib.matmul, beside torch.matmul; medians.

    python asv_bench/hgemm_host.py

Needs a Hopper GPU and torch; CuPy is measured too where it is installed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import prism


def main() -> None:
    """Print the host's time for a warm call of the library's functions, and of torch's and CuPy's."""
    for size in (128, 1024):
        a, b, c = (torch.randn((size, size), device="cuda").to(torch.bfloat16) for _ in range(3))
        print(f"host's time of a warm call, {size}:")
        host_times(
            torch.cuda.synchronize,
            {
                "prism.lib.hgemm(out=)": lambda a=a, b=b, c=c: prism.lib.hgemm(a, b, out=c),
                "prism.lib.hgemm": lambda a=a, b=b: prism.lib.hgemm(a, b),
                "prism.lib.matmul(out=)": lambda a=a, b=b, c=c: prism.lib.matmul(a, b, out=c),
                "prism.lib.matmul": lambda a=a, b=b: prism.lib.matmul(a, b),
                "torch.matmul(out=)": lambda a=a, b=b, c=c: torch.matmul(a, b, out=c),
                "torch.matmul": lambda a=a, b=b: torch.matmul(a, b),
            },
        )
    x, y, z = (torch.randn((8, 128, 128), device="cuda").to(torch.bfloat16) for _ in range(3))
    print("8 products of 128, one b for all; a b for each:")
    host_times(
        torch.cuda.synchronize,
        {
            "one b: prism.lib.matmul(out=)": lambda: prism.lib.matmul(x, y[0], out=z),
            "one b: torch.matmul(out=)": lambda: torch.matmul(x, y[0], out=z),
            "prism.lib.matmul(out=)": lambda: prism.lib.matmul(x, y, out=z),
            "torch.matmul(out=)": lambda: torch.matmul(x, y, out=z),
        },
    )
    try:
        import cupy
    except ImportError:
        return
    u, v, w = (cupy.ones((128, 128), cupy.float16) for _ in range(3))
    print("CuPy, 128:")
    calls = {
        "prism.lib.hgemm(out=)": lambda: prism.lib.hgemm(u, v, out=w),
        "prism.lib.matmul(out=)": lambda: prism.lib.matmul(u, v, out=w),
        "prism.lib.hgemm": lambda: prism.lib.hgemm(u, v),
    }
    host_times(cupy.cuda.Device().synchronize, calls)


def host_times(wait: Callable[[], Any], calls: dict[str, Callable[[], Any]]) -> None:
    """Print the host's time of each: 20 times 50 calls, the median; the GPU is idle before each 50."""
    for name, call in calls.items():
        for _ in range(3):
            call()
        took = []
        for _ in range(20):
            wait()
            began = time.perf_counter()
            for _ in range(50):
                call()
            took.append((time.perf_counter() - began) / 50)
        wait()
        print(f"  {statistics.median(took) * 1e6:6.2f} us  {name}", flush=True)


if __name__ == "__main__":
    main()
