"""The user's cache among processes: that damage its entries, that are killed."""

import hashlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from prism.runtime.store import Store

KEYS = [hashlib.sha256(b"%d" % i).hexdigest() for i in range(20)]
ROOT = Path(__file__).parent.parent.parent


def payload_of(key: str) -> bytes:
    return random.Random(key).randbytes(3000)


def path_of(store: Store, key: str) -> Path:
    assert store.directory is not None
    return store.directory / f"{key}.prismbin"


COUNTS = 5  # of a worker: operations, hits, misses, wrong payloads, entries that could not be written
PROCESSES = 8


def _hammer(root: str, seed: int, operations: int, counts: object, place: int) -> None:
    """Get, put and damage entries at random, and count; the counts are in memory that outlives the process."""
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    store = Store(Path(root), max_bytes=45_000)  # smaller than all entries: eviction takes part
    for _ in range(operations):
        key = rng.choice(KEYS)
        found = store.get(key)
        if found is None:
            counts[place + 2] += 1  # type: ignore[index]
            store.put(key, payload_of(key), {"n": 1})
        else:
            counts[place + 1] += 1  # type: ignore[index]
            counts[place + 3] += found.payload != payload_of(key)  # type: ignore[index]
        if rng.random() < 0.1:
            _injure(path_of(store, rng.choice(KEYS)), rng)
        counts[place] += 1  # type: ignore[index]
        counts[place + 4] = store.unwritten  # type: ignore[index]


def _injure(path: Path, rng: random.Random) -> None:
    try:
        with path.open("r+b") as file:
            size = os.fstat(file.fileno()).st_size
            position = rng.randrange(size + 1)
            if rng.random() < 0.5:
                file.truncate(position)
            else:
                file.seek(position)
                file.write(bytes([rng.randrange(256)]))
    except OSError:
        pass


def hammered(root: Path, operations: int, kills: int) -> list[int]:
    """Let eight processes do so many operations, while some are killed and replaced; return the sums of all counts."""
    context = multiprocessing.get_context("fork")
    counts = context.Array("q", COUNTS * (PROCESSES + kills), lock=False)
    rng = random.Random(kills)
    each = -(-operations // PROCESSES)
    started = 0

    def start() -> multiprocessing.process.BaseProcess:
        nonlocal started
        worker = context.Process(target=_hammer, args=(str(root), started, each, counts, COUNTS * started))
        worker.start()
        started += 1
        return worker

    workers = [start() for _ in range(PROCESSES)]
    for number in range(kills):
        while sum(counts[::COUNTS]) < operations * (number + 1) // (kills + 1):
            time.sleep(0.001)
        running = [worker for worker in workers if worker.is_alive()]
        victim = rng.choice(running or workers)
        victim.kill()
        victim.join()
        workers[workers.index(victim)] = start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    return [sum(counts[k::COUNTS]) for k in range(COUNTS)]


def check_outcome(root: Path, operations: int, kills: int, counts: list[int]) -> None:
    """Nothing wrong was ever given; of the killed no more than temporary files are left, and those go when they are stale."""
    done, hits, misses, wrong, unwritten = counts
    assert done >= operations
    assert wrong == 0 and unwritten == 0
    assert hits > operations / 10 and misses > operations / 50, "the test must meet both"
    left = [path for path in (root / "v1").iterdir() if path.suffix == ".tmp"]
    assert len(left) <= kills
    for path in left:
        os.utime(path, (1e9, 1e9))
    store = Store(root)
    assert store.put(KEYS[0], payload_of(KEYS[0]), {})
    assert not [path for path in (root / "v1").iterdir() if path.suffix == ".tmp"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key in KEYS:
            found = store.get(key)
            assert found is None or found.payload == payload_of(key)


@pytest.mark.slow
def test_eight_processes_that_damage_each_others_entries_and_are_killed(tmp_path: Path) -> None:
    check_outcome(tmp_path, 4000, 10, hammered(tmp_path, 4000, 10))


@pytest.mark.fuzz
def test_a_hundred_thousand_operations(tmp_path: Path) -> None:
    check_outcome(tmp_path, 100_000, 200, hammered(tmp_path, 100_000, 200))


WRITER = """
import os, sys, pathlib
from prism.runtime.store import Store
store = Store(pathlib.Path(sys.argv[1]))
real = os.write
def slow(descriptor, data):
    n = real(descriptor, bytes(data)[:100])
    print("writing", flush=True)
    import time; time.sleep(60)
    return n
os.write = slow
store.put(sys.argv[2], bytes(5000), {})
"""


@pytest.mark.slow
def test_killed_in_the_middle_of_a_write(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(KEYS[0], b"before", {})
    command = [sys.executable, "-c", WRITER, str(tmp_path), KEYS[0]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        writer.send_signal(signal.SIGKILL)
    found = store.get(KEYS[0])
    assert found is not None and found.payload == b"before" and store.damaged == 0
    leftover = [p for p in (tmp_path / "v1").iterdir() if p.suffix == ".tmp"]
    assert len(leftover) == 1
    past = time.time() - 7200
    os.utime(leftover[0], (past, past))
    store.put(KEYS[1], b"after", {})
    assert not leftover[0].exists()
