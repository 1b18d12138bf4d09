"""Faults of the typing rules."""

from __future__ import annotations

from dataclasses import replace

from theory.bundl import step, typing
from theory.bundl.fault import CODE, Fault, forms, printed_back
from theory.bundl.observe import Version
from theory.bundl.perspectives import THREAD, Order, Shape, at, order_main, order_size
from theory.bundl.search import Grammar
from theory.bundl.syntax import SKIP, Base, Function, Input, Kind, Param
from theory.bundl.typing_data import t_arr_assn_down

ONE, TWO, THREE, FOUR = Shape(1, 1), Shape(1, 2), Shape(1, 3), Shape(1, 4)
STRADDLING = Shape(2, 3)
SYNC = "S-Sync-Init S-Sync-Dec S-Sync-Wait Fence"
TAKES_ONE = Function("f", (Param("k", Base.INT, at(THREAD, 1)),), at(THREAD, 1), 0, SKIP)
THREE_INPUTS = tuple(Input(name, Base.INT, (i,)) for i, name in enumerate("abc"))


def with_order(order: Order) -> Version:
    """Return the corrected calculus with another order."""
    return Version(replace(typing.corrected, order=order), replace(step.corrected, order=order))


def storing() -> Version:
    """Return the corrected calculus with stores by many threads."""
    rules = {**typing.corrected.statements, "T-Arr-Assn": t_arr_assn_down, "T-Arr-Assn-Shared": t_arr_assn_down}
    return Version(rules=replace(typing.corrected, statements=rules))


def grammar(
    words: str, needs: str = "", kinds: tuple[Kind, ...] = tuple(Kind), inputs: tuple[Input, ...] = ()
) -> Grammar:
    """Return a grammar of these forms."""
    return Grammar(forms(words), inputs, needs=forms(needs), kinds=kinds)


A = (Input("a", Base.INT, (0,)),)

ORDER_FAULTS = [
    Fault(
        "order",
        "<=",
        "A.1, L2272",
        "Across levels `n | n'` compares sizes counted in different units: with n' = 1 only single units are ever within a "
        "broader level, so a warp is not within its block, nor anything but one thread or one block within the grid.",
        "(h,n) <= (h',n') iff h = h' and n | n', or h < h' and n divides how many h one unit of the next level has",
        "let x : int @ thread[2] = 0 { skip }",
        TWO,
        "ill-typed",
        "runs",
        printed_back("Order"),
        grammar=grammar("let destruct group"),
        smallest=True,
    ),
    Fault(
        "shared-read",
        "T-Arr-Access-Shared",
        "A.2, L2327",
        "Its premise pi <= (Block,1) fails for every warp, by the order: what a block shares, no group of its threads reads.",
        "the same rule, over the corrected order",
        "budget 4 destruct { alloc s : int[1] shared { let x : int @ thread[2] = s[0] { skip } } }",
        TWO,
        "ill-typed",
        "runs",
        printed_back("Order"),
        grammar=grammar("let alloc destruct read", "Index Alloc", (Kind.SHARED,)),
        smallest=True,
    ),
    *[
        Fault(
            name,
            f"<= ({source})",
            where,
            "Where n does not divide T, some units of n threads begin in one block and end in the next, though inside the "
            "blocks units are counted from the block's first thread: x, declared in grid code, is not the same for all of a "
            "unit that the code of a block can form.",
            "as above: across levels, n must divide the count in one unit of the next level",
            "let x : int @ thread[2] = id { skip }",
            STRADDLING,
            "not uniform",
            "ill-typed",
            with_order(order),
            new=True,
            uniform=True,
            grammar=grammar("let id destruct group split"),
            smallest=True,
        )
        for name, source, where, order in [
            ("order-main", "main text: h < h', or n | n'", "4.1", order_main),
            ("order-size", "our own first repair: sizes in threads divide", "-", order_size),
        ]
    ],
    Fault(
        "align",
        "T-Split, align",
        "4.1, L1401",
        "n1 | n is more than is needed where the base of the unit is known: 12 = 8 + 4 in a block of 12, or 384 = 256 + 128, "
        "is refused, which kernels that give their warps two roles need.",
        "n1 | A and n2 | gcd(A, n1), where A is what the base of the unit is known to be a multiple of (0 for a whole block)",
        "destruct { destruct { split(2, 1) { skip } { skip } } }",
        THREE,
        "ill-typed",
        "runs",
        printed_back("Align"),
        grammar=grammar("split destruct group"),
        smallest=True,
    ),
]

