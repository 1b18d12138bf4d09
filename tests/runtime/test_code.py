"""Text to machine code, the artifacts in the package, and the order in which they are asked.

Tests of prism/runtime: compile, driver, keys.
"""

import json
import re
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from prism.lang.diagnostics import InternalError
from prism.runtime import artifacts, code
from prism.runtime.compile import (
    AssemblerError,
    Binary,
    MachineCodeError,
    MissingCompiler,
    SlowCodeError,
    compile_cubin,
    nvrtc_version,
    option_list,
    supported_archs,
)
from prism.runtime.entry import Entry, EntryParameter
from prism.runtime.keys import digest

SOURCE = 'extern "C" __global__ void prism_fill(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = n; }'
PARAMETERS = (EntryParameter("x", "pointer", "float32"), EntryParameter("n", "scalar", "int32"))
ENTRY = Entry("prism_fill", SOURCE, "sm_90a", PARAMETERS, 16, 32, None, 128)


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and artifacts of the test's own."""
    monkeypatch.setenv("PRISM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(code, "_made", {})
    code.store.cache_clear()
    artifacts.manifest.cache_clear()
    return tmp_path


# -- Entries ----------------------------------------------------------------------------------------------------------


def test_an_entry_survives_json() -> None:
    assert Entry.from_json(json.loads(json.dumps(ENTRY.to_json()))) == ENTRY
    assert Entry.from_json(json.loads(json.dumps(ENTRY.to_json(source=False))), source=SOURCE) == ENTRY
    maps = replace(ENTRY, parameters=(EntryParameter("a", "map", "bfloat16", True, (128, 64), 128), *PARAMETERS))
    assert Entry.from_json(json.loads(json.dumps(maps.to_json()))) == maps


@pytest.mark.parametrize(
    "change",
    [
        {"name": "k(float*x){} void z"},
        {"name": "k\n"},
        {"arch": "sm_90a -G"},
        {"parameters": [["x", "pointer", "float31", False]]},
        {"parameters": [["x", "reference", "float32", False]]},
        {"parameters": [["x", "pointer"]]},
        {"parameters": [["x", "map", "float32", True, [8, "8"], 0]]},
        {"shared_bytes": -1},
        {"shared_bytes": "16"},
        {"max_threads": 2048},
        {"cooperative": 1},
        {"thread_multiple": 0},
        {"source": None},
    ],
)
def test_what_is_no_entry_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Entry.from_json({**ENTRY.to_json(), **change})


def test_a_digest_keeps_its_parts_apart() -> None:
    assert len({digest("ab", "c"), digest("a", "bc"), digest("abc"), digest(b"abc"), digest("1"), digest(1)}) == 6


# -- The compiler -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_compiles_without_a_gpu(arch: str) -> None:
    binary = compile_cubin(SOURCE, arch)
    assert binary.cubin[:4] == b"\x7fELF"
    assert b"prism_fill" in binary.cubin
    assert 0 < binary.registers < 64 and binary.spills == 0 and not binary.warnings
    assert binary.compiler == "{}.{}".format(*nvrtc_version())
    assert compile_cubin(SOURCE, arch).cubin == binary.cubin, "the same text gives the same bytes"


def test_raw_text_may_use_textures() -> None:
    text = 'extern "C" __global__ void k(float* x, unsigned long long t) { x[0] = tex1Dfetch<float>(t, 0); }'
    assert compile_cubin(text, "sm_90a").registers > 0


def test_spills_are_counted() -> None:
    body = "".join(f"float a{i} = x[{i} * n];" for i in range(100))
    body += "__syncthreads();" + "".join(f"x[{i} * n + 1] = a{i} * a{99 - i};" for i in range(100))
    text = f'extern "C" __global__ void k(float *x, int n) {{ {body} }}'
    assert compile_cubin(text, "sm_90a", extra_options=("-maxrregcount=32",)).spills > 0


@pytest.mark.parametrize(
    "text", ["int x = ;", "#include <cuda_fp16.h>", 'extern "C" __global__ void k() { asm("bad"); }']
)
def test_refused_text_is_a_bug_in_prism_and_not_raw_compiler_text(text: str) -> None:
    with pytest.raises(MachineCodeError) as caught:
        compile_cubin(text, "sm_90a")
    assert isinstance(caught.value, InternalError)
    assert "sm_90a" in str(caught.value) and "bug in Prism" in str(caught.value)
    assert "error" not in str(caught.value).replace("of this error", "")
    assert "C++ of its own" in str(caught.value)
    assert "error" in caught.value.log and caught.value.source == text


def test_an_internal_error_of_the_assembler_is_not_a_bug_in_prism(monkeypatch: pytest.MonkeyPatch) -> None:
    class GivesUp:
        def __init__(self, *_: object) -> None: ...

        def compile(self, target: str, logs: StringIO) -> None:
            logs.write("ptxas fatal   : (C7907) Internal compiler error.\n")
            raise RuntimeError("NVRTC_ERROR_COMPILATION")

    monkeypatch.setattr("cuda.core.Program", GivesUp)
    with pytest.raises(AssemblerError, match="for sm_90a: a bug in ptxas") as caught:
        compile_cubin(SOURCE, "sm_90a")
    assert "C7907" in caught.value.log and caught.value.source == SOURCE


def test_what_a_signal_raises_meanwhile_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def __init__(self, *_: object) -> None: ...

        def compile(self, target: str, logs: StringIO) -> None:
            raise TimeoutError("raised by the handler of SIGALRM")

    monkeypatch.setattr("cuda.core.Program", Interrupted)
    with pytest.raises(TimeoutError, match="SIGALRM"):
        compile_cubin(SOURCE, "sm_90a")


WGMMA = """
extern "C" __global__ void __launch_bounds__(128, 1) k(float* out, unsigned long long a, unsigned long long b) {
    float d[4] = {0, 0, 0, 0};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < 2; ++k) {
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
        d[1] *= TOUCHED;
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = d[i];
}
"""


def test_wgmmas_that_would_wait_one_by_one_are_an_error() -> None:
    assert compile_cubin(WGMMA.replace("TOUCHED", "1.0f"), "sm_90a").spills == 0
    with pytest.raises(SlowCodeError, match=r"would wait one by one \(C75.*smaller fragments") as caught:
        compile_cubin(WGMMA.replace("TOUCHED", "1.5f"), "sm_90a")
    assert "Performance Loss" in caught.value.log and "Performance" not in str(caught.value)
    assert all(found.startswith("C75") for found in caught.value.codes)


def test_registers_that_cannot_be_set_are_an_error() -> None:
    text = (
        'extern "C" __global__ void BOUNDS k(int* x) { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); *x = 1; }'
    )
    assert compile_cubin(text.replace("BOUNDS", "__launch_bounds__(128, 1)"), "sm_90a").registers > 0
    with pytest.raises(SlowCodeError, match="__launch_bounds__"):
        compile_cubin(text.replace("BOUNDS", ""), "sm_90a")


def test_accumulators_that_do_not_fit_are_no_bug_of_prism() -> None:
    sums = 128  # registers of a thread, of m64n256; as many as 512 threads have each
    operands = ", ".join(f"%{i}" for i in range(sums))
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(sums))
    text = f"""
extern "C" __global__ void __launch_bounds__(512, 1) k(float* out, unsigned long long a, unsigned long long b) {{
    float d[{sums}];
    for (int i = 0; i < {sums}; ++i) d[i] = 0;
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {{{operands}}}, %{sums}, %{sums + 1}, 1, 1, 1, 0, 0;"
                 : {outputs} : "l"(a), "l"(b));
    for (int i = 0; i < {sums}; ++i) out[{sums} * threadIdx.x + i] = d[i];
}}
"""
    with pytest.raises(
        SlowCodeError, match=r"registers that a thread starts with \(128; .*fewer threads a block"
    ) as caught:
        compile_cubin(text, "sm_90a")
    assert caught.value.codes == ("C7602",) and "Insufficient" in caught.value.log


