"""Kernels that have many of one thing: for each kind, the text with so many of it, or of so many bytes."""

from __future__ import annotations

from collections.abc import Callable

from tests.generated.programs import HEAD

DEVICE = """\
@prism("device")
@requires(thread[1])
def kernel(m: ptr(int32) @ thread[1], c: int32 @ thread[1]{more}):
"""
PLAIN = """\
@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(m: ptr(int32) @ grid[1], c: int32 @ grid[1]):
    with partition(m, block[1], 32 * id()) as mine, group(block[1]):
        t: int32 @ thread[1] = id()
"""
ROLES = """\
@prism("global")
@requires(grid[1], block[1], warp[2])
def kernel(x: ptr(const(int32)) @ grid[1], m: ptr(int32) @ grid[1], c: int32 @ grid[1]):
    with partition(m, block[1], 32 * id()) as mine, group(block[1]):
        fillers, users = roles(warp, 1, 1)
        t: int32 @ thread[1] = id()
        total: int32 @ thread[1] = 0
"""


def repeat(line: str, n: int, indent: int = 4) -> str:
    """Return so many lines, numbered by `{k}`, the number before each `{j}`."""
    lines = line.splitlines()
    return "".join(
        f"{' ' * indent}{part.replace('{k}', str(k)).replace('{j}', str(k - 1))}\n"
        for k in range(1, n + 1)
        for part in lines
    )


FILL = "with claim(s{k}, fillers) as w, one(thread): bulk_load(w, x[32 * i])"
USE = "with claim(s{k}, users) as w, group(thread[1]): total += w[t]"
RING = "s{k}: shared(int32[4], ring=2)"
LOOP = " " * 8 + "for i in range(c):\n"

RINGS: dict[str, Callable[[int], str]] = {
    "rings of one loop": lambda n: (
        ROLES + repeat(RING, n, 8) + LOOP + repeat(FILL.replace("w[t]", "w[t % 4]") + "\n" + USE, n, 12)
    ),
    "rings of one loop, used last": lambda n: (
        ROLES + repeat(RING, n, 8) + LOOP + repeat(FILL, n, 12) + repeat(USE, n, 12)
    ),
    "users of one ring": lambda n: (
        ROLES + repeat(RING, 1, 8) + LOOP + repeat(FILL, 1, 12) + repeat(USE.replace("{k}", "1"), n, 12)
    ),
    "visits of one ring": lambda n: (
        ROLES + repeat(RING, 1, 8) + LOOP + repeat(f"{FILL}\n{USE}".replace("{k}", "1"), n, 12)
    ),
    "uses of one copy": lambda n: (
        ROLES
        + repeat(RING, 1, 8)
        + LOOP
        + repeat(FILL, 1, 12)
        + "            with claim(s1, users) as w, group(thread[1]):\n"
        + repeat("total += w[{k} % 4]", n, 16)
    ),
    "stores to one copy": lambda n: (
        ROLES
        + repeat(RING, 1, 8)
        + LOOP
        + "            with claim(s1, fillers) as w, partition(w, thread[1], t) as p, group(thread[1]):\n"
        + repeat("p[0] = x[{k}]", n, 16)
        + repeat(USE, 1, 12)
    ),
    "loops with a ring": lambda n: ROLES + repeat(f"{RING}\nfor i in range(c):\n    {FILL}\n    {USE}", n, 8),
    "places of one ring": lambda n: (
        ROLES + repeat(RING, 1, 8) + repeat(f"for i in range(c):\n    {FILL}\n    {USE}".replace("s{k}", "s1"), n, 8)
    ),
    "rings filled ahead": lambda n: (
        ROLES
        + repeat("s{k}: shared(int32[64], ring=2)", n, 8)
        + LOOP
        + repeat(
            "with partition(s{k}, thread[1], t) as w, group(thread[1]): cp_async(w[0], x[t + 64 * i], 4)\n"
            "with partition(s{k}, thread[32], 32 * id()) as w, group(thread[1]): total += w[31 - t % 32]",
            n,
            12,
        )
    ),
}
"""What has many rings, stations or uses of copies."""