TOO_STRICT = [
    Fault(
        "T-Var",
        "T-Var",
        "A.2, L2300",
        "A scalar is read at exactly its own perspective, so a value that a block shares is out of reach inside destruct. The "
        "text (4.1) says that reading broader values is in the rules for reading, but only arrays have such a rule.",
        "x :^q t in G, d <= q => G |-^pi_d x : t, where d is the perspective that is asked for",
        "let x : int @ thread[2] = 0 { let y : int @ thread[1] = x { skip } }",
        TWO,
        "ill-typed",
        "runs",
        printed_back("T-Var"),
        grammar=grammar("let id if", "Var"),
        smallest=True,
    ),
    Fault(
        "T-Partition-Id",
        "T-Partition-Id",
        "A.2, L2315",
        "partition_id has no type in grid code, where the printed listings use it first; by the printed order only code at "
        "(Thread,1) and (Block,1) may use it.",
        "d <= pi => G |-^pi_d partition_id : int",
        "let x : int @ thread[1] = id { skip }",
        Shape(2, 1),
        "ill-typed",
        "runs",
        printed_back("T-Partition-Id"),
        grammar=grammar("let id", "Id"),
        smallest=True,
    ),
    Fault(
        "T-Bop",
        "T-Bop",
        "A.2",
        "There is no arithmetic on float.",
        "both operands int or both float",
        "let x : float @ thread[1] = 1.0 + 1.0 { skip }",
        ONE,
        "ill-typed",
        "runs",
        printed_back("T-Bop"),
        grammar=grammar("let float plus", "Bop"),
        smallest=True,
    ),
    Fault(
        "T-Cmp",
        "T-Cmp",
        "A.2",
        "There is no comparison of float.",
        "both operands int or both float",
        "if 1.0 < 2.0 { skip } else { skip }",
        ONE,
        "ill-typed",
        "runs",
        printed_back("T-Cmp"),
    ),
    Fault(
        "T-Assn",
        "T-Assn",
        "A.2, L2367",
        "The value must have a type at the code's perspective even where x is narrower: `x = x` is refused in grid code.",
        "x :^q t in G, q <= pi, G |-^pi_q e : t => G |-^pi_m x = e",
        "let x : int @ thread[1] = 0 { x = x }",
        TWO,
        "ill-typed",
        "runs",
        printed_back("T-Assn"),
        grammar=grammar("let id assign destruct", "Assign"),
        smallest=True,
    ),
    Fault(
        "T-Decl",
        "T-Decl",
        "A.2, L2395",
        "As T-Assn: nothing that depends on a thread can be declared for it in broader code.",
        "q <= pi, G |-^pi_q e : t, x not in G, G, x :^q t |-^pi_m s => G |-^pi_m x : t @ q = e in s",
        "let x : int @ thread[1] = 0 { let y : int @ thread[1] = x { skip } }",
        TWO,
        "ill-typed",
        "runs",
        printed_back("T-Decl"),
        grammar=grammar("let id destruct", "Declare"),
        smallest=True,
    ),
    Fault(
        "T-Function-Call",
        "T-Function-Call",
        "A.2, L2348",
        "f and all of its arguments must be at exactly the code's perspective: block code calls nothing that was written for "
        "a thread, and nothing takes a value per thread and an array of the block.",
        "f : Fun(x_i :^q_i t_i, pi_f, m'), pi_f <= pi, scalars typed at q_i, arrays at exactly q_i",
        "fun f(k : int @ thread[1]) @ thread[1] uses 0 { skip } f(0)",
        TWO,
        "ill-typed",
        "runs",
        printed_back("T-Function-Call"),
        grammar=Grammar(forms("call let id destruct"), (), (TAKES_ONE,), needs=forms("Call")),
        smallest=True,
    ),
    Fault(
        "T-Alloc",
        "T-Alloc",
        "A.2, L2431",
        "Arrays in registers and in global memory are charged to the budget of shared memory.",
        "only T-Alloc-Shared charges",
        "alloc x : int[1] local { skip }",
        ONE,
        "ill-typed",
        "runs",
        printed_back("T-Alloc"),
        grammar=grammar("alloc destruct", "Alloc"),
        smallest=True,
    ),
]

