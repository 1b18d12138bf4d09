"""A block puts a sorted table into shared memory, in the order in which it is searched."""

from prism.lang import (
    block, clz, const, count, dtype, group, id, int32, partition, prism, ptr, requires, template, thread, uint32,
)


@prism("device")
@requires(block[1], thread[1])
@template(TI=dtype, T=dtype)
def fill_tree(
    x: ptr(const(TI)) @ block[1], size: int32 @ block[1], tree: ptr(T) @ block[1], levels: int32 @ block[1], most: T @ block[1]
):
    """Put `size` sorted elements, as `T`, where `thread.search` looks for them.

    Perspective: block, of any number of threads.
    Shapes:      `x`: sorted. `tree`: `2^levels` elements, of which the first is not used: `size < 2^levels`. `most`: no element
                 is larger; what `thread.search` finds for values that are not smaller may be more than `size`.
    Cost:        a read and a write for each of the tree's elements; no barrier.
    Test:        tests/lib/thread/test_search.py
    """
    threads: int32 @ block[1] = count(thread[1])
    t: int32 @ thread[1] = id()
    with partition(tree, thread[1], offset=t) as mine, group(thread[1]):
        for j in range(0, (1 << levels) - t, threads):
            node: int32 = j + t
            level: int32 = 31 - int32(clz(uint32(max(node, 1))))
            place: int32 = (2 * (node - (1 << level)) + 1 << levels - 1 - level) - 1
            mine[j] = T(x[place]) if 0 <= place and place < size else most
