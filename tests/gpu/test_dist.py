"""prism.dist by processes of their own: what ranks get is right, and a rank that dies ends the others by the engine's own error.

Where there are several GPUs each rank has one, and NCCL is tried too; else two ranks share one, over gloo.
Tests of prism/dist: _engines, _boxes.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
if not torch.cuda.is_available():
    pytest.skip("no GPU that torch sees", allow_module_level=True)
SEVERAL = torch.cuda.device_count() > 1
# NVLink's multicast is not there in all virtual machines; without a second GPU it is not asked for.
WHERE = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "NCCL_NVLS_ENABLE": "0"}


def start(rank: int, port: int, *command: str) -> subprocess.Popen[str]:
    """Start one of two ranks, without a starter that would end the other one."""
    where = {**WHERE, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "LOCAL_RANK": str(rank)}
    words = [sys.executable, *command]
    return subprocess.Popen(
        words, cwd=ROOT, env=where | {"WORLD_SIZE": "2"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def free_port() -> int:
    """Return a port that nobody has now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize("long", [False, True], ids=["usual", "past_2_31"])
def test_ranks(long: bool) -> None:
    port = free_port()
    engines = (
        ["gloo"] if long else ["nccl", "gloo", "cupy", "nccl4py"] if SEVERAL else ["gloo", "host-torch", "host-cupy"]
    )
    words = [*engines, "long"] if long else engines
    ranks = [start(rank, port, "-m", "tests.gpu.dist_ranks", *words) for rank in range(2)]
    texts = [one.communicate(timeout=300)[0] for one in ranks]
    assert [one.returncode for one in ranks] == [0, 0], "\n".join(texts)
    for engine in engines[:2]:
        assert f"{engine}: " in texts[0] and "calls are right on 2 ranks" in texts[0], texts[0]


DIES = """
    import datetime, os, sys
    import torch, torch.distributed
    import prism

    rank, engine = int(os.environ["RANK"]), sys.argv[1]
    torch.cuda.set_device(rank % torch.cuda.device_count())
    torch.distributed.init_process_group(engine, timeout=datetime.timedelta(seconds=15))
    x = torch.ones(1000, device="cuda")
    for _ in range(4):  # the last of which are queued as calls that came before
        whole = prism.dist.scan(x, comm=torch.distributed.group.WORLD)
        assert float(whole[-1]) == 1000 * (rank + 1)
    print("the first calls are right", flush=True)
    if rank == 1:
        os._exit(0)
    prism.dist.scan(x, comm=torch.distributed.group.WORLD)
    print("the last call ended", flush=True)
"""


@pytest.mark.parametrize("engine", ["gloo", "nccl"])
def test_a_rank_that_dies(engine: str, tmp_path: Path) -> None:
    if engine == "nccl" and not SEVERAL:
        pytest.skip("NCCL needs a GPU for each rank")
    program = tmp_path / "dies.py"
    program.write_text(textwrap.dedent(DIES), encoding="utf-8")
    begin, port = time.monotonic(), free_port()
    ranks = [start(rank, port, str(program), engine) for rank in range(2)]
    texts = [one.communicate(timeout=200)[0] for one in ranks]
    assert "the first calls are right" in texts[0] and "the last call ended" not in texts[0], texts[0]
    assert ranks[0].returncode != 0 and ranks[1].returncode == 0, texts[0]
    # 15 s of its time-out, the same again until NCCL's watchdog looks, and what it takes to start and to compile.
    assert time.monotonic() - begin < 150


