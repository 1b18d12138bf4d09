"""What seemed wrong at first, and is not; each has a test in tests/theory/bundl/test_fine.py."""

from __future__ import annotations

from theory.bundl.fault import Fine

FINE_ROWS = [
    Fine(
        "operators",
        "pi/pi', pi/c, h/h",
        "A.1, A.3 (L2514)",
        "One sign for a number and for a perspective; h/h and Grid/Thread are not given.",
        "Read as two operators, `count` and `shrink`, with h/h = 1 and Grid/Thread = B*T, they agree with "
        "counting units one by one, for all shapes up to 4 blocks of 8 threads.",
    ),
    Fine(
        "align-spelling",
        "align",
        "4.1, L1401",
        "n2 | n1 + n seems redundant, and the rule not symmetric.",
        "Given n2 | n it says n2 | n1, and the first arm begins where the unit does. Sound: up to n = 48, all"
        " that it lets through begins at a multiple of its own size.",
    ),
    Fine(
        "thread-ids",
        "L",
        "A.3, L2490",
        "L has entries for n in T, but thread ids are those of the grid.",
        "Read over B*T ids nothing else changes: threads of two blocks with one place have names of their own.",
    ),
    Fine(
        "main-access",
        "T-Arr-Access (main text)",
        "4.1, L1381",
        "It lacks the restriction of shared arrays to the code of a block.",
        "A shared array is bound at (Block,1), and no rule makes code inside a scope broader: without the "
        "restriction the same programs have types, of all up to a size.",
    ),
    Fine(
        "local-stores",
        "T-Arr-Assn",
        "A.2, L2401",
        "Index and value are typed at the code's perspective, even if the array is narrower.",
        "A local array is never narrower than the code that names it, and to others one thread stores: "
        "nothing is refused by it. (With the project's `alloc .. @ q` it may be; index and value are then typed at q.)",
    ),
    Fine(
        "alloc-pi",
        "T-Alloc-Shared",
        "A.2, L2437",
        "Its body's perspective is not bound.",
        "It can only be (Block,1); so read, allocations nest and are charged.",
    ),
    Fine(
        "n-ary",
        "T-Split",
        "A.2, L2355",
        "Splits have two arms, the language's have any number.",
        "Nested they do it: 8 = 4 + 2 + 1 is split(4,4){..}{split(2,2){..}{split(1,1){..}{skip}}}, with the "
        "printed alignment too. (12 = 8 + 4 is a fault: align.)",
    ),
    Fine(
        "partition-function",
        "T-Partition",
        "A.2, L2443",
        "There is no indexing function, and x does not come back.",
        "A restriction only. x is hidden for the body and is there again after it.",
    ),
    Fine(
        "async-one-thread",
        "T-Async-Partition",
        "A.2, L2461",
        "Only (Thread,1) can copy asynchronously.",
        "A restriction only: broader code has group and split to get there.",
    ),
    Fine(
        "async-context",
        "T-Async-Memcpy",
        "A.2, L2467",
        "Its context has exactly two variables.",
        "Read as membership; other names do not change the type.",
    ),
    Fine(
        "program",
        "S-Program",
        "A.3, L2520",
        "Each step derives the perspective anew from (Grid,1).",
        "The congruences give the same perspective and place each time: split, group and destruct keep their "
        "numbers while their bodies step.",
    ),
    Fine(
        "async-rename",
        "S-Async-Partition-Congr",
        "A.3, L2664",
        "m and m' are exchanged, and x is renamed at every step.",
        "The first is a slip; renaming again gives what is there, since x is hidden in the body.",
    ),
    Fine(
        "free-skip",
        "S-Free",
        "A.3",
        "It has no right side.",
        "skip is meant: all of the other axioms end there, and S-Seq-Done needs it.",
    ),
    Fine(
        "assign-case",
        "T-Assn, in Progress and Preservation",
        "A.4",
        "The case is missing from both proofs.",
        "It holds: every state of programs that assign at each perspective is well typed and steps.",
    ),
    Fine(
        "store-premise",
        "S-Arr-Assn",
        "A.3, L2736",
        "The premise x in^pi' names an x that nothing binds.",
        "e1 is a variable in every well-typed store, and x is that; the perspective is then the part's and "
        "not the allocation's.",
    ),
    Fine(
        "claim-winner",
        "S-Claim",
        "A.3, L2749",
        "s' is bound by nothing, and it is always the first unit that gets y.",
        "s' is s. That it is the first is a restriction only; the project's `arm a` says which.",
    ),
    Fine(
        "alloc-again",
        "S-Alloc-Shared, S-Alloc-Global",
        "A.3",
        "Each thread of the unit runs the allocation. Where that makes the cells zero, who is late would take away what others "
        "have stored.",
        "A store is one thread's, and from a unit's array only lower, partition and claim lead there, whose barrier at the entry "
        "all must have reached. (It rests on that barrier: without it, see the row on S-Partition, S-Claim, S-Lower, values are "
        "lost.)",
    ),
    Fine(
        "call-slips",
        "S-Function-Call, T-Function-Call in Preservation",
        "A.3, L2797; A.4",
        "Arguments are evaluated without eta, there is no return, and the proof's case is of another rule, with "
        "`call s with ..`.",
        "eta is meant, as expressions need it. That results go by arrays is a restriction only. The proof's rule keeps the "
        "caller's names aside, as a frame does; for the rule that is printed, see S-Function-Call among the faults.",
    ),
    Fine(
        "lower-offset",
        "S-Lower",
        "A.3",
        "No offset: each narrower unit would get the whole.",
        "dn pi is the same unit under another name, so size(dn pi) = size(pi) and there is nothing to shift.",
    ),
    Fine(
        "stray-signs",
        "S-Destruct-Done, S-Group-Done, S-Seq-First",
        "A.3",
        "A stray `;`, a superscript too many.",
        "Slips: dropped, the rules are as in the main text.",
    ),
    Fine(
        "more-slips",
        "S-Sync-Init, S-Sync-Dec, T-Alloc, Statement Progress, Statement Preservation",
        "A.2 - A.4",
        "Psi' is one psi's counters, not the map of all; a premise is empty; the Sigma after a step has no prime; dn is said to "
        "go to the left.",
        "Slips: Psi with psi's entry replaced, no premise, Sigma' and to the right are meant.",
    ),
    Fine(
        "e-float",
        "E-Float",
        "A.4, L2948",
        "It is cited and not printed.",
        "f => f is meant, as T-Float and V-Float are there.",
    ),
    Fine(
        "update-lemma",
        "Well-typed update",
        "A.4",
        "The lemma lacks the premise x :^pi t in G.",
        "It is used only where T-Assn gives that premise; without it update is undefined.",
    ),
    Fine(
        "split-lemma",
        "Statement Preservation",
        "A.4",
        "It cites T-Split-Left, which does not exist.",
        "T-Split is meant; each arm's typing is one of its premises.",
    ),
    Fine(
        "theorem-premises",
        "Main theorem",
        "4.3, L1678",
        "p, Phi and m are left out, of which the lemmas ask that they be well-formed.",
        "In the machine they begin at 0, empty and 0, and every step keeps p < n, each deferred statement's type, and the bound "
        "on memory.",
    ),
    Fine(
        "liveness",
        "Main theorem",
        "4.3, L1693",
        "That all threads of a unit do arrive is left open, and believed for programs that end.",
        "It is not proved here either. No well-typed program without races, of all up to a size and of those generated, has a "
        "schedule on which a thread waits for ever.",
    ),
    Fine(
        "bounds",
        "Expression Safety",
        "A.4",
        "It assumes that indices are within bounds.",
        "An assumption that is stated; what a program does beyond it is told apart from being stuck.",
    ),
]
