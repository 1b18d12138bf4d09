"""Faults of the semantics."""

from __future__ import annotations

from dataclasses import replace

from theory.bundl import step
from theory.bundl.fault import CODE, Fault, forms, printed_back
from theory.bundl.observe import Version
from theory.bundl.perspectives import ONE_GRID, Shape
from theory.bundl.search import Grammar
from theory.bundl.step_data import fence_after, s_alloc_cells
from theory.bundl.step_expressions import e_bop_shift
from theory.bundl.step_halfway import THERE
from theory.bundl.syntax import SKIP, Base, Function, Input

SYNC = "S-Sync-Init S-Sync-Dec S-Sync-Wait Fence"
A = (Input("a", Base.INT, (0,)),)
AA = (Input("a", Base.INT, (0, 0)),)
ONE_BYTE = Function("f", (), ONE_GRID, 1, SKIP)
AB = (Input("a", Base.INT, (0, 0)), Input("b", Base.INT, (1, 1)))


def shifting() -> Version:
    """Return S-Partition as printed, and let `y + k` mean a descriptor moved by k, which no printed rule does."""
    lenient = step.mix(step.corrected, step.printed, "S-Partition")
    return Version(steps=replace(lenient, expressions={**lenient.expressions, "E-Bop": e_bop_shift}))


def cells_made() -> Version:
    """Return S-Alloc as printed, but with the cells made."""
    return Version(steps=replace(step.corrected, statements={**step.corrected.statements, "S-Alloc": s_alloc_cells}))


def named_there() -> Version:
    """Return the corrected calculus with the names of parts bound where the arrays are."""
    return Version(steps=replace(step.corrected, statements={**step.corrected.statements, **THERE}))


BLOCKS = """input a : int = [0, 0] lower p: a as b { destruct { partition q: b as c by 2 { %s } } }"""
THREADS = """input a : int = [0, 0]
lower g: a as b { destruct { lower h: b as c { destruct { partition p: c as d by 2 { %s } } } } }"""

BARRIERS = [
    Fault(
        "lanes",
        "S-Sync-Init, -Dec, -Wait",
        "A.3, Thread Synchronization",
        "The counter is found by p, the thread's place inside its unit: each thread counts at a counter of its own, which is "
        "set to size(pi) and decremented once.",
        "one barrier for each psi and unit (level, size, first member)",
        """input a : int = [0] lower p: a as b { destruct { lower q: b as c { destruct {
        claim r: c as d at 1 { skip } } } } }""",
        Shape(1, 2),
        "deadlock",
        "runs",
        printed_back("", SYNC),
        grammar=Grammar(forms(f"claim {CODE}"), A),
        smallest=True,
    ),
    Fault(
        "lanes-blocks",
        "S-Sync-Init, -Dec, -Wait",
        "A.3, Thread Synchronization",
        "The same among blocks: block 0 and block 1 of (Block,2) are at p = 0 and p = 1.",
        "as above",
        "input a : int = [0] lower p: a as b { destruct { claim q: b as c at 1 { skip } } }",
        Shape(2, 1),
        "deadlock",
        "runs",
        printed_back("", SYNC),
        grammar=Grammar(forms(f"claim {CODE}"), A),
        smallest=True,
    ),
    Fault(
        "units-share",
        "S-Sync-Init, -Dec, -Wait",
        "A.3, Thread Synchronization",
        "And what is at the same place in different units shares a counter: two blocks of one thread, both at p = 0, count at "
        "one that was set to 1, which goes below zero.",
        "as above",
        """destruct { group 2 { alloc x : int[1] global { lower p: x as y { skip } } } }""",
        Shape(2, 1),
        "deadlock",
        "runs",
        printed_back("", SYNC),
    ),
    Fault(
        "phases",
        "S-Sync-Init, -Wait",
        "A.3, Thread Synchronization",
        "There is no phase: in a loop a fast thread sets the counter again before a slow one has seen it at 0. (Here p = 0 for "
        "both threads, so the counter is shared as it is meant to be.)",
        "arriving counts up and the last to arrive turns a phase; wait is for the phase to differ from the one at arrival",
        """input a : int = [0] let i : int @ grid[1] = 0 { while i < 2 { lower p: a as b { skip }; i = i + 1 } }""",
        Shape(1, 2),
        "deadlock",
        "runs",
        printed_back("", SYNC),
    ),
    Fault(
        "entry",
        "S-Partition, S-Claim, S-Lower",
        "A.3, Perspective Management",
        "A barrier at the exit is not enough. Who is late still reads x outside, after others have stored to it inside: v "
        "differs, and the block parts at its next barrier.",
        "arrive and wait before the body, too",
        """input a : int = [0, 0] let u : int @ grid[1] = a[0] { lower g: a as b { destruct {
        partition p: b as c by 2 { group 2 { lower h: c as d { destruct { d[0] = 1 } } } } } };
        if u == 0 { lower i: a as e { skip } } else { skip } }""",
        Shape(2, 1),
        "deadlock",
        "runs",
        Version(steps=replace(step.corrected, fence=fence_after)),
        new=True,
    ),
]