KILLED = """
    import os, signal, sys, time
    import torch, torch.distributed
    import prism
    from prism.dist import _boxes, _counting, _merge, _windows
    from tests.gpu.dist_ranks import OverHost

    rank, call = int(os.environ["RANK"]), sys.argv[1]
    if torch.cuda.device_count() > 1:
        torch.cuda.set_device(rank)
        torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))
        comm = torch.distributed.group.WORLD
    else:  # ranks take turns on the GPU: each waits for the other's time to end
        torch.distributed.init_process_group("gloo")
        register = _boxes.Boxes.register
        _boxes.Boxes.register = lambda self, ordinal: register(self, ordinal)[:15] + bytes([rank + 1])
        comm = OverHost(torch.distributed.group.WORLD, "torch")
    x = torch.arange(1 << 25, device="cuda", dtype=torch.int32)
    a = torch.ones((512, 512), device="cuda", dtype=torch.bfloat16)
    calls = {
        "sum": lambda: prism.dist.sum(x, comm=comm),
        "sort": lambda: prism.dist.sort(x, comm=comm),
        "part": lambda: prism.dist.sort(x, comm=comm),
        "columns": lambda: prism.dist.matmul(a, a, comm=comm, split="columns"),
        "inner": lambda: prism.dist.matmul(a, a, comm=comm, split="inner"),
        "histogram": lambda: prism.dist.histogram(x, 64, (0, 1 << 25), comm=comm),
    }
    for _ in range(4):
        calls[call]()
    torch.cuda.synchronize()
    print("the first calls are right", flush=True)

    def end(*given, **named):
        os.kill(os.getpid(), signal.SIGKILL)

    if rank == 1:  # when the other rank's kernel, or stream, waits for it
        time.sleep(0.5)
        _counting.lib.histogram = _windows.Windows.send = end
        if call == "sort":
            _merge.cut_together = end
        end() if call == "sum" else calls[call]()
    begin = time.monotonic()
    try:
        calls[call]()
    except RuntimeError as error:
        print(f"{error}, {time.monotonic() - begin:.2f} s", flush=True)
    torch.cuda.synchronize()  # no kernel and no stream waits any more
    try:
        calls[call]()
    except RuntimeError as error:
        print(f"and again {error}", flush=True)
    os._exit(0)  # the engine waits for its end
"""


@pytest.mark.parametrize("call", ["sum", "sort", "part", "columns", "inner", "histogram"])
def test_a_rank_that_is_killed_while_another_one_waits(call: str, tmp_path: Path) -> None:
    program = tmp_path / "killed.py"
    program.write_text(textwrap.dedent(KILLED), encoding="utf-8")
    port, ended = free_port(), "rank 1 has ended: this call waits for what it says"
    ranks = [start(rank, port, str(program), call) for rank in range(2)]
    texts = [one.communicate(timeout=200)[0] for one in ranks]
    assert [one.returncode for one in ranks] == [0, -signal.SIGKILL], "\n".join(texts)
    found = re.search(rf"{ended}, ([0-9.]+) s", texts[0])
    assert found and float(found[1]) < 5 and f"and again {ended}" in texts[0], texts[0]


ENDS = """
    import importlib, os
    import torch, torch.distributed
    import prism

    nccl = importlib.import_module("cupy.cuda.nccl")
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    importlib.import_module("cupy").cuda.Device(rank).use()
    torch.distributed.init_process_group("gloo")
    token = [nccl.get_unique_id() if rank == 0 else None]
    torch.distributed.broadcast_object_list(token)
    comm = nccl.NcclCommunicator(2, token[0], rank)
    x = torch.arange(1000, device="cuda", dtype=torch.int32)
    for _ in range(4):
        assert int(prism.dist.sum(x, comm=comm)) == 2 * 499500
        prism.dist.sort(x, comm=comm)
    torch.cuda.synchronize()
    torch.distributed.barrier()
    print("all calls are right", flush=True)
"""


def test_a_program_ends_soon(tmp_path: Path) -> None:
    """With a communicator that nobody destroys; it took more than ten seconds where it was held to the end."""
    if not SEVERAL:
        pytest.skip("NCCL needs a GPU for each rank")
    program = tmp_path / "ends.py"
    program.write_text(textwrap.dedent(ENDS), encoding="utf-8")
    port = free_port()
    ranks = [start(rank, port, str(program)) for rank in range(2)]
    for one in ranks:
        assert one.stdout is not None and any("all calls are right" in line for line in one.stdout)
    begin = time.monotonic()
    assert [one.wait(timeout=100) for one in ranks] == [0, 0]
    assert time.monotonic() - begin < 8  # it takes a second or two
