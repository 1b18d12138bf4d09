"""A warp hands its elements round, by shuffles, or through memory that it is given."""

from prism.lang import constexpr, dtype, group, id, int32, partition, prism, ptr, requires, shuffle, template, thread


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int))
def blocked_to_striped(items: T[ITEMS] @ thread[1]):
    """From element `lane * ITEMS + k` in `items[k]` to element `k * 32 + lane`, in place.

    Perspective: warp.
    Shapes:      `ITEMS` elements a lane.
    Cost:        `ITEMS` shuffles, `2 * ITEMS * ITEMS` selections; no barrier, no shared memory. `warp.blocked_to_striped_in`
                 does it through shared memory, cheaper from about 8 elements on.
    Source:      Catanzaro, Keller and Garland, "A decomposition for in-place matrix transposition".
    Test:        tests/lib/warp/test_exchange.py
    """
    # Of the power of two in ITEMS, lanes SHARE apart want elements of one lane; they ask for them in different rounds.
    POWER: constexpr(int) = min(ITEMS & -ITEMS, 32)
    SHARE: constexpr(int) = 32 // POWER
    ODD: constexpr(int) = ITEMS // POWER
    CUBE: constexpr(int) = ODD * ODD * ODD % 32
    INVERSE: constexpr(int) = CUBE * CUBE * ODD % 32  # ODD^7: modulo 32, ODD^8 is 1
    lane: int32 @ thread[1] = id()
    result: T[ITEMS] @ thread[1]
    for step in range(ITEMS, unroll=True):
        # This lane gives its element `gives` to the lane that it is for, and gets the one for place `place`.
        gives: int32 @ thread[1] = (step + lane // SHARE) % ITEMS
        other: int32 @ thread[1] = (lane - step) % POWER
        other = other + POWER if other < 0 else other
        place: int32 @ thread[1] = (step + other) % ITEMS
        source: int32 @ thread[1] = ((lane - place + ITEMS * 32) // POWER * INVERSE) % SHARE + other * SHARE
        given: T @ thread[1] = items[0]
        with group(thread[1]):
            for k in range(1, ITEMS):
                given = items[k] if k == gives else given
        got: T @ thread[1] = shuffle(given, source)
        # Lane `source` gave its element `place`, number `source * ITEMS + place` of all: it stands in row `row`.
        row: int32 @ thread[1] = (source * ITEMS + place) // 32
        with group(thread[1]):
            for k in range(ITEMS):
                if k == row:
                    result[k] = got
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = result[k]


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int))
def striped_to_blocked(items: T[ITEMS] @ thread[1]):
    """From element `k * 32 + lane` in `items[k]` to element `lane * ITEMS + k`, in place.

    Perspective: warp.
    Shapes:      `ITEMS` elements a lane.
    Cost:        `ITEMS` shuffles, `2 * ITEMS * ITEMS` selections; no barrier, no shared memory. `warp.striped_to_blocked_in`
                 does it through shared memory, cheaper from about 8 elements on.
    Source:      Catanzaro, Keller and Garland, "A decomposition for in-place matrix transposition".
    Test:        tests/lib/warp/test_exchange.py
    """
    # Of the power of two in ITEMS, lanes SHARE apart want elements of one lane; they ask for them in different rounds.
    POWER: constexpr(int) = min(ITEMS & -ITEMS, 32)
    SHARE: constexpr(int) = 32 // POWER
    ODD: constexpr(int) = ITEMS // POWER
    CUBE: constexpr(int) = ODD * ODD * ODD % 32
    INVERSE: constexpr(int) = CUBE * CUBE * ODD % 32  # ODD^7: modulo 32, ODD^8 is 1
    lane: int32 @ thread[1] = id()
    result: T[ITEMS] @ thread[1]
    for step in range(ITEMS, unroll=True):
        # This lane gets its element `wants`, number `lane * ITEMS + wants` of all, from the lane that has it ...
        wants: int32 @ thread[1] = (step + lane // SHARE) % ITEMS
        source: int32 @ thread[1] = (lane * ITEMS + wants) % 32
        # ... and gives the one that lane `to` wants, its element `place`, from row `row`.
        other: int32 @ thread[1] = (lane - step) % POWER
        other = other + POWER if other < 0 else other
        place: int32 @ thread[1] = (step + other) % ITEMS
        to: int32 @ thread[1] = ((lane - place + ITEMS * 32) // POWER * INVERSE) % SHARE + other * SHARE
        row: int32 @ thread[1] = (to * ITEMS + place) // 32
        given: T @ thread[1] = items[0]
        with group(thread[1]):
            for k in range(1, ITEMS):
                given = items[k] if k == row else given
        got: T @ thread[1] = shuffle(given, source)
        with group(thread[1]):
            for k in range(ITEMS):
                if k == wants:
                    result[k] = got
    with group(thread[1]):
        for k in range(ITEMS):
            items[k] = result[k]


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int))
def blocked_to_striped_in(room: ptr(T) @ thread[32], items: T[ITEMS] @ thread[1]):
    """From element `lane * ITEMS + k` in `items[k]` to element `k * 32 + lane`, in place, through `room`.

    Perspective: warp.
    Shapes:      `room`, in shared memory: `32 * ITEMS` elements, `33 * ITEMS` for an even `ITEMS`; none is read where it is 1.
    Cost:        `2 * ITEMS` accesses a lane, which meet in no bank; a barrier of the warp.
    Test:        tests/lib/warp/test_exchange.py, tests/lib/block/test_exchange.py
    """
    PAD: constexpr(int) = 1 - ITEMS % 2  # a place after 32 elements
    if ITEMS > 1:
        lane: int32 @ thread[1] = id()
        with partition(room, thread[1], offset=lambda k: lane * ITEMS + k + (lane * ITEMS + k) // 32 * PAD) as own:
            with group(thread[1]):
                for k in range(ITEMS):
                    own[k] = items[k]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = room[k * (32 + PAD) + lane]


@prism.device
@requires(thread[32])
@template(T=dtype, ITEMS=constexpr(int))
def striped_to_blocked_in(room: ptr(T) @ thread[32], items: T[ITEMS] @ thread[1]):
    """From element `k * 32 + lane` in `items[k]` to element `lane * ITEMS + k`, in place, through `room`.

    Perspective: warp.
    Shapes:      `room`: as of `warp.blocked_to_striped_in`.
    Cost:        as of `warp.blocked_to_striped_in`.
    Test:        tests/lib/warp/test_exchange.py, tests/lib/block/test_exchange.py
    """
    PAD: constexpr(int) = 1 - ITEMS % 2
    if ITEMS > 1:
        lane: int32 @ thread[1] = id()
        with partition(room, thread[1], offset=lambda k: k * (32 + PAD) + lane) as own:
            with group(thread[1]):
                for k in range(ITEMS):
                    own[k] = items[k]
        with group(thread[1]):
            for k in range(ITEMS):
                items[k] = room[lane * ITEMS + k + (lane * ITEMS + k) // 32 * PAD]
