"""Kernels that read lazy arrays: what was checked and compiled once is taken from the user's cache."""

import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from prism.lang import const, dtype, grid, group, id, int32, partition, ptr, requires, template, thread
from prism.lang import prism as mark
from prism.lang.diagnostics import CompileError
from prism.lang.surface.views import Compute, Leaf, NotReadable, View
from prism.lang.types import SCALARS
from prism.lib.lazy.closures import callable_of
from prism.lib.lazy.functions import result_of
from prism.runtime import viewed
from prism.runtime.instance import Instance, instance
from prism.runtime.store import Store

F32 = SCALARS["float32"]


@mark("global")
@requires(grid[1], thread[1])
@template(T=dtype)
def double(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1]):
    me: int32 @ thread[1] = id()
    with partition(y, thread[1], offset=me) as mine, group(thread[1]):
        mine[0] = x[me] + x[me]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """What stands in for a GPU and its compiler: it counts."""
    seen = SimpleNamespace(compiled=[], loaded=[], arch="sm_90a", store=Store(tmp_path))

    def compile_(source: str, arch: str, *, alike: bool) -> bytes:
        seen.compiled.append(source)
        return b"code of " + arch.encode()

    monkeypatch.setattr(viewed, "device", lambda ordinal: SimpleNamespace(arch=seen.arch))
    monkeypatch.setattr(viewed, "store", lambda: seen.store)
    monkeypatch.setattr(viewed, "machine_code", compile_)
    monkeypatch.setattr(viewed, "require_loading", lambda: None)
    monkeypatch.setattr(viewed, "prepare", lambda entry, ordinal: ("made", entry))
    monkeypatch.setattr(viewed, "load", lambda code, name, ordinal, shared: seen.loaded.append(code))
    monkeypatch.setattr(viewed, "Launcher", lambda entry, function: ("kept", entry))
    yield seen
    forget()


def forget() -> None:
    """Forget what this process knows, as a new one does."""
    viewed._viewed.cache_clear()
    viewed._launcher.cache_clear()
    result_of.cache_clear()


def squares(number: int = 1) -> View:
    return View(Compute(callable_of(lambda v: v * v + number), (Leaf(0, True),)), F32, (F32,), 0)


def base(kernel: Any = double) -> Instance:
    return instance(kernel, (("T", F32),))


def test_made_once(machine: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    first = viewed.instance_of_views(base(), {"x": squares()})
    first.require_readable("sm_90a")
    how, entry = first.launcher(0)
    assert how == "made" and len(machine.compiled) == 1 and first.launcher(0) is first.launcher(0)
    forget()
    again = viewed.instance_of_views(base(), {"x": squares()})
    assert again is not first
    monkeypatch.setattr(viewed.Viewed, "plain", property(lambda self: pytest.fail("it was checked again")))
    again.require_readable("sm_90a")
    how, found = again.launcher(0)
    assert how == "kept" and len(machine.compiled) == 1 and machine.loaded == [b"code of sm_90a"]
    assert found.to_json(source=False) == entry.to_json(source=False)
    assert [p.name for p in found.parameters] == ["x.leaf0", "y"]


def test_another_is_made_anew(machine: SimpleNamespace) -> None:
    others = [("sm_90a", {"x": squares()}), ("sm_90a", {"x": squares(2)}), ("sm_80", {"x": squares()})]
    others.append(("sm_90a", {"x": View(Leaf(0, True), F32, (F32,), 0)}))
    for machine.arch, views in others:
        forget()
        assert viewed.instance_of_views(base(), views).launcher(0)[0] == "made"
    assert machine.store.size()[0] == len(others)


def test_damage_is_a_miss(machine: SimpleNamespace) -> None:
    viewed.instance_of_views(base(), {"x": squares()}).launcher(0)
    key = viewed.instance_of_views(base(), {"x": squares()}).key("sm_90a")
    for facts in ({}, {"entry": {"name": "x"}}, {"entry": 3}):
        machine.store.put(key, b"other", facts)
        forget()
        wanted = viewed.instance_of_views(base(), {"x": squares()})
        wanted.require_readable("sm_90a")
        assert wanted.launcher(0)[0] == "made"


def test_what_cannot_be_read_is_known(machine: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    for arch in ("", "sm_90a"):
        with pytest.raises(NotReadable) as refused:
            viewed.instance_of_views(base(), {"y": squares()}).require_readable(arch)
    assert machine.store.size()[0] == 1
    forget()
    monkeypatch.setattr(viewed.Viewed, "plain", property(lambda self: pytest.fail("it was checked again")))
    with pytest.raises(NotReadable, match=str(refused.value)):
        viewed.instance_of_views(base(), {"y": squares()}).require_readable("sm_90a")


def test_what_has_no_text_is_made_each_time(machine: SimpleNamespace) -> None:
    view = View(Compute(callable_of(lambda v: v * math.pi), (Leaf(0, True),)), F32, (F32,), 0)
    for _ in range(2):
        wanted = viewed.instance_of_views(base(), {"x": view})
        wanted.require_readable("sm_90a")
        assert wanted.launcher(0)[0] == "made"
        forget()
    assert machine.store.size()[0] == 0


def test_results_are_kept(machine: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    function = callable_of(lambda a, b: a > b)
    assert result_of(function, (F32, F32), True) == SCALARS["bool"] and machine.store.size()[0] == 1
    forget()
    monkeypatch.setattr("prism.lib.lazy.functions._check_result", lambda *_: pytest.fail("it was checked again"))
    assert result_of(function, (F32, F32), True) == SCALARS["bool"]


def test_mistakes_are_not_kept(machine: SimpleNamespace) -> None:
    with pytest.raises(CompileError):
        result_of(callable_of(lambda a: a.missing), (F32,), True)
    assert machine.store.size()[0] == 0
