"""Long and deep programs: the compiler's work grows with their length, and what is too large is told, not dropped.

Tests of prism/lang/facts/equivalence.py.
"""

import time

import pytest

import prism
from prism.lang import diagnostics
from prism.lang.barriers import flow, overlap, walk, walk_context
from prism.lang.diagnostics import CompileError
from prism.lang.facts import disjoint, equivalence, polynomials
from prism.lang.facts.definitions import facts
from prism.runtime.build import entry_of
from tests.lang.from_text import kernel_of

HEAD = """import prism
from prism.lang import *
"""
DEVICE = """
@prism("device")
@requires(thread[1])
def k(m: ptr(int32) @ thread[1], c: int32 @ thread[1]):
"""
GLOBAL = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def k(m: ptr(int32) @ grid[1], {}):
"""


@pytest.fixture
def loaded(tmp_path):
    """Give what makes a kernel of a text."""
    return lambda text: kernel_of(tmp_path, HEAD + text)


def seconds(work):
    """Return how long some work takes, in CPU time: other processes do not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


# -- depth ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [900, 2500])
@pytest.mark.parametrize(
    "expression",
    [lambda n: " + ".join(["c"] * n), lambda n: "".join(f"{i} if c == {i} else " for i in range(n)) + "0"],
    ids=["sum", "choices"],
)
def test_an_expression_too_deep_is_a_compile_error(loaded, expression, depth):
    try:
        kernel = loaded(DEVICE + f"    m[0] = {expression(depth)}\n")
    except RecursionError:
        pytest.skip("Python itself does not compile it")
    with pytest.raises(CompileError, match="nested too deeply") as failure:
        prism.check(kernel)
    assert failure.value.span.line == 6


def test_what_is_checked_is_emitted_or_too_deep(loaded):
    refused = []
    for depth in range(60, 320, 20):
        kernel = loaded(
            GLOBAL.format("c: int32 @ grid[1]")
            + "    with partition(m, thread[1], id()) as p, group(thread[1]):\n"
            + f"        p[0] = {' ^ '.join(['c'] * depth)}\n"
        )
        try:
            entry_of(prism.check(kernel), "sm_90a")
        except CompileError as failure:
            assert "nested too deeply" in str(failure)
            refused.append(depth)
    assert 60 not in refused


@pytest.mark.parametrize("step", ["x{0} + {1}", "x{0} * x{0} + {1}"])
def test_long_chains_of_names_are_read(loaded, step):
    lines = [f"    x{i}: int32 @ grid[1] = {step.format(i - 1, i)}\n" for i in range(1, 1500)]
    kernel = loaded(
        GLOBAL.format("c: int32 @ grid[1]")
        + "    x0: int32 @ grid[1] = c\n"
        + "".join(lines)
        + "    with partition(m, thread[1], id() + x1499) as p, group(thread[1]):\n        p[0] = 1\n"
    )
    assert verdict_of(kernel).status == "disjoint"


def test_a_short_chain_is_still_multiplied_out(loaded):
    kernel = loaded(
        GLOBAL.format("c: int32 @ grid[1]")
        + "    x: int32 @ grid[1] = c * c\n    y: int32 @ grid[1] = x - c * c\n"
        + "    with partition(m, thread[1], (y + 1) * id()) as p, group(thread[1]):\n        p[0] = 1\n"
    )
    assert verdict_of(kernel).status == "disjoint"


def verdict_of(kernel):
    """Return the verdict on the only partition of a kernel."""
    program = prism.check(kernel)
    known = facts(program.entry, 1024)
    ((_, verdict),) = overlap.verdicts(program.entry, known)
    return verdict


# -- the prover ---------------------------------------------------------------------------------------------------------------


def product(terms, first):
    """Return an index that is a product of sums, of all of which a unit's index depends."""
    return GLOBAL.format(", ".join(f"a{i}: int32 @ grid[1]" for i in range(8))) + (
        f"    with partition(m, thread[1], {first}{''.join(f' * (a{i % 8} + {i})' for i in range(terms))}) as p, "
        "group(thread[1]):\n        p[0] = 1\n"
    )


