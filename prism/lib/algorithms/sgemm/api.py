"""`prism.lib.sgemm`: products of matrices of float32 on the ordinary cores, of any shapes, strides and batches."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from prism.host import repeat
from prism.host.call import Decision, Result, call
from prism.host.lazies import LazyInfo
from prism.host.plan import OUT, Machine, Plan, Scratch, Step, instance_of
from prism.kernels.sgemm import HOST, LESSON, VARIANTS, Configuration, Layout, choose
from prism.kernels.sgemm.cut import FewCut
from prism.kernels.sgemm.ring_configurations import MEASURED, Cut
from prism.lang.intrinsics.layouts import nest
from prism.lang.keep.keys import exact
from prism.lang.tree.plan import Program
from prism.lib.algorithms.matmul.arguments import batch_of, require_like_result, require_operands
from prism.lib.algorithms.matmul.epilogues import asked_for, copy_several, extras_of, numbers_of, require_several
from prism.lib.algorithms.sgemm import bf16x6 as sgemm_bf16x6
from prism.lib.algorithms.sgemm import choice as sgemm_choice
from prism.lib.algorithms.sgemm import few as sgemm_few
from prism.lib.algorithms.sgemm import ring as sgemm_ring
from prism.lib.algorithms.sgemm.matrices import SIZE, Product, matrix_of
from prism.lib.algorithms.sgemm.ring import Staged
from prism.lib.views import MOST, View, new_view, view_of
from prism.runtime.arrays import ArrayInfo
from prism.runtime.instance import Instance

if TYPE_CHECKING:
    from prism.lib.algorithms.hgemm.records import After
    from prism.lib.algorithms.sgemm.fused import Fused

_KIND = "float32"
RING, ASYNC = "ring", "async"


def sgemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    epilogue: Any = None,
    extra: Any = (),
    out: Any = None,
    variant: str = "auto",
    precision: str = "float32",
    stream: Any = None,
) -> Any:
    """Return `epilogue(alpha * a @ b + beta * c, *extra)`.

    Parameters
    ----------
    a, b : arrays of NumPy, CuPy or torch
        m x k and k x n, of float32, of any strides. Axes before these are a batch, and are broadcast as `numpy.matmul` does. On
        the GPU only "ring" copies operands first, of large products: what is not aligned to 16 bytes, and a column-major `b`
        beside a column-major `a`.
    c : array, optional
        Of the result's shape, float32; read where `beta` is not 0. It may be `out`, as in BLAS, and is copied otherwise.
    alpha, beta : float
        Factors, taken as float32. Where `alpha` is 0, `a` and `b` are not read.
    epilogue : device function or lambda, or a tuple of these, optional
        What to make of each element, as `hgemm`'s: a function of numbers, which is given the element; then, if it takes two more,
        its row and its column; then the elements of `extra`. Of a tuple each function makes a result: one or two, and at most
        one `prism.lib.epilogues.reduce`; None is the element as it is.
    extra : array, number, or tuple of these, optional
        What `epilogue` is given besides, as `hgemm`'s: arrays of the result's shape, of one a column (n), one a row (m x 1), or
        of one element; floats of up to 32 bits, integers or bools; or numbers.
    out : array, or a tuple of these, optional
        Where to put the result; any strides, and any overlap with the operands; of several a tuple, to which they are copied.
    variant : str
        How it is computed: "naive", "coalesced", "tiled", "vectorized", "warps", from Ampere on "async", on Hopper "ring"
        (docs/sgemm.md), or "auto": what suits the shape.
    precision : str
        "float32", or on Hopper "bf16x6": by the tensor cores, each element as a sum of three bfloat16 (docs/sgemm.md).
    stream : stream or int, optional
        Where to run, for arrays on a GPU; by default their library's current stream.

    Returns
    -------
    array
        m x n for each product of the batch, of `a`'s library and on its device; `out`, if given. Of several epilogues a
        tuple; a reduction's result is of one axis.

    Raises
    ------
    TypeError
        An argument is no array, or not of float32; arrays of two libraries, or on the host and on a GPU; `epilogue` is no
        function of Prism's or lambda, or takes another number of arguments; `out` is one array, and there are several results.
    ValueError
        Shapes don't fit; an `extra` of another shape; a reduction of a batch; `out` is read-only; `beta` without `c`; no such
        variant or precision, or both asked for; "ring" or "bf16x6" on another GPU than Hopper, "async" on one before Ampere;
        arrays on two GPUs; `stream` for arrays on the host.

    Notes
    -----
    Products are added in float32, on the GPU by fused multiply-adds, in an order that depends on the shape alone: the same call
    gives the same bits. A batch is one launch where its axes can be walked with one stride for each array, or by "ring" launches
    for each product; each axis beyond that is a loop. A NumPy array runs on the reference machine, on the CPU, from the same
    kernel (`prism.kernels.sgemm`). With an epilogue there are launches for each product of a batch. It is a part of "ring", and
    of what is for few rows; after other kernels, where the GPU is no Hopper, and with a reduction it is a launch of its own.

    Examples
    --------
    >>> import numpy as np, prism
    >>> a, b = np.eye(2, dtype=np.float32), np.array([[1, 2], [3, 4]], np.float32)
    >>> prism.lib.sgemm(a, b, alpha=2.0)
    array([[2., 4.],
           [6., 8.]], dtype=float32)
    >>> prism.lib.sgemm(a, b, epilogue=lambda x, bias: max(x + bias, 0.0), extra=np.array([-2, 0], np.float32))
    array([[0., 2.],
           [1., 4.]], dtype=float32)
    """
    if beta and c is None:
        raise ValueError("`beta` is the factor of `c`, which is missing")
    after, key = (None, None) if epilogue is None else asked_for(epilogue)
    several, out = (None, out) if not isinstance(out, tuple | list) else (require_several(after, out), None)
    beside: dict[str, Any] = {}
    numbers: tuple[Any, ...] = ()
    if not isinstance(extra, tuple) or extra:
        extra, beside = extras_of(extra)
        numbers = tuple(map(exact, numbers_of(extra)))
    own = c is out if beta else None  # else `c` is copied first: nothing that can be made again as it was
    # zeros of two signs are equal, and results differ
    asked = "sgemm", own, alpha or repr(alpha), beta, variant, precision, key, tuple(beside), numbers
    again = (a, b, c, *beside.values(), out) if own else (a, b, *beside.values(), out)
    if own is not False and several is None and (known := repeat.run_many(asked, again, stream)) is not None:
        return known
    how: dict[str, Any] = {"alpha": float(alpha), "beta": float(beta), "way": _way(variant, precision)}
    decide = functools.partial(decide_sgemm, **how, epilogue=after, extra=numbers_of(extra))
    arrays = {"a": a, "b": b, **({"c": c} if beta else {}), **beside}
    found = call("sgemm", asked, arrays, decide, out, stream, captured=True)
    return found if several is None else copy_several("sgemm", found, several, stream)


def _way(variant: str, precision: str) -> str:
    """Return how a product is asked to be made: a variant, or a precision."""
    if variant not in ("auto", *VARIANTS, ASYNC, RING):
        raise ValueError(f"`variant` must be one of auto, {', '.join(VARIANTS)}, {ASYNC}, {RING}, not {variant!r}")
    if precision not in (_KIND, sgemm_bf16x6.NAME):
        raise ValueError(f"`precision` must be {_KIND} or {sgemm_bf16x6.NAME}, not {precision!r}")
    if precision != _KIND and variant != "auto":
        raise ValueError(f"`variant` is of precision {_KIND}: leave it out, or {precision}")
    return variant if precision == _KIND else precision


def decide_sgemm(
    arrays: Mapping[str, ArrayInfo], out: ArrayInfo | None, machine: Machine, alpha: float = 1.0, beta: float = 0.0,
    way: str = "auto", cut: Configuration | Cut | FewCut | Staged | None = None, epilogue: Any = None,
    extra: tuple[Any, ...] = (),
) -> Decision:  # fmt: skip
    """Return how `sgemm` of arrays by the names of its arguments is made, by a variant or a precision.

    `cut`: the tiles of each product, whatever suits its shape.

    Raises:
        TypeError, ValueError: as `sgemm`.
    """
    a, b = (view_of(name, arrays[name]) for name in ("a", "b"))
    require_operands("sgemm", a, b, (_KIND,))
    shape = (*batch_of(a, b), a.shape[-2], b.shape[-1])
    require_like_result(out, "out", shape, _KIND)
    require_like_result(arrays.get("c"), "c", shape, _KIND)
    given, result = None if out is None else view_of(OUT, out), Result(shape, np.dtype(_KIND))
    after = None
    if epilogue is not None or extra:
        if lazy := tuple(name for name, info in arrays.items() if isinstance(info, LazyInfo)):
            return Decision(copied=lazy)  # an extra is a part of a record, and that is made of what lies in memory
        from prism.lib.algorithms.hgemm.epilogue import with_several

        beside = [(f"extra[{k}]", arrays.get(f"extra[{k}]", one)) for k, one in enumerate(extra)]
        after = _fused().after_of(epilogue, beside, shape, kept=not machine.host)
        if len(after.order) > 1 and out is not None:
            raise TypeError(f"`out` must be a tuple of {len(after.order)} arrays, of as many results, not one array")
    decision = decide_product(a, b, shape, result, machine, given, alpha, beta, way, cut, after)
    if after is None or len(after.order) == 1 or not decision.results:
        return decision
    return with_several(decision, after, result)


def _fused() -> ModuleType:
    """Return what makes products whose epilogue is a function: who has none does without the parser of lambdas."""
    from prism.lib.algorithms.sgemm import fused

    return fused


def decide_product(
    a: View, b: View, shape: tuple[int, ...], result: Result, machine: Machine, given: View | None, alpha: float = 1.0,
    beta: float = 0.0, way: str = "auto", cut: Configuration | Cut | FewCut | Staged | None = None, after: After | None = None,
) -> Decision:  # fmt: skip
    """Return how a product of matrices, checked, is made in `given`, or where that can't be written, in C order.

    `after`: an epilogue that is a function, and what it is given.
    """
    writable = given is not None and _is_writable(given, machine.host)
    target = given if given is not None and writable else new_view(OUT, _KIND, shape)
    beside = given is not None and not writable
    if 0 in shape:
        return Decision((result,), beside=beside)
    loose = tuple(view.name for view in (a, b) if not (view.dense if machine.host else _is_walkable(view)))
    if after is not None:
        loose += tuple(view.name for view in after.arrays if not (view.contiguous and view.natural))
    if loose:
        return Decision(copied=loose)
    steps: list[Step] = []
    room = 0
    some: Iterable[tuple[Product, Fused | None]] = (
        ((one, None) for one in products_of(a, b, target, alpha, beta)) if after is None
        else _fused().products_of(a, b, target, after, alpha, beta)
    )  # fmt: skip
    for product, fused in some:
        scratch = Scratch()  # the same for each: they come one after the other
        made = steps_of(product, way, machine, scratch, cut)
        steps += made if fused is None else fused.fuse(made, machine, scratch)
        room = max(room, scratch.used)
    plan = Plan(tuple(steps), scratch=room, lent=True)
    return Decision((result,), plan=plan, beside=beside, in_place=("c",), begins="c" if beta else "")


def _is_writable(out: View, host: bool) -> bool:
    """Whether a kernel may write into a result: rows or columns are dense, none overlap."""
    axes = tuple(zip(out.shape, out.strides, strict=True))
    forwards = all(stride > 0 for extent, stride in axes if extent > 1)
    lies = (out.rows_dense or out.turn().rows_dense) and nest(axes)
    return (out.dense if host else _is_walkable(out)) and forwards and lies


def _is_walkable(view: View) -> bool:
    """Whether strides count elements, in the machine's byte order."""
    return view.natural and all(stride % SIZE == 0 for stride in view.strides)


