"""What all tests share: the GPU that may not be there, golden texts, and how long Hypothesis looks."""

import contextlib
import ctypes
import difflib
import functools
import gc
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.left import TimeLeft
from tests.rarely import is_of_check, thin_out
from tests.spent import KEY, LONGEST, account, lines, memory, pace, resident, spent

# Matrices are small here: NumPy's own threads spin, and save nothing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def keep_memory() -> None:
    """Let the C library, where it is glibc, keep what arrays leave for the next ones: that saves a twentieth of the time."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, size in ((-1, 1 << 30), (-2, 1 << 26), (-3, 1 << 30)):  # trim threshold, top pad, mmap threshold
            mallopt(parameter, size)


keep_memory()

TESTS = Path(__file__).parent
# What tests start, and pytest's other processes, find bytecode, also where the environment keeps Python from writing it: without
# it each of them compiles the compiler, for a second.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(TESTS.parent / ".pytest_cache" / "bytecode"))
# What the tests make lives long, or dies at once: looks for cycles among all of it take a tenth of the time. So there is one only
# when a process has grown (`_collect`), or after so many new objects.
gc.set_threshold(100_000_000, 100, 100)
GROWTH = max(600 << 20, 3 * memory() // (4 * int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))))
"""Bytes by which a process grows before anybody looks for cycles, among what is new: what has lasted is looked at no more. Such a
look takes 4 to 9 s for each 600 MB of growth, most of which lasts: so there is none where three quarters of a process's share
of the memory are enough without."""

from tests.machine_code import forget_old, keep_all  # noqa: E402 - it imports NumPy

keep_all()  # before what tests import has the compiler's functions


# -- Tests that need a GPU: those in tests/gpu, and those marked `gpu` ------------------------------------------------


@functools.cache
def why_no_gpu() -> str | None:
    """The reason why no test can use an NVIDIA GPU here, or None. Where a GPU is there but CuPy isn't, tests fail."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver on this machine"
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return "no NVIDIA GPU on this machine"
    return None


def leaves_gpu_out(config: pytest.Config) -> bool:
    """Whether a run of all tests leaves out tests/gpu, as no GPU is there: each process would read and skip thousands."""
    places = [Path(arg.split("::")[0]).resolve() for arg in config.args]
    asked = any(place.is_relative_to(TESTS / "gpu") for place in places)
    return not asked and any((TESTS / "gpu").is_relative_to(place) for place in places) and why_no_gpu() is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if collection_path == TESTS / "gpu" and leaves_gpu_out(config) else None


@pytest.hookimpl(trylast=True)  # behind pytest's own reporter
def pytest_configure(config: pytest.Config) -> None:
    """On a terminal, say how long a long run still takes."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.isatty and "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(TimeLeft(reporter))


def pytest_collection_finish() -> None:
    """Write no bytecode of what tests write and import: a file that is written again in the same second may be as long."""
    sys.dont_write_bytecode = True
    if "hypothesis" in sys.modules:
        _one_example()


def _one_example() -> None:
    """With its first example Hypothesis looks through all objects, for who refers to its random numbers: now these are few."""
    from hypothesis import given, strategies

    given(strategies.none())(lambda _: None)()


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gpu = f"{TESTS / 'gpu'}{os.sep}"
    for item in items:
        if str(item.path).startswith(gpu):
            item.add_marker("gpu")
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.xdist_group("gpu"))  # one process: they share the device's memory and its clock
            if reason := why_no_gpu():
                item.add_marker(pytest.mark.skip(reason=reason))
        if is_of_check(item.nodeid):
            item.add_marker("check")
    thin_out(items)


BEGUN = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Warn of a test that takes long."""
    item.stash[BEGUN] = spent()
    result = yield
    _collect()
    took = spent() - item.stash[BEGUN]
    if took > LONGEST and not item.get_closest_marker("fuzz"):
        item.warn(pytest.PytestWarning(f"{item.nodeid} took {took:.0f} s of the processor: {LONGEST} are the most"))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, object, object]:
    """Note what the test took; its last report has it, also where another process runs it."""
    if call.when == "teardown":
        item.user_properties.append((KEY, round(spent() - item.stash[BEGUN], 3)))
    return (yield)


