"""In which bin of a histogram a number is: quickly, where rounding can't matter, and exactly as NumPy computes it.

A quick bin is the whole part of a number's distance from the lowest edge, in bins. NumPy computes that too, in types that
follow from the caller's, and then looks at the edges on both sides, which are rounded as `linspace` rounds them. Where the quick
distance is further from a whole number than all roundings together, `Even.margin`, both are the same. Else the number is compared
with the edge that is nearest; so are all numbers where edges stand in shared memory. Where roundings are no small part of a bin,
`exact_bin` does all that NumPy does.
"""

from prism.lang import (
    bitcast, const, constexpr, dtype, float32, float64, floor, fma, int32, int64, prism, ptr, requires, struct, template,
    thread, uint32, uint64, wrapping_subtract,
)
from prism.lib.thread.search import MAGIC, MAGIC_BITS

IDENTITY, EVEN, EDGES = 0, 1, 2
"""Kinds of bins: a number is its bin's; bins are even; they are between edges."""


@struct
class Even:
    """Even bins. Integers are kept from `least` on, `span` more; floats from `low` to `high`. All else is as NumPy names it.
    Of integers `low` and `high` are the least and the largest that there are, of up to 32 bits.

    `scale`: bins a unit. `offset`: what is added to an integer's distance from `least`, or to a float, in bins. Distances that
    are less than `margin` away from a whole number are not sure; none is, where it is 1 or more. A float from `least_sure` on
    is above the first edge: that edge where it is not rounded, else infinity.
    An integer's bin is the whole part of its distance times `factor`, and `addend`, over `2^power`, where there are such.
    """

    least: int64
    span: uint64
    low: float64
    high: float64
    first: float64
    start: float64
    stop: float64
    step: float64
    denominator: float64
    numerator: float64
    scale: float64
    offset: float64
    margin: float64
    least_sure: float64
    factor: uint64
    addend: uint64
    power: uint64


@prism.device
@requires(thread[1])
@template(T=dtype)
def round_to(x: float64 @ thread[1]) -> float64 @ thread[1]:
    """A number as `T` has it. What two numbers of a narrower type give in 64 bits, rounded so, is what that type gives."""
    return float64(T(x))


@prism.device
@requires(thread[1])
@template(T=dtype, L=dtype)
def edge_of(b: int32 @ thread[1], size: int32 @ thread[1], rule: Even @ thread[1]) -> float64 @ thread[1]:
    """Edge `b` of `size` even bins, as NumPy's `linspace` has it: computed in the type `L`, and stored as `T`."""
    product: float64 = round_to(fma(round_to(float64(b), T=L), rule.step, 0), T=L)  # `fma`: not one with the sum behind it
    return rule.stop if b == size else round_to(round_to(product + rule.start, T=L), T=T)


@prism.device
@requires(thread[1])
@template(TI=dtype, W=dtype, U=dtype)
def distance(x: TI @ thread[1], rule: Even @ thread[1]) -> U @ thread[1]:
    """How far an integer is from the least one that is kept; more than `span` where it is below. `U`: `W` without a sign."""
    return bitcast(wrapping_subtract(W(x), W(rule.least)), U)


@prism.device
@requires(thread[1])
@template(TI=dtype, W=dtype, U=dtype, INTEGRAL=constexpr(bool))
def is_kept(x: TI @ thread[1], rule: Even @ thread[1]) -> bool @ thread[1]:
    """Whether a number is in the range of the bins."""
    if INTEGRAL:
        return distance(x, rule, W=W, U=U) <= U(rule.span)
    else:
        return rule.low <= float64(x) and float64(x) <= rule.high