OTHERS: dict[str, Callable[[int], str]] = {
    "accesses": lambda n: DEVICE.format(more="") + repeat("m[0] = m[0] + c", n),
    "accesses of many elements": lambda n: DEVICE.format(more="") + repeat("m[{k}] = m[{j}] + c", n),
    "parameters": lambda n: (
        DEVICE.format(more="".join(f", a{k}: int32 @ thread[1]" for k in range(n))) + "    m[0] = c\n"
    ),
    "parameters of a kernel": lambda n: (
        PLAIN.replace(
            "c: int32 @ grid[1]", "c: int32 @ grid[1]" + "".join(f", a{k}: int32 @ grid[1]" for k in range(n))
        )
        + "        m0: int32 = c\n"
    ),
    "globals": lambda n: "".join(f"G{k} = {k}\n" for k in range(n)) + DEVICE.format(more="") + repeat("m[0] = G{j}", n),
    "globals that are not used": lambda n: (
        "".join(f"G{k} = {k}\n" for k in range(n)) + DEVICE.format(more="") + "    m[0] = c\n"
    ),
    "locals": lambda n: (
        DEVICE.format(more="")
        + "    x0: int32 @ thread[1] = c\n"
        + repeat("x{k}: int32 @ thread[1] = x{j} + 1", n)
        + "    m[0] = c\n"
    ),
    "loops": lambda n: DEVICE.format(more="") + repeat("for i in range(c): m[i] = c", n),
    "loops that wait": lambda n: DEVICE.format(more="") + repeat("while m[{k}] < c: m[{k}] += 1", n),
    "loops of a kernel": lambda n: (
        PLAIN
        + "        with partition(mine, thread[1], t) as own, group(thread[1]):\n"
        + repeat("for i in range(c): own[0] += i", n, 12)
    ),
    "partitions": lambda n: (
        PLAIN + repeat("with partition(mine, thread[1], t) as p{k}, group(thread[1]): p{k}[0] = {k}", n, 8)
    ),
    "shared arrays": lambda n: PLAIN + repeat("s{k}: shared(int32[1])", n, 8),
    "barriers": lambda n: (
        PLAIN
        + "        s: shared(int32[64])\n"
        + repeat("with partition(s, thread[1], t) as p{k}, group(thread[1]): p{k}[0] = t\nt = s[c]", n, 8)
    ),
    "conditions": lambda n: DEVICE.format(more="") + repeat("if c > {k}: m[{k}] = c", n),
    "arms": lambda n: DEVICE.format(more="") + "    if c == 0: m[0] = c\n" + repeat("elif c == {k}: m[{k}] = c", n),
    "nested conditions": lambda n: (
        DEVICE.format(more="")
        + "".join(f"{' ' * (4 + k)}if c > {k}:\n" for k in range(n))
        + f"{' ' * (4 + n)}m[0] = c\n"
    ),
    "returns": lambda n: DEVICE.format(more="") + repeat("if c == {k}: return", n) + "    m[0] = c\n",
    "calls": lambda n: (
        '@prism("device")\n@requires(thread[1])\ndef f(p: ptr(int32) @ thread[1], v: int32 @ thread[1]): p[v] = v\n'
        + DEVICE.format(more="")
        + repeat("f(m, {k})", n)
    ),
    "functions": lambda n: (
        repeat(
            '@prism("device")\n@requires(thread[1])\ndef f{k}(p: ptr(int32) @ thread[1], v: int32 @ thread[1]): p[v] = v',
            n,
            0,
        )
        + DEVICE.format(more="")
        + repeat("f{k}(m, {k})", n)
    ),
    "a chain of functions": lambda n: (
        '@prism("device")\n@requires(thread[1])\ndef f0(p: ptr(int32) @ thread[1], v: int32 @ thread[1]): p[v] = v\n'
        + repeat(
            '@prism("device")\n@requires(thread[1])\ndef f{k}(p: ptr(int32) @ thread[1], v: int32 @ thread[1]): f{j}(p, v)',
            n,
            0,
        )
        + DEVICE.format(more="")
        + f"    f{n}(m, c)\n"
    ),
    "terms": lambda n: DEVICE.format(more="") + "    m[0] = c" + "".join(f" + {k}" for k in range(n)) + "\n",
    "short sums": lambda n: DEVICE.format(more="") + repeat("m[c + {k} * c - {j} + c // 3] = c * c + {k}", n),
    "choices": lambda n: DEVICE.format(more="") + repeat("m[0] = 1 if c > {k} else 2", n),
    "arguments": lambda n: DEVICE.format(more="") + "    m[0] = max(c, " + ", ".join(map(str, range(n))) + ")\n",
    "texts": lambda n: DEVICE.format(more="") + repeat("'text {k}'", n) + "    m[0] = c\n",
    "a long text": lambda n: DEVICE.format(more="") + f"    '{'text ' * n}'\n    m[0] = c\n",
    "comments": lambda n: DEVICE.format(more="") + repeat("# {k}", n) + "    m[0] = c\n",
    "a long name": lambda n: DEVICE.format(more="").replace("c:", "c" * n + ":") + f"    m[0] = {'c' * n}\n",
    "unknown names": lambda n: DEVICE.format(more="") + repeat("m[0] = name{k}", n),
    "asserts": lambda n: DEVICE.format(more="") + repeat("assert_(c > {k})", n),
    "atomics": lambda n: DEVICE.format(more="") + repeat("atomic_add(m[{k}], c)", n),
    "pointers": lambda n: DEVICE.format(more="") + repeat("p{k}: ptr(int32) @ thread[1] = m\np{k}[{k}] = c", n),
    "pointers of pointers": lambda n: (
        DEVICE.format(more="")
        + "    p0: ptr(int32) @ thread[1] = m\n"
        + repeat("p{k}: ptr(int32) @ thread[1] = p{j}\np{k}[0] = c", n)
    ),
    "splits": lambda n: (
        PLAIN.replace("thread[32]", "warp[2]").replace("thread[32]", "thread[64]")
        + "        s: shared(int32[64])\n"
        + repeat(
            "match split(warp):\n    case 1:\n        with group(thread[1]): t += {k}\n    case 1:\n        t += 1",
            n,
            8,
        )
    ),
    "sums over a warp": lambda n: PLAIN + repeat("with group(warp[1]): t = shuffle_down(t, {k} % 32)", n, 8),
    "groups of copies": lambda n: (
        PLAIN.replace("def kernel(", "def kernel(x: ptr(const(int32)) @ grid[1], ")
        + "        s: shared(int32[64])\n"
        + repeat(
            "with partition(s, thread[1], t) as p, async_(p) as q, group(thread[1]): cp_async(q[0], x[{k}], 4)\nt += s[{k} % 32]",
            n,
            8,
        )
    ),
}
"""What has many of anything else."""


