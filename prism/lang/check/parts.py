"""Parts of values and of memory: fields, components, elements (R19)."""

from __future__ import annotations

from prism.lang import tree
from prism.lang.check.axes import array_attribute, array_number
from prism.lang.check.env import Env, declaration_label, fail
from prism.lang.check.expressions import check_index, element, flatten, in_range, rank, read_element, visible
from prism.lang.check.fragments import fragment_item
from prism.lang.check.table import check_expression, expression_rule
from prism.lang.check.vectors import is_vector_cast, struct_field, vector_load
from prism.lang.diagnostics import Span
from prism.lang.errors import tiles
from prism.lang.errors import types as errors
from prism.lang.parse import syntax as s
from prism.lang.types import INT32, Array, Fragment, Pointer, TensorMap, Type, Vector
from prism.lang.types.perspective import Perspective, meet
from prism.lang.types.structs import Struct


@expression_rule(s.Attribute)
def check_field(env: Env, e: s.Attribute, target: Perspective, want: Type | None) -> tree.Expr:
    """A field of a struct; `v.x`, `.y`, `.z`, `.w` of a vector."""
    if (number := array_attribute(env, e)) is not None:
        return number
    base = check_expression(env, e.base, target)
    if isinstance(base.type, Struct):
        return struct_field(base, base.type, e)
    if not isinstance(base.type, Vector) or e.name not in "xyzw"[: base.type.length]:
        hint = "structs have fields, vectors components: .x .y .z .w, or v[k]"
        if isinstance(base.type, Pointer | Array):
            hint = (
                "a pointer has no attributes: declare `array(T, 1)`, which has `.shape[0]`, or pass `n: int @ grid[1]`"
            )
        fail(errors.NotAValue(span=e.span, text=f".{e.name}", hint=hint))
    index = tree.Const(value="xyzw".index(e.name), type=INT32, span=e.span)
    return tree.Component(vector=base, index=index, type=base.type.element, perspective=base.perspective, span=e.span)


@expression_rule(s.Subscript)
def check_subscript(env: Env, e: s.Subscript, target: Perspective, want: Type | None) -> tree.Expr:
    """`a[i]` of a local array, of memory through a pointer or view (R19), of a vector."""
    if is_vector_cast(e.base):
        return vector_load(env, e.base, e.indices, e.span, target)
    if (number := array_number(env, e)) is not None:
        return number
    base, indices = flatten(e)
    if isinstance(base, s.Name):
        symbol = visible(env, base.name, base.span, indices=indices)
        if isinstance(symbol.type, Array):
            return item(env, symbol, indices, e, target)
        if isinstance(symbol.type, Pointer):
            return load_element(env, symbol, indices, e.span, target)
        if isinstance(symbol.type, Fragment):
            return fragment_item(env, symbol, indices, e.span)
        if isinstance(symbol.type, TensorMap):
            fail(tiles.MapUse(span=e.span, name=symbol.name, labels=(declaration_label(symbol),)))
    value = check_expression(env, base, target)
    if isinstance(value.type, Vector) and len(indices) == 1:
        return component(env, value, indices[0], e.span, target)
    fail(errors.NotSubscriptable(span=e.span, found=str(value.type)))


def load_element(
    env: Env, symbol: tree.Symbol, indices: tuple[s.Expr, ...], span: Span, target: Perspective
) -> tree.Expr:
    """An element of memory, or where elements are vectors a component of one: `p[i]`, `p[i][k]`."""
    assert isinstance(symbol.type, Pointer)
    if not isinstance(symbol.type.element, Vector) or len(indices) != rank(symbol) + 1:
        return read_element(env, element(env, symbol, indices, span, target))
    vector = read_element(env, element(env, symbol, indices[:-1], span, target))
    return component(env, vector, indices[-1], span, target)


def component(env: Env, vector: tree.Expr, index: s.Expr, span: Span, target: Perspective) -> tree.Expr:
    """`v[k]`."""
    assert isinstance(vector.type, Vector)
    k = check_index(env, index, target)
    in_range(k, vector.type.length, "the vector")
    perspective = meet(vector.perspective, k.perspective)
    return tree.Component(vector=vector, index=k, type=vector.type.element, perspective=perspective, span=span)


def item(env: Env, symbol: tree.Symbol, indices: tuple[s.Expr, ...], e: s.Subscript, target: Perspective) -> tree.Expr:
    """`a[i]`, `a[i][j]`, and a component of an element, `a[i][k]`, where elements are vectors."""
    assert isinstance(symbol.type, Array)
    rank = len(symbol.type.shape)
    extra = 1 if isinstance(symbol.type.element, Vector) and len(indices) == rank + 1 else 0
    if len(indices) != rank + extra:
        fail(errors.Indices(span=e.span, name=symbol.name, wanted=rank, given=len(indices)))
    typed = tuple(check_index(env, index, target) for index in indices[:rank])
    for index, extent in zip(typed, symbol.type.shape, strict=True):
        in_range(index, extent, symbol.name)
    perspective = meet(symbol.perspective, *(index.perspective for index in typed))
    found = tree.Item(symbol=symbol, indices=typed, type=symbol.type.element, perspective=perspective, span=e.span)
    return component(env, found, indices[rank], e.span, target) if extra else found
