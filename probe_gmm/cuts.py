import sys, time, torch, numpy as np
sys.path.insert(0, "asv_bench")
import grouped as G
from prism.host.machine import Ready, machine_of
from prism.host.plan import OUT
from prism.kernels.hgemm import Configuration as C
from prism.lib.algorithms.grouped.api import decide_grouped
from prism.runtime.arrays import describe
from dataclasses import replace
from prism.lib.algorithms.grouped import plan as P
ALONE=C(128,256,3,ahead=0,slabs=4); DEEP=C(128,256,2,ahead=0,bk=128); FOUR=C(128,256,4,ahead=0,slabs=1); S192=C(128,192,4,ahead=0,slabs=3)
T192=C(192,192,3,3,ahead=0,slabs=3); W192=C(256,192,3,ahead=0,slabs=3,span=64,straight=True); W160=C(256,160,3,ahead=0,slabs=3,span=64,straight=True); H128=C(256,128,4,ahead=0,slabs=1); HD=C(256,128,2,ahead=0,slabs=1,bk=128)
M256=C(64,256,5,1); M128=C(64,128,8,1); M192=C(64,192,6,1); TWO=C(64,128,4,1,slabs=1); S5=C(128,192,5,ahead=0,slabs=1); S128=C(128,128,6); K128=C(64,128,4,1,bk=128,slabs=1)
def V(cut, trim=True, far=0, down=0): return (cut, trim, far, down)
def calls(case, cuts):
    a, w, o, out = case.a, case.w, case.offsets, case.out
    infos = {"a": describe(a,"a"), "b": describe(w,"b"), "offsets": describe(o,"offsets")}
    info_out = describe(out,"out"); made = {}
    if case.rows is not None: infos["rows"] = describe(case.rows, "rows")
    for v in cuts:
        cut, P.TRIM, P.FAR, P.DOWN = v if isinstance(v, tuple) else V(v)
        name = cut.name + ("" if P.TRIM else " untrimmed") + (f" far{P.FAR}" if P.FAR else "") + (f" down{P.DOWN}" if P.DOWN else "")
        try:
            d = decide_grouped(infos, info_out, machine_of(infos["a"]), cut=cut)
            assert d.plan is not None, d.copied
            ready = Ready(d.plan, (*infos, OUT), infos["a"])
        except Exception as e:
            print(name, type(e).__name__, str(e)[:150], flush=True); continue
        p = (*(i.pointer for i in infos.values()), info_out.pointer)
        made[name] = lambda ready=ready, p=p: ready(p, torch.cuda.current_stream().cuda_stream)
    return made
def go(text, cuts, rounds=3, peers=True):
    zero = text.endswith(':zero'); case = G.case_of(text.removesuffix(':zero'))
    if zero: case.a.zero_()
    c = calls(case, cuts); bad = {}
    for name, call in c.items():
        case.out.fill_(float("nan")); call(); torch.cuda.synchronize()
        bad[name] = G.fault(case, case.out.clone())
    if peers:
        c["torch"] = lambda: G.torch_grouped(case); 
        if case.rows is None: c["cublas"] = lambda: G.by_groups(case)
    floor = max(case.flops/7e14, case.weights/4.5e12)
    t = G.seconds(c, max(1, round(0.006/floor)), rounds) if rounds else {}
    print(text, "used", sum(s>0 for s in case.sizes), "tiles128", sum(-(-s//128) for s in case.sizes), flush=True)
    for name in sorted(t, key=t.get):
        e = t[name]; print(f"   {name:34} {1e6*e:8.1f} us {case.flops/e/1e12:6.0f} TF {case.weights/e/1e12:5.2f} TB/s {bad.get(name) or ''}", flush=True)
    for name in bad:
        if bad[name] and not t: print("  WRONG", name, bad[name])
    del case; torch.cuda.empty_cache()
if __name__ == "__main__":
    warm = "warm" in sys.argv
    r = 0 if warm else 3
    t0 = time.time()
    for text, cuts in (
        ("deepseek:4096:up", [ALONE, V(ALONE,False), V(ALONE,far=4), V(ALONE,far=8), DEEP, V(DEEP,far=4), FOUR, V(FOUR,far=6), M256, V(M256,far=5), M192, TWO, S5, V(S5,far=6), S128]),
        ("deepseek:4096:up:zero", [ALONE, DEEP, V(ALONE,far=8), M256]),
        ("deepseek:4096:up:skewed", [ALONE, V(ALONE,False), V(ALONE,far=8), DEEP, FOUR, S192, M256, M192, TWO, S128, V(M256,far=5)]),
        ("deepseek:256:up", [M256, V(M256,far=5), V(M256,far=10), M192, V(M192,far=6), M128, V(M128, far=8), K128]),
        ("qwen3:256:up", [M256, V(M256,far=5), M192, V(M192,far=6)]),
        ("mixtral:256:up", [M256, V(M256,far=5), M192, V(M192,far=6)]),
        ("qwen3:4096:up", [M256, ALONE, V(M256,far=5)]),
        ("qwen3:4096:up:skewed", [M256, ALONE, V(ALONE,False), V(ALONE,far=8), DEEP, S192]),
        ("qwen3:32768:up", [ALONE, DEEP, FOUR, S192, T192, W192, W160, H128, S5]),
        ("qwen3:32768:up:skewed", [ALONE, V(ALONE,False), FOUR, S192, T192, H128]),
        ("deepseek:32768:up", [ALONE, DEEP, V(DEEP,down=4), V(DEEP,down=16), T192, W192, HD, H128]),
        ("mixtral:32768:up", [ALONE, DEEP, V(DEEP,down=4), V(DEEP,down=16), V(DEEP,down=32), T192, W192, W160, HD, H128]),
        ("mixtral:4096:up", [ALONE, DEEP, FOUR, W192, H128]),
        ("deepseek:4096:gathered", [ALONE, FOUR, S192, M256, M128]),
        ("deepseek:32768:wgrad", [ALONE, C(128,256,3,ahead=1,slabs=4), T192, H128, C(256,128,3,ahead=1,slabs=2)])):
        try: go(text, cuts, r, not warm)
        except Exception as e: print(text, type(e).__name__, str(e)[:300], flush=True)
        print("t", round(time.time()-t0,1), flush=True)
