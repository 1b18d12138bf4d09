"""The `prism` command: what each part prints, its JSON, its exit codes, and what it says of what is wrong.

Tests of prism: __init__, __main__, cli, compiler; prism/command: info, kernels, machine, output, sources.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import prism
from prism.cli import EXAMPLES, main, parser
from prism.command.machine import dashboard
from prism.lang import skeleton
from prism.lang.certify import ACCEPTED, REJECTED, Finding, check_text
from prism.lang.skeleton import certificate_of
from prism.runtime.compile import MissingCompiler
from tests.command import programs

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs.py"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Run a command line in this process: `code, out, err = command("check FILE:scale")`; FILE is programs.py."""
    monkeypatch.setenv("PRISM_CACHE_DIR", str(tmp_path / "cache"))

    def run(line: str) -> tuple[int, str, str]:
        code = main(shlex.split(line.replace("FILE", str(PROGRAMS))))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_check(command) -> None:
    code, out, err = command("check FILE:reversed_blocks")
    assert (code, err) == (0, "")
    line = kernel_line("reversed_blocks")
    assert out == (
        "reversed_blocks: 1 functions checked, 1 barriers inferred, 256 bytes of shared memory\n"
        "3 proved, 0 not proved, 0 assumed, 1 believed\n"
        "believed:\n"
        f"  `reversed_blocks`, line {line}: parameters `x`, `y`: taken to lie apart, which each launch from Python looks at\n"
        "certificate: accepted, given facts: 2 proved\n"
    )


