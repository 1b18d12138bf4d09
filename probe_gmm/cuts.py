import sys, time, torch, numpy as np
sys.path.insert(0, "asv_bench")
import grouped as G
from prism.host.machine import Ready, machine_of
from prism.host.plan import OUT
from prism.kernels.hgemm import Configuration as C
from prism.lib.algorithms.grouped.api import decide_grouped
from prism.runtime.arrays import describe
BIG = [C(128,256,3,ahead=0,slabs=4), C(128,256,2,ahead=0,bk=128), C(128,256,4,ahead=0,slabs=1), C(128,256,3,ahead=1,slabs=4), C(128,192,4,ahead=0,slabs=3), C(128,128,6), C(128,224,3,ahead=0,slabs=4)]
SMALL = [C(64,128,8,1), C(64,128,4,1,slabs=1), C(64,256,5,1), C(64,64,6,1,bk=128), C(64,64,3,1,bk=128,slabs=1), C(64,192,6,1), C(64,256,4,1,ahead=0,slabs=2)]
def calls(case, cuts):
    a, w, o, out = case.a, case.w, case.offsets, case.out
    infos = {"a": describe(a,"a"), "b": describe(w,"b"), "offsets": describe(o,"offsets")}
    info_out = describe(out,"out"); made = {}
    if case.rows is not None: infos["rows"] = describe(case.rows, "rows")
    from prism.lib.algorithms.grouped import plan as P
    for cut, trim in [(c, True) for c in cuts] + [(c, False) for c in cuts[:1] if c.consumers > 1]:
        P.TRIM = trim
        try:
            d = decide_grouped(infos, info_out, machine_of(infos["a"]), cut=cut)
            assert d.plan is not None, d.copied
            ready = Ready(d.plan, (*infos, OUT), infos["a"])
        except Exception as e:
            print(cut.name, type(e).__name__, str(e)[:150], flush=True); continue
        p = (*(i.pointer for i in infos.values()), info_out.pointer)
        made[cut.name + ('' if trim else ' untrimmed')] = lambda ready=ready, p=p: ready(p, torch.cuda.current_stream().cuda_stream)
    return made
def go(text, cuts, rounds=3, peers=True):
    case = G.case_of(text); c = calls(case, cuts); bad = {}
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
    for text, cuts in (("deepseek:4096:up", BIG), ("deepseek:4096:up:skewed", BIG), ("deepseek:256:up", SMALL), ("qwen3:256:up", SMALL), ("qwen3:4096:up", SMALL), ("qwen3:4096:up:skewed", SMALL[:3]+BIG[:1]), ("qwen3:32768:up", BIG), ("deepseek:32768:up", BIG[:4]), ("mixtral:32768:up", BIG[:4]), ("mixtral:256:up", SMALL), ("gpt-oss:4096:up", SMALL[:3]+SMALL[5:]), ("deepseek:4096:gathered", [C(128,256,3,ahead=0,slabs=4),C(128,256,4,ahead=0,slabs=1),C(128,192,4,ahead=0,slabs=3)]), ("deepseek:32768:wgrad", BIG[:4])):
        try: go(text, cuts, r, not warm)
        except Exception as e: print(text, type(e).__name__, str(e)[:300], flush=True)
        print("t", round(time.time()-t0,1), flush=True)
