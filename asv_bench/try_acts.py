import sys
sys.path.insert(0, "asv_bench")
import cupy, torch, measure, numpy as np
from prism.kernels.activations import SILU, GELU, GELU_TANH, activate, activate_backward
F = torch.nn.functional
def acts(name, size):
    dt = getattr(torch, name)
    rows, n = 4096, size // 4096
    k = measure.rows_of(size * dt.itemsize)
    k = min(k, 4)
    mk = lambda: torch.randn(k, rows, n, device="cuda", dtype=torch.float32).mul_(2).to(dt)
    x, up, dy, y, dup = mk(), mk(), mk(), torch.empty(k, rows, n, device="cuda", dtype=dt), torch.empty(k, rows, n, device="cuda", dtype=dt)
    A = "float64" if name == "float64" else "float32"
    w = 16 // dt.itemsize
    fast = dt.itemsize == 2
    def forward(kind, gated, each):
        t = {"T": name, "A": A, "KIND": kind, "GATED": gated, "FAST": fast, "EACH": each, "WIDTH": w}
        return lambda i: activate[-(-rows * n // (256 * each * w)), 256](x[i % k], up[i % k], y[i % k], 1, rows * n, rows * n, rows * n, template=t)
    def backward(kind, gated, each):
        t = {"T": name, "A": A, "KIND": kind, "GATED": gated, "FAST": fast, "EACH": each, "WIDTH": w}
        m = rows * n
        return lambda i: activate_backward[-(-m // (256 * each * w)), 256](dy[i % k], x[i % k], up[i % k], y[i % k], dup[i % k], 1, m, m, m, m, m, m, template=t)
    def check(kind, gated):
        x64, u64, g64 = (v[0].double().requires_grad_() for v in (x, up, dy))
        f = {SILU: F.silu, GELU: F.gelu, GELU_TANH: lambda v: F.gelu(v, approximate="tanh")}[kind]
        want = f(x64) * u64 if gated else f(x64)
        forward(kind, gated, 2)(0)
        mine = (y[0].double() - want).abs().max().item(); mrel = ((y[0].double() - want).abs() / (want.abs() + 1e-3)).max().item()
        theirs = f(x[0]) * up[0] if gated else f(x[0])
        ref = (theirs.double() - want).abs().max().item(); rrel = ((theirs.double() - want).abs() / (want.abs() + 1e-3)).max().item()
        want.backward(g64.detach())
        backward(kind, gated, 2)(0)
        e = (y[0].double() - x64.grad).abs().max().item(), (dup[0].double() - u64.grad).abs().max().item() if gated else 0
        xs, us = x[0].clone().requires_grad_(), up[0].clone().requires_grad_()
        (f(xs) * us if gated else f(xs)).backward(dy[0])
        te = (xs.grad.double() - x64.grad).abs().max().item(), (us.grad.double() - u64.grad).abs().max().item() if gated else 0
        print(f"check {name} {kind} gated={gated}: forward {mine:.2e}/{mrel:.1e} torch {ref:.2e}/{rrel:.1e}  backward {e[0]:.2e} {e[1]:.2e} torch {te[0]:.2e} {te[1]:.2e}", flush=True)
    for kind in (SILU, GELU, GELU_TANH):
        for gated in (False, True): check(kind, gated)
    m = size * dt.itemsize
    flat = lambda t: cupy.from_dlpack(t.view(torch.uint8).reshape(k, -1))
    fx, fy = flat(x), flat(y)
    def copy(i): fy[i % k].data.copy_from_device_async(fx[i % k].data, m, cupy.cuda.get_current_stream())
    for what, streams, made in (("silu-gated forward", 3, lambda e: forward(SILU, True, e)), ("gelu forward", 2, lambda e: forward(GELU, False, e)), ("gelu tanh forward", 2, lambda e: forward(GELU_TANH, False, e)),
                                ("silu-gated backward", 5, lambda e: backward(SILU, True, e)), ("gelu backward", 3, lambda e: backward(GELU, False, e))):
        plain = {"copy": copy}
        if what == "gelu forward": plain["torch"] = lambda i: F.gelu(x[i % k])
        if what == "silu-gated forward": plain["torch"] = lambda i: F.silu(x[i % k]) * up[i % k]
        if what == "gelu backward": plain["torch"] = lambda i: torch.ops.aten.gelu_backward(dy[i % k], x[i % k])
        found = measure.compare({f"each {e}": made(e) for e in (1, 2, 4)}, plain, 10, 4)
        print(name, what, " ".join(f"{a} {(2 if a == 'copy' else streams) * m / t / 1e9:.0f}" for a, t in found.items()), "GB/s", flush=True)
for name in ("bfloat16", "float32"): acts(name, 1 << 27)
acts("float64", 1 << 24)
from prism.kernels.losses.cross_entropy import cross_entropy_backward, losses_of, sum_exponentials
def entropy(name, rows, n):
    dt = getattr(torch, name)
    k = min(4, measure.rows_of(rows * n * dt.itemsize))
    x = torch.randn(k, rows, n, device="cuda").mul_(3).to(dt)
    labels = torch.randint(0, n, (rows,), device="cuda"); labels[3] = -100
    w = 16 // dt.itemsize if n * dt.itemsize % 16 == 0 else 1
    chunks = max(1, min(-(-n // 8192), -(-1056 // rows)))
    parts = torch.zeros(rows * chunks * 3, device="cuda"); losses, logs = torch.zeros(rows, device="cuda"), torch.zeros(rows, device="cuda")
    cparts = cupy.from_dlpack(parts).view(np.dtype([("highest", "f4"), ("total", "f4"), ("plain", "f4")]))
    dx = torch.empty_like(x); d = torch.full((1,), 1.0 / rows, device="cuda")
    def forward(vectors):
        def call(i):
            sum_exponentials[rows * chunks, 256](x[i % k], cparts if False else parts_of, n, n, chunks, template={"T": name, "VECTORS": vectors, "WIDTH": w})
            losses_of[-(-rows // 256), 256](x[i % k], labels, parts_of, losses, logs, rows, n, n, chunks, 0.1, -100, template={"T": name, "L": "int64"})
        return call
    import prism
    parts_of = prism_parts(parts)
    def backward(each):
        return lambda i: cross_entropy_backward[-(-rows * n // (256 * each * w)), 256](d, x[i % k], labels, logs, dx[i % k], rows, n, 0, n, n, 0.1, -100, template={"T": name, "L": "int64", "EACH": each, "WIDTH": w})
    forward(4)(0); backward(2)(0)
    x64 = x[0].double().requires_grad_()
    want = torch.nn.functional.cross_entropy(x64, labels, label_smoothing=0.1, reduction="none"); want.sum().backward()
    xs = x[0].clone().requires_grad_(); theirs = torch.nn.functional.cross_entropy(xs, labels, label_smoothing=0.1, reduction="none"); theirs.sum().backward()
    g = x64.grad / rows
    print(f"check entropy {name} {rows} x {n}: loss {(losses.double() - want).abs().max().item():.1e} torch {(theirs.double() - want).abs().max().item():.1e} gradient {(dx[0].double() - g).abs().max().item() * rows:.1e} torch {(xs.grad.double() - x64.grad).abs().max().item():.1e}", flush=True)
    del x64, want, xs, theirs, g; torch.cuda.empty_cache()
    m = rows * n * dt.itemsize
    fx, fy = (cupy.from_dlpack(t.view(torch.uint8).reshape(k, -1)) for t in (x, dx))
    def copy(i): fy[i % k].data.copy_from_device_async(fx[i % k].data, m, cupy.cuda.get_current_stream())
    found = measure.compare({"forward 4": forward(4), "forward 2": forward(2), "backward 1": backward(1), "backward 2": backward(2), "backward 4": backward(4)},
        {"copy": copy, "torch forward": lambda i: torch.nn.functional.cross_entropy(x[i % k], labels, label_smoothing=0.1)}, 8, 4)
    print(name, rows, n, " ".join(f"{a} {(1 if 'forward' in a else 2) * m / t / 1e9:.0f}" for a, t in found.items()), "GB/s", flush=True)
def prism_parts(parts):
    from prism.kernels.losses.cross_entropy import Part32
    return cupy.from_dlpack(parts).view(np.dtype(Part32))
for name, rows, n in (("bfloat16", 4096, 32768), ("bfloat16", 1024, 131072), ("bfloat16", 8, 1 << 20), ("bfloat16", 4096, 50257), ("float32", 4096, 32768), ("bfloat16", 65536, 1024)):
    try: entropy(name, rows, n)
    except Exception as error: print("entropy", name, rows, n, repr(error)[:500], flush=True)
    torch.cuda.empty_cache(); cupy.get_default_memory_pool().free_all_blocks()
