"""Operators: their identities, and what is refused.

Tests of prism/lang/check/purity.py; prism/lib/thread/operators.py.
"""

import copy
import pickle

import numpy as np
import pytest

import prism
from prism.lib import Operator
from prism.lib.operators import BY_NAME, operator_of
from prism.lib.thread import operators as functions

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("kind", DTYPES)
def test_the_identity_leaves_everything_alone(name: str, kind: str) -> None:
    operator, dtype = BY_NAME[name], np.dtype(kind)
    if operator.integral and dtype.kind == "f":
        pytest.skip("for integers only")
    if dtype.kind == "f":
        x = np.array([-np.inf, -1.5, -0.0, 0.0, 1e-40, 2.5, np.inf, np.nan], dtype)
    else:
        x = np.array([np.iinfo(dtype).min, 0, 1, 77, np.iinfo(dtype).max], dtype)
    identity = operator.identity_of(dtype)
    assert identity.dtype == dtype
    for found in (getattr(np, name)(identity, x), getattr(np, name)(x, identity)):
        assert found.tobytes() == x.tobytes()


def test_an_exclusive_sum_begins_with_plain_zero() -> None:
    assert not np.signbit(BY_NAME["add"].identity_of(np.dtype("float32"), shown=True))
    assert np.signbit(BY_NAME["add"].identity_of(np.dtype("float32")))


def test_names() -> None:
    assert operator_of("add") is BY_NAME["add"]
    assert operator_of(BY_NAME["minimum"]).name == "minimum"
    with pytest.raises(ValueError, match="`op` must be one of add, .*not 'plus'"):
        operator_of("plus")


def test_a_function_without_identity() -> None:
    with pytest.raises(TypeError, match=r"`op`: `add` has no identity; pass prism.lib.Operator\(add, identity=...\)"):
        operator_of(functions.add)
    with pytest.raises(TypeError, match="`add` needs an identity"):
        Operator(functions.add, None)


@pytest.mark.parametrize("wrong", [3, None, [], np.add, lambda a, b: a])
def test_what_is_no_operator(wrong: object) -> None:
    with pytest.raises(TypeError, match="`op` must be an operator's name or a prism.lib.Operator, not "):
        operator_of(wrong)


def test_operators_are_copied_and_pickled() -> None:
    """As functions are, by name: so they go to other processes."""
    for operator in (Operator(functions.add, 0), Operator(functions.maximum, 0, commutative=True)):
        for other in (pickle.loads(pickle.dumps(operator)), copy.deepcopy(operator), copy.copy(operator)):
            assert other == operator and other.function is operator.function
            assert (
                prism.lib.scan(np.array([3, 1, 4]), other).tolist()
                == prism.lib.scan(np.array([3, 1, 4]), operator).tolist()
            )


def test_what_is_no_device_function() -> None:
    with pytest.raises(TypeError, match="device function"):
        Operator(lambda a, b: a + b, 0)


@pytest.mark.parametrize(("identity", "kind"), [(-1, "uint8"), (300, "uint8"), (0.5, "int32"), ("zero", "int32")])
def test_an_identity_that_the_dtype_lacks(identity: object, kind: str) -> None:
    with pytest.raises(TypeError, match="identity of `add`"):
        Operator(functions.add, identity).identity_of(np.dtype(kind))