@prism.device
@requires(thread[1])
@template(TI=dtype, T=dtype, D=dtype, L=dtype, W=dtype, U=dtype, INTEGRAL=constexpr(bool))
def exact_bin(x: TI @ thread[1], size: int32 @ thread[1], rule: Even @ thread[1]) -> int32 @ thread[1]:
    """The bin of a number as NumPy computes it; `size` where it is in none.

    `T`: the edges' type, in which numbers are compared; `D`: what distances are divided in; `L`: what edges are computed in.
    """
    if not is_kept(x, rule, W=W, U=U, INTEGRAL=INTEGRAL):
        return size
    value: float64 = round_to(float64(x), T=T)
    share: float64 = round_to(round_to(value - rule.first, T=T) / rule.denominator, T=D)
    where: float64 = round_to(share * rule.numerator, T=D)
    b: int32 = int32(min(max(where, 0.0), float64(size - 1)))
    if value < edge_of(b, size, rule, T=T, L=L):
        b = b - 1
    if value >= edge_of(b + 1, size, rule, T=T, L=L) and b != size - 1:
        b = b + 1
    return size if b < 0 else b


@prism.device
@requires(thread[1])
@template(TI=dtype, G=dtype, W=dtype, U=dtype, INTEGRAL=constexpr(bool))
def near_edge(x: TI @ thread[1], size: int32 @ thread[1], rule: Even @ thread[1]) -> int32 @ thread[1]:
    """The edge, from 0 to `size`, that a number is nearest to, where quick bins may be sure; 0 of NaN."""
    g: G = 0
    if INTEGRAL:
        g = fma(G(distance(x, rule, W=W, U=U)), G(rule.scale), G(rule.offset))
    else:
        g = fma(G(x), G(rule.scale), G(rule.offset))
    if G == float32:
        e: uint32 = bitcast(wrapping_subtract(bitcast((g if g > 0 else G(0)) + MAGIC, int32), MAGIC_BITS), uint32)
        return int32(min(e, uint32(size)))
    else:
        return int32(min(g + 0.5 if g > 0 else G(0), G(size)))


@prism.device
@requires(thread[1])
@template(TI=dtype, T=dtype, W=dtype, U=dtype, INTEGRAL=constexpr(bool))
def settle_bin(
    x: TI @ thread[1], e: int32 @ thread[1], edge: T @ thread[1], size: int32 @ thread[1], rule: Even @ thread[1]
) -> int32 @ thread[1]:
    """The bin of a number whose nearest edge is `e`, at `edge`; `size` where it is in none. Other edges decide nothing."""
    if e == 0 or e == size:
        return (0 if e == 0 else size - 1) if is_kept(x, rule, W=W, U=U, INTEGRAL=INTEGRAL) else size
    return e if T(x) >= edge else e - 1


@prism.device
@requires(thread[1])
@template(G=dtype)
def floor_of(g: G @ thread[1]) -> G @ thread[1]:
    """The largest whole number up to `g`, from 0 to 2^21; where that is `g`, it or the one below."""
    if G == float32:
        return (g - 0.5 + MAGIC) - MAGIC  # sums are quicker than conversions
    else:
        return floor(g)


@prism.device
@requires(thread[1])
@template(G=dtype)
def integer_of(whole: G @ thread[1]) -> int32 @ thread[1]:
    """A whole number from 0 to 2^21 as an integer."""
    if G == float32:
        return bitcast(whole + MAGIC, int32) - MAGIC_BITS
    else:
        return int32(whole)


