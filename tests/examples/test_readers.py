"""Kernels that a reader wrote from the pages: right on the reference machine, checked, and compiled without a spill."""

from __future__ import annotations

from typing import Any

import pytest

import prism
from tests.examples.reader_calls import CALLS, kernel_of


def checked(kernel: prism.Kernel, blocks: Any, threads: Any, *arguments: Any) -> None:
    kernel[blocks, threads](*arguments, check=True)


@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_of_a_reader(name: str) -> None:
    CALLS[name](checked)
    compiled = prism.compile(kernel_of(name), arch="sm_90a")
    assert compiled.cubin[:4] == b"\x7fELF" and compiled.spills == 0
