"""Bundl, the calculus under Prism: it runs, as printed and as corrected.

    syntax        the terms: types, expressions, statements, run-time forms, programs
    perspectives  the algebra: Shape(blocks, threads), at, size, dn, shrink, orders, alignments, units
    typing        Rules; `printed`, `corrected`; check_program(rules, program, shape); check(rules, context, code, s) -> m
    step          Steps; `printed`, `corrected`: tables of step rules; Machine(steps, program, shape): start, steps, status
    environments  environment typing: state_faults(machine, typing rules, state)
    text          show(term) -> str, parse(text) -> Program, parse_statement, parse_expression

A table of rules maps the paper's name of a rule to one function, whose docstring is the judgement. `mix(corrected,
printed, "T-Claim")` puts single printed rules back, to try each fault alone.
"""