# -- Batches ----------------------------------------------------------------------------------------------------------


def products_of(a: View, b: View, target: View, alpha: float, beta: float) -> Iterator[Product]:
    """Return what a batch comes down to: products of so many matrices, one for each that one stride does not lead to."""
    if not target.rows_dense:
        a, b, target = b.turn(), a.turn(), target.turn()
    (m, k), n = a.shape[-2:], target.shape[-1]
    axes = _merge(target.shape[:-2], [_steps(view, len(target.shape) - 2) for view in (a, b, target)])
    batches, *steps = axes.pop() if axes else (1, 0, 0, 0)
    down_a, down_c = a.strides[-2] // SIZE, target.strides[-2] // SIZE
    if steps[1] == 0 and steps[0] == m * down_a and steps[2] == m * down_c and batches * m <= MOST:
        m, batches = m * batches, 1  # one `b` for all: products below each other are one product
    for index in itertools.product(*(range(extent) for extent, *_ in axes)):
        starts = [sum(i * axis[1 + x] for i, axis in zip(index, axes, strict=True)) for x in range(3)]
        left, right, out = map(matrix_of, (a, b, target), steps, starts)
        yield Product(left, right, out, batches, (m, n, k if alpha else 0), alpha, beta)


def _steps(view: View, axes: int) -> list[int]:
    """Return the strides, in elements, of so many axes of a batch; 0 where the array is broadcast."""
    own_axes = zip(view.shape[:-2], view.strides[:-2], strict=True)
    steps = [0 if extent == 1 else stride // SIZE for extent, stride in own_axes]
    return [0] * (axes - len(steps)) + steps


def _merge(batch: tuple[int, ...], steps: list[list[int]]) -> list[tuple[int, ...]]:
    """Return a batch's axes, `(extent, *steps)`, joined where each array walks two of them with one stride."""
    axes: list[tuple[int, ...]] = []
    for extent, *each in zip(batch, *steps, strict=True):
        if extent == 1:
            continue
        if axes and all(outer == extent * inner for outer, inner in zip(axes[-1][1:], each, strict=True)):
            axes[-1] = (axes[-1][0] * extent, *each)
        else:
            axes.append((extent, *each))
    return axes


# -- Launches ---------------------------------------------------------------------------------------------------------


def steps_of(
    product: Product,
    way: str,
    machine: Machine,
    scratch: Scratch,
    cut: Configuration | Cut | FewCut | Staged | None = None,
) -> list[Step]:
    """Return the launches of a product by a variant or a precision, by default as it suits the shape.

    Raises:
        ValueError: the variant, or precision, is another architecture's.
    """
    if way == sgemm_bf16x6.NAME and product.sizes[2]:
        return list(sgemm_bf16x6.steps_of(product, machine, scratch))
    if isinstance(cut, Staged):
        return list(cut.of(product).steps(scratch))
    found = cut if isinstance(cut, Configuration | FewCut) else choose_way(product, way, machine, cut)
    if isinstance(found, FewCut):
        return [sgemm_few.step_of(product, found)]
    if isinstance(found, Staged):
        return list(found.steps(scratch))
    a, b, c, (m, n, k) = product.a, product.b, product.c, product.sizes
    given: dict[str, Any] = {"M": m, "N": n, "K": k, "alpha": product.alpha, "beta": product.beta}
    given |= {"A": a.buffer(), "rs_a": a.rows, "cs_a": a.columns, "bs_a": a.matrices}
    given |= {"B": b.buffer(), "rs_b": b.rows, "cs_b": b.columns, "bs_b": b.matrices}
    given |= {"C": c.buffer(), "rs_c": c.rows, "bs_c": c.matrices}
    if found.counted:
        given |= {"batches": product.batches}
    kernel = instance_for(found, *product.layouts)
    return [Step(kernel, found.grid(product.batches, m, n), found.threads, given)]


def choose_way(product: Product, way: str, machine: Machine, cut: Cut | None = None) -> Staged | Configuration | FewCut:
    """Return what suits a product, of what a variant admits; `cut`: the tiles of the ring.

    Raises:
        ValueError: the variant is another architecture's.
    """
    arch, processors, k = machine.arch, machine.multiprocessors, product.sizes[2]
    if way in LESSON:
        return LESSON[way]
    if machine.host:
        return sgemm_ring.on_host(product, way == RING) if way in (ASYNC, RING) and k else HOST
    hopper = arch == sgemm_ring.ARCH
    if way == RING and not hopper:
        raise ValueError(f"`variant` is {RING}, which needs a Hopper GPU ({sgemm_ring.ARCH}), and this one is {arch}")
    if way == ASYNC and not sgemm_ring.has_async(arch):
        raise ValueError(
            f"`variant` is {ASYNC}, which needs a GPU from sm_{sgemm_ring.FIRST} on, and this one is {arch}"
        )
    fifth = choose(product.batches, *product.sizes, processors)
    if not sgemm_ring.has_async(arch) or k == 0:
        return fifth
    if hopper and way == "auto" and product.batches == 1 and product.sizes not in MEASURED:
        return sgemm_choice.choose(product, processors)
    staged = sgemm_ring.arrange(product, processors, tensor=hopper and way != ASYNC, cut=cut)
    if way != "auto":
        return staged
    if hopper and product.sizes not in MEASURED:  # small tiles are faster, at times, where all threads copy
        copied = sgemm_ring.arrange(product, processors, tensor=False, hopper=True)
        staged = min(staged, copied, key=lambda one: one.clocks)
    return staged if staged.clocks < sgemm_choice.clocks_of_fifth(product, fifth, processors) else fifth


@functools.lru_cache(maxsize=1024)
def instance_for(configuration: Configuration, a: Layout, b: Layout, c: Layout) -> Instance:
    """Return the kernel that a configuration names, for matrices that lie so."""
    return instance_of(VARIANTS[configuration.variant], configuration.template(a, b, c))


def program_for(configuration: Configuration, a: Layout, b: Layout, c: Layout) -> Program:
    """Return the checked program of `instance_for`."""
    return instance_for(configuration, a, b, c).program