def test_a_certificate(command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text that a checker reads, behind the report; where that rejects it, a strict check says so by its status."""
    plain = command("check FILE:reversed_blocks")[1]
    code, out, _ = command("check FILE:reversed_blocks --certificate")
    assert code == 0 and out.startswith(plain)
    assert check_text(out.removeprefix(plain)).status == ACCEPTED
    found = json.loads(command("check FILE:reversed_blocks --certificate --json")[1])["certificate"]
    assert plain + found["text"] == out and found["sha256"] == hashlib.sha256(found["text"].encode()).hexdigest()

    def rejected(program):
        return replace(certificate_of(program), finding=Finding(REJECTED, "race", "nothing orders this and that"))

    monkeypatch.setattr(skeleton, "certificate_of", rejected)
    code, out, _ = command("check FILE:reversed_blocks")
    assert code == 0 and out.endswith("certificate: rejected: nothing orders this and that\n")
    assert command("check FILE:reversed_blocks --strict")[0] == 4


def kernel_line(name: str) -> int:
    """Return the line of `programs.py` with a kernel's `def`."""
    return next(n for n, line in enumerate(PROGRAMS.read_text().splitlines(), 1) if line.startswith(f"def {name}("))


def test_a_strict_check(command) -> None:
    """What is not proved is printed anyway; with `--strict` it decides the exit status."""
    assert command("check FILE:reversed_blocks --strict")[0] == 0
    code, out, _ = command("check FILE:unbounded")
    assert code == 0 and "2 proved, 1 not proved, 0 assumed, 1 believed\nnot proved:\n" in out
    assert "partition `y_block`: a block may have more than 64 threads" in out
    for line in ("check FILE:unbounded --strict", "check FILE:unbounded --strict --json"):
        assert command(line)[0] == 4
    runs = "check FILE:unbounded --schedules 1 -a x=float32[64],y=float32[64] --blocks 1 --threads 64"
    assert (command(runs)[0], command(f"{runs} --strict")[0]) == (0, 4)


def test_a_broken_rule_is_exit_1_with_the_message(command) -> None:
    code, out, err = command("check FILE:wrong")
    assert (code, out) == (1, "") and err.startswith("error[ptr-write]: ") and "programs.py" in err
    code, out, err = command("check --json FILE:wrong")
    (error,) = json.loads(out)["errors"]
    assert (code, err, error["code"]) == (1, "", "ptr-write")
    assert PROGRAMS.read_text().splitlines()[error["line"] - 1][error["column"] - 1 :] == "y[0] = id()"
    assert error["help"].startswith("open `with partition")


def test_json_of_a_check(command) -> None:
    code, out, _ = command("check --json FILE:reversed_blocks")
    assert code == 0 and json.loads(out) == {
        "kernel": "reversed_blocks",
        "shared_bytes": 256,
        "functions": 1,
        "barriers": {"block": 1},
        "waits": 0,
        "verdicts": {
            "proved": 3,
            "checked": [],
            "not proved": [],
            "assumed": [],
            "believed": [
                {
                    "kind": "alias",
                    "function": "reversed_blocks",
                    "line": kernel_line("reversed_blocks"),
                    "what": "parameters `x`, `y`",
                    "reason": "taken to lie apart, which each launch from Python looks at",
                }
            ],
        },
        "certificate": {
            "status": "accepted",
            "threads": [64],
            "facts": {"proved": 2},
            "sha256": hashlib.sha256(str(certificate_of(prism.check(programs.reversed_blocks))).encode()).hexdigest(),
        },
    }


def test_json_of_a_run_under_schedules(command) -> None:
    code, out, _ = command("check --json FILE:scale --schedules 3 -a x=float32[64],y=float32[64],n=64")
    found = json.loads(out)
    assert code == 0 and found["kernel"] == "scale" and found["findings"] == []
    code, out, _ = command("check --json FILE:scale --schedules 1 -a x=float32[4],y=float32[64],n=64")
    assert code == 1 and len(json.loads(out)["findings"]) == 1


def test_json_of_an_explanation(command) -> None:
    code, out, _ = command("explain --json FILE:reversed_blocks")
    (chapter,) = json.loads(out)["chapters"]
    barriers = [entry for entry in chapter["entries"] if entry["kind"].endswith("barrier")]
    assert code == 0 and chapter["name"] == "reversed_blocks" and len(barriers) == 1
    assert barriers[0]["first"]["object"] == "s" and barriers[0]["second"]["object"] == "s"


def test_emit(command, tmp_path: Path) -> None:
    code, out, _ = command("emit FILE:scale")
    assert code == 0 and 'extern "C"' in out and "prism_scale(" in out and "#include" not in out
    assert command(f"emit FILE:scale -o {tmp_path / 'scale.cu'}")[:2] == (0, "")
    assert (tmp_path / "scale.cu").read_text() == out
    code, ptx, _ = command("emit FILE:scale --ptx --arch sm_80")
    assert code == 0 and ".target sm_80" in ptx and ".entry prism_scale" in ptx
    code, text, _ = command("emit FILE:scale --json")
    found = json.loads(text)
    assert found["source"] == out and found["name"] == "prism_scale" and "launch_scale" in found["header"]


def test_a_device_function_has_text_but_no_launch(command) -> None:
    assert command("emit FILE:plus")[0] == 0
    assert command("emit FILE:tile --ptx --arch sm_80")[0] == 1 == command("emit FILE:tile --header --arch sm_80")[0]
    for line in ("emit FILE:plus --header", "emit FILE:plus --ptx", "export FILE:plus"):
        code, _, err = command(line)
        assert code == 2 and "`plus` is a device function" in err


def test_modules_and_files_name_the_same_kernel(command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    by_file = command(f"emit {ROOT / 'kernels/scan/small.py'}:scan_block")
    assert by_file == command("emit prism.kernels.scan.small:scan_block") and by_file[0] == 0
    (tmp_path / "mine_for_a_test.py").write_text(PROGRAMS.read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert command("check mine_for_a_test:scale")[0] == 0, "a module of the current directory"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("check", "the following arguments are required: FILE:NAME; `prism check --help` says how it is typed"),
        ("chekc FILE:scale", "invalid choice: 'chekc'"),
        ("check FILE:scale --no-such-option", "unrecognized arguments: --no-such-option"),
        ("check FILE:scale --schedules many", "argument --schedules: invalid int value: 'many'"),
        ("check FILE:scale --schedules 1 --blocks 0", "takes 1 to 2147483647 blocks, not 0"),
        ("check FILE:scale --schedules 1 -a x=[99999999999999]:0", "not enough memory"),
        (f"check {ROOT}/pyproject.toml:scale", "pyproject.toml is no file of Python's"),
        (f"build --arch sm_90a -o {ROOT}/pyproject.toml", "can't write the artifacts"),
        ("check scale", "FILE:NAME or module:name"),
        ("check nowhere.py:scale", "no file nowhere.py"),
        ("check nowhere.at.all:scale", "can't be imported: ModuleNotFoundError"),
        ("check FILE:missing", "has no kernel 'missing'; it has: scale, "),
        ("check FILE:scale -t T", "NAME=VALUE"),
        ("check FILE:scale --schedules 0", "prism: "),
        ("check FILE:scale -a nothing=3", "`--arguments` is of a run: pass `--schedules N`"),
        ("check FILE:scale --seed 3", "`--seed` is of a run: pass `--schedules N`"),
        ("emit FILE:scale --ptx --arch sm_999", "it knows sm_"),
        ("export FILE:scale --arch 90", "an architecture is written as in `sm_90a`"),
        ("explain FILE:scale --arch sm_1", "an architecture is written"),
        ("emit FILE:scale --arch banana", "an architecture is written"),
        ("emit FILE:scale --arch sm_12", "the oldest architecture that kernels are for is `sm_75`"),
        ("build --arch sm_999", "it knows sm_"),
        ("build --arch sm_90a --jobs 0", "--jobs must be >= 1"),
        ("bench nothing_like_it", "no benchmark 'nothing_like_it'"),
        ("check FILE:scale -o /dev/null/x", "can't write /dev/null/x"),
        ("export FILE:scale -o /dev/null/x", "can't write into /dev/null/x"),
    ],
)
def test_a_command_that_is_wrong_is_exit_2_with_a_line(command, line: str, says: str) -> None:
    code, out, err = command(line)
    assert code == 2 and out == "" and err.startswith("prism: ") and says in err and err.count("\n") == 1
    code, out, err = command(f"{line} --json")
    assert code == 2 and err == "" and says.removeprefix("prism: ") in json.loads(out)["errors"][0]["message"]


def test_without_a_command_there_is_the_help(command) -> None:
    code, out, err = command("")
    assert code == 2 and out == "" and "FILE:NAME" in err and all(name in err for name in ("check", "explain", "bench"))


def test_a_file_that_raises_is_exit_2(command, tmp_path: Path) -> None:
    for text, says in (
        ("x = 1 / 0", "ZeroDivisionError: division by zero (line 1)"),
        ("def f():\n    return unknown\n\n\nf()", "NameError: name 'unknown' is not defined (line 2)"),
        ("def (", "SyntaxError"),
        ("import no_such_thing", "no_such_thing"),
        ("raise SystemExit(7)", "SystemExit: 7 (line 1)"),
    ):
        path = tmp_path / "raises.py"
        path.write_text(text)
        code, _, err = command(f"check {path}:scale")
        assert code == 2 and "raises.py can't be imported" in err and says in err


def test_without_a_compiler(command, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> tuple[int, ...]:
        raise MissingCompiler("compiling kernels needs NVRTC: pip install it")

    monkeypatch.setattr("prism.runtime.compile.supported_archs", missing)
    monkeypatch.setattr("prism.runtime.compile.nvrtc_version", missing)
    assert command("check FILE:scale")[0] == 0 and command("emit FILE:scale")[0] == 0
    assert command("explain FILE:scale")[0] == 0
    code, _, err = command("export FILE:scale")
    assert code == 2 and "pip install" in err
    code, out, _ = command("info")
    assert code == 0 and "compiler   none" in out and "=> no kernel can be compiled here" in out


def test_export(command, tmp_path: Path) -> None:
    code, out, _ = command(f"export FILE:scale --arch sm_80 -o {tmp_path / 'out'}")
    assert code == 0 and "scale-sm_80.cubin" in out
    found = json.loads((tmp_path / "out" / "scale-sm_80.json").read_text())
    assert (tmp_path / "out" / found["cubin"]).read_bytes()[:4] == b"\x7fELF"
    assert found["format"] == "prism-export-1" and found["name"] == "prism_scale" and found["thread_multiple"] == 32
    assert [(p["name"], p["offset"], p["size"]) for p in found["parameters"]] == [
        ("a", 0, 4), ("x", 8, 8), ("y", 16, 8), ("n", 24, 4),
    ]  # fmt: skip
    code, out, _ = command(f"export FILE:twice --json -o {tmp_path}")
    assert code == 0 and json.loads(out)["parameters"][-1]["name"] == "px_grid", "what blocks meet at comes last"
    code, out, err = command(f"export FILE:tile --arch sm_80 -o {tmp_path}")
    assert code == 1 and err.startswith("error[arch]")


def test_info(command) -> None:
    code, out, _ = command("info")
    assert code == 0 and out.startswith("prism      ") and "\ncache      " in out
    found = json.loads(command("info --json")[1])
    assert set(found) == {"prism", "packages", "compiler", "gpus", "artifacts", "cache", "advice"}
    assert found["cache"]["entries"] == 0 and found["cache"]["trouble"] is None
    assert found["compiler"]["nvrtc"] is None or "sm_90" in found["compiler"]["architectures"]


def test_info_says_what_is_wrong_with_the_cache(command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for root, trouble in (
        ("relative", "PRISM_CACHE_DIR is 'relative', which is no absolute path"),
        (str(tmp_path / "file"), ""),
    ):
        monkeypatch.setenv("PRISM_CACHE_DIR", root)
        found = json.loads(command("info --json")[1])
        assert trouble in found["cache"]["trouble"]
        assert any("PRISM_CACHE_DIR" in line for line in found["advice"])


def test_build_writes_json_and_the_folder(command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from prism.lib import artifacts
    from tests.lib.test_build import small

    build = artifacts.build
    monkeypatch.setattr(artifacts, "build", lambda *archs, **options: build(*archs, wanted=small, **options))
    code, out, err = command(f"build --arch sm_80 --arch sm_90a -j 1 -o {tmp_path / 'made'}")
    assert code == 0 and "3 kernels" in out and "sm_80: 1 kernels, 1 need another architecture" in out
    assert "compile: 3 of 3" in err
    code, out, err = command(f"build --json --arch sm_80 --arch sm_90a -o {tmp_path / 'made'}")
    assert code == 0 and err == "" and json.loads(out)["kept"] == 3


def test_bench_lists_and_runs(command, tmp_path: Path) -> None:
    code, out, _ = command("bench")
    assert code == 0 and "measure " in out and "hgemm_candidates" not in out, "those that are run"
    text = '"""Says so."""\nimport sys, json\n'
    text += 'if __name__ == "__main__":\n    json.dump(sys.argv[1:-2], open(sys.argv[-1], "w"))\n'
    (tmp_path / "said.py").write_text(text)
    code, out, _ = command(f"bench said --folder {tmp_path} --results {tmp_path / 'r'} -- --sizes 20")
    assert code == 0 and out == "said: done\n"
    assert json.loads((tmp_path / "r" / "said.json").read_text()) == ["--sizes", "20"]
    assert {"gpu", "cpu", "nvrtc"} <= json.loads((tmp_path / "r" / "machine.json").read_text()).keys()
    (tmp_path / "said.py").write_text('"""Fails."""\nif __name__ == "__main__":\n    raise SystemExit(7)\n')
    code, out, _ = command(f"bench said --folder {tmp_path}")
    assert code == 1 and out == "said: exit 7\n"


def test_bench_run_runs_the_dashboards_scripts(command, tmp_path: Path) -> None:
    for name in dashboard():
        assert (ROOT / "asv_bench" / f"{name}.py").is_file()
        text = 'import sys\nif __name__ == "__main__":\n    open(sys.argv[-1], "w").write("{}")\n'
        (tmp_path / f"{name}.py").write_text(f'"""Says so."""\n{text}')
    code, out, _ = command(f"bench run --folder {tmp_path}")
    assert code == 0 and out == "".join(f"{name}: done\n" for name in dashboard())
    assert {path.stem for path in (tmp_path / "raw").iterdir()} == {*dashboard(), "machine"}


def test_every_command_has_help_and_a_section_in_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "command_line.md").read_text()
    (commands,) = (
        action
        for action in parser()._actions
        if action.dest == "command" or hasattr(action, "choices") and action.choices
    )
    for name, command in commands.choices.items():
        assert f"## prism {name}" in page
        text = command.format_help()
        for action in command._actions:
            assert action.help, f"`prism {name} {action.option_strings or action.dest}` has no help"
            for option in action.option_strings:
                if option.startswith("--") and option != "--help":
                    assert f"`{option}`" in page or f"{option} " in page, (
                        f"docs/command_line.md lacks `prism {name} {option}`"
                    )
        assert len(text.splitlines()) > 5


def test_examples_of_the_help_are_commands(command) -> None:
    found = [line.strip() for text in EXAMPLES.values() for line in text.splitlines()]
    lines = [shlex.split(re.split("  +", line)[0]) for line in found if line.startswith("prism ")]
    assert {words[1] for words in lines} == set(EXAMPLES) and len(lines) > 15
    for words in lines:
        options = parser().parse_args(words[1 : words.index("--")] if "--" in words else words[1:])
        if not getattr(options, "kernel", "my.py").startswith("my.py"):  # a file of the reader's own
            assert command(shlex.join(words[1:]))[0] == 0, words


def test_what_a_file_or_a_kernel_prints_is_not_in_the_output(command, tmp_path: Path) -> None:
    path = tmp_path / "says.py"
    text = PROGRAMS.read_text().replace("from prism.lang import", "print('hello')\nfrom prism.lang import", 1)
    path.write_text(text)
    code, out, err = command(f"check {path}:scale --json")
    assert code == 0 and json.loads(out)["kernel"] == "scale" and "hello" in err
    code, out, err = command(f"emit {path}:scale")
    assert code == 0 and "hello" not in out


def test_an_interrupted_command_is_exit_130(command, tmp_path: Path) -> None:
    path = tmp_path / "stops.py"
    path.write_text("raise KeyboardInterrupt")
    assert command(f"check {path}:scale") == (130, "", "prism: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("info > /dev/full", "prism: can't write the output: No space left on device\n"),
        ("check nowhere.py:f --json > /dev/full", "prism: can't write the output: No space left on device\n"),
        ("info >&-", "prism: can't write the output: it is closed\n"),
        ("check here:f", "prism: the current directory is gone: No such file or directory\n"),
    ],
)
def test_an_output_that_cannot_be_written_is_exit_2(tmp_path: Path, line: str, says: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    leave = f"cd {gone}; rmdir {gone}; " if "here" in line else ""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", f"{leave}{sys.executable} -m prism {line}"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 2 and done.stderr == says and done.stdout == ""


def test_a_path_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    path = tmp_path / "kernü 1.py"
    path.write_text(PROGRAMS.read_text())
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    line = [sys.executable, "-m", "prism", "explain", f"{path}:scale"]
    done = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and "kern\\xfc 1.py" in done.stdout


def test_what_reads_the_output_may_stop(tmp_path: Path) -> None:
    line = f"{sys.executable} -m prism emit prism.kernels.scan.small:scan_once | head -1"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0 and done.stderr == "" and done.stdout.count("\n") == 1