@pytest.mark.parametrize("arch", ["sm_60", "sm_999", "compute_90", "sm_90a\n", "sm_90a --x", ""])
def test_an_unknown_architecture(arch: str) -> None:
    with pytest.raises(ValueError, match="sm_90"):
        compile_cubin(SOURCE, arch)


def test_no_fast_math_and_no_includes() -> None:
    assert 90 in supported_archs()
    assert not [o for o in option_list("sm_90a") if "fast" in o or "include" in o or o.startswith("-I")]


@pytest.mark.parametrize("missing", ["cuda.core", "cuda.bindings"])
def test_a_missing_compiler_is_named(missing: str, clean: Path) -> None:
    script = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from prism.runtime.compile import compile_cubin, MissingCompiler\n"
        "try: compile_cubin('', 'sm_90a')\n"
        "except MissingCompiler as error: print(error)"
    )
    root = Path(__file__).parent.parent.parent
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    assert "pip install" in done.stdout


HALF_MADE = """
import importlib, sys, time
globals().update(importlib.import_module("cuda.core.versioned").__dict__)  # as cuda-core's wheel: its __spec__ too
sys.half_made.set()
time.sleep(0.5)  # what the second thread would need to see it
class ProgramOptions:
    def __init__(self, **_): pass
class Program:
    code = b"code"
    def __init__(self, *_): pass
    def compile(self, *_, **__): return self
"""


