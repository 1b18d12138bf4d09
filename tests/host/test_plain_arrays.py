"""Kernels of plain arrays are as before there were lazy ones, to the letter: none that was bound leaves a trace."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from prism import lib
from prism.lang.pipeline import build
from prism.lib import lazy
from prism.runtime.build import entry_of
from prism.runtime.instance import Instance
from tests.host.stand_ins import Array, Gpu, stand_in

CALLS: dict[str, Callable[[Any, Array], Any]] = {
    "sum": lambda x, out: lib.sum(x),
    "scan": lambda x, out: lib.scan(x, out=out),
    "sort": lambda x, out: lib.sort(x),
    "unique_consecutive": lambda x, out: lib.unique_consecutive(x, count=True),
    "histogram": lambda x, out: lib.histogram(x, 16, range=(0, 1)),
}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        yield found


def at(pointer: int) -> Array:
    return Array.at(pointer, (5000,), "float32")


def launched(gpu: Gpu, call: Callable[[Any, Array], Any], x: Any) -> list[Instance]:
    gpu.launched.clear()
    call(x, at(1 << 33))
    return [instance for instance, *_ in gpu.launched]


def text(program: Any) -> str:
    return entry_of(program, "sm_90a").source


@pytest.mark.parametrize("name", CALLS)
def test_the_text_of_plain_arrays(gpu: Gpu, name: str) -> None:
    call = CALLS[name]
    plain = launched(gpu, call, at(1 << 30))
    before = [text(instance.program) for instance in plain]
    bound = launched(gpu, call, lazy.map(lambda a: a * 2, at(1 << 31)))
    assert [text(instance.program) for instance in bound] != before
    again = launched(gpu, call, at(1 << 32))
    assert again == plain
    for instance, wanted in zip(again, before, strict=True):
        kernel, function = instance.kernel, instance.kernel.__wrapped__
        home = importlib.import_module(function.__module__)
        assert getattr(home, function.__name__) is kernel  # the binder was not entered
        assert text(build(kernel, dict(instance.template))) == wanted
