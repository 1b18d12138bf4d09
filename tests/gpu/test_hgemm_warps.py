"""Products of 16-bit floats by `mma`, as GPUs without `wgmma` make them, on any GPU from sm_80 on: layouts, edges, extras."""

from types import SimpleNamespace

import pytest

from prism.host.call import call
from prism.kernels.hgemm.warps import TILES
from prism.lib.algorithms.hgemm import by_warps
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.lib.algorithms.hgemm.epilogue import asked_for

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 0), reason="`mma` is from sm_80 on"
    ),
]
SHAPES = (1, 8, 8), (77, 200, 1000), (300, 128, 72), (1111, 1000, 264), (8, 4096, 4096), (640, 2056, 200), (63, 65, 0)
AFTER = asked_for(
    lambda x, i, j, bias, rows, before, k: max(x + bias, 0.0) * rows + before * k + (1.0 if i == j else 0.0)
)


def whole(*shape, kind=torch.float32):
    return torch.randint(-2, 3, shape, device="cuda").to(kind)


def laid(how: str, rows: int, columns: int, kind):
    """Small integers in rows, or columns, that have room behind them: some of them must be copied, others not."""
    m, n = (rows, columns) if how == "N" else (columns, rows)
    found = whole(m, n + 8, kind=kind)[:, :n]
    return found if how == "N" else found.T


@pytest.mark.parametrize("layout", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("cut", TILES, ids=str)
def test_exact(layout: str, kind, cut, monkeypatch) -> None:
    monkeypatch.setattr(by_warps, "choose_warps", lambda *_: cut)

    def decide(arrays, out, machine):
        there = SimpleNamespace(host=False, arch="sm_80", multiprocessors=machine.multiprocessors, wave=machine.wave)
        return decide_hgemm(arrays, out, there, epilogue=AFTER, extra=(None, None, None, 2))

    for m, n, k in SHAPES:
        a, b = laid(layout[0], m, k, kind), laid(layout[1], k, n, kind)
        bias, rows, before = whole(n, kind=kind), whole(m, 1), whole(m, n)
        out = torch.full((m, n), torch.nan, device="cuda")
        arrays = {"a": a, "b": b, "extra[0]": bias, "extra[1]": rows, "extra[2]": before}
        call("hgemm", ("by warps", cut, layout), arrays, decide, out, None)
        exact = (a.double() @ b.double() + bias.double()).clamp(min=0) * rows.double() + 2 * before.double()
        assert torch.equal(out.double(), exact + torch.eye(m, n, device="cuda", dtype=torch.float64)), (m, n, k)