DATA = [
    Fault(
        "S-Partition",
        "S-Partition",
        "A.3, L2743",
        "y + c*p is put for y, and nothing evaluates the sum of an array and a number.",
        "y is bound to <l + stride*(p div (n/c)), length>, or more generally to a view f(p div (n/c), i)",
        BLOCKS % "let x : int @ thread[1] = c[0] { skip }",
        Shape(2, 1),
        "stuck",
        "runs",
        printed_back("", "S-Partition"),
        grammar=Grammar(forms(f"{CODE} store let read"), AA, needs=forms("Partition")),
        smallest=True,
    ),
    Fault(
        "S-Partition-stride",
        "S-Partition",
        "A.3, L2743",
        "Were the sum a pointer moved, c would still be the number of parts and not the length of one: the second of 2 parts "
        "of 2 elements begins behind the last.",
        "as above: a part begins a part's length after the one before",
        BLOCKS % "let x : int @ thread[1] = c[0] { skip }",
        Shape(2, 1),
        "stuck",
        "runs",
        shifting(),
        grammar=Grammar(forms(f"{CODE} store let read"), AA, needs=forms("Partition")),
        smallest=True,
    ),
    Fault(
        "S-Partition-place",
        "S-Partition",
        "A.3, L2743",
        "And p is the place of the thread, not of its part: two members of one part see different elements.",
        "as above: p div (n/c)",
        """input a : int = [0, 1, 2, 3, 4, 5, 6, 7] lower p: a as b { destruct { partition q: b as c by 2 {
        let x : int @ block[2] = c[0] { skip } } } }""",
        Shape(4, 1),
        "not uniform",
        "runs",
        shifting(),
        uniform=True,
        grammar=Grammar(
            forms(f"{CODE} let read"), (Input("a", Base.INT, tuple(range(8))),), needs=forms("Partition Index")
        ),
        smallest=True,
    ),
    Fault(
        "S-Claim",
        "S-Claim",
        "A.3, L2749",
        "It steps to split(n', n - n'), which for a claim of 1 of 4 does not align, 3 being no divisor of 4; of six threads no "
        "number but three can be claimed, and never all.",
        "a split of one arm: the a-th unit of n' runs s, the others skip",
        "input a : int = [0] lower p: a as b { destruct { claim q: b as c at 1 { skip } } }",
        Shape(4, 1),
        "stuck",
        "runs",
        printed_back("", "S-Claim Align"),
        grammar=Grammar(forms(f"claim {CODE}"), A, needs=forms("Claim")),
        smallest=True,
    ),
    Fault(
        "S-Alloc",
        "S-Alloc-*",
        "A.3, Variables and Memory",
        "x is bound to <x,n>, but cells x .. x+n-1 are not made, although V-Array needs them.",
        "the cells are there, and zero, until the scope's end",
        "alloc x : int[1] local { x[0] = 0 }",
        Shape(1, 1),
        "stuck",
        "runs",
        printed_back("", "S-Alloc"),
        grammar=Grammar(forms("alloc destruct store"), (), needs=forms("Alloc")),
        smallest=True,
    ),
    Fault(
        "S-Alloc-Global",
        "S-Alloc-Global",
        "A.3, Variables and Memory",
        "An allocation in the code of a thread or a block binds x in Sigma, where all others have their x: it is one array for "
        "all of them.",
        "cells are found by name, depth of calls and the unit that allocates",
        """input a : int = [0, 0] lower p: a as b { destruct { partition q: b as c by 2 { group 2 { lower r: c as d { destruct {
        alloc x : int[1] global { x[0] = x[0] + 1; d[0] = x[0] } } } } } } }""",
        Shape(2, 1),
        "wrong value",
        "runs",
        cells_made(),
        new=True,
    ),
    Fault(
        "S-Memcpy",
        "S-Memcpy",
        "A.3, L2688",
        "The descriptor is copied and not the elements: x becomes another name for y, and a stays as it was.",
        "for each i < n: cell l+i becomes a copy of cell l'+i",
        """input a : int = [0] input b : int = [1]
        lower p: a as c { destruct { lower q: c as d { destruct { memcpy d from b } } } }""",
        Shape(1, 1),
        "wrong value",
        "runs",
        printed_back("", "S-Memcpy"),
        grammar=Grammar(forms("memcpy seq store destruct lower"), AB, needs=forms("Memcpy")),
        smallest=True,
    ),
    Fault(
        "Phi",
        "S-Async-Memcpy, S-Async-Partition-*",
        "A.3, Asynchrony",
        "Phi is one map for all threads: two threads defer memcpy(e, s), a set keeps one of them, and whoever comes first "
        "runs it, with names of its own. One thread's copy never takes place.",
        "Phi is keyed by phi, thread and depth of calls",
        "input s : int = [1, 1] " + THREADS % "group 2 { async f: d as e { async_memcpy f: e from s } }",
        Shape(1, 2),
        "wrong value",
        "runs",
        printed_back("", "S-Async-Partition S-Async-Memcpy"),
        grammar=Grammar(forms(f"{CODE} async"), AB, needs=forms("AsyncMemcpy")),
        smallest=True,
    ),
    Fault(
        "S-Function-Call",
        "S-Function-Call",
        "A.3, Control Flow",
        "The callee's names are bound among the caller's: after the call x is 7, and no truth value.",
        "the caller's names are kept aside while a frame runs the body",
        """fun f(k : int @ grid[1]) @ grid[1] uses 0 { let x : int @ grid[1] = 7 { skip } }
        let x : bool @ grid[1] = true { f(1); if x { skip } else { skip } }""",
        Shape(1, 1),
        "stuck",
        "runs",
        printed_back("", "S-Function-Call S-Decl"),
    ),
    Fault(
        "S-Function-Call-budget",
        "S-Function-Call",
        "A.3, L2797",
        "m' <= m is asked for, and nothing binds m'. It can only be what f may use; but m, in a step, is what is in use, and so "
        "f is not called unless as much is taken already.",
        "no premise: T-Function-Call has it, where m is the budget",
        "budget 1 fun f() @ grid[1] uses 1 { skip } f()",
        Shape(1, 1),
        "stuck",
        "runs",
        printed_back("", "S-Function-Call"),
        grammar=Grammar(forms("call destruct let"), (), (ONE_BYTE,), needs=forms("Call")),
        smallest=True,
    ),
    Fault(
        "S-Function-Call-place",
        "S-Function-Call",
        "4.2, L1611; A.3",
        "Perspectives are not looked at: not f's, whose body is run at the caller's, and not those of the arguments. This "
        "program is ill typed; what was written for one thread and its own array is run by two, on one array.",
        "pi_f <= pi, s is run at pi_f, and an array is bound at exactly q_i",
        "input a : int = [0] fun f(x : int[]global @ thread[1]) @ thread[1] uses 0 { x[0] = 1; x[0] = x[0] + 1 } f(a)",
        Shape(1, 2),
        "wrong value",
        "stuck",
        printed_back("", "S-Function-Call"),
        typed=False,
    ),
    Fault(
        "rename",
        "rename: S-Partition, S-Claim, S-Lower",
        "A.3, L2538",
        "y is bound where x is, in memory that others see and where they have their y: block 1 lowers its part into d, and then "
        "d, which block 0 has claimed, is an array of threads. (As for S-Decl: unless all names are taken to differ.)",
        "names are bound in eta; only cells are in memory that is shared",
        BLOCKS
        % "group 2 { claim r: c as d at 1 { let x : int @ block[1] = d[0] { skip } }; lower s: c as d { skip } }",
        Shape(2, 1),
        "stuck",
        "runs",
        printed_back("", "S-Partition S-Claim S-Lower"),
    ),
    Fault(
        "rename-parts",
        "rename, our own first repair of S-Partition",
        "-",
        "And where names do differ: with <l + stride*(p div (n/c)), length> bound there, the part of the thread that came last "
        "is everyone's.",
        "as above",
        BLOCKS % "group 2 { lower r: c as d { destruct { d[0] = 1 } } }",
        Shape(2, 1),
        "wrong value",
        "runs",
        named_there(),
        new=True,
        grammar=Grammar(forms(f"{CODE} store"), AA, needs=forms("Partition Store")),
        smallest=True,
    ),
    Fault(
        "S-Decl",
        "S-Decl, T-Decl",
        "A.3, Variables and Memory",
        "A declaration has no end: a name declared again inside loses its outer value. (Unless all names are taken to differ, "
        "which no rule says, and calls undo.)",
        "x not in G; x is bound while `scope x {s}` runs",
        "let x : bool @ grid[1] = true { let x : int @ grid[1] = 0 { skip }; if x { skip } else { skip } }",
        Shape(1, 1),
        "stuck",
        "ill-typed",
        printed_back("T-Decl", "S-Decl"),
        new=True,
    ),
]