PRODUCTS = """\
@prism("global")
@attr("__launch_bounds__(256, 1)")
@requires(grid[1], block[1], warpgroup[2])
def kernel(
    x: const(CUtensorMap(half, 64, 64, swizzle=128)) @ grid[1], y: const(CUtensorMap(half, 64, 64, swizzle=128)) @ grid[1],
    c: int32 @ grid[1],
):
    with group(block[1]):
        a: shared(half[64, 64], ring=2, swizzle=128)
        b: shared(half[64, 64], ring=2, swizzle=128)
        sums: fragment(float32, 64, 64) @ warpgroup[1] = 0
        users, loader = roles(warpgroup, 1, 1)
        total: float32 @ thread[1] = 0
"""
LOADED = "with claim(a, loader) as u, claim(b, loader) as v, one(thread): tma_load(u, x[0, i]); tma_load(v, y[0, i])"
MULTIPLIED = "with claim(a, users) as u, claim(b, users) as v, group(warpgroup[1]): wgmma(sums, u, v)"
LATE = (
    "with claim(s{k}, fillers, in_flight=1) as w, partition(w, thread[1], t) as p, async_(p) as q, group(thread[1]): "
    "cp_async(q[0], x[t], 4)"
)

WORDS: dict[str, Callable[[int], str]] = {
    "conditions around rings": lambda n: (
        ROLES + repeat(RING, n, 8) + LOOP + repeat(f"if i >= {{k}}:\n    {FILL}\n    {USE}", n, 12)
    ),
    "conditions beside a ring": lambda n: (
        ROLES
        + repeat(RING, 1, 8)
        + LOOP
        + repeat(f"if i >= 1:\n    {FILL}\n    {USE}", 1, 12)
        + repeat("if i >= {k}:\n    with group(thread[1]): total += {k}", n, 12)
    ),
    "loops in many pieces": lambda n: (
        ROLES
        + repeat(
            f"{RING}\nr{{k}}: shared(int32[4], ring=2)\nfor i in range(c):\n    if i > 0:\n        {FILL}\n        {USE}\n"
            f"    if i < c - 5:\n        {FILL.replace('s{', 'r{')}\n        {USE.replace('s{', 'r{')}",
            n,
            8,
        )
    ),
    "late fills": lambda n: (
        ROLES + repeat("s{k}: shared(int32[64], ring=3)", n, 8) + LOOP + repeat(f"{LATE}\n{USE}", n, 12)
    ),
    "products of one loop": lambda n: PRODUCTS + LOOP + repeat(f"{LOADED}\n{MULTIPLIED}", n, 12),
    "products under conditions": lambda n: (
        PRODUCTS + LOOP + repeat(f"if i > {{k}}:\n    {LOADED}\n    {MULTIPLIED}", n, 12)
    ),
    "loops of products in pieces": lambda n: (
        PRODUCTS + repeat(f"for i in range(c):\n    if i > 0:\n        {LOADED}\n        {MULTIPLIED}", n, 8)
    ),
    "loops over a fragment": lambda n: (
        PRODUCTS
        + LOOP
        + repeat("with users, group(thread[1]):\n    for j in range(count(sums)): sums[j] = sums[j] * {k}", n, 12)
    ),
    "vectors": lambda n: (
        DEVICE.format(more="")
        + repeat(
            "v{k}: vector(float32, 4) @ thread[1] = vector(float32, 4)()\nv{k} = v{k} + v{k}\nm[0] = int32(v{k}[1])", n
        )
    ),
    "turns": lambda n: (
        ROLES.replace("@requires", '@attr("__launch_bounds__(96)")\n@requires')
        .replace("warp[2]", "warp[3]")
        .replace("fillers, users = roles(warp, 1, 1)", "users, fillers = roles(warp, 2, 1)")
        + repeat("with turns(users), users, group(thread[1]): total += {k}", n, 8)
    ),
}
"""What has many of the words that come in loops: pieces, late fills, products, vectors, turns."""


def kernel_with(kind: str, n: int) -> str:
    """Return the text of a kernel with so many of a kind."""
    return HEAD + {**RINGS, **OTHERS, **WORDS}[kind](n)


def kernel_of_bytes(kind: str, size: int) -> str:
    """Return the text of a kernel of about so many bytes, though not of more than that."""
    short, per = len(kernel_with(kind, 20)), (len(kernel_with(kind, 40)) - len(kernel_with(kind, 20))) / 20
    if kind == "nested conditions":
        return kernel_with(kind, int((2 * size) ** 0.5))
    n = max(20, int((size - short) / per) + 20)
    while len(text := kernel_with(kind, n)) > size and n > 20:
        n = int(n * size / len(text)) - 1
    return text
