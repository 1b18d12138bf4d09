"""Terms of Bundl for hypothesis: any that the grammar allows, well typed or not."""

from __future__ import annotations

from hypothesis import strategies as st

from theory.bundl import syntax as x
from theory.bundl.perspectives import BLOCK, GRID, THREAD, at
from theory.bundl.syntax import ArrayOf, Base, Kind

names = st.sampled_from(["a", "b", "c", "x", "y'", "_z1", "ident", "dec1"])
sizes = st.integers(0, 9)
perspectives = st.builds(at, st.sampled_from([THREAD, BLOCK, GRID]), st.integers(1, 9))
bases, kinds = st.sampled_from(Base), st.sampled_from(Kind)
arrays = st.builds(ArrayOf, bases, kinds)
params = st.lists(st.builds(x.Param, names, bases | arrays, perspectives), max_size=2).map(tuple)
numbers = st.integers(-(10**9), 10**9)
floats = st.floats(allow_nan=False)

expressions = st.recursive(
    st.builds(x.Var, names)
    | st.builds(x.Int, numbers)
    | st.builds(x.Float, floats)
    | st.builds(x.Bool, st.booleans())
    | st.just(x.Id()),
    lambda e: (
        st.builds(x.Index, e, e)
        | st.builds(x.Bop, st.sampled_from("+-*/%"), e, e)
        | st.builds(x.Cmp, st.sampled_from(["==", "!=", "<", "<="]), e, e)
    ),
    max_leaves=6,
)
few = st.lists(expressions, max_size=2).map(tuple)
views = st.none() | st.builds(x.View, expressions, expressions, expressions)

statements = st.recursive(
    st.just(x.SKIP)
    | st.builds(x.Call, names, few)
    | st.builds(x.Assign, names, expressions)
    | st.builds(x.Store, expressions, expressions, expressions)
    | st.builds(x.AsyncMemcpy, names, names, names)
    | st.builds(x.Memcpy, names, names)
    | st.builds(x.Init, names)
    | st.builds(x.Dec, names)
    | st.builds(x.Wait, names)
    | st.builds(x.Free, sizes)
    | st.builds(x.Leave, names, kinds, sizes),
    lambda s: (
        st.builds(x.Seq, s, s)
        | st.builds(x.Split, sizes, sizes, s, s)
        | st.builds(x.Destruct, s)
        | st.builds(x.Group, sizes, s)
        | st.builds(x.Declare, names, bases, perspectives, expressions, s)
        | st.builds(x.Alloc, names, kinds, bases, sizes, s, st.none() | perspectives)
        | st.builds(x.If, expressions, s, s)
        | st.builds(x.While, expressions, s)
        | st.builds(x.Partition, names, names, names, sizes, s, views)
        | st.builds(x.Claim, names, names, names, sizes, s, sizes)
        | st.builds(x.Lower, names, names, names, s)
        | st.builds(x.AsyncPartition, names, names, names, s)
        | st.builds(x.Arm, sizes, sizes, s)
        | st.builds(x.Scope, names, bases | arrays, perspectives, s, st.none() | names, sizes)
        | st.builds(x.Frame, params, perspectives, sizes, s)
    ),
    max_leaves=8,
)
functions = st.builds(x.Function, names, params, perspectives, sizes, statements)
inputs = st.builds(x.Input, names, bases, st.lists(st.booleans() | numbers | floats, max_size=3).map(tuple))
programs = st.builds(
    x.Program,
    statements,
    st.lists(functions, max_size=2).map(tuple),
    st.lists(inputs, max_size=2).map(tuple),
    sizes,
)