_size = [resident()]


def _collect() -> None:
    """Look for cycles where the process has grown since it was done last."""
    if resident() > _size[0] + GROWTH:
        gc.collect()
        gc.freeze()
        _size[0] = resident()


@pytest.fixture
def alone() -> Generator[None, None, None]:
    """Only what is made from here on is looked at by the collector: all that the tests have left takes it ten seconds."""
    gc.freeze()
    yield


@pytest.hookimpl(tryfirst=True)  # before pytest's own
def pytest_unconfigure() -> None:
    """Let the process end: pytest looks for cycles among all that the tests have left, twice, and that takes half a minute."""
    gc.freeze()
    forget_old()


@pytest.hookimpl(optionalhook=True)  # pytest-xdist may be absent
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Where no GPU is shared, give each process tests that stand together: they use the same programs, made once a process.

    `loadgroup` deals single tests in turn, so that each process checks and compiles what the tests of each file share.
    """
    if config.getoption("dist") != "loadgroup" or why_no_gpu() is None:
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ended = [one for some in terminalreporter.stats.values() for one in some if getattr(one, "when", "") == "teardown"]
    if len(ended) > 100:
        terminalreporter.section("time", sep="=")
        for line in lines(*account(ended)):
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"One process counts to a million in {pace():.0f} ms here.")
    skipped = [
        report for report in terminalreporter.stats.get("skipped", []) if "gpu" in getattr(report, "keywords", {})
    ]
    left_out = " and none of tests/gpu" if leaves_gpu_out(terminalreporter.config) else ""
    if skipped or left_out:
        terminalreporter.section("GPU", sep="=", yellow=True, bold=True)
        terminalreporter.write_line(
            f"{len(skipped)} tests that need a GPU{left_out} did NOT run: {why_no_gpu() or 'see above'}."
        )


# -- Golden texts -----------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the texts that golden tests compare with")


def golden_path(node: pytest.Item, suffix: str) -> Path:
    """`golden/<module>/<test><suffix>` beside the test's file; `suffix` tells several texts of one test apart."""
    name = ".".join(node.nodeid.split("::")[1:])
    return node.path.parent / "golden" / node.path.stem / (quote(name, safe="[]=,+ ") + suffix)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compare a text with the file that is named as the test is: `golden(text)`, `golden(cuda, ".cu")`.

    A missing file is a failure. `pytest --update-golden` writes those that are missing or differ: review the diff.
    """
    seen: set[Path] = set()

    def compare(actual: str, suffix: str = ".txt") -> None:
        path = golden_path(request.node, suffix)
        assert path not in seen, f"this test compares two texts with {path.name}: give each a suffix of its own"
        seen.add(path)
        expected = path.read_text(encoding="utf-8") if path.exists() else None
        if actual == expected:
            return
        if request.config.getoption("update_golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8", newline="\n")
            return
        where = path.relative_to(request.config.rootpath)
        if expected is None:
            pytest.fail(f"{where} is missing; if this is right, write it: --update-golden\n{actual}", pytrace=False)
        diff = difflib.unified_diff(expected.splitlines(), actual.splitlines(), str(where), "this run", lineterm="")
        pytest.fail("\n".join([*diff, "If this run is right: pytest --update-golden"]), pytrace=False)

    return compare


# -- Generated programs: the same ones on every run, except in `make fuzz` --------------------------------------------

try:
    from hypothesis import settings
except ImportError:  # a machine with nothing but what is on it: tests that use Hypothesis say so themselves
    pass
else:
    settings.register_profile("repeatable", derandomize=True, deadline=None)
    settings.register_profile(
        "fuzz", max_examples=int(os.environ.get("FUZZ_EXAMPLES", "10000")), deadline=None, print_blob=True
    )
    settings.load_profile("repeatable")
