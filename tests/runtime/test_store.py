"""The user's cache: whatever happens to the disk, it gives what was put, or nothing."""

import ast
import errno
import hashlib
import os
import random
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from prism.runtime import store as module
from prism.runtime import store as store_module
from prism.runtime.store import Store, cache_key, default_root

KEYS = [hashlib.sha256(b"%d" % i).hexdigest() for i in range(20)]
ROOT = Path(__file__).parent.parent.parent


def payload_of(key: str) -> bytes:
    return random.Random(key).randbytes(3000)


def path_of(store: Store, key: str) -> Path:
    assert store.directory is not None
    return store.directory / f"{key}.prismbin"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


def expect_damage(store: Store, key: str) -> None:
    """A miss with a warning, which a new entry overwrites."""
    with pytest.warns(RuntimeWarning, match="can't use"):
        assert store.get(key) is None
    assert store.damaged == 1
    assert store.put(key, payload_of(key), {})
    found = store.get(key)
    assert found is not None and found.payload == payload_of(key)


def test_gives_back_what_was_put(store: Store) -> None:
    assert store.get(KEYS[0]) is None
    assert store.put(KEYS[0], b"code", {"registers": 12})
    found = Store(store.root).get(KEYS[0])
    assert found is not None and found.payload == b"code" and found.metadata["registers"] == 12
    assert store.get(KEYS[1]) is None
    assert (store.hits, store.misses, store.damaged) == (0, 2, 0)


def test_nobody_else_can_read_or_write(store: Store) -> None:
    store.put(KEYS[0], b"code", {})
    assert store.directory is not None
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(path_of(store, KEYS[0]).stat().st_mode) == 0o600


