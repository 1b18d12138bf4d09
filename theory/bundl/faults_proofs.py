"""Faults of the environments' typing and of the theorems."""

from __future__ import annotations

from theory.bundl.fault import Fault, forms, printed_back
from theory.bundl.faults_steps import BLOCKS, named_there
from theory.bundl.observe import CORRECTED
from theory.bundl.perspectives import Shape
from theory.bundl.search import Grammar

ONE = Shape(1, 1)
COPYING = """destruct { destruct { alloc x : int[1] local { alloc y : int[1] local {
async f: x as z { async_memcpy f: z from y } } } } }"""
TWICE = "budget 8 destruct { alloc x : int[2] shared { skip }; alloc y : int[2] shared { skip } }"

PROOF_FAULTS = [
    Fault(
        "G",
        "G-*",
        "A.4, More definitions",
        "A rule for G, x :^pi t looks at x and not at G, so an environment that has only the last name is well typed for all of "
        "G. In `y = 1` the statement has a type, the environment {x} passes, and the step is stuck: progress fails.",
        "G |- env is a premise of each rule",
        "let y : int @ grid[1] = 0 { let x : int @ grid[1] = 0 { y = 1 } }",
        ONE,
        "see test",
        "runs",
    ),
    Fault(
        "V-async",
        "V-*, G-*",
        "A.4, More definitions",
        "No rule gives `async t` to a value, so no environment is well typed inside async_partition, and preservation fails "
        "there.",
        "V-Async: (phi, x) in flight : async_phi t[]^l where x : t[]^l",
        COPYING,
        ONE,
        "see test",
        "runs",
    ),
    Fault(
        "deferred",
        "Phi, S-Async-Memcpy",
        "A.3, L2682; A.4",
        "What is deferred is memcpy(z, y) with z : async t[], for which T-Memcpy has no case; phi is bound by nothing.",
        "memcpy(x, y) is deferred, with x the array under z; async_memcpy and async t name their phi",
        COPYING,
        ONE,
        "see test",
        "runs",
    ),
    Fault(
        "theorem",
        "Main theorem",
        "4.3, L1678",
        "It says that there is some s' with s ~>* s' that is well typed; with s' = s that holds of every s. This program "
        "satisfies it, and is stuck in all of its runs.",
        "every reachable state of the machine is well typed, and each of its threads is done, can step, or waits at a barrier",
        "input a : int = [0] lower p: a as b { destruct { claim q: b as c at 1 { skip } } }",
        Shape(4, 1),
        "stuck",
        "runs",
        printed_back("", "S-Claim Align"),
    ),
    Fault(
        "interference",
        "Main theorem, Statement Preservation",
        "4.3, L1678; A.4, L3121",
        "Both are about one thread, that steps from an environment that suits it; in the machine others step in between, and may "
        "change sigma and Sigma. With names of parts bound there, as `rename` has it, block 1's lower makes block 0's d another "
        "array: each step keeps what its own thread needs, and the state has no type.",
        "the theorem is of the machine's states. Others keep G |- env: names are in eta, a cell keeps its base type, and cells "
        "go when all who have their names have arrived",
        BLOCKS % "group 2 { claim r: c as d at 1 { skip }; lower s: c as d { skip } }",
        Shape(2, 1),
        "preservation",
        "runs",
        named_there(),
    ),
    Fault(
        "substitution",
        "Statement Preservation, T-Partition",
        "A.4, L3229",
        "The case rests on a lemma, that s[(y + c*p)/y] has the type of s, which is called obvious. It has none: T-Arr-Access "
        "asks for an array, and no rule gives y + c*p such a type.",
        "no substitution: y is bound to its part",
        BLOCKS % "let x : int @ thread[1] = c[0] { skip }",
        Shape(2, 1),
        "see test",
        "runs",
    ),
    Fault(
        "memory",
        "Statement Preservation, memory",
        "A.4, L3121",
        "From any m' <= m the step is to stay within m. An allocation has a type at m = 8; where 8 bytes are in use already, it "
        "steps to 16.",
        "the bytes that a thread holds are at most what its term needs, counting the scopes that it is in",
        TWICE,
        ONE,
        "see test",
        "runs",
    ),
    Fault(
        "used-plus-need",
        "our own first repair",
        "-",
        "Nor is `used + need <= budget` kept: while `free 8; alloc ..` is left, 8 are in use and 8 needed, of 8, as T-Seq takes "
        "the larger of what is needed before and after.",
        "as above: `scope x holds 8 {..}` needs 8 and what is inside it",
        TWICE,
        ONE,
        "see test",
        "runs",
        new=True,
    ),
    Fault(
        "T-Free",
        "T-Free",
        "A.2, L2389",
        "free n needs n <= m, beside the n that are in use and that it gives back: the bytes are counted twice.",
        "free n needs nothing; the scope around it holds n",
        "budget 4 destruct { alloc x : int[1] shared { skip } }",
        ONE,
        "preservation",
        "runs",
        printed_back("T-Free"),
        grammar=Grammar(forms("alloc destruct"), (), needs=forms("Alloc")),
        smallest=True,
    ),
]
assert all(fault.version is CORRECTED for fault in PROOF_FAULTS if fault.printed == "see test")