@pytest.mark.parametrize("terms", [30, 200])
def test_products_of_many_sums_are_given_up(loaded, terms):
    kernel = loaded(product(terms, "id()"))
    assert seconds(lambda: prism.check(kernel)) < 10
    verdict = verdict_of(kernel)
    assert verdict.status == "unknown"
    assert "has more terms, multiplied out, than are looked at" in verdict.reason


def test_what_is_added_to_a_product_too_large_is_not_proved_apart(loaded):
    """The product may be another one for each unit: nothing is known of it, not even that it is the same twice."""
    kernel = loaded(product(200, "id() + id() * a0"))
    assert verdict_of(kernel).status != "disjoint"


def test_the_limits_are_of_terms_and_of_factors():
    names = [{(polynomials.Digit(("count", i, i)),): 1} for i in range(40)]
    total = {}
    for name in names:
        total = polynomials.add(total, name)
    vague = polynomials.multiply(total, total)
    (digit,) = polynomials.digits_of(vague)
    assert digit.base[0] == "unknown"
    assert vague != polynomials.multiply(total, total)
    power = names[0]
    for _ in range(polynomials.MOST_FACTORS - 1):
        power = polynomials.multiply(power, names[0])
    assert all(d.base[0] == "count" for d in polynomials.digits_of(power))
    assert all(d.base[0] == "unknown" for d in polynomials.digits_of(polynomials.multiply(power, names[0])))


def partition_of(lines):
    """Return a kernel with many accesses through one partition of its parts of 4096."""
    return (
        GLOBAL.format("c: int32 @ grid[1]")
        + "    with partition(m, thread[1], lambda i: 4096 * id() + i) as p, group(thread[1]):\n"
        + "".join(f"        {line}\n" for line in lines)
    )


def test_accesses_of_one_element_are_proved_once(loaded, monkeypatch):
    asked = []
    monkeypatch.setattr(overlap, "is_proved", lambda *which: asked.append(which) or disjoint.is_proved(*which))
    counts = []
    for lines in (4, 64):
        asked.clear()
        verdict = verdict_of(loaded(partition_of(["p[0] = p[0] + c"] * lines)))
        assert verdict.status == "disjoint"
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_more_pairs_than_are_looked_at_are_not_proved(loaded, monkeypatch):
    monkeypatch.setattr(overlap, "MOST_PAIRS", 20)
    few, many = (loaded(partition_of([f"p[{i}] = c" for i in range(n)])) for n in (5, 7))
    assert verdict_of(few).status == "disjoint"
    verdict = verdict_of(many)
    assert verdict.status == "unknown"
    assert "more than 20 pairs of accesses are made through it" in verdict.reason


# -- functions, names -----------------------------------------------------------------------------------------------------------


def test_functions_that_call_the_one_below_twice(loaded):
    text = ""
    for i in range(40):
        body = f"f{i - 1}(x) + f{i - 1}(x + 1)" if i else "x + 1"
        text += (
            f"@prism('device')\n@requires(thread[1])\n"
            f"def f{i}(x: int32 @ thread[1]) -> int32 @ thread[1]:\n    return {body}\n"
        )
    kernel = loaded(
        text
        + GLOBAL.format("c: int32 @ grid[1]")
        + "    with partition(m, thread[1], id()) as p, group(thread[1]):\n        p[0] = f39(1)\n"
    )
    assert seconds(lambda: entry_of(prism.check(kernel), "sm_90a")) < 20


def test_of_many_unknown_names_the_first_are_told(loaded):
    kernel = loaded(DEVICE + "".join(f"    m[0] = name{i}\n" for i in range(4000)))
    with pytest.raises(CompileError) as failure:
        prism.check(kernel)
    assert [e.span.line for e in failure.value.errors] == list(range(7, 107))


def test_errors_at_one_place_are_told_once_in_the_order_of_the_text(loaded):
    kernel = loaded(DEVICE + "    m[0] = lost\n    m[0] = gone\n")
    with pytest.raises(CompileError) as failure:
        prism.check(kernel)
    again = CompileError(*reversed(failure.value.errors), *failure.value.errors)
    assert again.errors == failure.value.errors


# -- the walk -------------------------------------------------------------------------------------------------------------------


def compared(kernel, monkeypatch):
    """Return how many pairs of accesses the walks over a kernel compare."""
    pairs = []
    find = flow.find_clash
    monkeypatch.setattr(flow, "find_clash", lambda *which: pairs.append(which[1:]) or find(*which))
    prism.check(kernel)
    monkeypatch.setattr(flow, "find_clash", find)
    return len(pairs)


