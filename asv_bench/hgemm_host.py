"""The host's time of warm calls of prism.lib.hgemm and prism.lib.matmul, beside torch.matmul.

    python asv_bench/hgemm_host.py

Needs a Hopper GPU and torch; CuPy is measured too where it is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from host_time import host_times

import prism


def main() -> None:
    """Print the host's time for a warm call of the library's functions, and of torch's and CuPy's."""
    for size in (128, 1024):
        a, b, c = (torch.randn((size, size), device="cuda").to(torch.bfloat16) for _ in range(3))
        print(f"host's time of a warm call, {size}:")
        show(
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
    show(
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
    show(cupy.cuda.Device().synchronize, calls)


def show(wait: Callable[[], Any], calls: dict[str, Callable[[], Any]]) -> None:
    """Print the host's time of each."""
    for name, seconds in host_times(calls, wait).items():
        print(f"  {seconds * 1e6:6.2f} us  {name}", flush=True)


if __name__ == "__main__":
    main()
