"""Kernels that a reader wrote from the pages, on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prism
from tests.examples.reader_calls import CALLS

cupy = pytest.importorskip("cupy")


def on_the_gpu(kernel: prism.Kernel, blocks: Any, threads: Any, *arguments: Any) -> None:
    there = [cupy.asarray(one) if isinstance(one, np.ndarray) else one for one in arguments]
    kernel[blocks, threads](*there)
    for one, result in zip(arguments, there, strict=True):
        if isinstance(one, np.ndarray) and one.flags.writeable:
            one[...] = result.get()


@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_of_a_reader(name: str) -> None:
    CALLS[name](on_the_gpu)