EXPRESSIONS = [
    Fault(
        "E-Partition-Id",
        "E-Partition-Id",
        "A.3, L2809",
        "pi/pi' - 1 is a constant, the last unit's number: every unit takes itself for the last.",
        "off(pi,p,t,b) div size(d), so p, t and b are needed in the judgement for expressions",
        BLOCKS % "let i : int @ thread[1] = id { group 2 { lower r: c as d { destruct { d[0] = i } } } }",
        Shape(2, 1),
        "wrong value",
        "runs",
        printed_back("", "E-Partition-Id"),
        grammar=Grammar(forms(f"{CODE} id let store"), AA, needs=forms("Id Store Declare")),
    ),
    Fault(
        "E-Var",
        "E-Var",
        "4.2, L1611; A.3",
        "The semantics is said to enforce perspectives; for reads it does not. This program is ill typed: a test in grid code "
        "reads a thread's own value, and the threads part at a barrier without any rule having failed.",
        "x |->^q v, d <= q => x => v",
        """input a : int = [0] let i : int @ thread[1] = id { if i == 0 { lower p: a as b { skip } } else { skip } }""",
        Shape(1, 2),
        "deadlock",
        "stuck",
        printed_back("", "E-Var"),
        typed=False,
    ),
    Fault(
        "E-Arr-Access",
        "E-Arr-Access",
        "4.2, L1611; A.3",
        "Likewise for arrays: the target is compared with the code, never with the array. x, which two blocks share, is read "
        "from c, of which each has its own part.",
        "by E-Var, for e1",
        BLOCKS.replace("[0, 0]", "[0, 1]") % "let x : int @ block[2] = c[0] { skip }",
        Shape(2, 1),
        "not uniform",
        "stuck",
        printed_back("", "E-Var E-Arr-Access"),
        typed=False,
        uniform=True,
    ),
]

STEP_FAULTS = [*BARRIERS, *DATA, *EXPRESSIONS]
