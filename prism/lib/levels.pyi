"""The collectives, by the level that calls them: what `block`, `warp`, `thread` and `grid` of `prism.lang` have.

Made from their text by `pytest tests/lib/test_stub.py --update-golden`: not to be edited. A type checker reads this; no module
of this name is there to be imported.
"""

from types import ModuleType
from typing import Any, ClassVar

from prism.lang.surface import LevelName

class Block(LevelName):
    @staticmethod
    def add_weights(items: Any, weights: Any, bins: Any, size: Any, *, C: Any = ..., ITEMS: int = ..., COPIES: int = ..., WITHIN: bool = ...) -> None:
        """block.add_weights(items: int32[ITEMS] @ thread[1], weights: C[ITEMS] @ thread[1], bins: ptr(C) @ block[1],
            size: int32 @ block[1], *, C: dtype = ..., ITEMS: constexpr(int) = ..., COPIES: constexpr(int) = 1,
            WITHIN: constexpr(bool) = False)

        Add each weight to `bins[b]`, where `b` is the item beside it; items that are not in `0 ... size - 1` are left out.

        Perspective: block, of any number of threads.
        Shapes:      `bins`, `COPIES`, `WITHIN`: as of `block.histogram`; integers, float32 or float64."""

    @staticmethod
    def all(predicate: Any) -> Any:
        """block.all(predicate: bool @ thread[1]) -> bool @ block[1]

        Whether `predicate` holds in all threads; all of them get the result.

        Perspective: block, of any number of warps."""

    @staticmethod
    def any(predicate: Any) -> Any:
        """block.any(predicate: bool @ thread[1]) -> bool @ block[1]

        Whether `predicate` holds in any thread; all threads get the result.

        Perspective: block, of any number of warps."""

    @staticmethod
    def arg_reduce(value: Any, index: Any, best: Any, *, BEFORE: Any, T: Any = ..., I: Any = ...) -> Any:
        """block.arg_reduce(value: T @ thread[1], index: I @ thread[1], best: T[1] @ block[1], *, BEFORE: function,
            T: dtype = ..., I: dtype = ...) -> I @ block[1]

        The index of the value that stands `BEFORE` all others; of equal ones, the least index. The value goes to `best[0]`.

        Perspective: block, of any number of warps.
        Shapes:      `index` is any integer that tells the values apart."""

    @staticmethod
    def argmax(value: Any, index: Any, best: Any, *, T: Any = ..., I: Any = ...) -> Any:
        """block.argmax(value: T @ thread[1], index: I @ thread[1], best: T[1] @ block[1], *, T: dtype = ...,
            I: dtype = ...) -> I @ block[1]

        The index of the greatest value; of equal ones, the least index. The value goes to `best[0]`. A NaN wins, as in NumPy.

        Perspective: block, of any number of warps.
        Shapes:      `index` is any integer that tells the values apart."""

    @staticmethod
    def argmin(value: Any, index: Any, best: Any, *, T: Any = ..., I: Any = ...) -> Any:
        """block.argmin(value: T @ thread[1], index: I @ thread[1], best: T[1] @ block[1], *, T: dtype = ...,
            I: dtype = ...) -> I @ block[1]

        The index of the least value; of equal ones, the least index. The value goes to `best[0]`. A NaN wins, as in NumPy.

        Perspective: block, of any number of warps.
        Shapes:      `index` is any integer that tells the values apart."""

    @staticmethod
    def blocked_to_striped(items: Any, *, THREADS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.blocked_to_striped(items: T[ITEMS] @ thread[1], *, THREADS: constexpr(int), T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        From element `t * ITEMS + k` of the tile in `items[k]` of thread `t` to element `k * THREADS + t`, in place.

        Perspective: block, of `THREADS` threads."""

    @staticmethod
    def blocked_to_warp_striped(items: Any, *, THREADS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.blocked_to_warp_striped(items: T[ITEMS] @ thread[1], *, THREADS: constexpr(int), T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        From element `t * ITEMS + k` in `items[k]` of thread `t` to element `(t / 32 * ITEMS + k) * 32 + t % 32`, in place.

        Perspective: block, of `THREADS` threads."""

    @staticmethod
    def broadcast(value: Any, source: Any, *, T: Any = ...) -> Any:
        """block.broadcast(value: T @ thread[1], source: int32 @ block[1], *, T: dtype = ...) -> T @ block[1]

        Thread `source`'s value, for the whole block.

        Perspective: block, of more than `source` threads."""

    @staticmethod
    def compact(items: Any, flags: Any, *, WIDTH: int, THREADS: int, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.compact(items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], *, WIDTH: constexpr(int),
            THREADS: constexpr(int), T: dtype = ..., ITEMS: constexpr(int) = ...) -> int32 @ block[1]

        Put the elements whose bit of `flags` is set close together, in their order, number `k * THREADS + t` in thread `t`.

        Perspective: block, of `THREADS` threads.
        Shapes:      as `block.load` leaves a tile; bit `i` of `flags` says whether `items[i]` is kept. After it striped, as
                     `block.store_striped` takes it; places behind those that are kept have what they had.
        Returns:     how many are kept; `items` changes in place."""

    @staticmethod
    def count(predicate: Any) -> Any:
        """block.count(predicate: bool @ thread[1]) -> int32 @ block[1]

        In how many threads `predicate` holds; all threads get the result.

        Perspective: block, of any number of warps."""

    @staticmethod
    def count_flags(flags: Any, before: Any, *, THREADS: int, F: Any = ...) -> Any:
        """block.count_flags(flags: F @ thread[1], before: int32[1] @ thread[32], *, THREADS: constexpr(int),
            F: dtype = ...) -> int32 @ block[1]

        How many bits of all threads' `flags` are set; of those in the warps before, `before[0]` becomes the number.

        Perspective: block, of `THREADS` threads.
        Shapes:      `F`: uint32, or of more than 32 elements a thread uint64."""

    @staticmethod
    def difference(items: Any, before: Any, *, WIDTH: int, OP: Any, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.difference(items: T[ITEMS] @ thread[1], before: T @ block[1], *, WIDTH: constexpr(int), OP: function,
            T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each element by `OP(element, the one before it)`, in place; `before` stands before the first.

        Perspective: block, of any number of warps.
        Shapes:      as `block.load` leaves them; blocked where `WIDTH` is `ITEMS`. `OP` as `operators.subtract`.
        Returns:     the last element as it was: `before` for the tile after this one."""

    @staticmethod
    def difference_right(items: Any, after: Any, *, WIDTH: int, OP: Any, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.difference_right(items: T[ITEMS] @ thread[1], after: T @ block[1], *, WIDTH: constexpr(int), OP: function,
            T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each element by `OP(element, the one after it)`, in place; `after` stands after the last.

        Perspective: block, of any number of warps.
        Shapes:      as `block.load` leaves them; blocked where `WIDTH` is `ITEMS`. `OP` as `operators.subtract`.
        Returns:     the first element as it was: `after` for the tile before this one."""

    @staticmethod
    def fill(y: Any, value: Any, n: Any, *, T: Any = ...) -> None:
        """block.fill(y: ptr(T) @ block[1], value: T @ block[1], n: int32 @ block[1], *, T: dtype = ...)

        Put `value` into `y[0] ... y[n - 1]`.

        Perspective: block, of any number of threads."""

    @staticmethod
    def fill_guide(table: Any, size: Any, guide: Any, *, CELLS: int, T: Any = ...) -> Any:
        """block.fill_guide(table: ptr(const(T)) @ block[1], size: int32 @ block[1], guide: ptr(uint32) @ block[1], *,
            CELLS: constexpr(int), T: dtype = ...) -> (float32, float32) @ block[1]

        Write for each of `CELLS` cells, of equal width, which elements of a sorted table are in it: for `thread.search`.

        Perspective: block, of any number of threads.
        Shapes:      `table`: at least one element, fewer than 2^15; no NaN. `guide`: `CELLS` words.
        Errors:      of a table that is not sorted `thread.search` finds some rank, and reads nothing outside.
        Returns:     what is added to a number of cells from 0 on, and how many of them a unit has: what `thread.search` takes."""

    @staticmethod
    def gather_values(values: Any, identity: Any, found: Any, *, BLOCKS: int, T: Any = ..., N: int = ..., PARTS: int = ...) -> None:
        """block.gather_values(values: T[N] @ thread[1], identity: T @ block[BLOCKS], found: T[N, PARTS] @ thread[1], *,
            BLOCKS: constexpr(int), T: dtype = ..., N: constexpr(int) = ..., PARTS: constexpr(int) = ...)

        Give every warp what all warps have, `N` values at once.

        Perspective: block, or cluster of `BLOCKS` blocks, of at most `32 * PARTS` warps.
        Shapes:      `values`: the same in all lanes of a warp.
        Returns:     `values[q]` of warp `32 * k + l` in `found[q, k]` of lane `l`; `identity` where there are no more."""

    @staticmethod
    def gather_warps(value: Any, identity: Any, found: Any, *, BLOCKS: int, T: Any = ..., PARTS: int = ...) -> None:
        """block.gather_warps(value: T @ thread[1], identity: T @ block[BLOCKS], found: T[PARTS] @ thread[1], *,
            BLOCKS: constexpr(int), T: dtype = ..., PARTS: constexpr(int) = ...)

        Give every warp the values of all warps, one for each of its lanes, or several.

        Perspective: block, or cluster of `BLOCKS` blocks, of at most `32 * PARTS` warps.
        Shapes:      `value`: the same in all lanes of a warp.
        Returns:     that of warp `32 * k + l` in `found[k]` of lane `l`; `identity` where there are no more."""

    @staticmethod
    def heads(items: Any, flags: Any, before: Any, first: Any, *, WIDTH: int, DIFFERENT: Any, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.heads(items: T[ITEMS] @ thread[1], flags: bool_[ITEMS] @ thread[1], before: T @ block[1],
            first: bool @ block[1], *, WIDTH: constexpr(int), DIFFERENT: function, T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ block[1]

        Say in `flags` which elements are `DIFFERENT` from the one before them; that of the tile's first, from `before`.

        Perspective: block, of any number of warps.
        Shapes:      as `block.load` leaves them, both; blocked where `WIDTH` is `ITEMS`. With `first` the tile's first element
                     begins a run whatever `before` is.
        Returns:     the tile's last element: `before` for the tile after this one."""

    @staticmethod
    def histogram(items: Any, bins: Any, size: Any, *, C: Any = ..., ITEMS: int = ..., COPIES: int = ..., WITHIN: bool = ...) -> None:
        """block.histogram(items: int32[ITEMS] @ thread[1], bins: ptr(C) @ block[1], size: int32 @ block[1], *,
            C: dtype = ..., ITEMS: constexpr(int) = ..., COPIES: constexpr(int) = 1, WITHIN: constexpr(bool) = False)

        Add to `bins[b]` how many of the block's items are `b`; items that are not in `0 ... size - 1` are left out.

        With `COPIES` each thread counts in one of so many copies of the bins, thread `t` in copy `t % COPIES`: those of bin `b` are
        `bins[b * COPIES] ... bins[b * COPIES + COPIES - 1]`, side by side. With 32 copies in shared memory no two lanes of a warp
        meet in a bank, whatever the items are. `grid.histogram` adds copies up.

        Perspective: block, of any number of threads.
        Shapes:      `bins`: `size * COPIES` numbers of 32 or 64 bits, in shared or global memory, which `block.fill` clears.
                     `COPIES`: a power of two. `WITHIN`: no item is to be left out."""

    @staticmethod
    def load(x: Any, items: Any, valid: Any, otherwise: Any, *, WIDTH: int, VECTORIZED: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """block.load(x: ptr(const(T)) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1],
            otherwise: T @ block[1], *, WIDTH: constexpr(int), VECTORIZED: constexpr(bool), T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        Spread the tile that starts at `x[0]` over the block's registers; elements from `valid` on become `otherwise`.

        Perspective: block, of any number of warps.
        Shapes:      `ITEMS` elements a thread; warp `w` holds the run from `x[w * 32 * ITEMS]` on, laid out as `warp.load`
                     does. `valid` may be negative.
        Errors:      with `VECTORIZED`, `x` must be aligned to `WIDTH` elements, at most 16 bytes in all."""

    @staticmethod
    def load_striped(x: Any, items: Any, valid: Any, otherwise: Any, *, T: Any = ..., ITEMS: int = ...) -> None:
        """block.load_striped(x: ptr(const(T)) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1],
            otherwise: T @ block[1], *, T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put `x[k * threads + t]` into `items[k]` of thread `t`; elements from `valid` on become `otherwise`.

        Perspective: block, of any number of threads.
        Shapes:      striped over the block; `x` need not be aligned. `valid` may be negative."""

    @staticmethod
    def load_tile(x: Any, items: Any, valid: Any, otherwise: Any, skew: Any, before: Any, *, WIDTH: int, REVERSE: bool, SPARE: bool, TI: Any = ..., T: Any = ..., ITEMS: int = ...) -> None:
        """block.load_tile(x: ptr(const(TI)) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1],
            otherwise: T @ block[1], skew: int32 @ block[1], before: int32 @ block[1], *, WIDTH: constexpr(int),
            REVERSE: constexpr(bool), SPARE: constexpr(bool), TI: dtype = ..., T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        Spread the tile that starts at `x[0]` over the block's registers, as `T`; elements from `valid` on become `otherwise`.

        Perspective: block, of any number of warps.
        Shapes:      `ITEMS` elements a thread, a multiple of `WIDTH`, laid out as by `block.load`: element `j * WIDTH + k` of a
                     thread is element `block.place() + j * 32 * WIDTH + k` of the tile. With `REVERSE` the tile's last element is
                     taken for its first, and so on. Elements below `before` become `otherwise` too. `skew`: how many elements stand
                     between one that is aligned, to `WIDTH` elements, and `x[0]`; less than 0: it is not known. `SPARE`: the caller
                     has registers to spare, and holds no other tile."""

    @staticmethod
    def load_transposed(x: Any, items: Any, valid: Any, otherwise: Any, *, THREADS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.load_transposed(x: ptr(const(T)) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1],
            otherwise: T @ block[1], *, THREADS: constexpr(int), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put `x[t * ITEMS + k]` into `items[k]` of thread `t`; elements from `valid` on become `otherwise`.

        Perspective: block, of `THREADS` threads.
        Shapes:      blocked; `x` need not be aligned. `valid` may be negative."""

    @staticmethod
    def merge(a: Any, size_a: Any, b: Any, size_b: Any, items: Any, otherwise: Any, *, THREADS: int, LESS: Any, T: Any = ..., ITEMS: int = ...) -> None:
        """block.merge(a: ptr(const(T)) @ block[1], size_a: int32 @ block[1], b: ptr(const(T)) @ block[1],
            size_b: int32 @ block[1], items: T[ITEMS] @ thread[1], otherwise: T @ thread[1], *, THREADS: constexpr(int),
            LESS: function, T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put the merge of two sorted runs into the block's registers; places from `size_a + size_b` on become `otherwise`.

        Perspective: block, of `THREADS` threads.
        Shapes:      `a`: `size_a` elements, `b`: `size_b`, each sorted by `LESS`. `items`: blocked, place `t * ITEMS + k` in thread
                     `t`; the runs are not longer than that together. Of equal elements those of `a` come first.
        Errors:      of runs that are not sorted some elements may come twice, and others not at all; nothing else is touched."""

    @staticmethod
    def merge_pairs(a: Any, a_items: Any, size_a: Any, b: Any, b_items: Any, size_b: Any, keys: Any, items: Any, otherwise: Any, nothing: Any, *, THREADS: int, LESS: Any, K: Any = ..., T: Any = ..., ITEMS: int = ...) -> None:
        """block.merge_pairs(a: ptr(const(K)) @ block[1], a_items: ptr(const(T)) @ block[1], size_a: int32 @ block[1],
            b: ptr(const(K)) @ block[1], b_items: ptr(const(T)) @ block[1], size_b: int32 @ block[1],
            keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1], otherwise: K @ thread[1], nothing: T @ thread[1],
            *, THREADS: constexpr(int), LESS: function, K: dtype = ..., T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put the merge of two sorted runs of keys into the block's registers, and beside each key its item.

        Perspective: block, of `THREADS` threads.
        Shapes:      as of `block.merge`; `a_items`, `b_items`: as many as keys. Places from `size_a + size_b` on become `otherwise`
                     and `nothing`."""

    @staticmethod
    def merge_sort(items: Any, *, THREADS: int, LESS: Any, T: Any = ..., ITEMS: int = ...) -> None:
        """block.merge_sort(items: T[ITEMS] @ thread[1], *, THREADS: constexpr(int), LESS: function, T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        Sort the tile in place, so that no element is `LESS` than the one before it; equal ones keep their order.

        Perspective: block, of `THREADS` threads.
        Shapes:      blocked: element `t * ITEMS + k` in `items[k]` of thread `t`. A partial tile is filled up with what sorts last."""

    @staticmethod
    def merge_sort_pairs(keys: Any, items: Any, *, THREADS: int, LESS: Any, K: Any = ..., T: Any = ..., ITEMS: int = ...) -> None:
        """block.merge_sort_pairs(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1], *, THREADS: constexpr(int),
            LESS: function, K: dtype = ..., T: dtype = ..., ITEMS: constexpr(int) = ...)

        Sort the tile by its keys, in place; each item goes where its key goes, and items of equal keys keep their order.

        Perspective: block, of `THREADS` threads.
        Shapes:      blocked: element `t * ITEMS + k` in `keys[k]`, `items[k]` of thread `t`. A partial tile is filled up with keys
                     that sort last."""

    @staticmethod
    def offset(value: Any, distance: Any, otherwise: Any, *, THREADS: int, T: Any = ...) -> Any:
        """block.offset(value: T @ thread[1], distance: int32 @ block[1], otherwise: T @ thread[1], *,
            THREADS: constexpr(int), T: dtype = ...) -> T @ thread[1]

        The value of the thread `distance` further on, `otherwise` where there is none; `distance` may be negative.

        Perspective: block, of `THREADS` threads."""

    @staticmethod
    def place(*, ITEMS: int, WIDTH: int) -> Any:
        """block.place(*, ITEMS: constexpr(int), WIDTH: constexpr(int)) -> int32 @ thread[1]

        Where in the tile this thread's elements begin, as `block.load` lays them out; row `j` is `j * 32 * WIDTH` further.

        Perspective: block, of any number of warps."""

    @staticmethod
    def prefetch_tile(x: Any, tile: Any, n: Any, *, TILE: int, T: Any = ...) -> None:
        """block.prefetch_tile(x: ptr(const(T)) @ grid[1], tile: int32 @ block[1], n: int64 @ block[1], *,
            TILE: constexpr(int), T: dtype = ...)

        Ask for tile `tile` of `TILE` elements, of an array of `n`, to be brought into the L2, and go on at once.

        Perspective: block, of any number of threads.
        Shapes:      `x`: `n` elements, in tiles from `x[0]` on; of one beyond them nothing is asked for. `tile` is not negative."""

    @staticmethod
    def radix_rank(digits: Any, ranks: Any, *, THREADS: int, BITS: int, ITEMS: int = ..., WIDTH: int = ...) -> None:
        """block.radix_rank(digits: int32[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], *, THREADS: constexpr(int),
            BITS: constexpr(int), ITEMS: constexpr(int) = ..., WIDTH: constexpr(int) = ...)

        Say in `ranks` where each element stands once the tile is sorted by its digit; equal ones keep their order.

        Perspective: block, of `THREADS` threads.
        Shapes:      blocked: element `t * ITEMS + k` in thread `t`; with `WIDTH=1` element `(t / 32 * ITEMS + k) * 32 + t % 32`. A
                     digit is in `0 ... 2^BITS - 1`; `BITS`: 1 to 8.
        Errors:      another digit would be counted elsewhere; the reference machine says so."""

    @staticmethod
    def radix_rank_counts(digits: Any, ranks: Any, counts: Any, begins: Any, *, THREADS: int, BITS: int, ITEMS: int = ..., SHARE: int = ..., WIDTH: int = ...) -> None:
        """block.radix_rank_counts(digits: int32[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1],
            counts: int32[SHARE] @ thread[1], begins: int32[SHARE] @ thread[1], *, THREADS: constexpr(int),
            BITS: constexpr(int), ITEMS: constexpr(int) = ..., SHARE: constexpr(int) = ..., WIDTH: constexpr(int) = ...)

        As `block.radix_rank`; and say how often each digit occurs in the tile, and what rank its first element has.

        Perspective: block, of `THREADS` threads.
        Shapes:      `digits`, `ranks`: as of `block.radix_rank`. `counts[j]`, `begins[j]` of thread `t` are of digit
                     `t * SHARE + j`; of what is no digit, 0 and how many elements there are. `SHARE`: `2^BITS / THREADS`, rounded
                     up. So with at least `2^BITS` threads each has one digit, as `grid.publish_digits` takes it."""

    @staticmethod
    def radix_sort(items: Any, *, THREADS: int, KEY: Any, FIRST: int, LAST: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.radix_sort(items: T[ITEMS] @ thread[1], *, THREADS: constexpr(int), KEY: function, FIRST: constexpr(int),
            LAST: constexpr(int), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Sort the tile in place by bits `FIRST ... LAST - 1` of `KEY` of its elements; equal ones keep their order.

        Perspective: block, of `THREADS` threads.
        Shapes:      blocked: element `t * ITEMS + k` in `items[k]` of thread `t`. `KEY` gives an unsigned integer in whose order the
                     elements are to stand: `operators.bits_of_int32`, or one of your own, as one that complements them for a
                     descending order."""

    @staticmethod
    def radix_sort_pairs(keys: Any, items: Any, *, THREADS: int, KEY: Any, FIRST: int, LAST: int, K: Any = ..., T: Any = ..., ITEMS: int = ...) -> None:
        """block.radix_sort_pairs(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1], *, THREADS: constexpr(int),
            KEY: function, FIRST: constexpr(int), LAST: constexpr(int), K: dtype = ..., T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        Sort the tile by bits `FIRST ... LAST - 1` of `KEY` of its keys, in place; each item goes where its key goes.

        Perspective: block, of `THREADS` threads.
        Shapes:      blocked: element `t * ITEMS + k` in `keys[k]`, `items[k]` of thread `t`. `KEY` as for `block.radix_sort`;
                     items of equal keys keep their order."""

    @staticmethod
    def reduce(value: Any, *, OP: Any, T: Any = ...) -> Any:
        """block.reduce(value: T @ thread[1], *, OP: function, T: dtype = ...) -> T @ block[1]

        `OP` of the threads' values, in the order of the threads; all threads get the result.

        Perspective: block, of any number of warps."""

    @staticmethod
    def reduce_all(value: Any, identity: Any, *, OP: Any, T: Any = ...) -> Any:
        """block.reduce_all(value: T @ thread[1], identity: T @ block[1], *, OP: function, T: dtype = ...) -> T @ thread[1]

        `OP` of the threads' values, for all threads: quicker than `block.reduce` where there are many warps.

        Perspective: block, of any number of warps.
        Returns:     the same value in each thread. `identity` must be `OP`'s."""

    @staticmethod
    def reduce_apart(value: Any, *, OP: Any, APART: int, TEAM: int, THREADS: int, T: Any = ...) -> Any:
        """block.reduce_apart(value: T @ thread[1], *, OP: function, APART: constexpr(int), TEAM: constexpr(int),
            THREADS: constexpr(int), T: dtype = ...) -> T @ thread[1]

        `OP` of the values of threads whose numbers differ by multiples of `APART`, of each `TEAM` threads that follow one another.

        So `TEAM // APART` threads have a part of each of `APART` results, and the first `APART` of a team get them.

        Perspective: block, of `THREADS` threads, a multiple of `TEAM`.
        Shapes:      `APART` and `TEAM` are powers of two; one below 32 divides it.
        Returns:     what other threads get is of no use."""

    @staticmethod
    def reduce_by_key(keys: Any, items: Any, valid: Any, identity: Any, unique: Any, results: Any, *, OP: Any, K: Any = ..., T: Any = ..., ITEMS: int = ...) -> Any:
        """block.reduce_by_key(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1],
            identity: T @ block[1], unique: ptr(K) @ block[1], results: ptr(T) @ block[1], *, OP: function,
            K: dtype = ..., T: dtype = ..., ITEMS: constexpr(int) = ...) -> int32 @ block[1]

        Put each run's key into `unique` and `OP` of its items into `results`, in the order of the runs.

        Perspective: block, of any number of warps.
        Shapes:      `keys`, `items`: blocked, element `t * ITEMS + k` in thread `t`, of which the first `valid` are there; keys from
                     `valid` on are of no account, items are `identity`. `unique`, `results`: an element a run.
        Returns:     the number of runs. `items` and `keys` keep nothing of use."""

    @staticmethod
    def reduce_cluster(value: Any, identity: Any, *, OP: Any, BLOCKS: int, T: Any = ...) -> Any:
        """block.reduce_cluster(value: T @ thread[1], identity: T @ block[BLOCKS], *, OP: function, BLOCKS: constexpr(int),
            T: dtype = ...) -> T @ thread[1]

        `OP` of the values of all threads of a cluster, for all of them.

        Perspective: cluster of `BLOCKS` blocks, at least two, of any number of warps.
        Returns:     the same value in each thread. `identity` must be `OP`'s."""

    @staticmethod
    def reduce_groups(value: Any, *, OP: Any, SIZE: int, T: Any = ...) -> Any:
        """block.reduce_groups(value: T @ thread[1], *, OP: function, SIZE: constexpr(int),
            T: dtype = ...) -> T @ thread[SIZE]

        `OP` of the values of each `SIZE` threads, in the order of the threads; all of a group get its result.

        Perspective: block, as groups of `SIZE` threads, a multiple of 32. Smaller ones: `warp.reduce_groups`.
        Errors:      group, where a block can have more than 15 groups: state its size, as `@attr("__launch_bounds__(256)")`."""

    @staticmethod
    def reduce_into(y: Any, value: Any, *, OP: Any, T: Any = ...) -> None:
        """block.reduce_into(y: ptr(T) @ block[1], value: T @ thread[1], *, OP: function, T: dtype = ...)

        `y[0] = OP` of the threads' values, in the order of the threads: the first thread has the result, and writes it.

        Perspective: block, of any number of warps."""

    @staticmethod
    def reduce_segments(value: Any, head: Any, *, OP: Any, T: Any = ...) -> Any:
        """block.reduce_segments(value: T @ thread[1], head: bool @ thread[1], *, OP: function,
            T: dtype = ...) -> T @ thread[1]

        `OP` of the values of the threads of this thread's segment, in their order; each thread gets its own segment's.

        Perspective: block, of any number of warps.
        Shapes:      a segment begins at the first thread, and at each thread whose `head` holds."""

    @staticmethod
    def reduce_to_first(value: Any, identity: Any, *, OP: Any, MOST: int, TENSOR: bool, T: Any = ...) -> Any:
        """block.reduce_to_first(value: T @ thread[1], identity: T @ block[1], *, OP: function, MOST: constexpr(int),
            TENSOR: constexpr(bool), T: dtype = ...) -> T @ thread[1]

        `OP` of the threads' values, in the order of the threads: the first thread has the result.

        It is quicker than `block.reduce`: the first warp alone combines the warps' results, and not one after the other.

        Perspective: block, of any number of warps, up to `MOST` threads.
        Shapes:      `TENSOR`: as of `warp.reduce_to_first`.
        Returns:     what threads other than the first get is of no use. `identity` must be `OP`'s."""

    @staticmethod
    def reduce_valid(value: Any, valid: Any, otherwise: Any, *, OP: Any, T: Any = ...) -> Any:
        """block.reduce_valid(value: T @ thread[1], valid: int32 @ block[1], otherwise: T @ block[1], *, OP: function,
            T: dtype = ...) -> T @ block[1]

        `OP` of the first `valid` threads' values, in the order of the threads; `otherwise` where `valid` is 0 or less.

        Perspective: block, of any number of warps.
        Shapes:      the other threads' values are of no account; `valid` may be beyond the block. All threads get the result."""

    @staticmethod
    def rotate(value: Any, distance: Any, *, THREADS: int, T: Any = ...) -> Any:
        """block.rotate(value: T @ thread[1], distance: int32 @ block[1], *, THREADS: constexpr(int),
            T: dtype = ...) -> T @ thread[1]

        The value of the thread `distance` further on, round the block's end; a negative `distance` is one further back.

        Perspective: block, of `THREADS` threads."""

    @staticmethod
    def run_length_decode(values: Any, lengths: Any, first: Any, items: Any, otherwise: Any, *, THREADS: int, T: Any = ..., RUNS: int = ..., ITEMS: int = ...) -> Any:
        """block.run_length_decode(values: T[RUNS] @ thread[1], lengths: int32[RUNS] @ thread[1], first: int32 @ block[1],
            items: T[ITEMS] @ thread[1], otherwise: T @ block[1], *, THREADS: constexpr(int), T: dtype = ...,
            RUNS: constexpr(int) = ..., ITEMS: constexpr(int) = ...) -> int32 @ block[1]

        Put element `first + k * THREADS + t` of the decoded runs into `items[k]` of thread `t`; behind the last one `otherwise`.

        Perspective: block, of `THREADS` threads.
        Shapes:      thread `t` has the runs from number `RUNS * t` on: `lengths[r]` elements `values[r]`, none where it is 0.
                     `items`: striped, as `block.store_striped` takes it. Where there are more elements than `THREADS * ITEMS`, it is
                     called again with another `first`, which is not negative.
        Returns:     how many elements there are in all: fewer than 2^31."""

    @staticmethod
    def scan(items: Any, identity: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.scan(items: T[ITEMS] @ thread[1], identity: T @ block[1], *, WIDTH: constexpr(int), OP: function,
            EXCLUSIVE: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each element by `OP` of all elements of the tile up to it, in place; `EXCLUSIVE` leaves out itself.

        Perspective: block, of any number of warps.
        Shapes:      `ITEMS` elements a thread, as `block.load` leaves them; `ITEMS` is a multiple of `WIDTH`.
        Returns:     `OP` of the whole tile. `identity` must be `OP`'s: the first element's exclusive result."""

    @staticmethod
    def scan_both(items: Any, exclusive: Any, initial: Any, *, WIDTH: int, OP: Any, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.scan_both(items: T[ITEMS] @ thread[1], exclusive: T[ITEMS] @ thread[1], initial: T @ block[1], *,
            WIDTH: constexpr(int), OP: function, T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each element by `OP` of `initial` and all up to it; put the same without itself into `exclusive`.

        Perspective: block, of any number of warps.
        Shapes:      `ITEMS` elements a thread, as `block.load` leaves them, both; `ITEMS` is a multiple of `WIDTH`.
        Returns:     `OP` of `initial` and the whole tile. `initial` may be any value: `OP` needs no identity."""

    @staticmethod
    def scan_by_key(keys: Any, items: Any, identity: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, K: Any = ..., T: Any = ..., ITEMS: int = ...) -> Any:
        """block.scan_by_key(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1], identity: T @ block[1], *,
            WIDTH: constexpr(int), OP: function, EXCLUSIVE: constexpr(bool), K: dtype = ..., T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each item by `OP` of the items of its run of equal keys up to it, in place; `EXCLUSIVE` leaves out itself.

        Perspective: block, of any number of warps.
        Shapes:      as `block.load` leaves them, both; blocked where `WIDTH` is `ITEMS`. The tile begins a run.
        Returns:     `OP` of the last run. `identity` must be `OP`'s: the exclusive result of a run's first item. For runs across
                     tiles call `block.heads` and `block.scan_segments`, which take what came before."""

    @staticmethod
    def scan_groups(items: Any, identity: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, SIZE: int, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.scan_groups(items: T[ITEMS] @ thread[1], identity: T @ block[1], *, WIDTH: constexpr(int), OP: function,
            EXCLUSIVE: constexpr(bool), SIZE: constexpr(int), T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ thread[SIZE]

        Replace each element by `OP` of all elements of its group up to it, in place; `EXCLUSIVE` leaves out itself.

        Perspective: block, as groups of `SIZE` threads, a multiple of 32. Smaller ones: `warp.scan_groups`.
        Shapes:      `ITEMS` elements a thread, as `block.load` leaves them; `ITEMS` is a multiple of `WIDTH`.
        Returns:     `OP` of the group's elements. `identity` must be `OP`'s: the first element's exclusive result.
        Errors:      group, where a block can have more than 15 groups: state its size, as `@attr("__launch_bounds__(256)")`."""

    @staticmethod
    def scan_heads(items: Any, flags: Any, facts: Any, identity: Any, initial: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, RUNS: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.scan_heads(items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], facts: int32[3] @ thread[1],
            identity: T @ block[1], initial: T @ block[1], *, WIDTH: constexpr(int), OP: function,
            EXCLUSIVE: constexpr(bool), RUNS: constexpr(bool), T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each element by `OP` of `initial` and its segment up to it, in place; before the first head without `initial`.

        `block.scan_segments` takes a bool an element, and what came before. This takes a bit, of up to 32 elements a thread, and
        leaves what came before to `thread.continue_segment`: so a tile can be scanned before that is known.

        Perspective: block, of any number of warps.
        Shapes:      as `block.load` leaves them; bit `i` of `flags` says whether a segment begins at `items[i]`. `EXCLUSIVE`, `RUNS`:
                     as of `warp.scan_heads`. `facts` become: where in the tile its first head is, or its number of elements; how many
                     heads there are; and how many of them are in the warps before this thread's.
        Returns:     `OP` of `initial` and all elements from the last head on, or of all of them. `identity` must be `OP`'s."""

    @staticmethod
    def scan_initial(items: Any, initial: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.scan_initial(items: T[ITEMS] @ thread[1], initial: T @ block[1], *, WIDTH: constexpr(int), OP: function,
            EXCLUSIVE: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each element by `OP` of `initial` and all elements up to it, in place; `EXCLUSIVE` leaves out itself.

        Perspective: block, of any number of warps.
        Shapes:      `ITEMS` elements a thread, as `block.load` leaves them; `ITEMS` is a multiple of `WIDTH`.
        Returns:     `OP` of `initial` and the whole tile. `initial` may be any value: `OP` needs no identity."""

    @staticmethod
    def scan_segments(items: Any, heads: Any, before: Any, identity: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.scan_segments(items: T[ITEMS] @ thread[1], heads: bool_[ITEMS] @ thread[1], before: T @ block[1],
            identity: T @ block[1], *, WIDTH: constexpr(int), OP: function, EXCLUSIVE: constexpr(bool), T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each element by `OP` of its segment up to it, in place; `EXCLUSIVE` leaves out itself.

        Perspective: block, of any number of warps.
        Shapes:      as `block.load` leaves them, both; `heads` says where a segment begins. Elements before the first head go on
                     with `before`, which `OP` takes once.
        Returns:     `OP` of the last segment, and of `before` where there is no head: `before` for the tile after this one.
                     `identity` must be `OP`'s: a head's exclusive result."""

    @staticmethod
    def scan_valid(items: Any, initial: Any, valid: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.scan_valid(items: T[ITEMS] @ thread[1], initial: T @ block[1], valid: int32 @ block[1], *,
            WIDTH: constexpr(int), OP: function, EXCLUSIVE: constexpr(bool), T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each of the first `valid` elements by `OP` of `initial` and all up to it, in place; `EXCLUSIVE` leaves out itself.

        Perspective: block, of any number of warps.
        Shapes:      `ITEMS` elements a thread, as `block.load` leaves them; `ITEMS` is a multiple of `WIDTH`. Elements from `valid`
                     on stay as they are; `valid` may be negative.
        Returns:     `OP` of `initial` and the valid elements. `initial` may be any value: `OP` needs no identity."""

    @staticmethod
    def scatter_to_blocked(items: Any, ranks: Any, ranked: Any, *, THREADS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.scatter_to_blocked(items: T[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], ranked: int32 @ block[1],
            *, THREADS: constexpr(int), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put the element of rank `t * ITEMS + k` into `items[k]` of thread `t`, in place.

        Perspective: block, of `THREADS` threads.
        Shapes:      the ranks of the tile are 0 to `ranked - 1`, each once; an element with a negative one is dropped. Places from
                     `ranked` on keep what they have.
        Errors:      two elements of one rank race; the reference machine says so."""

    @staticmethod
    def scatter_to_striped(items: Any, ranks: Any, ranked: Any, *, THREADS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.scatter_to_striped(items: T[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], ranked: int32 @ block[1],
            *, THREADS: constexpr(int), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put the element of rank `k * THREADS + t` into `items[k]` of thread `t`, in place.

        Perspective: block, of `THREADS` threads.
        Shapes:      the ranks of the tile are 0 to `ranked - 1`, each once; an element with a negative one is dropped. Places from
                     `ranked` on keep what they have.
        Errors:      two elements of one rank race; the reference machine says so."""

    @staticmethod
    def scatter_to_warp_striped(items: Any, ranks: Any, ranked: Any, *, THREADS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.scatter_to_warp_striped(items: T[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1],
            ranked: int32 @ block[1], *, THREADS: constexpr(int), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put the element of rank `(t / 32 * ITEMS + k) * 32 + t % 32` into `items[k]` of thread `t`, in place.

        Perspective: block, of `THREADS` threads.
        Shapes:      the ranks of the tile are 0 to `ranked - 1`, each once; an element with a negative one is dropped. Places from
                     `ranked` on keep what they have.
        Errors:      two elements of one rank race; the reference machine says so."""

    @staticmethod
    def select_rank(n: Any, rank: Any, *, U: Any, KEY: Any, COUNTS: Any, BITS: int, THREADS: int, N: Any = ...) -> Any:
        """block.select_rank(n: N @ block[1], rank: N @ block[1], *, U: dtype, KEY: function, COUNTS: function,
            BITS: constexpr(int), THREADS: constexpr(int), N: dtype = ...) -> (U, N, N) @ block[1]

        The key of rank `rank`, from 0 on, of elements `0 ... n - 1`; how many keys are less, and how many are equal to it.

        Digits of 8 bits are counted from the highest on, of the elements whose digits so far are those of the key that is looked for.

        Perspective: block, of `THREADS` threads.
        Shapes:      `KEY(i)` gives element `i`'s key, an unsigned integer `U` below `2^BITS`, and `COUNTS(i)` whether it is one of
                     those that are ranked: functions of a thread, of an `N`: int32 or int64. Of the ranked ones there are more than
                     `rank`, and fewer than 2^32. `BITS`: a multiple of 8."""

    @staticmethod
    def separate(items: Any, flags: Any, *, WIDTH: int, THREADS: int, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.separate(items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], *, WIDTH: constexpr(int),
            THREADS: constexpr(int), T: dtype = ..., ITEMS: constexpr(int) = ...) -> int32 @ block[1]

        Put the elements whose bit of `flags` is set before the others, both in their order.

        Perspective: block, of `THREADS` threads.
        Shapes:      as of `block.compact`: number `k * THREADS + t` comes to thread `t`.
        Returns:     how many bits are set; `items` changes in place."""

    @staticmethod
    def shift_down(items: Any, after: Any, *, WIDTH: int, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.shift_down(items: T[ITEMS] @ thread[1], after: T @ block[1], *, WIDTH: constexpr(int), T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each element by the one after it in the tile, in place; the last becomes `after`.

        Perspective: block, of any number of warps.
        Shapes:      as `block.load` leaves them; blocked where `WIDTH` is `ITEMS`, and for one value a thread.
        Returns:     the first element, which is gone from `items`."""

    @staticmethod
    def shift_up(items: Any, before: Any, *, WIDTH: int, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.shift_up(items: T[ITEMS] @ thread[1], before: T @ block[1], *, WIDTH: constexpr(int), T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ block[1]

        Replace each element by the one before it in the tile, in place; the first becomes `before`.

        Perspective: block, of any number of warps.
        Shapes:      as `block.load` leaves them; blocked where `WIDTH` is `ITEMS`, and for one value a thread.
        Returns:     the last element, which is gone from `items`."""

    @staticmethod
    def sort_network(items: Any, *, THREADS: int, LESS: Any, TOTAL: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """block.sort_network(items: T[ITEMS] @ thread[1], *, THREADS: constexpr(int), LESS: function,
            TOTAL: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Sort the tile in place, so that no element is `LESS` than the one before it.

        Perspective: block, of `THREADS` threads; `THREADS`, at least 32, and `ITEMS` are powers of two.
        Shapes:      blocked: element `t * ITEMS + k` in `items[k]` of thread `t`. A partial tile is filled up with what sorts last.
                     `TOTAL`: of two elements one is less, unless they are the same in all bits."""

    @staticmethod
    def store(y: Any, items: Any, valid: Any, *, WIDTH: int, VECTORIZED: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """block.store(y: ptr(T) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], *,
            WIDTH: constexpr(int), VECTORIZED: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Collect the tile that starts at `y[0]` from the block's registers; elements from `valid` on are not written.

        Perspective: block, of any number of warps.
        Shapes:      as `block.load` leaves them: warp `w` holds the run from `y[w * 32 * ITEMS]` on. `valid` may be negative.
        Errors:      with `VECTORIZED`, `y` must be aligned to `WIDTH` elements, at most 16 bytes in all."""

    @staticmethod
    def store_flagged(y: Any, items: Any, flags: Any, before: Any, valid: Any, skew: Any, *, AS: Any, WIDTH: int, THREADS: int, VECTOR: int, T: Any = ..., TO: Any = ..., ITEMS: int = ...) -> None:
        """block.store_flagged(y: ptr(TO) @ block[1], items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1],
            before: int32 @ thread[32], valid: int32 @ block[1], skew: int32 @ block[1], *, AS: function,
            WIDTH: constexpr(int), THREADS: constexpr(int), VECTOR: constexpr(int), T: dtype = ..., TO: dtype = ...,
            ITEMS: constexpr(int) = ...)

        Write the elements whose bit of `flags` is set close together, in their order, from `y[0]` on: of each, what `AS` gives.

        Perspective: block, of `THREADS` threads.
        Shapes:      as `block.load` leaves a tile; bit `i` of `flags` says whether `items[i]` is kept. `before`: how many are kept
                     in the warps before, as `block.count_flags` says. `valid`: how many are written, at most as many as are kept;
                     may be negative. `skew`: how many elements stand between one of `y` that is aligned, to `VECTOR` elements, and
                     `y[0]`; less than 0: it is not known. `AS`: a function of a thread, of a `T`, that gives a `TO`."""

    @staticmethod
    def store_striped(y: Any, items: Any, valid: Any, *, T: Any = ..., ITEMS: int = ...) -> None:
        """block.store_striped(y: ptr(T) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], *,
            T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put `items[k]` of thread `t` into `y[k * threads + t]`; elements from `valid` on are not written.

        Perspective: block, of any number of threads.
        Shapes:      striped over the block; `y` need not be aligned. `valid` may be negative."""

    @staticmethod
    def store_tile(y: Any, items: Any, valid: Any, aligned: Any, before: Any, *, WIDTH: int, REVERSE: bool, KEPT: bool, T: Any = ..., TO: Any = ..., ITEMS: int = ...) -> None:
        """block.store_tile(y: ptr(TO) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1],
            aligned: bool @ block[1], before: int32 @ block[1], *, WIDTH: constexpr(int), REVERSE: constexpr(bool),
            KEPT: constexpr(bool), T: dtype = ..., TO: dtype = ..., ITEMS: constexpr(int) = ...)

        Collect the tile that starts at `y[0]` from the block's registers, as `TO`; what `block.load_tile` replaces is not written.

        Perspective: block, of any number of warps.
        Shapes:      as of `block.load_tile`, with `REVERSE` too: elements below `before` and from `valid` on are not written.
        Errors:      if `aligned`, `y` must be, to `WIDTH` elements, at most 16 bytes in all."""

    @staticmethod
    def store_transposed(y: Any, items: Any, valid: Any, *, THREADS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.store_transposed(y: ptr(T) @ block[1], items: T[ITEMS] @ thread[1], valid: int32 @ block[1], *,
            THREADS: constexpr(int), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put `items[k]` of thread `t` into `y[t * ITEMS + k]`; elements from `valid` on are not written. `items` is permuted.

        Perspective: block, of `THREADS` threads.
        Shapes:      blocked; `y` need not be aligned. `valid` may be negative."""

    @staticmethod
    def striped_to_blocked(items: Any, *, THREADS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.striped_to_blocked(items: T[ITEMS] @ thread[1], *, THREADS: constexpr(int), T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        From element `k * THREADS + t` of the tile in `items[k]` of thread `t` to element `t * ITEMS + k`, in place.

        Perspective: block, of `THREADS` threads."""

    @staticmethod
    def tails(items: Any, flags: Any, after: Any, last: Any, *, WIDTH: int, DIFFERENT: Any, T: Any = ..., ITEMS: int = ...) -> Any:
        """block.tails(items: T[ITEMS] @ thread[1], flags: bool_[ITEMS] @ thread[1], after: T @ block[1],
            last: bool @ block[1], *, WIDTH: constexpr(int), DIFFERENT: function, T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ block[1]

        Say in `flags` which elements are `DIFFERENT` from the one after them; that of the tile's last, from `after`.

        Perspective: block, of any number of warps.
        Shapes:      as `block.load` leaves them, both; blocked where `WIDTH` is `ITEMS`. With `last` the tile's last element
                     ends a run whatever `after` is.
        Returns:     the tile's first element: `after` for the tile before this one."""

    @staticmethod
    def top_k(items: Any, k: Any, *, U: Any, KEY: Any, BITS: int, THREADS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.top_k(items: T[ITEMS] @ thread[1], k: int32 @ block[1], *, U: dtype, KEY: function, BITS: constexpr(int),
            THREADS: constexpr(int), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put the `k` elements of the tile whose keys are the least close together, in their order; of equal ones the first.

        Perspective: block, of `THREADS` threads.
        Shapes:      blocked: element `t * ITEMS + j` in `items[j]` of thread `t`. Afterwards number `j * THREADS + t` of the `k` is
                     in `items[j]` of thread `t`, and places behind them have what they had. `KEY` gives an unsigned integer `U` below
                     `2^BITS`, as for `block.radix_sort`: one that complements it for the largest. `k`: from 1 to `THREADS * ITEMS`.
                     `ITEMS`: at most 32."""

    @staticmethod
    def warp_striped_to_blocked(items: Any, *, THREADS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """block.warp_striped_to_blocked(items: T[ITEMS] @ thread[1], *, THREADS: constexpr(int), T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        From element `(t / 32 * ITEMS + k) * 32 + t % 32` in `items[k]` of thread `t` to `t * ITEMS + k`, in place.

        Perspective: block, of `THREADS` threads."""

class Grid(LevelName):
    Ticket: ClassVar[Any]

    @staticmethod
    def count_done(control: Any, counter: Any = ...) -> None:
        """grid.count_done(control: ptr(uint64) @ grid[1], counter: int32 @ block[1] = 0)

        Add one to `control[counter]`, once all threads of the block are here: `grid.wait_for_done` waits for it.

        Who has waited finds in memory what the block wrote before this.

        Perspective: block, of any number of warps.
        Shapes:      `control[counter]`: 0 before the launch, and of no other use meanwhile."""

    @staticmethod
    def count_launch(control: Any, words: Any, capacity: Any, used: Any, epoch: Any, identity: Any, *, T: Any = ...) -> None:
        """grid.count_launch(control: ptr(uint64) @ grid[1], words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1],
            used: int32 @ block[1], epoch: uint32 @ thread[1], identity: T @ block[1], *, T: dtype = ...)

        Count the launch in `control`, and set its counter back: for the block that has drawn the last ticket of all.

        That is number `tiles + blocks - 1`: then every block has drawn its last. Where blocks draw none, it is one that knows all
        others have read the epoch, for it has received what they published.

        Each launch marks one of the words that it doesn't use, so that after 2^32 launches no word is as old as to carry this very
        epoch.

        Perspective: block, of any number of threads.
        Shapes:      `control`: as of `grid.tiles`. `words`: `capacity` of them, of which this launch uses the first `used`. A
                     kernel with several arrays of words calls it for each of them."""

    @staticmethod
    def count_tiles(length: Any, *, SIZE: int) -> Any:
        """grid.count_tiles(length: int32 @ thread[1], *, SIZE: constexpr(int)) -> int32 @ thread[1]

        How many tiles of `SIZE` elements there are of `length`: one at least.

        Perspective: thread."""

    @staticmethod
    def deal_tiles(b: Any, blocks: Any, lengths: Any, groups: Any, many: Any, most: Any, *, WORK: Any, SIZE: int, UNEVEN: bool, THREADS: int) -> None:
        """grid.deal_tiles(b: int32 @ block[1], blocks: int32 @ block[1], lengths: ptr(const(int32)) @ grid[1],
            groups: int32 @ block[1], many: int32 @ block[1], most: int32 @ block[1], *, WORK: function,
            SIZE: constexpr(int), UNEVEN: constexpr(bool), THREADS: constexpr(int))

        `WORK(segment, length, first, last, start, tiles)` for what block `b` has: as many tiles as others, or one less.

        There are `blocks` blocks, and `groups` of `many` segments. Those of group g have `lengths[g]` elements each, but not more
        than `most`; where not `UNEVEN`, `most`. Tiles of `SIZE` elements are numbered through all segments, and a block has some
        that follow one another: of each segment tiles `first` to `last`. The segment's own first tile is number `start` of `tiles` in
        all, which `grid.owners` asks for. A segment of no elements has a tile all the same, so each is some block's.

        Perspective: block, of `THREADS` threads.
        Shapes:      there is a segment at least, and fewer than 2^31 tiles in all. Blocks beyond their number have nothing."""

    @staticmethod
    def draw(control: Any, counter: Any = ...) -> Any:
        """grid.draw(control: ptr(uint64) @ grid[1], counter: int32 @ block[1] = 0) -> uint64 @ thread[1]

        Draw the block's next ticket: its first thread has it, once it uses it; `grid.next_tile` gives it to all.

        Perspective: block, of any number of threads.
        Shapes:      `control`, `counter`: as of `grid.tiles`, which draws a block's first ticket.
        Returns:     the ticket's word in the first thread, 0 in the others. Nobody waits for it here: what stands between this and
                     `grid.next_tile` goes on while the counter's answer is under way.
        Errors:      after a ticket that is not below the number of tiles a block draws no more: `grid.count_launch` would count
                     wrong."""

    @staticmethod
    def dynamic_tiles(counter: Any, first: Any, blocks: Any, tiles: Any, scheduler: Any, *, TILE: Any, THREADS: int) -> None:
        """grid.dynamic_tiles(counter: ptr(uint32) @ grid[1], first: int32 @ block[1], blocks: int32 @ grid[1],
            tiles: int32 @ block[1], scheduler: roles(warp, 1), *, TILE: function, THREADS: constexpr(int))

        `TILE(tile)` for tiles `0 ... tiles - 1`, each by the block that comes to it first: a persistent kernel's tile scheduler.

        Block `first`, of `blocks`, begins with that tile. Meanwhile one thread of `scheduler` draws the number of the block's next
        one, and hands it over by a ring: each role reads it when it is done with its part of a tile, and goes on. So roles run
        ahead of others by up to two tiles, and no barrier stands between tiles. Where tiles cost differently, the costly ones
        should come first.

        Perspective: block, of `THREADS` threads.
        Shapes:      `counter[0]`: 0 at first. It counts what is drawn, one number for each tile, and the last one that is drawn sets
                     it back: the next launch finds 0, and needs nothing before it. Launches that share it follow each other, as in
                     a stream.
        Errors:      `TILE` must not wait for another block. A launch that is broken off leaves the counter as it is. Two calls in one
                     launch need a counter each."""

    @staticmethod
    def epoch(control: Any) -> Any:
        """grid.epoch(control: ptr(uint64) @ grid[1]) -> uint32 @ thread[1]

        The launch's epoch, of a kernel whose blocks draw no tickets: in the first thread, once it uses it; 1 in the others.

        `block.broadcast` gives it to all. What stands between goes on while it is under way.

        Perspective: block, of any number of threads.
        Shapes:      `control`: as of `grid.tiles`. Its number of launches changes when `grid.count_launch` is called: after every
                     block has read it."""

    @staticmethod
    def gather(words: Any, me: Any, blocks: Any, total: Any, initial: Any, identity: Any, epoch: Any, *, OP: Any, WORDS: int, ORDERED: bool, TENSOR: bool, T: Any = ...) -> Any:
        """grid.gather(words: ptr(mailbox(T)) @ grid[1], me: int32 @ block[1], blocks: int32 @ block[1],
            total: T @ thread[1], initial: T @ block[1], identity: T @ block[1], epoch: uint32 @ thread[1], *,
            OP: function, WORDS: constexpr(int), ORDERED: constexpr(bool), TENSOR: constexpr(bool),
            T: dtype = ...) -> T @ thread[1]

        `OP` of `initial` and all blocks' totals, in their order: in the first thread of the last block.

        The others publish, and wait for nobody; the last block's first warp asks for all words at once, until they have come. So
        the result is the same, bit for bit, whichever block is done first. Then the launch may be counted, by `grid.count_launch`:
        all blocks have read its epoch.

        Perspective: block, number `me` of `blocks`, of any number of warps. `total` and `epoch` are the first thread's.
        Shapes:      `words`: as of `grid.publish`, one a block but the last. `ORDERED`: shares of the words are in order; otherwise
                     a lane takes every 32nd word, and `OP` must be commutative. One block alone uses no words.
        Returns:     what others than the first thread of the last block get is of no use.
        Errors:      a block must not wait for a later one before it has called this."""

    @staticmethod
    def gather_into(result: Any, words: Any, control: Any, capacity: Any, epoch_cell: Any, before: Any, total: Any, alone: Any, initial: Any, identity: Any, me: Any, blocks: Any, *, OP: Any, INTO: Any, WORDS: int, ORDERED: bool, TENSOR: bool, T: Any = ..., TO: Any = ...) -> None:
        """grid.gather_into(result: ptr(TO) @ block[1], words: ptr(mailbox(T)) @ grid[1], control: ptr(uint32) @ grid[1],
            capacity: uint32 @ grid[1], epoch_cell: shared(uint32[1]) @ block[1], before: uint32 @ thread[1],
            total: T @ thread[1], alone: T @ thread[1], initial: T @ block[1], identity: T @ block[1],
            me: int32 @ block[1], blocks: int32 @ block[1], *, OP: function, INTO: function, WORDS: constexpr(int),
            ORDERED: constexpr(bool), TENSOR: constexpr(bool), T: dtype = ..., TO: dtype = ...)

        `result[0] = INTO(OP(initial, ..., total))` of all blocks' totals, in their order; `INTO(alone)` where there is one block.

        What `grid.gather` does, and `grid.count_launch` after it, written by the last block. It is quicker: the epoch is on a cell
        that all threads read, and what only the last block does stands in one branch.

        Perspective: block, number `me` of `blocks`, of any number of warps; the last one writes `result`, the others publish.
        Shapes:      `words`, `ORDERED`: as of `grid.gather`; `capacity` of them, at least `blocks`. `control`: the two halves of the
                     word of `grid.tiles`, of which the second is the number of launches so far. `before`: that number, in the first
                     thread, and on `epoch_cell` for all. `total`, `alone`: the first thread's.
        Errors:      as of `grid.gather`."""

    @staticmethod
    def histogram(counts: Any, bins: Any, size: Any, first: Any = ..., *, N: Any = ..., C: Any = ..., COPIES: int = ...) -> None:
        """grid.histogram(counts: ptr(const(N)) @ block[1], bins: ptr(C) @ grid[1], size: int32 @ block[1],
            first: int64 @ block[1] = 0, *, N: dtype = ..., C: dtype = ..., COPIES: constexpr(int) = 1)

        Add the block's `counts[0] ... counts[size - 1]` to the grid's `bins`, which have all blocks' when the launch has ended.

        Each block counts for itself first, by `block.histogram` in shared memory: so that many equal elements do not meet at one
        place in memory. With `COPIES` it counted in so many, side by side: their sums are added.

        Perspective: block, of any number of threads.
        Shapes:      `counts`: `size * COPIES`, the block's own, in shared memory, as a rule. `bins`: numbers of 32 or 64 bits; they
                     begin as the caller leaves them, so zero. `counts[0]` is added to `bins[first]`. `COPIES`: a power of two.
        Errors:      no block knows when the others have added theirs: the next launch reads the bins, or the host."""

    @staticmethod
    def look_back(words: Any, first: Any, last: Any, identity: Any, epoch: Any, *, OP: Any, THREADS: int, WORDS: int, T: Any = ...) -> Any:
        """grid.look_back(words: ptr(mailbox(T)) @ grid[1], first: int32 @ block[1], last: int32 @ block[1],
            identity: T @ block[1], epoch: uint32 @ block[1], *, OP: function, THREADS: constexpr(int),
            WORDS: constexpr(int), T: dtype = ...) -> T @ block[1]

        `OP` of the totals of the tiles `first ... last - 1`, in their order, as they are published; `identity` if there are none.

        A block that keeps its prefix asks for the tiles since its last one alone, as many as there are blocks: so none waits for
        another's prefix, only for totals, which are out early.

        Perspective: block, of `THREADS` threads.
        Shapes:      `words`: as of `grid.publish`.
        Errors:      each of these tiles must be published by a block that does not wait for this one, as those that are drawn by
                     `grid.draw` are, or those of blocks of lower numbers."""

    @staticmethod
    def look_back_columns(words: Any, start_word: Any, first: Any, last: Any, identity: Any, epoch: Any, prefix: Any, *, OP: Any, THREADS: int, WORDS: int, TX: int, T: Any = ..., WIDTH: int = ...) -> None:
        """grid.look_back_columns(words: ptr(mailbox(T)) @ grid[1], start_word: int64 @ block[1], first: int32 @ block[1],
            last: int32 @ block[1], identity: T @ block[1], epoch: uint32 @ block[1], prefix: T[WIDTH] @ thread[1], *,
            OP: function, THREADS: constexpr(int), WORDS: constexpr(int), TX: constexpr(int), T: dtype = ...,
            WIDTH: constexpr(int) = ...)

        Add to `prefix`, of this thread's columns, what the tiles `first ... last - 1` came to, column by column.

        Perspective: block, of `THREADS` threads.
        Shapes:      thread `t` has the `WIDTH` columns from `t % TX * WIDTH` on; `TX * WIDTH`, a power of two, is at most 32.
                     `words`: that many a tile, from `words[start_word]` on; else as of `grid.publish`.
        Errors:      as of `grid.look_back`."""

    @staticmethod
    def look_back_digits(words: Any, tile: Any, number: Any, epoch: Any, first: Any = ..., *, THREADS: int, DIGITS: int, WORDS: int, T: Any = ...) -> Any:
        """grid.look_back_digits(words: ptr(mailbox(T)) @ grid[1], tile: int32 @ block[1], number: T @ thread[1],
            epoch: uint32 @ thread[1], first: int32 @ block[1] = 0, *, THREADS: constexpr(int), DIGITS: constexpr(int),
            WORDS: constexpr(int), T: dtype = ...) -> T @ thread[1]

        How often digit `t` occurs in tiles `first ... tile - 1`, in thread `t`; the sum with this tile's own is published.

        Here blocks chain: each goes back, tile after tile, until it finds one that has published its sum. For so many numbers a
        tile that costs less than to add up all that the tiles since the block's last one have, as `grid.look_back` does.

        Perspective: block, of `THREADS` threads, at least `DIGITS`; further ones get 0.
        Shapes:      `words`, `number`, `first`: as of `grid.publish_digits`, which the block has called for this tile.
        Errors:      tiles before must be published by blocks that do not wait for this one before: as of `grid.look_back`."""

    @staticmethod
    def look_back_each(words: Any, first: Any, last: Any, unset: Any, epoch: Any, *, TAKE: Any, THREADS: int, WORDS: int, T: Any = ...) -> None:
        """grid.look_back_each(words: ptr(mailbox(T)) @ grid[1], first: int32 @ block[1], last: int32 @ block[1],
            unset: T @ block[1], epoch: uint32 @ block[1], *, TAKE: function, THREADS: constexpr(int),
            WORDS: constexpr(int), T: dtype = ...)

        Each thread's share of the words of the tiles `first ... last - 1`, as they are published: `TAKE(got, tile)`.

        For words that say more than a total: a count, and where the last one stands.

        Perspective: block, of `THREADS` threads; `TAKE` is of a thread.
        Shapes:      `words`: as of `grid.publish`. `got: T[WORDS]` are those of `tile` and the tiles after it, of tiles that follow
                     one another from thread to thread; behind the last one `unset`.
        Errors:      as of `grid.look_back`."""

    @staticmethod
    def look_back_more_digits(words: Any, tile: Any, numbers: Any, epoch: Any, sums: Any, *, THREADS: int, WORDS: int, T: Any = ..., EACH: int = ...) -> None:
        """grid.look_back_more_digits(words: ptr(mailbox(T)) @ grid[1], tile: int32 @ block[1],
            numbers: uint32[EACH] @ thread[1], epoch: uint32 @ thread[1], sums: T[EACH] @ thread[1], *,
            THREADS: constexpr(int), WORDS: constexpr(int), T: dtype = ..., EACH: constexpr(int) = ...)

        As `grid.look_back_digits`, of `EACH` digits a thread: `sums` becomes how often they occur in the tiles before this one.

        Perspective: block, of `THREADS` threads; thread `t` has the digits `t`, `t + THREADS`, ...
        Shapes:      `words`, `numbers`: as of `grid.publish_more_digits`, which the block has called for this tile.
        Errors:      as of `grid.look_back_digits`."""

    @staticmethod
    def look_back_segments(words: Any, heads: Any, first: Any, last: Any, identity: Any, epoch: Any, number: Any, *, OP: Any, THREADS: int, WORDS: int, T: Any = ...) -> Any:
        """grid.look_back_segments(words: ptr(mailbox(T)) @ grid[1], heads: ptr(mailbox(uint32)) @ grid[1],
            first: int32 @ block[1], last: int32 @ block[1], identity: T @ block[1], epoch: uint32 @ block[1],
            number: int32[1] @ block[1], *, OP: function, THREADS: constexpr(int), WORDS: constexpr(int),
            T: dtype = ...) -> T @ block[1]

        `OP` of the totals of the tiles `first ... last - 1`, from the last one with a head on; `number` becomes that of all heads.

        A head is the first element of a segment. Where `number[0]` is not 0, this is all that the segment at the end of these tiles
        comes to; else it is what they add to the segment that goes on through them.

        Perspective: block, of `THREADS` threads.
        Shapes:      `words`: as of `grid.publish`, a tile's total from its last head on, or of the whole tile; `heads`: how many it
                     has.
        Errors:      as of `grid.look_back`."""

    @staticmethod
    def look_back_share(words: Any, first: Any, last: Any, identity: Any, epoch: Any, *, OP: Any, THREADS: int, WORDS: int, T: Any = ...) -> Any:
        """grid.look_back_share(words: ptr(mailbox(T)) @ grid[1], first: int32 @ block[1], last: int32 @ block[1],
            identity: T @ block[1], epoch: uint32 @ block[1], *, OP: function, THREADS: constexpr(int),
            WORDS: constexpr(int), T: dtype = ...) -> T @ thread[1]

        What `grid.look_back` computes, a share of it in each thread, in order: a `block.reduce` of them is all.

        Perspective: block, of `THREADS` threads.
        Shapes:      `words`: as of `grid.publish`.
        Errors:      as of `grid.look_back`."""

    @staticmethod
    def look_back_stable(words: Any, first: Any, tile: Any, identity: Any, epoch: Any, prefixes: Any, *, OP: Any, THREADS: int, WORDS: int, T: Any = ...) -> None:
        """grid.look_back_stable(words: ptr(mailbox(T)) @ grid[1], first: int32 @ block[1], tile: int32 @ block[1],
            identity: T @ block[1], epoch: uint32 @ block[1], prefixes: T[2] @ block[1], *, OP: function,
            THREADS: constexpr(int), WORDS: constexpr(int), T: dtype = ...)

        Make `prefixes[0]` the `OP` of what came before all tiles, and of all totals before `tile`.

        Totals are combined in groups of `THREADS` tiles that are the same for all blocks, so floating-point results are, bit for
        bit, the same in every run.

        Perspective: block, of `THREADS` threads.
        Shapes:      `words`: as of `grid.publish`. `prefixes[1]`: what comes before tile `first`, a multiple of `THREADS`; it
                     becomes what comes before tile `tile / THREADS * THREADS`, the `first` of the next call. At the first call
                     `first` is 0, and `prefixes[1]` what is before all.
        Errors:      as of `grid.look_back`."""

    @staticmethod
    def next_tile(ticket: Any) -> Any:
        """grid.next_tile(ticket: uint64 @ thread[1]) -> int32 @ block[1]

        The number of the tile whose ticket `grid.draw` has drawn, for the whole block.

        Perspective: block, of any number of threads."""

    @staticmethod
    def owners(first: Any, many: Any, tiles: Any, blocks: Any) -> Any:
        """grid.owners(first: int32 @ thread[1], many: int32 @ thread[1], tiles: int32 @ thread[1],
            blocks: int32 @ thread[1]) -> vector(int32, 2) @ thread[1]

        Which block has tile `first` of `tiles`, and how many blocks have some of `many` from there on, as `deal_tiles` deals them.

        Perspective: thread."""

    @staticmethod
    def pipeline(a: Any, b: Any, users: Any, start: Any, stop: Any, *, STAGES: int, THREADS: int, STEP: int, FILL: Any, USE: Any, A: Any = ..., B: Any = ..., ROWS_A: int = ..., COLUMNS_A: int = ..., SWIZZLE_A: int = ..., ROWS_B: int = ..., COLUMNS_B: int = ..., SWIZZLE_B: int = ..., WARPS: int = ..., AHEAD: int = ..., CLUSTER: int = ..., UNROLL: int = ...) -> None:
        """grid.pipeline(a: shared(A[ROWS_A, COLUMNS_A], ring=STAGES, swizzle=SWIZZLE_A) @ block[1], b: shared(B[ROWS_B,
            COLUMNS_B], ring=STAGES, swizzle=SWIZZLE_B) @ block[1], users: roles(warp, WARPS),
            start: int32 @ block[CLUSTER], stop: int32 @ block[CLUSTER], *, STAGES: constexpr(int),
            THREADS: constexpr(int), STEP: constexpr(int), FILL: function, USE: function, A: dtype = ...,
            B: dtype = ..., ROWS_A: constexpr(int) = ..., COLUMNS_A: constexpr(int) = ...,
            SWIZZLE_A: constexpr(int) = ..., ROWS_B: constexpr(int) = ..., COLUMNS_B: constexpr(int) = ...,
            SWIZZLE_B: constexpr(int) = ..., WARPS: constexpr(int) = ..., AHEAD: constexpr(int) = 0,
            CLUSTER: constexpr(int) = 1, UNROLL: constexpr(int) = 1)

        `FILL(step)`, and `USE(of_a, of_b, step)` of the tiles that it filled, for `start`, `start + STEP` ... below `stop`.

        `FILL` is in the block's code: it claims both rings for whoever fills them, one role or several, by tensor copies or by
        threads; or all threads fill them, and the `users` are all warps. `USE` is run by the `users`, whose own the two copies
        are. So those who fill run ahead by as many steps as the rings have copies, and each ring's copies, visits and waits are
        as in one loop that has it all.

        Perspective: block, of `THREADS` threads, `WARPS` warps of which are the `users`.
        Shapes:      `a`, `b`: rings of `STAGES` tiles, of two dimensions, swizzled or not. `start`, `stop`: the same for all blocks
                     of a cluster of `CLUSTER`, which may then fill each other's copies by multicasts.
        Errors:      `FILL` claims each ring once in every step. With `AHEAD` the `wgmma`s of `USE` stay under way for so many steps
                     more, and give their copies back then: see `in_flight` of `claim`."""

    @staticmethod
    def pipeline_of_three(a: Any, b: Any, c: Any, users: Any, start: Any, stop: Any, *, STAGES: int, THREADS: int, STEP: int, FILL: Any, USE: Any, A: Any = ..., B: Any = ..., C: Any = ..., ROWS_A: int = ..., COLUMNS_A: int = ..., SWIZZLE_A: int = ..., ROWS_B: int = ..., COLUMNS_B: int = ..., SWIZZLE_B: int = ..., MANY: int = ..., WARPS: int = ..., CLUSTER: int = ...) -> None:
        """grid.pipeline_of_three(a: shared(A[ROWS_A, COLUMNS_A], ring=STAGES, swizzle=SWIZZLE_A) @ block[1],
            b: shared(B[ROWS_B, COLUMNS_B], ring=STAGES, swizzle=SWIZZLE_B) @ block[1], c: shared(C[MANY],
            ring=STAGES) @ block[1], users: roles(warp, WARPS), start: int32 @ block[CLUSTER],
            stop: int32 @ block[CLUSTER], *, STAGES: constexpr(int), THREADS: constexpr(int), STEP: constexpr(int),
            FILL: function, USE: function, A: dtype = ..., B: dtype = ..., C: dtype = ..., ROWS_A: constexpr(int) = ...,
            COLUMNS_A: constexpr(int) = ..., SWIZZLE_A: constexpr(int) = ..., ROWS_B: constexpr(int) = ...,
            COLUMNS_B: constexpr(int) = ..., SWIZZLE_B: constexpr(int) = ..., MANY: constexpr(int) = ...,
            WARPS: constexpr(int) = ..., CLUSTER: constexpr(int) = 1)

        The same with a third ring, of what is brought beside the tiles: `USE(of_a, of_b, of_c, step)`.

        Perspective: block, of `THREADS` threads, `WARPS` warps of which are the `users`.
        Shapes:      as `pipeline`'s; `c`: a ring of `MANY` elements in a row, as scales or indices are.
        Errors:      `FILL` claims each ring once in every step."""

    @staticmethod
    def publish(words: Any, tile: Any, total: Any, epoch: Any, *, T: Any = ...) -> None:
        """grid.publish(words: ptr(mailbox(T)) @ grid[1], tile: int32 @ block[1], total: T @ thread[1],
            epoch: uint32 @ thread[1], *, T: dtype = ...)

        Publish a tile's total, the first thread's, in `words[tile]`: once in a launch. `grid.look_back` and its like wait for it.

        Perspective: block, of any number of threads.
        Shapes:      `words`: one a tile, and all zero at first; of no other use at the same time. Those that a launch before this
                     one has published carry its epoch, and are not taken for this one's: nothing is cleared.
        Errors:      `words` must have `tile`; the reference machine says so. A block that waits before it has published what is
                     below may wait for ever: so publish before looking back."""

    @staticmethod
    def publish_digits(words: Any, tile: Any, number: Any, epoch: Any, first: Any = ..., *, THREADS: int, DIGITS: int, T: Any = ...) -> None:
        """grid.publish_digits(words: ptr(mailbox(T)) @ grid[1], tile: int32 @ block[1], number: T @ thread[1],
            epoch: uint32 @ thread[1], first: int32 @ block[1] = 0, *, THREADS: constexpr(int), DIGITS: constexpr(int),
            T: dtype = ...)

        Publish how often each digit occurs in a tile, `number` of digit `t` in thread `t`, for `grid.look_back_digits`.

        Perspective: block, of `THREADS` threads, at least `DIGITS`; what further ones have is of no use.
        Shapes:      `words`: `DIGITS` a tile, of uint32 or uint64, all zero at first; as of `grid.publish`. Their top bit says
                     whether a word has the sum of all tiles so far, as those of tile `first` have from the start: the one that
                     the sum begins with.
        Errors:      as of `grid.publish`. All numbers together must be less than half of what `T` holds."""

    @staticmethod
    def publish_more_digits(words: Any, tile: Any, numbers: Any, epoch: Any, *, THREADS: int, T: Any = ..., EACH: int = ...) -> None:
        """grid.publish_more_digits(words: ptr(mailbox(T)) @ grid[1], tile: int32 @ block[1],
            numbers: uint32[EACH] @ thread[1], epoch: uint32 @ thread[1], *, THREADS: constexpr(int), T: dtype = ...,
            EACH: constexpr(int) = ...)

        Publish how often each digit occurs in a tile, for `grid.look_back_more_digits`: as `grid.publish_digits`, of more digits.

        Perspective: block, of `THREADS` threads. `numbers` of thread `t` are of the digits `t`, `t + THREADS`, ..., in whatever order
                     the block counts digits.
        Shapes:      `words`: as of `grid.publish_digits`, `EACH * THREADS` a tile; sums begin with tile 0.
        Errors:      as of `grid.publish_digits`."""

    @staticmethod
    def receive_totals(words: Any, first: Any, stride: Any, number: Any, most: Any, identity: Any, epoch: Any, *, OP: Any, WORDS: int, T: Any = ..., N: Any = ...) -> Any:
        """grid.receive_totals(words: ptr(mailbox(T)) @ grid[1], first: N @ thread[1], stride: int32 @ thread[1],
            number: int32 @ thread[1], most: int32 @ thread[1], identity: T @ thread[1], epoch: uint32 @ thread[1], *,
            OP: function, WORDS: constexpr(int), T: dtype = ..., N: dtype = ...) -> T @ thread[1]

        `OP` of `words[first]`, `words[first + stride]` and so on, `number` of them, in their order, as they are published.

        Where blocks wait for each other's totals they wait here, each thread for a share of them.

        Perspective: thread.
        Shapes:      `number` may be negative: there are none. `most`: at least `number`, and best the same for all threads of a
                     warp.
        Errors:      who waits for what nobody publishes waits for ever; the reference machine says so."""

    @staticmethod
    def scan_tiles(words: Any, capacity: Any, control: Any, blocks: Any, tiles: Any, identity: Any, initial: Any, *, OP: Any, LOAD: Any, KEEP: Any, STORE: Any, THREADS: int, T: Any = ..., WORDS: int = ..., STABLE: bool = ...) -> None:
        """grid.scan_tiles(words: ptr(mailbox(T)) @ grid[1], capacity: uint32 @ grid[1], control: ptr(uint64) @ grid[1],
            blocks: int32 @ grid[1], tiles: int32 @ grid[1], identity: T @ block[1], initial: T @ block[1], *,
            OP: function, LOAD: function, KEEP: function, STORE: function, THREADS: constexpr(int), T: dtype = ...,
            WORDS: constexpr(int) = 2, STABLE: constexpr(bool) = False)

        Scan tiles `0 ... tiles - 1`, each by the block that draws it: `OP` of `initial` and of all tiles before is its prefix.

        Three functions say what a tile is. `LOAD(tile)` brings one into registers beside those of the tile that the block
        holds, and returns what it comes to; the first thread's result counts. `KEEP()` moves it to where the held one was.
        `STORE(tile, prefix)` writes the held one. A block loads and publishes its following tile before it looks back for the one
        that it holds: while it waits, loads are under way. `grid.tile_loop` is the loop, for other totals and look-backs.

        Perspective: block, of `THREADS` threads; `blocks`: how many there are in the grid.
        Shapes:      `words`: `capacity` of them, at least one a tile, and `control`: as of `grid.publish` and `grid.tiles`.
        Errors:      the functions must not wait for another block."""

    @staticmethod
    def select_tiles(words: Any, capacity: Any, control: Any, blocks: Any, tiles: Any, *, LOAD: Any, STORE: Any, KEEP: Any, THREADS: int, PLACE: Any = ..., WORDS: int = ...) -> None:
        """grid.select_tiles(words: ptr(mailbox(uint32)) @ grid[1], capacity: uint32 @ grid[1],
            control: ptr(uint64) @ grid[1], blocks: int32 @ grid[1], tiles: int32 @ grid[1], *, LOAD: function,
            STORE: function, KEEP: function, THREADS: constexpr(int), PLACE: function = leave,
            WORDS: constexpr(int) = 2)

        Do tiles `0 ... tiles - 1`, as `grid.scan_tiles`: numbers of 32 bits are published, and added up in 64.

        `LOAD(tile)` brings one into registers and returns how many of the thread's elements are kept. `STORE(tile, prefix, before,
        held)` writes the held one: so many are kept in the tiles before, in the warps before, and in the tile. `KEEP()` moves the
        loaded one to where the held one was. `PLACE(before, kept)` may put what is kept of the loaded one together, as soon as its
        number is published: so many are kept in the warps before, and in all.

        Perspective: block, of `THREADS` threads; `blocks`: how many there are in the grid.
        Shapes:      `words`, `capacity`, `control`: as of `grid.scan_tiles`.
        Errors:      the functions must not wait for another block."""

    @staticmethod
    def tile_loop(control: Any, tiles: Any, counter: Any = ..., *, LOAD: Any, LOOK_BACK: Any, STORE: Any, KEEP: Any, THREADS: int, ALWAYS: bool = ...) -> Any:
        """grid.tile_loop(control: ptr(uint64) @ grid[1], tiles: int32 @ grid[1], counter: int32 @ block[1] = 0, *,
            LOAD: function, LOOK_BACK: function, STORE: function, KEEP: function, THREADS: constexpr(int),
            ALWAYS: constexpr(bool) = False) -> Ticket @ block[1]

        Do tiles `0 ... tiles - 1`, each by the block that draws it, by four functions; `grid.scan_tiles` is made of it.

        `LOAD(tile, epoch)` brings a tile into registers beside those of the tile that the block holds, and publishes what it comes
        to, with the launch's epoch. `LOOK_BACK(tile, epoch)` waits for what the tiles before the held one come to; at first, tile -1,
        there are none. `STORE(tile)` writes the held tile. `KEEP()` moves the loaded one to where it was; `ALWAYS` behind the last
        one too, where nothing was loaded: registers are then moved, and not chosen. So a block has a tile's loads under way, and has
        published it, while it waits for others.

        Perspective: block, of `THREADS` threads.
        Shapes:      `control`, `counter`: as of `grid.tiles`.
        Returns:     the block's last ticket, whose tile is not below `tiles`. With number `tiles + blocks - 1` it is the last of
                     all, and this block calls `grid.count_launch`.
        Errors:      only `LOOK_BACK` may wait for other blocks, for what they publish of lower tiles."""

    @staticmethod
    def tiles(control: Any, counter: Any = ...) -> Any:
        """grid.tiles(control: ptr(uint64) @ grid[1], counter: int32 @ block[1] = 0) -> Ticket @ block[1]

        The block's first ticket, `grid.Ticket`: its `tile`, and the launch's `epoch`, which all blocks agree on.

        Tickets are numbers 0, 1, 2 ..., one after the other: whoever draws one does that tile. So a tile's number is drawn after
        all that are below it, and a block that waits for lower tiles waits for blocks that run. Further ones are by `grid.draw`,
        until one is not below the number of tiles. Each block draws exactly one of those, and the block of the very last one,
        `tiles + blocks - 1`, calls `grid.count_launch`: it sets the counter back, and the next launch has the next epoch.

        Perspective: block, of any number of threads.
        Shapes:      `control[counter]`: the number of launches so far above the counter. It is 0 at first, and of no other use at the
                     same time; launches follow each other, as in a stream. Where blocks share several arrays of tiles, each has a
                     counter of its own, and `blocks` are those that draw from it."""

    @staticmethod
    def wait_for_done(control: Any, number: Any, counter: Any = ...) -> None:
        """grid.wait_for_done(control: ptr(uint64) @ grid[1], number: int64 @ block[1], counter: int32 @ block[1] = 0)

        Wait until blocks have called `grid.count_done` at least `number` times; then all that they wrote before can be read.

        Where pieces of work are drawn in their order, by `grid.draw`, a piece may wait for all that are below it: those have been
        drawn by blocks that run. So work of several steps is done by one launch, each step after the one before it.

        Perspective: block, of any number of warps.
        Shapes:      `control`, `counter`: as of `grid.count_done`; another counter than the one of `grid.draw`.
        Errors:      who waits for more pieces than are ever done waits for ever; the reference machine says so. Arrays that blocks
                     write and others read then are partitioned with `races="allow"`: the checker doesn't know what is waited for."""

class Thread(LevelName):
    @staticmethod
    def continue_segment(items: Any, before: Any, at: Any, first: Any, *, WIDTH: int, OP: Any, RUNS: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """thread.continue_segment(items: T[ITEMS] @ thread[1], before: T @ thread[1], at: int32 @ thread[1],
            first: int32 @ thread[1], *, WIDTH: constexpr(int), OP: function, RUNS: constexpr(bool), T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        Put `before` in front of the elements before place `first`, in place, and with `RUNS` of that at `first` too.

        What `block.scan_heads` has left: `first` is where the tile's first head is, and what is before it goes on what came `before`.

        Perspective: thread.
        Shapes:      as `block.load` leaves a tile; `at` is `block.place()`, where this thread's elements begin."""

    @staticmethod
    def extent(tile: Any, n: Any, *, TILE: int) -> Any:
        """thread.extent(tile: int32 @ thread[1], n: int64 @ thread[1], *, TILE: constexpr(int)) -> int32 @ thread[1]

        How many elements there are in tile `tile` of an array of `n`: fewer than `TILE` in the last one, none beyond it.

        Perspective: thread; of a block's numbers it is the same for all of the block."""

    @staticmethod
    def keep(mine: Any, other: Any, low: Any, *, LESS: Any, TOTAL: bool, T: Any = ...) -> Any:
        """thread.keep(mine: T @ thread[1], other: T @ thread[1], low: bool @ thread[1], *, LESS: function,
            TOTAL: constexpr(bool), T: dtype = ...) -> T @ thread[1]

        What this thread keeps of its element and its partner's: the lesser one where `low`, else the other; of equal ones its own.

        Perspective: thread.
        Shapes:      `TOTAL`: of two elements one is less, unless they are the same in all bits."""

    @staticmethod
    def load(x: Any, items: Any, valid: Any, otherwise: Any, *, VECTORIZED: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """thread.load(x: ptr(const(T)) @ thread[1], items: T[ITEMS] @ thread[1], valid: int32 @ thread[1],
            otherwise: T @ thread[1], *, VECTORIZED: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put `x[0] ... x[ITEMS - 1]` into `items`; elements from `valid` on are not read, and become `otherwise`.

        Perspective: thread.
        Shapes:      `x`: at least `min(valid, ITEMS)` elements; `valid` may be negative or beyond `ITEMS`.
        Errors:      with `VECTORIZED`, `x` must be aligned to `ITEMS` elements, at most 16 bytes in all."""

    @staticmethod
    def load_once(x: Any, at: Any, items: Any, *, VECTORIZED: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """thread.load_once(x: ptr(const(T)) @ thread[1], at: int64 @ thread[1], items: T[ITEMS] @ thread[1], *,
            VECTORIZED: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put `x[at]` and the elements behind it into `items`, all of them; `VECTORIZED`: in one access, past the L1.

        Perspective: thread.
        Errors:      with `VECTORIZED`, `x[at]` must be aligned to `ITEMS` elements, at most 16 bytes in all."""

    @staticmethod
    def load_strided(x: Any, items: Any, first: Any, end: Any, otherwise: Any, *, STEP: int, TI: Any = ..., T: Any = ..., ITEMS: int = ...) -> None:
        """thread.load_strided(x: ptr(const(TI)) @ thread[1], items: T[ITEMS] @ thread[1], first: int64 @ thread[1],
            end: int64 @ thread[1], otherwise: T @ thread[1], *, STEP: constexpr(int), TI: dtype = ..., T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        Put `x[first]`, `x[first + STEP]` and so on into `items`, as `T`; elements from `x[end]` on are not read: `otherwise`.

        Perspective: thread."""

    @staticmethod
    def lower_bound(x: Any, size: Any, value: Any, *, LESS: Any, T: Any = ...) -> Any:
        """thread.lower_bound(x: ptr(const(T)) @ thread[1], size: int32 @ thread[1], value: T @ thread[1], *,
            LESS: function, T: dtype = ...) -> int32 @ thread[1]

        The index of the first element not `LESS` than `value`; `size` where there is none.

        Perspective: thread.
        Shapes:      `x`: `size` elements, sorted by `LESS`."""

    @staticmethod
    def merge_bitonic(items: Any, width: Any, *, LESS: Any, T: Any = ..., ITEMS: int = ...) -> None:
        """thread.merge_bitonic(items: T[ITEMS] @ thread[1], width: int32 @ thread[1], *, LESS: function, T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        Sort each run of `width` elements in place, which first rises and then falls, or the other way round.

        Perspective: thread.
        Shapes:      `ITEMS` and `width`, a constant, are powers of two."""

    @staticmethod
    def merge_path(a: Any, size_a: Any, b: Any, size_b: Any, diagonal: Any, *, LESS: Any, T: Any = ...) -> Any:
        """thread.merge_path(a: ptr(const(T)) @ thread[1], size_a: int32 @ thread[1], b: ptr(const(T)) @ thread[1],
            size_b: int32 @ thread[1], diagonal: int32 @ thread[1], *, LESS: function,
            T: dtype = ...) -> int32 @ thread[1]

        How many of the first `diagonal` elements of the stable merge of two sorted runs come from `a`.

        Perspective: thread.
        Shapes:      `a`: `size_a` elements, `b`: `size_b`, each sorted by `LESS`; `0 <= diagonal <= size_a + size_b`.
        Errors:      of runs that are not sorted it is some number that both runs have room for."""

    operators: ClassVar[ModuleType]

    @staticmethod
    def reduce(items: Any, *, OP: Any, T: Any = ..., ITEMS: int = ...) -> Any:
        """thread.reduce(items: T[ITEMS] @ thread[1], *, OP: function, T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ thread[1]

        `OP(... OP(items[0], items[1]) ..., items[ITEMS - 1])`.

        Perspective: thread."""

    @staticmethod
    def reduce_valid(items: Any, valid: Any, otherwise: Any, *, OP: Any, T: Any = ..., ITEMS: int = ...) -> Any:
        """thread.reduce_valid(items: T[ITEMS] @ thread[1], valid: int32 @ thread[1], otherwise: T @ thread[1], *,
            OP: function, T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ thread[1]

        `OP(... OP(items[0], items[1]) ..., items[valid - 1])`; `otherwise` where `valid` is 0 or less.

        Perspective: thread.
        Shapes:      elements from `valid` on are not read; `valid` may be beyond `ITEMS`."""

    @staticmethod
    def scan(items: Any, before: Any, *, OP: Any, EXCLUSIVE: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """thread.scan(items: T[ITEMS] @ thread[1], before: T @ thread[1], *, OP: function, EXCLUSIVE: constexpr(bool),
            T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ thread[1]

        Replace `items[k]` by `OP(before, items[0], ..., items[k])`, in place; `EXCLUSIVE` leaves out `items[k]` itself.

        Perspective: thread.
        Returns:     `OP(before, items[0], ..., items[ITEMS - 1])`."""

    @staticmethod
    def scan_valid(items: Any, before: Any, valid: Any, *, OP: Any, EXCLUSIVE: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """thread.scan_valid(items: T[ITEMS] @ thread[1], before: T @ thread[1], valid: int32 @ thread[1], *, OP: function,
            EXCLUSIVE: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ thread[1]

        Replace `items[k]`, k < `valid`, by `OP(before, items[0], ..., items[k])`; `EXCLUSIVE` leaves out `items[k]` itself.

        Perspective: thread.
        Shapes:      elements from `valid` on are neither read nor written; `valid` may be negative or beyond `ITEMS`.
        Returns:     `OP(before, items[0], ..., items[valid - 1])`."""

    @staticmethod
    def search(table: Any, guide: Any, values: Any, ranks: Any, offset: Any, scale: Any, *, CELLS: int, T: Any = ..., ITEMS: int = ...) -> None:
        """thread.search(table: ptr(const(T)) @ thread[1], guide: ptr(const(uint32)) @ thread[1],
            values: T[ITEMS] @ thread[1], ranks: int32[ITEMS] @ thread[1], offset: float32 @ thread[1],
            scale: float32 @ thread[1], *, CELLS: constexpr(int), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put into `ranks[k]` how many of a sorted table's elements are not larger than `values[k]`: 0 of NaN.

        A larger number is in no lower cell, whatever is rounded: so only the elements in a number's own cell are looked at.

        Perspective: thread.
        Shapes:      `table`, in shared memory, and `guide`, `offset`, `scale`: as of `block.fill_guide`."""

    @staticmethod
    def sort(items: Any, *, LESS: Any, T: Any = ..., ITEMS: int = ...) -> None:
        """thread.sort(items: T[ITEMS] @ thread[1], *, LESS: function, T: dtype = ..., ITEMS: constexpr(int) = ...)

        Sort `items` in place, so that no element is `LESS` than the one before it; equal ones keep their order.

        Perspective: thread."""

    @staticmethod
    def sort_network(items: Any, *, LESS: Any, T: Any = ..., ITEMS: int = ...) -> None:
        """thread.sort_network(items: T[ITEMS] @ thread[1], *, LESS: function, T: dtype = ..., ITEMS: constexpr(int) = ...)

        Sort `items` in place, so that no element is `LESS` than the one before it; not stable.

        Perspective: thread.
        Shapes:      `ITEMS` is a power of two."""

    @staticmethod
    def store(y: Any, items: Any, valid: Any, *, VECTORIZED: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """thread.store(y: ptr(T) @ thread[1], items: T[ITEMS] @ thread[1], valid: int32 @ thread[1], *,
            VECTORIZED: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put `items` into `y[0] ... y[ITEMS - 1]`; elements from `valid` on are not written.

        Perspective: thread.
        Shapes:      `y`: at least `min(valid, ITEMS)` elements; `valid` may be negative or beyond `ITEMS`.
        Errors:      with `VECTORIZED`, `y` must be aligned to `ITEMS` elements, at most 16 bytes in all."""

    @staticmethod
    def upper_bound(x: Any, size: Any, value: Any, *, LESS: Any, T: Any = ...) -> Any:
        """thread.upper_bound(x: ptr(const(T)) @ thread[1], size: int32 @ thread[1], value: T @ thread[1], *,
            LESS: function, T: dtype = ...) -> int32 @ thread[1]

        The index of the first element that `value` is `LESS` than; `size` where there is none.

        Perspective: thread.
        Shapes:      `x`: `size` elements, sorted by `LESS`."""

class Warp(LevelName):
    @staticmethod
    def arg_reduce(value: Any, index: Any, best: Any, *, BEFORE: Any, T: Any = ..., I: Any = ...) -> Any:
        """warp.arg_reduce(value: T @ thread[1], index: I @ thread[1], best: T[1] @ thread[32], *, BEFORE: function,
            T: dtype = ..., I: dtype = ...) -> I @ thread[32]

        The index of the value that stands `BEFORE` all others; of equal ones, the least index. The value goes to `best[0]`.

        Perspective: warp.
        Shapes:      `index` is any integer that tells the values apart."""

    @staticmethod
    def argmax(value: Any, index: Any, best: Any, *, T: Any = ..., I: Any = ...) -> Any:
        """warp.argmax(value: T @ thread[1], index: I @ thread[1], best: T[1] @ thread[32], *, T: dtype = ...,
            I: dtype = ...) -> I @ thread[32]

        The index of the greatest value; of equal ones, the least index. The value goes to `best[0]`. A NaN wins, as in NumPy.

        Perspective: warp.
        Shapes:      `index` is any integer that tells the values apart."""

    @staticmethod
    def argmin(value: Any, index: Any, best: Any, *, T: Any = ..., I: Any = ...) -> Any:
        """warp.argmin(value: T @ thread[1], index: I @ thread[1], best: T[1] @ thread[32], *, T: dtype = ...,
            I: dtype = ...) -> I @ thread[32]

        The index of the least value; of equal ones, the least index. The value goes to `best[0]`. A NaN wins, as in NumPy.

        Perspective: warp.
        Shapes:      `index` is any integer that tells the values apart."""

    @staticmethod
    def blocked_to_striped(items: Any, *, T: Any = ..., ITEMS: int = ...) -> None:
        """warp.blocked_to_striped(items: T[ITEMS] @ thread[1], *, T: dtype = ..., ITEMS: constexpr(int) = ...)

        From element `lane * ITEMS + k` in `items[k]` to element `k * 32 + lane`, in place.

        Perspective: warp.
        Shapes:      `ITEMS` elements a lane."""

    @staticmethod
    def blocked_to_striped_in(room: Any, items: Any, *, T: Any = ..., ITEMS: int = ...) -> None:
        """warp.blocked_to_striped_in(room: ptr(T) @ thread[32], items: T[ITEMS] @ thread[1], *, T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        From element `lane * ITEMS + k` in `items[k]` to element `k * 32 + lane`, in place, through `room`.

        Perspective: warp.
        Shapes:      `room`, in shared memory: `32 * ITEMS` elements, `33 * ITEMS` for an even `ITEMS`; none is read where it is 1."""

    @staticmethod
    def load(x: Any, items: Any, valid: Any, otherwise: Any, *, WIDTH: int, VECTORIZED: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """warp.load(x: ptr(const(T)) @ thread[32], items: T[ITEMS] @ thread[1], valid: int32 @ thread[32],
            otherwise: T @ thread[32], *, WIDTH: constexpr(int), VECTORIZED: constexpr(bool), T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        Spread `x[0] ... x[32 * ITEMS - 1]` over the warp's registers; elements from `valid` on become `otherwise`.

        Perspective: warp.
        Shapes:      striped vectors: in row `j`, lane `l` holds the `WIDTH` elements from `x[(32 * j + l) * WIDTH]` on,
                     in `items[j * WIDTH] ...`; `ITEMS` is a multiple of `WIDTH`. `valid` may be negative.
        Errors:      with `VECTORIZED`, `x` must be aligned to `WIDTH` elements, at most 16 bytes in all."""

    @staticmethod
    def load_transposed(x: Any, items: Any, valid: Any, otherwise: Any, *, T: Any = ..., ITEMS: int = ...) -> None:
        """warp.load_transposed(x: ptr(const(T)) @ thread[32], items: T[ITEMS] @ thread[1], valid: int32 @ thread[32],
            otherwise: T @ thread[32], *, T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put `x[lane * ITEMS + k]` into `items[k]`; elements from `valid` on become `otherwise`.

        Perspective: warp.
        Shapes:      blocked; `x` need not be aligned. `valid` may be negative."""

    @staticmethod
    def merge_bitonic(items: Any, *, SIZE: int, LESS: Any, TOTAL: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """warp.merge_bitonic(items: T[ITEMS] @ thread[1], *, SIZE: constexpr(int), LESS: function, TOTAL: constexpr(bool),
            T: dtype = ..., ITEMS: constexpr(int) = ...)

        Sort the elements of each group of `SIZE` lanes in place, which first rise and then fall, or the other way round.

        Perspective: warp, as `32 / SIZE` groups; `SIZE` is a power of two of at most 32, and so is `ITEMS`, of any size.
        Shapes:      blocked; `LESS` and `TOTAL` as of `warp.sort`."""

    @staticmethod
    def reduce(value: Any, *, OP: Any, T: Any = ...) -> Any:
        """warp.reduce(value: T @ thread[1], *, OP: function, T: dtype = ...) -> T @ thread[32]

        `OP` of the lanes' values, in the order of the lanes; all lanes get the result.

        Perspective: warp."""

    @staticmethod
    def reduce_across(value: Any, scratch: Any, *, OP: Any, SIZE: int, T: Any = ...) -> Any:
        """warp.reduce_across(value: T @ thread[1], scratch: ptr(T) @ thread[SIZE], *, OP: function, SIZE: constexpr(int),
            T: dtype = ...) -> T @ thread[32]

        `OP` of the values of `SIZE` threads, in their order; all their warps get the result.

        Perspective: `thread[SIZE]`, whole warps: for an arm of a split, or a role. A block calls `block.reduce_groups`.
        Shapes:      `scratch`: `SIZE / 32` elements of shared memory that the block has declared and these threads have claimed:
                     only a block's code declares shared memory.
        Errors:      group, where a block can have more than 15 such groups: state its size, `@attr("__launch_bounds__(256)")`."""

    @staticmethod
    def reduce_groups(value: Any, *, OP: Any, SIZE: int, T: Any = ...) -> Any:
        """warp.reduce_groups(value: T @ thread[1], *, OP: function, SIZE: constexpr(int), T: dtype = ...) -> T @ thread[1]

        `OP` of the values of each `SIZE` lanes, in the order of the lanes; every lane gets its own group's result.

        Perspective: warp, as `32 / SIZE` groups; `SIZE` is a power of two of at most 32."""

    @staticmethod
    def reduce_near(value: Any, lanes: Any, *, OP: Any, T: Any = ...) -> Any:
        """warp.reduce_near(value: T @ thread[1], lanes: int32 @ thread[32], *, OP: function,
            T: dtype = ...) -> T @ thread[1]

        `OP` of the values of each `1 << lanes` lanes that follow one another; each of them gets it.

        Perspective: warp.
        Shapes:      `lanes`: 0 to 5. It need not be known when the kernel is compiled, unlike `SIZE` of `warp.reduce_groups`."""

    @staticmethod
    def reduce_segments(value: Any, head: Any, *, OP: Any, T: Any = ...) -> Any:
        """warp.reduce_segments(value: T @ thread[1], head: bool @ thread[1], *, OP: function,
            T: dtype = ...) -> T @ thread[1]

        `OP` of the values of the lanes of this lane's segment, in their order; each lane gets its own segment's.

        Perspective: warp.
        Shapes:      a segment begins at lane 0, and at each lane whose `head` holds."""

    @staticmethod
    def reduce_to_first(value: Any, *, OP: Any, FEW: bool, TENSOR: bool, T: Any = ...) -> Any:
        """warp.reduce_to_first(value: T @ thread[1], *, OP: function, FEW: constexpr(bool), TENSOR: constexpr(bool),
            T: dtype = ...) -> T @ thread[1]

        `OP` of the lanes' values, in their order: lane 0 has the result, which saves what `warp.reduce` takes to tell the others.

        Perspective: warp.
        Shapes:      `FEW`: few warps do so at once. `TENSOR`: sums of float64 are made by the tensor cores (sm_80).
        Returns:     what lanes other than the first get is of no use."""

    @staticmethod
    def reduce_valid(value: Any, valid: Any, otherwise: Any, *, OP: Any, T: Any = ...) -> Any:
        """warp.reduce_valid(value: T @ thread[1], valid: int32 @ thread[32], otherwise: T @ thread[32], *, OP: function,
            T: dtype = ...) -> T @ thread[32]

        `OP` of the first `valid` lanes' values, in the order of the lanes; `otherwise` where `valid` is 0 or less.

        Perspective: warp.
        Shapes:      the other lanes' values are of no account; `valid` may be beyond 32. All lanes get the result."""

    @staticmethod
    def rotate(value: Any, distance: Any, *, T: Any = ...) -> Any:
        """warp.rotate(value: T @ thread[1], distance: int32 @ thread[32], *, T: dtype = ...) -> T @ thread[1]

        The value of the lane `distance` further on, round the warp's end; a negative `distance` is one further back.

        Perspective: warp."""

    @staticmethod
    def scan(items: Any, identity: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """warp.scan(items: T[ITEMS] @ thread[1], identity: T @ thread[32], *, WIDTH: constexpr(int), OP: function,
            EXCLUSIVE: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ thread[32]

        Replace each element by `OP` of all elements of the run up to it, in place; `EXCLUSIVE` leaves out itself.

        Perspective: warp.
        Shapes:      striped vectors, as `warp.load` leaves them: row after row, lane after lane, `WIDTH` adjacent elements
                     a lane; `ITEMS` is a multiple of `WIDTH`. `items: T[1]` with `WIDTH=1` scans one value a lane.
        Returns:     `OP` of the whole run. `identity` must be `OP`'s: the first element's exclusive result."""

    @staticmethod
    def scan_both(items: Any, exclusive: Any, initial: Any, *, WIDTH: int, OP: Any, T: Any = ..., ITEMS: int = ...) -> Any:
        """warp.scan_both(items: T[ITEMS] @ thread[1], exclusive: T[ITEMS] @ thread[1], initial: T @ thread[32], *,
            WIDTH: constexpr(int), OP: function, T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ thread[32]

        Replace each element by `OP` of `initial` and all up to it; put the same without itself into `exclusive`.

        Perspective: warp.
        Shapes:      striped vectors, as `warp.load` leaves them, both.
        Returns:     `OP` of `initial` and the whole run. `initial` may be any value."""

    @staticmethod
    def scan_groups(value: Any, before: Any, *, OP: Any, SIZE: int, EXCLUSIVE: bool, T: Any = ...) -> Any:
        """warp.scan_groups(value: T @ thread[1], before: T @ thread[1], *, OP: function, SIZE: constexpr(int),
            EXCLUSIVE: constexpr(bool), T: dtype = ...) -> T @ thread[1]

        `OP` of `before` and the values of the lanes of this group of `SIZE` up to this one; `EXCLUSIVE` leaves out its own.

        Perspective: warp, as `32 / SIZE` groups; `SIZE` is a power of two of at most 32.
        Shapes:      `before` is a group's initial value: its lanes pass the same."""

    @staticmethod
    def scan_heads(items: Any, flags: Any, identity: Any, initial: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, RUNS: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """warp.scan_heads(items: T[ITEMS] @ thread[1], flags: uint32 @ thread[1], identity: T @ thread[32],
            initial: T @ thread[32], *, WIDTH: constexpr(int), OP: function, EXCLUSIVE: constexpr(bool),
            RUNS: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ thread[32]

        Replace each element by `OP` of `initial` and its segment up to it, in place; before the first head without `initial`.

        `warp.scan_segments` takes a bool an element. This takes a bit, of up to 32 elements.

        Perspective: warp.
        Shapes:      striped vectors, as `warp.load` leaves them; bit `i` of `flags` says whether a segment begins at `items[i]`.
                     `EXCLUSIVE` leaves out each element itself. `RUNS`: so it does, and a head's result is of what is before it, the
                     last of the segment that ends there.
        Returns:     `OP` of `initial` and all elements from the last head on, or of all of them. `identity` must be `OP`'s."""

    @staticmethod
    def scan_segments(items: Any, heads: Any, before: Any, identity: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """warp.scan_segments(items: T[ITEMS] @ thread[1], heads: bool_[ITEMS] @ thread[1], before: T @ thread[32],
            identity: T @ thread[32], *, WIDTH: constexpr(int), OP: function, EXCLUSIVE: constexpr(bool),
            T: dtype = ..., ITEMS: constexpr(int) = ...) -> T @ thread[32]

        Replace each element by `OP` of its segment up to it, in place; `EXCLUSIVE` leaves out itself.

        Perspective: warp.
        Shapes:      striped vectors, as `warp.load` leaves them, both; `heads` says where a segment begins. Elements before the
                     first head go on with `before`.
        Returns:     `OP` of the last segment, and of `before` where there is no head. `identity` is a head's exclusive result."""

    @staticmethod
    def scan_valid(items: Any, initial: Any, valid: Any, *, WIDTH: int, OP: Any, EXCLUSIVE: bool, T: Any = ..., ITEMS: int = ...) -> Any:
        """warp.scan_valid(items: T[ITEMS] @ thread[1], initial: T @ thread[32], valid: int32 @ thread[32], *,
            WIDTH: constexpr(int), OP: function, EXCLUSIVE: constexpr(bool), T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ thread[32]

        Replace each of the first `valid` elements by `OP` of `initial` and all up to it, in place; `EXCLUSIVE` leaves out itself.

        Perspective: warp.
        Shapes:      striped vectors, as `warp.load` leaves them; elements from `valid` on stay. `valid` may be negative.
        Returns:     `OP` of `initial` and the valid elements. `initial` may be any value."""

    @staticmethod
    def shift_down(items: Any, after: Any, *, WIDTH: int, T: Any = ..., ITEMS: int = ...) -> Any:
        """warp.shift_down(items: T[ITEMS] @ thread[1], after: T @ thread[32], *, WIDTH: constexpr(int), T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ thread[32]

        Replace each element by the one after it in the run, in place; the last becomes `after`.

        Perspective: warp.
        Shapes:      striped vectors, as `warp.load` leaves them; blocked where `WIDTH` is `ITEMS`.
        Returns:     the first element, which is gone from `items`."""

    @staticmethod
    def shift_up(items: Any, before: Any, *, WIDTH: int, T: Any = ..., ITEMS: int = ...) -> Any:
        """warp.shift_up(items: T[ITEMS] @ thread[1], before: T @ thread[32], *, WIDTH: constexpr(int), T: dtype = ...,
            ITEMS: constexpr(int) = ...) -> T @ thread[32]

        Replace each element by the one before it in the run, in place; the first becomes `before`.

        Perspective: warp.
        Shapes:      striped vectors, as `warp.load` leaves them; blocked where `WIDTH` is `ITEMS`.
        Returns:     the last element, which is gone from `items`."""

    @staticmethod
    def sort(items: Any, *, SIZE: int, LESS: Any, TOTAL: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """warp.sort(items: T[ITEMS] @ thread[1], *, SIZE: constexpr(int), LESS: function, TOTAL: constexpr(bool),
            T: dtype = ..., ITEMS: constexpr(int) = ...)

        Sort the elements of each group of `SIZE` lanes in place, so that none is `LESS` than the one before it.

        Perspective: warp, as `32 / SIZE` groups; `SIZE` is a power of two of at most 32, and so is `ITEMS`, of any size.
        Shapes:      blocked: element `l * ITEMS + k` of a group in `items[k]` of its lane `l`. A part is filled up with what sorts
                     last. `TOTAL`: of two elements one is less, unless they are the same in all bits.
        Errors:      where `TOTAL` is said of an order that is not so, an element may be lost for its equal."""

    @staticmethod
    def sort_pairs(keys: Any, items: Any, *, SIZE: int, LESS: Any, K: Any = ..., T: Any = ..., ITEMS: int = ...) -> None:
        """warp.sort_pairs(keys: K[ITEMS] @ thread[1], items: T[ITEMS] @ thread[1], *, SIZE: constexpr(int),
            LESS: function, K: dtype = ..., T: dtype = ..., ITEMS: constexpr(int) = ...)

        Sort each group of `SIZE` lanes by its keys, in place; items go where their keys go, those of equal keys in their order.

        Perspective: warp, as `32 / SIZE` groups; `SIZE` is a power of two of at most 32, and so is `ITEMS`, of any size.
        Shapes:      blocked, both: element `l * ITEMS + k` of a group in `keys[k]`, `items[k]` of its lane `l`. A part is filled up
                     with keys that sort last."""

    @staticmethod
    def store(y: Any, items: Any, valid: Any, *, WIDTH: int, VECTORIZED: bool, T: Any = ..., ITEMS: int = ...) -> None:
        """warp.store(y: ptr(T) @ thread[32], items: T[ITEMS] @ thread[1], valid: int32 @ thread[32], *,
            WIDTH: constexpr(int), VECTORIZED: constexpr(bool), T: dtype = ..., ITEMS: constexpr(int) = ...)

        Collect `y[0] ... y[32 * ITEMS - 1]` from the warp's registers; elements from `valid` on are not written.

        Perspective: warp.
        Shapes:      striped vectors, as `warp.load` leaves them: in row `j`, lane `l` holds the `WIDTH` elements from
                     `y[(32 * j + l) * WIDTH]` on. `valid` may be negative.
        Errors:      with `VECTORIZED`, `y` must be aligned to `WIDTH` elements, at most 16 bytes in all."""

    @staticmethod
    def store_transposed(y: Any, items: Any, valid: Any, *, T: Any = ..., ITEMS: int = ...) -> None:
        """warp.store_transposed(y: ptr(T) @ thread[32], items: T[ITEMS] @ thread[1], valid: int32 @ thread[32], *,
            T: dtype = ..., ITEMS: constexpr(int) = ...)

        Put `items[k]` into `y[lane * ITEMS + k]`; elements from `valid` on are not written. `items` is permuted.

        Perspective: warp.
        Shapes:      blocked; `y` need not be aligned. `valid` may be negative."""

    @staticmethod
    def striped_to_blocked(items: Any, *, T: Any = ..., ITEMS: int = ...) -> None:
        """warp.striped_to_blocked(items: T[ITEMS] @ thread[1], *, T: dtype = ..., ITEMS: constexpr(int) = ...)

        From element `k * 32 + lane` in `items[k]` to element `lane * ITEMS + k`, in place.

        Perspective: warp.
        Shapes:      `ITEMS` elements a lane."""

    @staticmethod
    def striped_to_blocked_in(room: Any, items: Any, *, T: Any = ..., ITEMS: int = ...) -> None:
        """warp.striped_to_blocked_in(room: ptr(T) @ thread[32], items: T[ITEMS] @ thread[1], *, T: dtype = ...,
            ITEMS: constexpr(int) = ...)

        From element `k * 32 + lane` in `items[k]` to element `lane * ITEMS + k`, in place, through `room`.

        Perspective: warp.
        Shapes:      `room`: as of `warp.blocked_to_striped_in`."""

block: Block
grid: Grid
thread: Thread
warp: Warp
