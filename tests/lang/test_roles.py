"""A kernel as one body a role does what it did before: on the reference machine, under every schedule, with all its checks."""

import numpy as np
import pytest

from prism.compiler import check
from prism.interpret import run
from prism.interpret.machine import SCHEDULES
from prism.lang.place import statements
from prism.lang.plan import Advance
from prism.lang.specialise import specialise
from prism.lang.tree import Specialise
from prism.lang.types import BFLOAT16
from tests.examples import asynchronous as a

LAUNCHES = {
    "piped": lambda: a.ring(a.piped, 2, 5, 160, COPIES=2),
    "drawn": lambda: a.drawn_by(3, 7, 2),
    "product": lambda: a.product(BFLOAT16, 8, 64, ahead=1, steps=4),
    "hgemm": lambda: a.hgemm_of(128, 64, 192, bn=64, stages=2, exact=True),
    "lasting": lambda: a.lasting_of(128, 32, 192, 1, 16, 2, 1),
    "registers": a.registers_moved,
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", LAUNCHES)
def test_roles_change_nothing(name, schedule):
    launch = LAUNCHES[name]()
    program = specialise(check(launch.kernel, launch.template))
    arguments = [x.copy() if isinstance(x, np.ndarray) else x for x in launch.arguments]
    run(program, *launch.shape, arguments, check=True, schedule=schedule)
    for place, wanted in launch.results.items():
        assert np.array_equal(launch.values(arguments[place]), wanted)


@pytest.mark.parametrize("name", LAUNCHES)
def test_each_role_has_its_own_statements_and_operations(name):
    launch = LAUNCHES[name]()
    before = check(launch.kernel, launch.template)
    program = specialise(before)
    plan, body = program.plans[program.entry], program.entry.body
    (roles,) = (s.roles for s in statements(body) if isinstance(s, Specialise))
    inside = [set(statements(role.body)) for role in roles]
    assert len(roles) >= 2 and not set.intersection(*inside)
    ends = [role.first + role.size for role in roles]
    assert roles[0].first == 0 and [role.first for role in roles[1:]] == ends[:-1] and ends[-1] == launch.shape[1]
    everything = set(statements(body))
    assert all(op.at in everything for op in plan.operations) and all(b.before in everything for b in plan.barriers)
    old = before.plans[before.entry]
    assert {type(op) for op in plan.operations} == {type(op) for op in old.operations}
    for cycle in plan.cycles:
        for role in inside:
            counted = [op for op in plan.operations if isinstance(op, Advance) and op.cycle is cycle and op.at in role]
            assert len(counted) <= 1
    assert specialise(program) is program


@pytest.mark.parametrize("kernel, template", [(a.in_turn, {"COPIES": 2}), (a.two_buffers, {}), (a.swapped, {})])
def test_a_kernel_of_one_role_stays_as_it_is(kernel, template):
    program = check(kernel, template)
    assert specialise(program) is program