def test_every_truncation_and_bit_flip_is_a_miss(store: Store) -> None:
    assert store.put(KEYS[0], b"some code", {"a": 1})
    path = path_of(store, KEYS[0])
    good = path.read_bytes()
    bad = [good[:n] for n in range(len(good))] + [good + b"x"]
    bad += [good[:i] + bytes([good[i] ^ 1 << bit]) + good[i + 1 :] for i in range(len(good)) for bit in range(8)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, data in enumerate(bad):
            path.write_bytes(data)
            assert store.get(KEYS[0]) is None, f"variant {number} of {len(bad)}, {data!r} for {good!r}"
    path.write_bytes(good)
    assert store.get(KEYS[0]) is not None


def test_damage_warns_once(store: Store) -> None:
    store.put(KEYS[0], b"code", {})
    path_of(store, KEYS[0]).write_bytes(b"")
    with pytest.warns(RuntimeWarning):
        store.get(KEYS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.get(KEYS[0]) is None


def test_an_entry_under_another_name_is_damage(store: Store) -> None:
    store.put(KEYS[0], b"code", {})
    os.rename(path_of(store, KEYS[0]), path_of(store, KEYS[1]))
    expect_damage(store, KEYS[1])


def test_metadata_in_thousands_of_brackets_is_damage(store: Store) -> None:
    """Python's parser of JSON ends in a RecursionError."""
    store.put(KEYS[0], b"code", {})
    metadata = b"[" * 20_000 + b"]" * 20_000
    body = metadata + b"code"
    head = store_module._HEADER.pack(
        store_module._MAGIC, store_module.FORMAT, len(metadata), 4, hashlib.sha256(body).digest()
    )
    path_of(store, KEYS[0]).write_bytes(head + body)
    expect_damage(store, KEYS[0])


def test_a_symlink_is_not_followed(store: Store, tmp_path: Path) -> None:
    store.put(KEYS[0], b"code", {})
    os.rename(path_of(store, KEYS[0]), tmp_path / "elsewhere")
    path_of(store, KEYS[0]).symlink_to(tmp_path / "elsewhere")
    planted = (tmp_path / "elsewhere").read_bytes()
    expect_damage(store, KEYS[0])
    assert (tmp_path / "elsewhere").read_bytes() == planted


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_can_write_is_not_read(store: Store, mode: int) -> None:
    store.put(KEYS[0], b"code", {})
    path_of(store, KEYS[0]).chmod(mode)
    expect_damage(store, KEYS[0])


def test_a_file_of_another_owner_is_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(KEYS[0], b"code", {})
    monkeypatch.setattr(os, "fstat", lambda descriptor, real=os.fstat: _owned(real(descriptor), 4242))
    with pytest.warns(RuntimeWarning, match="another user"):
        assert store.get(KEYS[0]) is None


def _owned(facts: os.stat_result, uid: int) -> os.stat_result:
    return os.stat_result((*facts[:4], uid, *facts[5:10]))


@pytest.mark.parametrize("make", [lambda p: os.mkfifo(p, 0o600), lambda p: p.mkdir(mode=0o700)], ids=["fifo", "folder"])
def test_what_is_no_file_is_a_miss_and_does_not_block(store: Store, make: object) -> None:
    store.put(KEYS[1], b"code", {})
    make(path_of(store, KEYS[0]))  # type: ignore[operator]
    with pytest.warns(RuntimeWarning):
        assert store.get(KEYS[0]) is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store.put(KEYS[0], b"code", {})
    found = store.get(KEYS[0])
    assert found is not None and found.payload == b"code"


def test_a_directory_that_others_can_write_is_not_used(store: Store) -> None:
    store.put(KEYS[0], b"code", {})
    assert store.directory is not None
    store.directory.chmod(0o770)
    with pytest.warns(RuntimeWarning, match="may be written by others"):
        assert store.get(KEYS[0]) is None
    with pytest.warns(RuntimeWarning, match="in memory"):
        assert not store.put(KEYS[0], b"other", {})
    found = store.get(KEYS[0])
    assert found is not None and found.payload == b"other"


@pytest.mark.parametrize(
    ("function", "error"),
    [("write", errno.ENOSPC), ("fsync", errno.ENOSPC), ("replace", errno.EBUSY), ("open", errno.EROFS)],
)
def test_what_cannot_be_written_stays_in_memory(
    store: Store, monkeypatch: pytest.MonkeyPatch, function: str, error: int
) -> None:
    store.put(KEYS[1], b"code", {})

    def fail(*_: object, **__: object) -> None:
        raise OSError(error, os.strerror(error))

    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.warns(RuntimeWarning, match="in memory"):
            assert not store.put(KEYS[0], b"code", {"a": 1})
    found = store.get(KEYS[0])
    assert found is not None and found.payload == b"code" and store.unwritten == 1
    assert store.directory is not None
    assert [p.name for p in store.directory.iterdir()] == [f"{KEYS[1]}.prismbin"], "no temporary file is left"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory(store: Store) -> None:
    store.put(KEYS[0], b"code", {})
    assert store.directory is not None
    store.directory.chmod(0o500)
    try:
        assert store.get(KEYS[0]) is not None
        with pytest.warns(RuntimeWarning, match="in memory"):
            assert not store.put(KEYS[1], b"code", {})
        assert store.get(KEYS[1]) is not None
    finally:
        store.directory.chmod(0o700)


def test_a_root_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = Store(tmp_path / "file")
    with pytest.warns(RuntimeWarning):
        assert not store.put(KEYS[0], b"code", {})
    assert store.get(KEYS[0]) is not None


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PRISM_CACHE_DIR", str(tmp_path / "a"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    monkeypatch.setenv("HOME", str(tmp_path / "c"))
    assert default_root() == tmp_path / "a"
    monkeypatch.delenv("PRISM_CACHE_DIR")
    assert default_root() == tmp_path / "b" / "prism"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_root() == tmp_path / "c" / ".cache" / "prism"
    monkeypatch.setenv("PRISM_CACHE_DIR", "relative")
    assert default_root() is None
    with pytest.warns(RuntimeWarning, match="PRISM_CACHE_DIR"):
        assert not Store().put(KEYS[0], b"code", {})


def test_the_key_tells_everything_apart() -> None:
    base = ("text", ("-a", "-b"), "sm_90a", "13.5, V13.5.37", "0.1")
    others = [
        ("text ", ("-a", "-b"), "sm_90a", "13.5, V13.5.37", "0.1"),
        ("text", ("-b", "-a"), "sm_90a", "13.5, V13.5.37", "0.1"),
        ("text", ("-a-b",), "sm_90a", "13.5, V13.5.37", "0.1"),
        ("text", ("-a",), "-bsm_90a", "13.5, V13.5.37", "0.1"),
        ("text", ("-a", "-b"), "sm_90", "13.5, V13.5.37", "0.1"),
        ("text", ("-a", "-b"), "sm_90a", "13.5, V13.5.38", "0.1"),
        ("text", ("-a", "-b"), "sm_90a", "13.5, V13.5.37", "0.2"),
    ]
    assert cache_key(*base) == cache_key(*base)
    assert len({cache_key(*each) for each in [base, *others]}) == 8


def test_the_oldest_are_evicted_first(tmp_path: Path) -> None:
    store = Store(tmp_path, max_bytes=20_000)
    for age, key in enumerate(KEYS[:6]):
        store.put(key, payload_of(key), {})
        os.utime(path_of(store, key), (1e9 + age, 1e9 + age))
    store.get(KEYS[0])  # used just now
    store.put(KEYS[6], payload_of(KEYS[6]), {})
    kept = [key for key in KEYS[:7] if path_of(store, key).exists()]
    assert kept == [KEYS[0], *KEYS[3:7]]


def test_temporary_files_are_cleared_when_stale(store: Store) -> None:
    store.put(KEYS[0], b"code", {})
    assert store.directory is not None
    old, fresh = store.directory / ".old.tmp", store.directory / ".fresh.tmp"
    old.write_bytes(b"")
    fresh.write_bytes(b"")
    os.utime(old, (1e9, 1e9))
    store.put(KEYS[1], b"code", {})
    assert not old.exists() and fresh.exists()


def test_what_is_too_large_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAYLOAD", 100)
    with pytest.raises(ValueError, match="too large"):
        store.put(KEYS[0], bytes(101), {})


# -- How other caches failed: each story once -----------------------------------------------------------------------------


def failing(error: int):
    def fail(*_: object, **__: object) -> None:
        raise OSError(error, os.strerror(error))

    return fail


@pytest.mark.parametrize("function", ["open", "read", "fstat"])
@pytest.mark.parametrize("error", [errno.ESTALE, errno.EBUSY, errno.EIO, errno.EACCES])
def test_a_network_disk_that_fails_is_a_miss(
    store: Store, monkeypatch: pytest.MonkeyPatch, function: str, error: int
) -> None:
    store.put(KEYS[0], b"code", {})
    with monkeypatch.context() as patch:
        patch.setattr(os, function, failing(error))
        with pytest.warns(RuntimeWarning, match="compiled again"):
            assert store.get(KEYS[0]) is None
    found = store.get(KEYS[0])
    assert found is not None and found.payload == b"code", "and it comes back when the disk does"


@pytest.mark.parametrize("function", ["unlink", "scandir"])
def test_cleaning_up_cannot_fail_what_was_written(store: Store, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    store.max_bytes = 1
    store.put(KEYS[0], b"code", {})
    with monkeypatch.context() as patch:
        patch.setattr(os, function, failing(errno.EBUSY))
        assert store.put(KEYS[1], b"code", {})
    assert Store(store.root).get(KEYS[1]) is not None


def test_what_vanishes_while_the_folder_is_listed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.max_bytes = 1
    for key in KEYS[:3]:
        store.put(key, b"code", {})
    unlink = os.unlink

    def gone(path: str, *, dir_fd: int | None = None) -> None:
        unlink(path, dir_fd=dir_fd)
        raise FileNotFoundError(errno.ENOENT, "another process was quicker")

    monkeypatch.setattr(os, "unlink", gone)
    assert store.put(KEYS[3], b"code", {})
    assert Store(store.root).get(KEYS[3]) is not None


def test_a_folder_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    elsewhere = Store(tmp_path / "elsewhere")
    elsewhere.put(KEYS[0], b"planted", {})
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "v1").symlink_to(tmp_path / "elsewhere" / "v1")
    store = Store(tmp_path / "cache")
    with pytest.warns(RuntimeWarning):
        assert store.get(KEYS[0]) is None
    with pytest.warns(RuntimeWarning, match="in memory"):
        assert not store.put(KEYS[1], b"code", {})
    assert [p.name for p in (tmp_path / "elsewhere" / "v1").iterdir()] == [f"{KEYS[0]}.prismbin"]


def test_a_folder_of_another_user_is_not_used(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(KEYS[0], b"code", {})
    monkeypatch.setattr(os, "geteuid", lambda: 4242)  # so that the folder, and what is in it, is of another
    if os.stat(store.root).st_uid == 0:  # root's is trusted; let it be of a third
        monkeypatch.setattr(os, "fstat", lambda descriptor, real=os.fstat: _owned(real(descriptor), 4343))
    with pytest.warns(RuntimeWarning, match="another user"):
        assert store.get(KEYS[0]) is None


def test_the_key_is_the_same_in_every_process(tmp_path: Path) -> None:
    code = (
        "from prism.runtime.compile import option_list\nfrom prism.runtime.store import cache_key\n"
        "print(cache_key('text', option_list('sm_90a'), 'sm_90a', '13.5', '0.1'))"
    )
    keys = set()
    for seed in ("0", "1", "random"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
        )
        keys.add(done.stdout)
    assert len(keys) == 1


def test_the_runtime_reads_no_pickles_and_runs_no_text() -> None:
    forbidden = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
    for path in (ROOT / "prism" / "runtime").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & forbidden, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                assert called not in ("eval", "exec", "CDLL", "PyDLL", "LoadLibrary"), f"{path}:{node.lineno}"


def test_what_it_says_of_itself(store: Store, tmp_path: Path) -> None:
    assert store.size() == (0, 0) and store.trouble() is None
    assert not store.directory.exists(), "asking makes nothing"
    store.put(KEYS[0], b"code", {})
    entries, nbytes = store.size()
    assert entries == 1 and nbytes == path_of(store, KEYS[0]).stat().st_size and store.trouble() is None
    store.directory.chmod(0o770)
    assert "may be written by others" in store.trouble() and store.size() == (0, 0)
    (tmp_path / "file").write_bytes(b"")
    assert (
        "can't be written" in Store(tmp_path / "file").trouble()
        or "Not a directory" in Store(tmp_path / "file").trouble()
    )