@prism.device
@requires(thread[1])
@template(TI=dtype, G=dtype, W=dtype, U=dtype, INTEGRAL=constexpr(bool), SURE=constexpr(bool), FIXED=constexpr(bool))
def quick_bin(x: TI @ thread[1], size: int32 @ thread[1], rule: Even @ thread[1]) -> (int32, bool) @ thread[1]:
    """The bin of a number, computed in `G`, `size` where it is in none; and whether that is sure, else it is near an edge.

    `SURE`: an integer is further from each edge than all roundings, so that its bin is the whole part of its distance; of floats
    nothing is rounded. `FIXED`: of integers that are sure, so it is where they are multiplied by `rule.factor`.
    """
    if INTEGRAL:
        far: U = distance(x, rule, W=W, U=U)
        kept: bool = far <= U(rule.span)
        if FIXED:
            product: uint64 = uint64(uint32(far)) * uint64(uint32(rule.factor)) + rule.addend
            return int32(min(uint32(product >> uint32(rule.power)), uint32(size - 1))) if kept else size, True
        elif SURE:
            return min(integer_of(floor_of(fma(G(far), G(rule.scale), G(rule.offset)))), size - 1) if kept else size, True
        else:
            g: G = fma(G(far), G(rule.scale), G(rule.offset)) if kept else G(0)
            whole: G = floor_of(g)
            rest: G = g - whole
            sure: bool = G(rule.margin) < rest and rest < 1 - G(rule.margin)
            return min(integer_of(whole), size - 1) if kept else size, sure or not kept
    elif SURE:  # the first edge is 0, and there is a power of two of bins in a unit: no rounding
        kept: bool = 0 <= G(x) and G(x) <= G(rule.high)
        return min(int32(G(x) * G(rule.scale) if kept else G(0)), size - 1) if kept else size, True
    elif G == float32:
        lowest: G = G(-0.5) + 2 * G(rule.margin) if G(x) >= G(rule.least_sure) else G(-1)  # in the first bin, or below it
        half: G = min(max(fma(G(x), G(rule.scale), G(rule.offset - 0.5)), lowest), G(size))  # from a bin's middle to the next
        moved: G = half + MAGIC
        rest: G = half - (moved - MAGIC)
        b: uint32 = bitcast(wrapping_subtract(bitcast(moved, int32), MAGIC_BITS), uint32)  # below the first edge it is -1
        return int32(min(b, uint32(size))), abs(rest) < 0.5 - G(rule.margin)
    else:
        g: G = fma(G(x), G(rule.scale), G(rule.offset))
        whole: G = floor_of(min(max(g, G(0)), G(size) - 0.5))
        b: int32 = integer_of(whole)
        rest: G = g - whole  # of a number above the last edge 1 or more
        bound: G = G(-1) if b == 0 and G(x) >= G(rule.least_sure) else G(rule.margin)
        near: bool = bound < rest and rest < 1 - G(rule.margin)
        outside: bool = not (-G(rule.margin) <= g and g <= G(size) + G(rule.margin))  # as NaN is, of which `b` is no bin
        return size if outside else b, near or outside


@prism.device
@requires(thread[1])
@template(E=dtype, INTEGRAL=constexpr(bool))
def limit_of(edge: float64 @ thread[1], above: bool @ thread[1], rule: Even @ thread[1]) -> (E, bool) @ thread[1]:
    """The least number that is not below an edge, or is `above` it; and whether there is one."""
    if INTEGRAL:
        least: float64 = floor(edge) + 1 if above else -floor(-edge)
        return E(min(max(least, rule.low), rule.high)), least <= rule.high
    else:
        near: float32 = float32(edge)
        if float64(near) < edge or above and float64(near) == edge:
            bits: int32 = bitcast(near, int32)
            near = bitcast(1 if near == 0 else bits + (1 if bits > 0 else -1), float32)
        return E(near), near == near


@prism.device
@requires(thread[1])
@template(E=dtype)
def bin_of_rank(rank: int32 @ thread[1], size: int32 @ thread[1], value: E @ thread[1], last: E @ thread[1]) -> int32 @ thread[1]:
    """The bin of a value that `rank` of `size + 1` edges are not larger than; the last bin has its last edge too."""
    if rank > size:
        return size - 1 if value == last else size
    return size if rank == 0 else rank - 1


@prism.device
@requires(thread[1])
@template(TE=dtype, E=dtype)
def edge_bin(x: E @ thread[1], size: int32 @ thread[1], edges: ptr(const(TE)) @ thread[1]) -> int32 @ thread[1]:
    """The bin of a number between `size + 1` edges that are sorted, `size` where it is in none; `log2(size)` reads."""
    low: int32 = 0
    high: int32 = size + 1
    while low < high:
        middle: int32 = low + (high - low) // 2
        if E(edges[middle]) <= x:
            low = middle + 1
        else:
            high = middle
    return bin_of_rank(low, size, x, E(edges[size]))
