"""Elements of rows, loaded as numbers to compute with, and stored, by vectors of at most 16 bytes."""

from prism.lang import (
    bfloat16, bitcast, const, constexpr, dtype, function, grid, int32, int64, load_vector, prism, ptr, requires, store_vector,
    template, thread, uint16, uint32, vector,
)


@prism.device
@requires(thread[1])
@template(T=dtype, N=constexpr(int), WIDTH=constexpr(int))
def take_apart(vec: vector(T, WIDTH) @ thread[1], words: T[N] @ thread[1], first: int32 @ thread[1]):
    """Put the elements of a vector into `words[first]` and behind.

    Those of bfloat16 are halves of words: each becomes a number by one instruction then, else by two or three.
    """
    if T == bfloat16 and WIDTH > 1:
        pairs: vector(uint32, WIDTH // 2) = bitcast(vec, vector(uint32, WIDTH // 2))
        for k in range(WIDTH):
            words[first + k] = bitcast(uint16(pairs[k // 2] >> (16 * (k % 2))), bfloat16)
    else:
        for k in range(WIDTH):
            words[first + k] = vec[k]


@prism.device
@requires(thread[1])
@template(T=dtype, N=constexpr(int), FIRST=constexpr(int), WIDTH=constexpr(int))
def load_words(x: ptr(const(T)) @ grid[1], at: int64 @ thread[1], words: T[N] @ thread[1]):
    """Put `x[at]` and the `WIDTH - 1` elements behind it into `words[FIRST]` and behind; nobody reads them again.

    Errors: `x[at]` must be aligned to `WIDTH` elements, at most 16 bytes.
    """
    if WIDTH == 1:
        words[FIRST] = x[at]
    else:
        take_apart(load_vector(x[at], WIDTH, cache="no_allocate"), words, FIRST, WIDTH=WIDTH)


@prism.device
@requires(thread[1])
@template(T=dtype, VECTORS=constexpr(int), N=constexpr(int), WIDTH=constexpr(int))
def keep_words(
    x: ptr(const(T)) @ grid[1], at: int32 @ thread[1], kept: uint32[VECTORS, N] @ thread[1], j: int32 @ thread[1],
    first: int32 @ thread[1],
):
    """Put `x[at]` and the `WIDTH - 1` elements behind it, as they are, into `kept[j, first]` and behind.

    Errors: `x[at]` must be aligned to `WIDTH` elements, at most 16 bytes, and no fewer than 4.
    """
    words: vector(uint32, WIDTH * T.bytes // 4) = bitcast(load_vector(x[at], WIDTH), vector(uint32, WIDTH * T.bytes // 4))
    for k in range(WIDTH * T.bytes // 4):
        kept[j, first + k] = words[k]


@prism.device
@requires(thread[1])
@template(W=dtype, A=dtype, VECTORS=constexpr(int), N=constexpr(int), WIDTH=constexpr(int))
def take_kept(
    kept: uint32[VECTORS, N] @ thread[1], j: int32 @ thread[1], first: int32 @ thread[1], values: A[WIDTH] @ thread[1],
):
    """Put the elements of type `W` that `keep_words` has put there into `values`, as `A`."""
    words: vector(uint32, WIDTH * W.bytes // 4)
    for k in range(WIDTH * W.bytes // 4):
        words[k] = kept[j, first + k]
    word: W[WIDTH]
    take_apart(bitcast(words, vector(W, WIDTH)), word, 0, WIDTH=WIDTH)
    for k in range(WIDTH):
        values[k] = A(word[k])


@prism.device
@requires(thread[1])
@template(T=dtype, A=dtype, WIDTH=constexpr(int))
def load_numbers(x: ptr(const(T)) @ grid[1], at: int64 @ thread[1], values: A[WIDTH] @ thread[1]):
    """Put `x[at]` and the `WIDTH - 1` elements behind it into `values`, as `A`.

    Errors: `x[at]` must be aligned to `WIDTH` elements, or to 16 bytes.
    """
    PART: constexpr(int) = min(WIDTH, 16 // T.bytes)
    for p in range(0, WIDTH, PART):
        if PART == 1:
            values[p] = A(x[at + p])
        else:
            word: T[PART]
            take_apart(load_vector(x[at + p], PART), word, 0, WIDTH=PART)
            for k in range(PART):
                values[p + k] = A(word[k])


@prism.device
@requires(thread[1])
@template(T=dtype, A=dtype, WIDTH=constexpr(int))
def store_numbers(y: ptr(T) @ thread[1], at: int64 @ thread[1], values: A[WIDTH] @ thread[1]):
    """Put `values`, as `T`, into `y[at]` and the elements behind it.

    Errors: `y[at]` must be aligned to `WIDTH` elements, or to 16 bytes.
    """
    PART: constexpr(int) = min(WIDTH, 16 // T.bytes)
    for p in range(0, WIDTH, PART):
        if PART == 1:
            y[at + p] = T(values[p])
        else:
            word: vector(T, PART)
            for k in range(PART):
                word[k] = T(values[p + k])
            store_vector(y[at + p], word)


@prism.device
@requires(thread[1])
@template(
    T=dtype, VECTORS=constexpr(int), N=constexpr(int), WIDTH=constexpr(int), FULL=constexpr(bool), LOAD=function,
)
def load_vectors(
    row: int64 @ thread[1], part: int32 @ thread[1], team: int32 @ thread[1], many: int32 @ thread[1],
    words: T[VECTORS, N] @ thread[1],
):
    """Put a thread's vectors of a row, those at `part`, `part + team` and so on, of `many`, into `words`.

    Of those that are not there, where a row is not `FULL`, others are read: with branches each load would wait for another.
    """
    for j in range(VECTORS):
        word: T[N]
        LOAD(row, (part + j * team if FULL else min(part + j * team, many - 1)) * WIDTH, word)
        for k in range(N):
            words[j, k] = word[k]


@prism.device
@requires(thread[1])
@template(
    T=dtype, A=dtype, VECTORS=constexpr(int), N=constexpr(int), KEPT=constexpr(int), WIDTH=constexpr(int), FULL=constexpr(bool),
    READ=function,
)
def read_vectors(
    row: int64 @ thread[1], part: int32 @ thread[1], team: int32 @ thread[1], many: int32 @ thread[1],
    words: T[VECTORS, N] @ thread[1], items: A[VECTORS, KEPT] @ thread[1],
):
    """Make numbers of the vectors that `load_vectors` has put into `words`: `READ(row, column, word, values)` of each."""
    for j in range(VECTORS):
        word: T[N]
        values: A[KEPT]
        for k in range(N):
            word[k] = words[j, k]
        READ(row, (part + j * team if FULL else min(part + j * team, many - 1)) * WIDTH, word, values)
        for k in range(KEPT):
            items[j, k] = values[k]


@prism.device
@requires(thread[1])
@template(T=dtype, A=dtype, N=constexpr(int))
def read_plain(row: int64 @ thread[1], column: int32 @ thread[1], words: T[N] @ thread[1], values: A[N] @ thread[1]):
    """Make numbers of elements: a `READ` that does nothing else."""
    for k in range(N):
        values[k] = A(words[k])


@prism.device
@requires(thread[32])
@template(P=dtype, N=constexpr(int))
def join_none(parts: P[N] @ thread[1]) -> P @ thread[1]:
    """A `JOIN` of rows of which warps have nothing of their own: nobody calls it."""
    return parts[0]
