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


def _hammer(root: str, seed: int, operations: int, results: object) -> None:
    """Get, put and damage entries at random; report hits, misses and wrong payloads."""
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    store = Store(Path(root), max_bytes=45_000)  # smaller than all entries: eviction takes part
    hits = misses = wrong = 0
    for _ in range(operations):
        key = rng.choice(KEYS)
        found = store.get(key)
        if found is None:
            misses += 1
            store.put(key, payload_of(key), {"n": 1})
        else:
            hits += 1
            wrong += found.payload != payload_of(key)
        if rng.random() < 0.1:
            _injure(path_of(store, rng.choice(KEYS)), rng)
    results.put((hits, misses, wrong, store.unwritten))  # type: ignore[attr-defined]


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


@pytest.mark.slow
def test_eight_processes_that_damage_each_others_entries(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn" if sys.platform == "darwin" else "fork")
    results = context.SimpleQueue()
    workers = [context.Process(target=_hammer, args=(str(tmp_path), seed, 500, results)) for seed in range(8)]
    for worker in workers:
        worker.start()
    counts = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    hits, misses, wrong, unwritten = map(sum, zip(*counts, strict=True))
    assert wrong == 0
    assert unwritten == 0
    assert hits > 500 and misses > 100, "the test must meet both"
    assert not [p for p in (tmp_path / "v1").iterdir() if p.suffix == ".tmp"]


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
