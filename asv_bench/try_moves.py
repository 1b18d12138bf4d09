import itertools, sys, time
sys.path.insert(0, "asv_bench")
import numpy as np, cupy, torch
import measure
from prism.host import call as calls
from prism.lib.algorithms.copies import plan as P
from prism.lib.algorithms.copies.api import permute

KIND = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128"}
TT = {1: torch.uint8, 2: torch.bfloat16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}
def data(size, n):
    return cupy.random.default_rng(0).integers(0, 2**32, (n * size + 3) // 4, dtype=cupy.uint32).view(cupy.uint8)[: n * size]
def typed(raw, size): return raw.view("int16" if size == 2 else KIND[size])

def setup(size, shape):
    n = int(np.prod(shape)); rows = measure.rows_of(n * size)
    x = typed(data(size, n * rows), size).reshape((rows, *shape))
    return x, rows
def correct(size, shape, axes):
    x = typed(data(size, int(np.prod(shape))), size).reshape(shape)
    want = x.transpose(axes)
    y = cupy.empty(want.shape, x.dtype); y.view(cupy.uint8).fill(0xA5)
    permute(x, axes, out=y)
    a, b = y.view(cupy.uint8), cupy.ascontiguousarray(want).view(cupy.uint8)
    return bool((a == b).all())
def torch_of(a, size):
    t = torch.as_tensor(a.view(cupy.uint8), device="cuda")
    return t.view(TT[size])

def bench(size, shape, axes, variants, rounds=5, peers=True):
    x, rows = setup(size, shape)
    y = cupy.empty((rows, *(shape[a] for a in axes)), x.dtype)
    bytes_ = x[0].nbytes
    launches = 40 if bytes_ < 1 << 26 else 8
    graphs = {}
    found = {}
    got = {}
    for name, change in variants.items():
        old = (dict(P.TILES), dict(P.SINGLES), P._ways, P.WORDS, dict(P.WORD_ROWS))
        try:
            change(); calls.forget()
            y.view(cupy.uint8).fill(0x5A)
            permute(x[0], axes, out=y[0])
            right = bool((y[0].view(cupy.uint8) == cupy.ascontiguousarray(x[0].transpose(axes)).view(cupy.uint8)).all())
            if not right: print("WRONG", size, shape, axes, name, flush=True); continue
            call = lambda i: permute(x[i % rows], axes, out=y[i % rows])
            got[name] = measure.graph_of(call, launches)
        finally:
            P.TILES.update(old[0]); P.SINGLES.update(old[1]); P._ways = old[2]; P.WORDS = old[3]; P.WORD_ROWS.update(old[4]); calls.forget()
    def copy(i):
        y[i % rows].data.copy_from_device_async(x[i % rows].data, bytes_, cupy.cuda.get_current_stream())
    plain = {"copy": copy}
    if peers:
        xt, yt = torch_of(x, size), torch_of(y, size)
        xt, yt = xt.view((rows, *shape)), yt.view(y.shape)
        plain["torch"] = lambda i: yt[i % rows].copy_(xt[i % rows].permute(axes))
    names = [*got, *plain]; times = {n: [] for n in names}
    for number in range(rounds + 1):
        for n in names[:: 1 if number % 2 else -1]:
            b, e = cupy.cuda.Event(), cupy.cuda.Event()
            if n in got:
                g, s = got[n]; g.launch(s); b.record(s); g.launch(s)
            else:
                s = cupy.cuda.get_current_stream()
                if n == "torch": 
                    ts = torch.cuda.ExternalStream(s.ptr) if s.ptr else torch.cuda.default_stream()
                    with torch.cuda.stream(ts):
                        plain[n](0); b.record(s)
                        for i in range(launches): plain[n](i)
                else:
                    plain[n](0); b.record(s)
                    for i in range(launches): plain[n](i)
            e.record(s); e.synchronize()
            if number: times[n].append(cupy.cuda.get_elapsed_time(b, e) / launches / 1e3)
    med = {n: sorted(v)[len(v) // 2] for n, v in times.items() if v}
    line = " ".join(f"{n} {2*bytes_/t/1e9:.0f}({med['copy']/t:.2f})" for n, t in med.items())
    print(f"{size}B {shape} {axes}: {line}", flush=True)
    del x, y; cupy.get_default_memory_pool().free_all_blocks(); torch.cuda.empty_cache()

def tiles(size, r, c):
    def change(): P.TILES[size] = ((r, c),)
    return change
def singles(size, r, c):
    def change(): P.SINGLES[size] = (r, c)
    return change
VAR = {4: [(64, 64), (32, 32), (128, 64), (64, 128)], 2: [(128, 128), (64, 64), (128, 64)], 1: [(256, 256), (128, 128), (256, 128)], 8: [(32, 32), (64, 32), (64, 64)], 16: [(32, 32), (16, 32), (16, 16)]}
def no_words(): P.WORDS = False
def single(): P._ways = lambda move, shared: (P.SINGLE,) if shared else (P.STRAIGHT,)
def now(): pass
def some(size): return {"now": now} | {f"{r}x{c}": tiles(size, r, c) for r, c in VAR[size]}
BIG = {4: (8192, 8192), 2: (16384, 8192), 1: (16384, 16384), 8: (8192, 4096), 16: (4096, 4096)}
TABLE = [
    (4, (4096, 6144), (1, 0)), (4, (1000, 1000), (1, 0)), (4, (8191, 8193), (1, 0)), (2, (8191, 8193), (1, 0)), (1, (8191, 8193), (1, 0)),
    (2, (5120, 13824), (1, 0)), (1, (5120, 13824), (1, 0)), (8, (3000, 5000), (1, 0)), (16, (3001, 2003), (1, 0)),
    (4, (64, 256, 56, 56), (0, 2, 3, 1)), (2, (64, 56, 56, 256), (0, 3, 1, 2)), (2, (8, 2048, 32, 128), (0, 2, 1, 3)),
    (4, (64, 96, 96, 96), (3, 2, 1, 0)), (4, (32, 32, 32, 32, 32), (4, 3, 2, 1, 0)), (4, (10,) * 7, (6, 5, 4, 3, 2, 1, 0)),
    (4, (1 << 24, 2), (1, 0)), (4, (1 << 24, 3), (1, 0)), (4, (4, 1 << 24), (1, 0)), (4, (2, 1 << 24), (1, 0)), (4, (3, 1 << 24), (1, 0)),
    (4, (1 << 21, 16), (1, 0)), (4, (24, 1 << 21), (1, 0)), (2, (1 << 24, 3), (1, 0)), (1, (1 << 25, 3), (1, 0)), (1, (3, 1 << 25), (1, 0)),
    (1, (4, 1 << 25), (1, 0)), (2, (1 << 24, 2), (1, 0)), (8, (1 << 23, 2), (1, 0)), (8, (1 << 23, 3), (1, 0)), (16, (1 << 22, 3), (1, 0)),
    (4, (1 << 21, 3, 3), (0, 2, 1)), (4, (1 << 16, 33, 17), (0, 2, 1)), (2, (1 << 16, 33, 17), (0, 2, 1)), (1, (1 << 16, 33, 17), (0, 2, 1)),
    (4, (1 << 18, 8, 8), (0, 2, 1)), (8, (1 << 20, 4, 4), (0, 2, 1)), (16, (1 << 18, 4, 4), (0, 2, 1)),
    (4, (1024, 1024), (1, 0)), (4, (512, 512), (1, 0)), (4, (256, 256), (1, 0)), (2, (1024, 1024), (1, 0)), (2, (256, 256), (1, 0)),
]

def small():
    from host_time import host_time
    for size, shape in ((4, (256, 256)), (2, (256, 256)), (4, (512, 512)), (1, (256, 256))):
        x = typed(data(size, int(np.prod(shape))), size).reshape(shape)
        t = torch_of(x, size).view(shape)
        y, out = cupy.empty_like(x), torch.empty_like(t).t().contiguous()
        sync = cupy.cuda.Device().synchronize
        def whole(f):
            best = []
            for _ in range(7):
                f(); sync(); b = time.perf_counter()
                for _ in range(300): f()
                sync(); best.append((time.perf_counter() - b) / 300)
            return sorted(best)[3] * 1e6
        rows = {
            "cupy out": lambda: permute(x, None, out=y), "cupy": lambda: permute(x), "torch out": lambda: permute(t, None, out=out),
            "torch": lambda: permute(t), "T.contiguous": lambda: t.t().contiguous(), "T.copy_": lambda: out.copy_(t.t()),
        }
        for f in rows.values(): f()
        print("whole call us", size, shape, " ".join(f"{n} {whole(f):.2f}" for n, f in rows.items()), flush=True)

def random_calls(seed, seconds):
    rng = np.random.default_rng(seed); begin = time.time(); n = 0
    while time.time() - begin < seconds:
        size = int(rng.choice([1, 2, 4, 8, 16, 3, 12, 6])); nd = int(rng.integers(1, 6))
        most = [1, 1 << 20, 1200, 120, 36, 18][nd]
        shape = tuple(int(k) for k in rng.integers(1, most + 1, nd))
        base = data(1, int(np.prod(shape)) * size + 16)[int(rng.integers(0, 2)) * (size if size in KIND else 1):][: int(np.prod(shape)) * size]
        kind = {3: "S3", 12: "S12", 6: "S6"}
        if size in KIND: x = base.view(KIND[size]).reshape(shape)
        else: x = base.reshape((*shape, size)); nd += 1; shape = x.shape
        if rng.integers(3) == 0: x = x[tuple(slice(int(rng.integers(0, 2)) if s > 1 else 0, None, int(rng.choice([1, 1, 2]))) for s in shape)]
        if rng.integers(4) == 0: x = x[tuple(slice(None, None, int(rng.choice([1, -1]))) for s in shape)]
        axes = tuple(int(a) for a in rng.permutation(nd))
        want = cupy.ascontiguousarray(x.transpose(axes))
        kindof = rng.integers(3)
        if kindof == 0: y = permute(x, axes)
        else:
            room = cupy.full(tuple(s + int(rng.integers(0, 3)) * (kindof - 1) for s in want.shape), 0x5A, x.dtype)
            y = room[tuple(slice(0, s) for s in want.shape)]
            permute(x, axes, out=y)
        if not bool((cupy.ascontiguousarray(y).view(cupy.uint8) == want.view(cupy.uint8)).all()):
            print("WRONG random", size, x.shape, x.strides, axes, kindof, y.strides); 
        n += 1
    print("random calls", n, flush=True)

what = sys.argv[1]
MORE = [
    (4, (8190, 8194), (1, 0)), (4, (8191, 8192), (1, 0)), (4, (8192, 8191), (1, 0)), (8, (4095, 4097), (1, 0)), (8, (8192, 4095), (1, 0)), (2, (8192, 8191), (1, 0)), (1, (16384, 8191), (1, 0)),
    (2, (64, 96, 96, 96), (3, 2, 1, 0)), (2, (64, 197, 768), (0, 2, 1)), (4, (128, 256, 14, 14), (0, 2, 3, 1)), (1, (32, 224, 224, 3), (0, 3, 1, 2)), (4, (32, 224, 224, 3), (0, 3, 1, 2)),
    (4, (1 << 22, 5), (1, 0)), (4, (7, 1 << 22), (1, 0)), (8, (2, 1 << 23), (1, 0)), (8, (1 << 16, 33, 17), (0, 2, 1)), (16, (1 << 24, 2), (1, 0)), (2, (1 << 20, 3, 3), (0, 2, 1)), (1, (1 << 22, 3, 3), (0, 2, 1)),
    (4, (1 << 22, 12), (1, 0)), (4, (1 << 20, 33), (1, 0)), (4, (33, 1 << 20), (1, 0)), (2, (1 << 20, 33), (1, 0)),
]
def warm(size, shape, axes, name, change):
    old = (dict(P.TILES), dict(P.SINGLES), P._ways, P.WORDS, dict(P.WORD_ROWS))
    try: change(); calls.forget(); print(size, name, shape, correct(size, shape, axes), flush=True)
    except Exception as error: print(size, name, shape, repr(error)[:300], flush=True)
    P.TILES.update(old[0]); P.SINGLES.update(old[1]); P._ways = old[2]; P.WORDS = old[3]; P.WORD_ROWS.update(old[4]); calls.forget()
if what == "warm":
    size = int(sys.argv[2])
    for name, change in some(size).items(): warm(size, (1024, 2048), (1, 0), name, change)
    for shape in ((515, 517), (512, 517), (517, 512), (128, 128), (160, 96)): warm(size, shape, (1, 0), "now", now); warm(size, shape, (1, 0), "no words", no_words)
    warm(8, (515, 517), (1, 0), "64", singles(8, 64, 64)); warm(8, (515, 516), (1, 0), "64", singles(8, 64, 64)); warm(8, (516, 515), (1, 0), "64", singles(8, 64, 64))
    for shape, axes in (((1 << 15, 3), (1, 0)), ((3, 1 << 15), (1, 0)), ((1 << 15, 3, 3), (0, 2, 1)), ((64, 7, 3), (1, 0, 2)), ((1025, 7, 3), (1, 2, 0)), ((32769, 3), (1, 0)), ((16,) * 5, (4, 3, 2, 1, 0)), ((2,) * 15, tuple(range(15))[::-1])):
        warm(size, shape, axes, "pieces", now)
if what == "run":
    random_calls(0, 6)
    for size in (4, 2, 1, 8, 16):
        bench(size, BIG[size], (1, 0), some(size))
    for size, shape, axes in TABLE + MORE:
        few = {"now": now}
        if size < 4 and 8191 in shape: few |= {"scalar": no_words, **({"64 rows": lambda: P.WORD_ROWS.update({2: 64})} if size == 2 else {"64 rows": lambda: P.WORD_ROWS.update({1: 64})})}
        if size == 8 and (4095 in shape): few |= {"64": singles(8, 64, 64)}
        if min(shape) < 32: few |= {"single": single}
        bench(size, shape, axes, few, rounds=3)
    small()
