"""Bundl, the calculus under Prism: it runs, as printed and as corrected.

    syntax        the terms: types, expressions, statements, run-time forms, Program(body, functions, inputs, budget)
    text          show(term) -> str; parse(text) -> Program; parse_statement, parse_expression
    perspectives  Shape(blocks, threads); at(level, n), size, dn, shrink, scale, count; order_*, align_*; unit, offset, base
    judgement     Context (G), Code (pi and where its units start), Checker (dispatch), Rules (a table), IllTyped
    typing        printed, corrected: Rules; mix(corrected, printed, "T-Claim", "Order", ..);
                  check_program(rules, program, shape, used=None) -> m; well_typed(..) -> bool; why_not(..);
                  check(rules, context, code, statement, shape) -> m
    values        Memory, Bound, Array, Thread, State: immutable, usable as keys
    work          Work (one step under way), Steps (a table), Stuck, OutOfBounds
    step          printed, corrected: Steps; mix(..); Machine(steps, program, shape):
                  start() -> State; steps(state) -> [Step(thread, rule, state, private, via)]; successors(state) -> steps, stuck;
                  stuck(state); status(state) -> "done" | "running" | "deadlock" | "stuck" | "bounds"; outcome(state)
    spine         spine(body, t, shape) -> [Spot(statement, pi, p)]: where a thread stands, its redex last
    environments  printed, corrected: V-* and G-*; state_faults(machine, rules, state) -> [str]: preservation, memory, Phi
    generate      program(rng, shape, fuel, racy=False) -> Program: well typed, by derivation; `every`: all up to a size
    races         Watched: a Machine that logs what steps do; Clocks: happens-before on one run; conflicts: on one state
    soundness     explore(program, shape), sample(program, shape, rng) -> Report; failures(report) -> [str]
    mutants       mutant(program, shape, rng) -> (Program, rule) | None: ill typed; fate(program, shape, rng) -> str

A table of rules maps the printed name of a rule, or of a family of step rules, to one function, whose docstring is the
judgement. What the two versions share is one function in both; a rule at fault is a printed one put back alone with `mix`.
"""