PATTERNS = {
    "one place": lambda n: ["m[0] = m[0] + c"] * n,
    "many places": lambda n: [f"m[{i}] = m[{i + 1}] + c" for i in range(n)],
    "conditions": lambda n: [f"if c > {i}:\n        m[{i}] = c" for i in range(n)],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_comparisons_grow_with_the_length_and_not_with_its_square(loaded, pattern, monkeypatch):
    few, many = (
        compared(loaded(DEVICE + "".join(f"    {line}\n" for line in PATTERNS[pattern](n))), monkeypatch)
        for n in (400, 1600)
    )
    assert many < 6 * few


def test_thousands_of_lines_of_accesses(loaded):
    kernel = loaded(DEVICE + "    m[0] = m[0] + c\n" * 4000)
    assert seconds(lambda: prism.check(kernel)) < 30


def test_too_much_to_compare_is_a_compile_error(loaded, monkeypatch):
    monkeypatch.setattr(walk_context, "MOST_WORK", 600_000)
    lines = [f"m[{i}] = m[{i + 1}] + c" for i in range(100)]
    with pytest.raises(CompileError, match="`k` is too large"):
        prism.check(loaded(DEVICE + "".join(f"    {line}\n" for line in lines)))
    prism.check(loaded(DEVICE + "".join(f"    {line}\n" for line in lines[:20])))


CHOICES = """
@prism("device")
@requires(thread[1])
def k(m: ptr(int32) @ thread[1], w: ptr(int32) @ thread[1], c: int32 @ thread[1]):
"""


def choices(number):
    """Return lines that each make a pointer to one of two objects: twice as many cases a line."""
    return CHOICES + "".join(
        f"    p{i}: ptr(int32) @ thread[1] = m if c > {i} else w\n    p{i}[{i}] = c\n" for i in range(number)
    )


def test_pointers_that_double_the_cases_are_too_large_in_a_while(loaded):
    """The cases are counted, not only what is pending in each: twenty such pointers would be a million of them."""
    prism.check(loaded(choices(6)))
    kernel = loaded(choices(200))

    def refuse():
        with pytest.raises(CompileError, match="`k` is too large"):
            prism.check(kernel)

    assert seconds(refuse) < 20


def test_comparing_two_accesses_counts_as_work(loaded, monkeypatch):
    """Loops in sequence: little is pending at each statement, but each access is compared with many."""
    monkeypatch.setattr(walk_context, "MOST_WORK", 60_000)
    loops = ["for i in range(c):\n        m[i] = m[i] + c"] * 40
    with pytest.raises(CompileError, match="`k` is too large"):
        prism.check(loaded(DEVICE + "".join(f"    {line}\n" for line in loops)))
    prism.check(loaded(DEVICE + "".join(f"    {line}\n" for line in loops[:5])))


def test_what_two_accesses_are_is_found_out_once_whatever_they_met(loaded, monkeypatch):
    """Each trip of three loops brings back accesses that have met other barriers and fences: the two are the same."""
    text = """
@prism("global")
@requires(grid[1], block[1], thread[64])
def k(m: ptr(int32) @ grid[1], c: int32 @ grid[1]):
    with partition(m, block[1], 64 * id()) as out, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = id()
        for i in range(c):
            for j in range(c):
                for k in range(c):
{lines}
"""
    part = (
        "with partition(s, thread[1], t) as p, group(thread[1]): p[0] = t + {k}",
        "with claim(out, thread[1]) as to, one(thread): bulk_store(to[0], s[0], n=64)",
    )
    lines = [" " * 20 + one.format(k=k) for k in range(6) for one in part]
    pairs = []
    find = flow.find_clash
    monkeypatch.setattr(flow, "find_clash", lambda *which: pairs.append(which[1:]) or find(*which))
    prism.check(loaded(text.replace("{lines}", "\n".join(lines))))
    assert pairs and len(pairs) == len(set(pairs))
    assert all(first == flow.history(first) for first, _ in pairs)


TABLES = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def k(m: ptr(int32) @ grid[1], c: int32 @ grid[1]):
    with partition(m, block[1], 32 * id()) as mine, group(block[1]):
        s: shared(int32[32])
        t: int32 @ thread[1] = id()
        u: int32 @ thread[1] = 0
"""


def test_barriers_that_there_is_no_time_to_try_stay(loaded, monkeypatch):
    """Nothing is refused for it: each barrier has the conflict that asked for it, and the plan says that some were not tried."""
    part = "        with partition(s, thread[1], t) as p, group(thread[1]): p[0] = t\n        u += s[c % 32]\n"
    loop = "        for i in range(c):\n            with partition(s, thread[1], t) as p, group(thread[1]): p[0] = u\n"
    text = TABLES + part * 4 + loop + "            u += s[c % 32]\n"
    full = prism.check(loaded(text))
    monkeypatch.setattr(walk_context, "MOST_TRIED", 0)
    kept = prism.check(loaded(text))
    few, many = (one.plans[one.entry] for one in (full, kept))
    assert len(many.barriers) >= len(few.barriers) > 0
    assert not few.notes
    assert "not all its waits, fences and barriers were looked at" in str(many.notes[-1].text)


def test_where_many_places_stand_for_all_a_barrier_more_may_stand(loaded, monkeypatch):
    """What docs/limits.md says of functions with more than 256 accesses: that each thread has its own part is not seen."""
    text = TABLES + (
        "        with partition(s, thread[1], lambda i: t + i) as p, group(thread[1]):\n"
        + "".join(f"            p[{i} * 0] = c\n            u += p[0]\n" for i in range(2))
        + "        with partition(s, thread[1], t) as q, group(thread[1]): u += q[0]\n"
    )
    assert barriers(loaded(text)) == []
    for module, name, value in ((equivalence, "MANY", 1), (equivalence, "PLACES", 0)):
        monkeypatch.setattr(module, name, value)
    assert len(barriers(loaded(text))) == 1


def test_a_very_long_line_is_marked_in_time_that_grows_with_its_length(loaded):
    """A message is put together piece by piece."""
    cells = [("x", ""), ("y", "bold")] * 10 + [("z", "")] * 400_000
    assert seconds(lambda: diagnostics._join(cells)) < 1
    assert diagnostics._join(cells[:3]) == [("x", ""), ("y", "bold"), ("x", "")]


GROWING = {
    "accesses": lambda n: DEVICE + "    m[0] = m[0] + c\n" * n,
    "branches": lambda n: DEVICE + "".join(f"    if c > {i}:\n        m[{i}] = c\n" for i in range(n)),
    "returns": lambda n: DEVICE + "".join(f"    if c == {i}:\n        m[0] = {i}\n        return\n" for i in range(n)),
    "choices": lambda n: DEVICE + "".join(f"    m[0] = 1 if c > {i} else 2\n" for i in range(n)),
    "locals": lambda n: (
        DEVICE
        + "    x0: int32 @ thread[1] = c\n"
        + "".join(f"    x{i}: int32 @ thread[1] = x{i - 1} + 1\n" for i in range(1, n))
        + "    m[0] = c\n"
    ),
    "undefined names": lambda n: DEVICE + "".join(f"    m[0] = name{i}\n" for i in range(n)),
    "texts": lambda n: DEVICE + "".join(f"    'text {i}'\n" for i in range(n)) + "    m[0] = c\n",
    "asserts": lambda n: DEVICE + "".join(f"    assert_(c > {i})\n" for i in range(n)),
    "parameters": lambda n: (
        DEVICE.replace("c: int32", "".join(f"a{i}: int32 @ thread[1], " for i in range(n)) + "c: int32")
        + "    m[0] = c\n"
    ),
    "barriers": lambda n: (
        BARRIERS
        + "".join(
            f"        with partition(s, thread[1], t) as p{i}, group(thread[1]):\n            p{i}[0] = t\n        t = s[c]\n"
            for i in range(n)
        )
    ),
}
BARRIERS = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def k(m: ptr(int32) @ grid[1], c: int32 @ grid[1]):
    with group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = 0
"""


def checked(kernel):
    """Check a kernel, which may be refused."""
    try:
        prism.check(kernel)
    except CompileError:
        pass


@pytest.mark.fuzz
@pytest.mark.parametrize("what", GROWING)
def test_time_grows_with_the_length_and_not_with_its_square(loaded, what):
    """Twice the program takes at most three times as long; beside a tenth of a second, which says nothing."""
    small, large = (loaded(GROWING[what](n)) for n in (500, 1000))
    checked(loaded(GROWING[what](10)))
    assert seconds(lambda: checked(large)) <= 3 * seconds(lambda: checked(small)) + 0.1


def test_proofs_beyond_the_limit_are_not_tried_and_that_is_told(loaded, monkeypatch):
    monkeypatch.setattr(disjoint, "MOST_PROOFS", 3)
    verdict = verdict_of(loaded(partition_of([f"p[{i}] = c" for i in range(5)])))
    assert verdict.status == "unknown"
    assert "proofs were asked for in this function, which are not tried" in verdict.reason


# A block's table is written by threads, each its part, and read across; before and between that stand many accesses.

TABLE = """
@prism("global")
@requires(grid[1], block[1], thread[32])
def k(m: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], c: int32 @ grid[1]):
    with partition(y, block[1], 64 * id()) as mine, group(block[1]):
        s: shared(int32[64])
        t: int32 @ thread[1] = 0
        with partition(s, thread[1], lambda i: 2 * id() + i) as p, group(thread[1]):
{before}
        t = s[c]
        with partition(s, thread[1], lambda i: 2 * id() + i) as q, group(thread[1]):
{after}
"""


def table(before, after):
    """Return the kernel with these lines."""
    inside = (
        "\n".join("            " + line.replace("\n", "\n            ") for line in lines) for lines in (before, after)
    )
    return TABLE.format(**dict(zip(("before", "after"), inside, strict=True)))


def shortened(monkeypatch):
    """Take functions of a few lines for long ones."""
    for module, name, value in ((equivalence, "MANY", 12), (equivalence, "PLACES", 3), (walk, "PENDING", 6)):
        monkeypatch.setattr(module, name, value)


def barriers(kernel):
    """Return the barriers of a kernel: what each is of, and the kinds of the accesses that force it."""
    program = prism.check(kernel)
    return [(str(b.unit), b.first.kind, b.second.kind) for b in program.plans[program.entry].barriers]


@pytest.mark.parametrize(
    "line",
    [
        "p[{k} % 2] = c",
        "p[0] = p[1] + {k}",
        "for j in range({k}):\n    p[j % 2] = c",
        "if c > {k}:\n    p[{k} % 2] = t",
    ],
    ids=["writes", "both", "loops", "branches"],
)
def test_long_functions_have_the_barriers_of_short_ones(loaded, line, monkeypatch):
    """More than are kept apart, and so many places that some stand for all others."""
    shortened(monkeypatch)
    found = []
    for number in (2, 24):
        before = [line.format(k=i) for i in range(number)]
        after = [one.replace("p[", "q[") for one in before]
        found.append(barriers(loaded(table(before, after))))
    assert found[0] == found[1]
    assert len(found[0]) == 2


def test_what_arms_share_is_refused_in_long_functions_too(loaded, monkeypatch):
    shortened(monkeypatch)
    text = """
@prism("global")
@requires(grid[1], block[1], warp[2])
def k(m: ptr(int32) @ grid[1], c: int32 @ grid[1]):
    with group(block[1]):
        s: shared(int32[64])
        a, b = roles(warp, 1, 1)
        with partition(s, thread[1], id()) as p, group(thread[1]):
{lines}
        with partition(s, thread[32], 0, races="allow") as q, a, group(thread[32]):
            with claim(q, thread[1]) as r:
                match split(thread):
                    case 1:
                        r[0] = c
        with b, group(thread[1]):
            x: int32 @ thread[1] = s[0]
"""
    outcomes = []
    for number in (2, 24):
        try:
            found = barriers(loaded(text.format(lines="\n".join(["            p[0] = p[0] + c"] * number))))
        except CompileError as failure:
            found = failure.code
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


def test_an_overlap_is_refused_however_long_the_function_is(loaded):
    lines = [f"        p[{i % 3}] = c" for i in range(600)]
    text = GLOBAL.format("c: int32 @ grid[1]") + (
        "    with partition(m, thread[1], lambda i: 2 * id() + i) as p, group(thread[1]):\n" + "\n".join(lines) + "\n"
    )
    with pytest.raises(CompileError) as failure:
        prism.check(loaded(text))
    assert failure.value.code == "race"