UNSOUND = [
    Fault(
        "T-Sync",
        "T-Sync-Init, -Dec, -Wait",
        "A.2",
        "As statements of the language they always have a type, so a wait that nobody answers is well typed.",
        "they are run-time forms, which a program does not contain; partition, claim and lower step to them",
        "init p; wait p",
        ONE,
        "deadlock",
        "ill-typed",
        printed_back("Program", SYNC),
        grammar=grammar("sync seq"),
        smallest=True,
    ),
    Fault(
        "T-Sync-Dec",
        "T-Sync-Dec",
        "A.2, A.3",
        "The counter may go below zero, and zero is what wait asks for.",
        "as above; arrivals are counted up to size(pi), and then the phase turns",
        "dec p; wait p",
        ONE,
        "deadlock",
        "ill-typed",
        printed_back("Program", SYNC),
        grammar=grammar("sync seq", "Dec"),
        smallest=True,
    ),
    Fault(
        "T-Arr-Assn",
        "T-Arr-Assn, T-Arr-Assn-Shared",
        "A.2, L2401",
        "Memory that threads share is stored to by code of many threads, each at its own time: who is late reads what who "
        "was early has stored, so an expression that has a type at (Grid,1) has two values in the grid.",
        "for l != Local: q = pi = (Thread,1)",
        "input a : int = [0] let x : int @ grid[1] = a[0] { a[0] = x + 1 }",
        TWO,
        "wrong value",
        "ill-typed",
        printed_back("T-Arr-Assn"),
        grammar=grammar("store read plus let", "Store", inputs=A),
        smallest=True,
    ),
    Fault(
        "T-Arr-Assn-deadlock",
        "T-Arr-Assn, values at q",
        "our own first repair",
        "Typing index and value at the array's perspective is not enough: the threads of the block then part at a barrier.",
        "as above",
        """input a : int = [0] lower g: a as b { destruct { b[0] = b[0] + 1;
        let v : int @ block[1] = b[0] { if v == 1 { lower h: b as c { skip } } else { skip } } } }""",
        TWO,
        "deadlock",
        "ill-typed",
        storing(),
        new=True,
    ),
    Fault(
        "T-Memcpy",
        "T-Memcpy",
        "A.2, L2473",
        "As T-Arr-Assn: a slow thread repeats the first copy after a fast one has made the second.",
        "x :^q, y :^r, q <= pi, q <= r; and q = pi = (Thread,1) unless x is local",
        "input a : int = [0] input b : int = [1] input c : int = [2] memcpy a from b; memcpy b from c",
        TWO,
        "wrong value",
        "ill-typed",
        printed_back("T-Memcpy"),
        grammar=grammar("memcpy seq", "Memcpy", inputs=THREE_INPUTS),
        smallest=True,
    ),
    Fault(
        "T-Claim",
        "T-Claim",
        "A.2, L2449",
        "n' <= n lets a unit be claimed that does not divide the code's: no split makes it.",
        "n' | n (and, for an arm a, (a+1)*n' <= n)",
        "input a : int = [0] lower p: a as b { destruct { claim q: b as c at 2 { skip } } }",
        Shape(3, 1),
        "stuck",
        "ill-typed",
        printed_back("T-Claim"),
        grammar=grammar(f"claim {CODE}", "Claim", inputs=A),
        smallest=True,
    ),
    Fault(
        "T-Async-Memcpy",
        "T-Async-Memcpy",
        "A.2, L2467",
        "The source may be allocated inside the asynchronous scope, and be gone when the copy takes place at its end.",
        "y is bound outside of phi's scope, and may be any array that a thread can read",
        """destruct { destruct { alloc x : int[1] local { async f: x as y {
        alloc z : int[1] local { async_memcpy f: y from z } } } } }""",
        ONE,
        "stuck",
        "ill-typed",
        printed_back("T-Async-Memcpy"),
        new=True,
        grammar=grammar("async alloc destruct", "AsyncMemcpy"),
        smallest=True,
    ),
    Fault(
        "T-Function-Call-alias",
        "T-Function-Call",
        "A.2, L2348",
        "One array may be passed twice: the callee divides the one name among threads while it reads the other, so v, "
        "declared for both blocks, differs.",
        "no array is passed twice",
        """input a : int = [0, 0]
        fun f(x : int[]global @ grid[1], y : int[]global @ grid[1]) @ grid[1] uses 0 {
          lower p: x as b { destruct { partition q: b as c by 2 {
            group 2 { lower r: c as d { destruct { d[0] = 1 } } }; let v : int @ block[2] = y[0] { skip } } } } }
        f(a, a)""",
        Shape(2, 1),
        "not uniform",
        "ill-typed",
        printed_back("T-Function-Call"),
        new=True,
        uniform=True,
    ),
]

TYPING_FAULTS = [*ORDER_FAULTS, *TOO_STRICT, *UNSOUND]
