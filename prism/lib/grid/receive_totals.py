"""A thread waits for words that blocks publish, and combines them."""

from prism.lang import constexpr, dtype, function, grid, int32, mailbox, prism, ptr, receive, requires, template, thread, uint32


@prism.device
@requires(thread[1])
@template(T=dtype, N=dtype, OP=function, WORDS=constexpr(int))
def receive_totals(
    words: ptr(mailbox(T)) @ grid[1], first: N @ thread[1], stride: int32 @ thread[1], number: int32 @ thread[1],
    most: int32 @ thread[1], identity: T @ thread[1], epoch: uint32 @ thread[1],
) -> T @ thread[1]:
    """`OP` of `words[first]`, `words[first + stride]` and so on, `number` of them, in their order, as they are published.

    Where blocks wait for each other's totals they wait here, each thread for a share of them.

    Perspective: thread.
    Shapes:      `number` may be negative: there are none. `most`: at least `number`, and best the same for all threads of a
                 warp.
    Cost:        a round trip for each `WORDS` words, which are under way at once: they are asked for again until all have come.
    Numerics:    combines `WORDS` at once, and these from left to right; `OP` need not be commutative. `identity` is `OP`'s.
    Errors:      who waits for what nobody publishes waits for ever; the reference machine says so.
    Test:        tests/lib/grid/test_look_back.py
    """
    sum: T = identity
    for k in range(0, most, WORDS):
        got: T[WORDS]
        receive(words[first + k * stride], got, stride, number - k, identity, epoch)
        sum = OP(sum, thread.reduce(got, OP=OP))
    return sum
