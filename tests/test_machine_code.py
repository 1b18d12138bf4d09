"""tests/machine_code.py: what is kept is what was made, of the same text, options and compiler."""

import os

import pytest

from prism.runtime.compile import Binary, MachineCodeError, compile_cubin, compile_ptx
from tests import machine_code

TEXT = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = NUMBER; }'
ARCH = "sm_90a"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder."""
    pytest.importorskip("cuda.bindings.nvrtc")
    monkeypatch.setattr(machine_code, "FOLDER", tmp_path)
    return tmp_path


@pytest.fixture
def calls(monkeypatch):
    """The calls of the compiler itself, which says that it is another at each."""
    made: list[tuple] = []

    def compile_cubin(source: str, arch: str, *, extra_options: tuple[str, ...] = (), fma: bool = True) -> Binary:
        made.append((source, arch, extra_options, fma))
        return Binary(b"", arch, "13.0", len(made), 0, 0, "")

    return machine_code.keep(compile_cubin), made


def test_all_that_tests_import_is_kept(folder) -> None:
    text = TEXT.replace("NUMBER", "1")
    with machine_code.call_compiler():
        plain = compile_cubin(text, ARCH)
    assert not list(folder.iterdir())
    first, second = compile_cubin(text, ARCH), compile_cubin(text, ARCH)
    assert first == second  # the log too, which has how long it took
    assert (first.cubin, first.registers, first.spills) == (plain.cubin, plain.registers, plain.spills)
    assert len(list(folder.iterdir())) == 1
    assert compile_ptx(text, ARCH) == compile_ptx(text, ARCH) != ""
    assert len(list(folder.iterdir())) == 2


def test_another_text_or_option_is_compiled(calls) -> None:
    compile_, made = calls
    asked = [
        ("a", ARCH, {}),
        ("b", ARCH, {}),
        ("a", "sm_80", {}),
        ("a", ARCH, {"fma": False}),
        ("a", ARCH, {"extra_options": ("-O1",)}),
    ]
    found = [[compile_(text, arch, **options).registers for text, arch, options in asked] for _ in range(2)]
    assert found == [[1, 2, 3, 4, 5]] * 2 and len(made) == 5


def test_another_build_of_the_compiler_is_asked_again(calls, monkeypatch) -> None:
    compile_, made = calls
    compile_("a", ARCH)
    monkeypatch.setattr(machine_code.compiler, "nvrtc_build", lambda: "another")
    compile_("a", ARCH)
    assert len(made) == 2


def test_what_is_refused_is_not_kept(folder) -> None:
    for _ in range(2):
        with pytest.raises(MachineCodeError):
            compile_cubin("no C++", ARCH)
    assert not list(folder.iterdir())


def test_a_broken_file_is_made_again(calls, folder) -> None:
    compile_, made = calls
    compile_("a", ARCH)
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-5])
    assert compile_("a", ARCH).registers == 2 and compile_("a", ARCH).registers == 2


def test_what_nobody_asks_for_goes(calls, folder) -> None:
    compile_, _ = calls
    for text in "ab":
        compile_(text, ARCH)
    old, _ = folder.iterdir()
    os.utime(old, (0, 0))
    machine_code.forget_old()
    assert [path.name for path in folder.iterdir()] != [] and not old.exists()