def test_a_thread_does_not_see_cuda_core_half_made(tmp_path: Path) -> None:
    (tmp_path / "cuda" / "core" / "versioned").mkdir(parents=True)  # `cuda` itself is no package: two folders are one
    (tmp_path / "cuda" / "core" / "__init__.py").write_text(HALF_MADE)
    (tmp_path / "cuda" / "core" / "versioned" / "__init__.py").write_text("")
    script = (
        "import sys, threading\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from prism.runtime.compile import compile_cubin, require_target\n"
        "sys.half_made, done = threading.Event(), []\n"
        "require_target('sm_90a')\n"
        "threads = [threading.Thread(target=lambda: done.append(compile_cubin('', 'sm_90a').cubin)) for _ in range(2)]\n"
        "threads[0].start()\n"
        "assert sys.half_made.wait(30)\n"
        "threads[1].start()\n"
        "for each in threads: each.join()\n"
        "print(done)"
    )
    root = Path(__file__).parent.parent.parent
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "[b'code', b'code']", done.stderr


def test_all_of_prism_imports_cuda_core_in_one_place() -> None:
    root = Path(__file__).parent.parent.parent / "prism"
    direct = re.compile(r"^\s*(?:from|import) cuda\.core|^\s*from cuda import .*\bcore\b", re.MULTILINE)
    assert [str(p) for p in root.rglob("*.py") if direct.search(p.read_text(encoding="utf-8"))] == []


def test_importing_the_runtime_imports_no_device_library() -> None:
    root = Path(__file__).parent.parent.parent
    names = [f"prism.runtime.{p.stem}" for p in (root / "prism" / "runtime").glob("*.py") if p.stem != "__init__"]
    script = f"import sys, {', '.join(names)}; print([m for m in ('cuda', 'cupy', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "[]"


BINARY = Binary(b"\x7fELF machine code", "sm_90a", "13.5", 10, 0, 0, "")

# -- The order --------------------------------------------------------------------------------------------------------


def test_the_cache_is_asked_before_the_compiler(clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = code.machine_code(SOURCE, "sm_90a")
    assert code.machine_code(SOURCE, "sm_90a") is first
    monkeypatch.setattr(code, "_made", {})
    monkeypatch.setattr(code, "compile_cubin", lambda *_: pytest.fail("compiled again"))
    assert code.machine_code(SOURCE, "sm_90a") == first
    assert code.store().hits == 1


def test_artifacts_are_asked_before_the_cache(clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifacts.write([artifacts.Made(ENTRY, BINARY)], folder=clean / "shipped")
    find = artifacts.find
    monkeypatch.setattr(artifacts, "find", lambda source, arch: find(source, arch, folder=clean / "shipped"))

    def missing() -> str:
        raise MissingCompiler("none")

    monkeypatch.setattr(code, "nvrtc_build", missing)
    assert code.machine_code(SOURCE, "sm_90a") == BINARY.cubin, "artifacts need no compiler"
    with pytest.raises(MissingCompiler):
        code.machine_code(SOURCE, "sm_80")


def test_code_of_another_target_is_taken_where_it_runs(clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = replace(ENTRY, arch="sm_80"), replace(BINARY, arch="sm_80")
    artifacts.write([artifacts.Made(*plain)], folder=clean / "shipped")
    find = artifacts.find
    monkeypatch.setattr(artifacts, "find", lambda source, arch: find(source, arch, folder=clean / "shipped"))
    assert code.machine_code(SOURCE, "sm_89", alike=True) == BINARY.cubin
    assert code.machine_code(SOURCE, "sm_89") != BINARY.cubin, "who asks for a target gets that target"


def test_a_damaged_entry_is_compiled_again(clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = code.machine_code(SOURCE, "sm_90a")
    (entry,) = (clean / "cache" / "v1").iterdir()
    entry.write_bytes(entry.read_bytes()[:-1])
    monkeypatch.setattr(code, "_made", {})
    with pytest.warns(RuntimeWarning, match="compiled again"):
        assert code.machine_code(SOURCE, "sm_90a") == first
    monkeypatch.setattr(code, "_made", {})
    assert code.machine_code(SOURCE, "sm_90a") == first
    assert code.store().damaged == 1
