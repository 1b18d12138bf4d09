"""Alignment of vector accesses: which are proved aligned, which are surely not, and which the reference machine checks.

A vector of n elements may only be accessed at a multiple of n elements from an aligned base: a shared object's, or a
kernel's pointer (the host checks those). The place in the object is a polynomial: it is aligned where all its coefficients are.
"""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang import tree
from prism.lang.diagnostics import CompileError
from prism.lang.errors.types import Misaligned
from prism.lang.facts.addresses import resolve_indices
from prism.lang.facts.definitions import Facts, facts
from prism.lang.facts.digits import reader
from prism.lang.facts.polynomials import Form, add, constant, multiply
from prism.lang.facts.wraps import drop_wraps
from prism.lang.intrinsics import load_vector, store_vector
from prism.lang.keep.bases import Frozen
from prism.lang.tree.bind import binding_of
from prism.lang.tree.walk import statements, terms


class Access(Frozen):
    """One vector access and its verdict: `aligned`, `misaligned` (by `rest` elements) or `unknown`."""

    apply: tree.Apply
    width: int
    verdict: str
    rest: int = 0


def accesses(function: tree.Function) -> Iterator[Access]:
    """Yield the vector accesses of a function, in program order, each with its verdict."""
    known = facts(function)
    for statement in statements(function.body):
        for part in terms(statement):
            if isinstance(part, tree.Apply) and part.intrinsic.name in (load_vector.name, store_vector.name):
                yield judge(known, part)


def judge(known: Facts, apply: tree.Apply) -> Access:
    """Judge one access."""
    binding = binding_of(apply)
    width = int(binding.statics["width"]) if "width" in binding.statics else binding.lengths["value"]
    element = apply.arguments[0]
    assert isinstance(element, tree.Element)
    form = position(known, element)
    root = element.symbol.root()
    based = is_based(known, root)
    if form is None or any(factor % width for monomial, factor in form.items() if monomial):
        return Access(apply, width, "unknown")
    rest = form.get((), 0) % width
    if rest == 0:
        return Access(apply, width, "aligned" if based else "unknown")
    return Access(apply, width, "misaligned" if based else "unknown", rest)


def is_based(known: Facts, root: tree.Symbol) -> bool:
    """Whether an object is known to start aligned: shared memory, or a kernel's own pointer that is never assigned."""
    if isinstance(root.type, tree.Pointer) and root.type.shape is not None:
        return True
    return root.parameter and known.function.kind == "global" and root not in known.changed


def position(known: Facts, element: tree.Element) -> Form | None:
    """Return an element's place in its object, row by row, as a polynomial, or None; but for multiples of 2^bits of its types.

    What wraps drops such multiples, which every width divides: of `(a * 4) % 2**32` the place is `a * 4`, for `a` of any size.
    """
    reads, symbol = reader(known), element.symbol
    indices = resolve_indices(known, symbol, tuple((reads.read(index, {}), index.type) for index in element.indices))
    root = symbol.root().type
    shape = root.shape if isinstance(root, tree.Pointer) and root.shape is not None else (1,)
    if indices is None or (len(indices) != 1 and len(indices) != len(shape)):
        return None
    total: Form = {}
    for index, extent in zip(indices, shape, strict=len(indices) != 1):
        total = add(multiply(total, constant(extent)), drop_wraps(index, lambda _: True))
    return total


def check_alignment(function: tree.Function) -> None:
    """Refuse vector accesses that are surely misaligned."""
    errors = []
    for access in accesses(function):
        if access.verdict == "misaligned":
            element = access.apply.arguments[0]
            assert isinstance(element, tree.Element)
            errors.append(Misaligned(span=element.span, name=element.symbol.name, width=access.width, rest=access.rest))
    if errors:
        raise CompileError(*errors)
