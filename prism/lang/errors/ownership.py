"""Errors of who owns memory: stores, loads, const, partitions, claims, shared objects (R17-R25)."""

from __future__ import annotations

from typing import ClassVar

from prism.lang.diagnostics import Error, Named
from prism.lang.types.perspective import THREAD, Perspective


class LoadVaries(Named, code="ptr-read"):
    """R19: a load that varies within the target's unit."""

    place: Perspective
    memory: str
    has: Perspective


class LoadIndex(LoadVaries):
    """R19: a load whose index varies."""

    title = "`{name}` is one value for each {place}, but the index into `{memory}` varies per {has}"
    label = "each {has} loads another element"
    help_template = "index with a value @ {place} or broader, or declare `{name}` @ {has}"


class LoadPart(LoadVaries):
    """R19: a load from a part that belongs to something narrower."""

    title = "`{name}` is one value for each {place}, but `{memory}` is each {has}'s own part"
    label = "one element for each {has}"
    help_template = "declare `{name}` @ {has}, or combine the values with a collective (a reduce or a broadcast)"


class LoadChanging(LoadVaries):
    """R19: a load from global memory that somebody may write."""

    title = "`{name}` is one value for each {place}, but `{memory}` may be written while its threads load it"
    label = "threads may load different values"
    help_template = (
        "declare `{memory}` as `ptr(const(...))` if nobody writes it; else let one thread load it into shared memory"
    )


class LoadTrusting(Named, code="ptr-read"):
    """R19: memory that may be written passed where a callee loads it once for several threads."""

    title = "`{name}` loads `{parameter}` once for several threads, but `{memory}` may be written while they load it"
    label = "not const here"
    help_template = (
        "declare `{memory}` as `ptr(const(...))` if nobody writes it; else let `{name}` load it for each thread[1]"
    )
    parameter: str
    memory: str


class LoadAlias(Named, code="ptr-read"):
    """R19: a const name, of several threads, for memory that may be written."""

    title = "`{name}` is a const pointer of {place}, but `{memory}` may be written"
    label = "not const here"
    note_templates = ("what {place} loads through a const pointer is taken to be the same for all its threads",)
    help_template = (
        "drop `const` from the declaration of `{name}`, or declare `{memory}` as `ptr(const(...))` if nobody writes it"
    )
    place: Perspective
    memory: str


class StoreCode(Named, code="ptr-write"):
    """R18: a store to memory by more than one thread."""

    title = "a store to memory needs one thread; this code speaks for {code_perspective}"
    label = "{code_perspective} stores here"
    help_template = "{opening} store inside `with group(thread[1]):`"
    code_perspective: Perspective
    owner: Perspective | None = None
    """Of the memory."""

    @property
    def opening(self) -> str:
        """What comes before the group."""
        if self.owner == THREAD:
            return f"`{self.name}` is each thread's own part already:"
        return f"open `with partition({self.name}, thread[1], offset) as mine:` and"


class AtomicCode(StoreCode):
    """R18: an atomic access by more than one thread."""

    title = "`{intrinsic}` is one thread's access; this code speaks for {code_perspective}"
    label = "{code_perspective} makes it here"
    help_template = (
        "make it inside `with one(thread):`, or `with group(thread[1]):` for each thread; `{name}` needs no partition"
    )
    intrinsic: str


class StoreView(Named, code="ptr-write"):
    """R18: a store through a name that several threads own."""

    title = "`{name}` belongs to {place}: one thread alone cannot store through it"
    label = "shared by {place}"
    help_template = (
        "where the code speaks for {place}, `with partition({name}, thread[1], offset) as mine:` gives each thread a part, and"
        " `with claim({name}, thread[1]) as mine, one(thread):` one of them all; several may `atomic_add({name}[i], v)`"
    )
    place: Perspective


class ConstWrite(Named, code="const"):
    """R17: a store to something const."""

    title = "`{name}` is {type}: it is never written"
    label = "written here"
    help_template = "drop `const` from its declaration, or write something else"
    type: str


class MailboxPlain(Named, code="ptr-read"):
    """R19: a plain access to a mailbox."""

    title = "`{name}` holds mailboxes, which plain loads and stores do not touch"
    label = "plain access"
    help_template = "use `publish({name}[i], value, epoch)` and `receive({name}[i], values, ...)`"


class PartitionSource(Named, code="partition"):
    """R20: a partition of something that threads do not share."""

    title = "`{name}` is {type}, which no other thread can reach: there is nothing to partition"
    label = "not memory"
    help_template = "only pointers and shared objects are partitioned; use a local array as it is"
    type: str


class ClaimSource(Named, code="claim"):
    """R22: a claim of something that threads do not share."""

    title = "`{name}` is {type}, which no other thread can reach: there is nothing to claim"
    label = "not memory"
    help_template = "only pointers and shared objects are claimed; use a local array as it is"
    type: str


class Owners(Named):
    """A partition, or a claim, where the owners are not all present, or not only they."""

    title = "`{name}` belongs to {place}, but this code speaks for {code_perspective}"
    place: Perspective
    code_perspective: Perspective
    narrowed: bool
    there: ClassVar[str] = ""

    @property
    def change(self) -> str:
        """Where it can stand, or what the function should take."""
        if self.narrowed:
            return self.there.format(place=self.place)
        return f"declare `{self.name}` @ {self.code_perspective}, and pass a part that belongs to it"


class PartitionOwners(Owners, code="partition"):
    """R20: a partition where the owners are not all present, or not only they."""

    label = "partitioned by {code_perspective}"
    note_templates = ("a partition stands where the owners are all present: in code at exactly {place}",)
    there = "open the partition in code at {place}, before the group or arm that narrows it"


class PartitionUnit(Named, code="partition"):
    """R20: a partition to a unit broader than the source, or not of its size."""

    title = "`{name}` belongs to {place}: it has no parts for {unit}"
    label = "not a sub-unit of {place}"
    help_template = "partition to {place} or narrower, of a size that divides what is guaranteed ({bound})"
    place: Perspective
    unit: Perspective
    bound: str


class OffsetVaries(Error):
    """R7 for offsets: one that varies within the unit that the part is for."""

    title = "{what} varies per {has}, and an offset is one value for each {needed}"
    label = "varies per {has}"
    note_templates = ("each {needed} gets a part of its own, and its threads must agree on where that starts",)
    help_template = "use a value @ {needed} or broader, as `w: int @ {needed} = id()`"
    what: str
    has: Perspective
    needed: Perspective


class PartitionOffset(OffsetVaries, code="partition"):
    """R20: a partition's offset or lambda that varies within the unit."""


class ClaimOffset(OffsetVaries, code="claim"):
    """R22: a claim's offset or lambda that varies within the unit."""


class Hidden(Named, code="hide"):
    """R21: the original name used inside its partition or claim."""

    title = "`{name}` goes by `{view}` here"
    label = "the original name is hidden"
    help_template = "use `{view}`{meaning}; or end the `with` first: a barrier is then inferred where one is needed"
    view: str
    meaning: str = ""


class HiddenRead(Hidden, code="hide"):
    """R21: another unit's element, read by the original name."""

    note_templates = ("`{view}` is the elements of one thread, and this may be another's{meaning}",)
    help_template = (
        "end the `with` before this, or read it before the `with` into a variable; a barrier is inferred between"
    )


class HiddenStore(Hidden, code="hide"):
    """R21: another unit's element, written by the original name."""

    note_templates = HiddenRead.note_templates
    help_template = "end the `with` before this: a barrier is then inferred where one is needed"


class ClaimOwners(Owners, code="claim"):
    """R22: a claim where the owners are not all present."""

    label = "claimed by {code_perspective}"
    note_templates = ("a claim stands where the owners are all present: in code at exactly {place}",)
    there = "open the claim in code at {place}, and put the split inside it"


class ClaimUnit(Named, code="claim"):
    """R22: a claim for a unit that the owners do not have."""

    title = "`{name}` belongs to {place}: no {unit} of it can claim it"
    label = "not a sub-unit of {place}"
    help_template = "claim for {place} or narrower, of a size that divides what is guaranteed ({bound})"
    place: Perspective
    unit: Perspective
    bound: str


class ClaimTwice(Named, code="claim-one"):
    """R23: a claimed name used by two arms."""

    title = "`{name}` is claimed by one {unit}, but two arms use it"
    label = "a second arm"
    help_template = "let one arm use it; for the other, claim again after this `with` ends"
    unit: Perspective


class ClaimGroup(Named, code="claim-one"):
    """R23: a claimed name under a group."""

    title = "`{name}` is claimed by one {unit}, but every unit of a group uses it"
    label = "used by all of them"
    help_template = "pick the one with `with one(...):`, or use `partition` to give each its own part"
    unit: Perspective


class ClaimNoArm(Named, code="claim-one"):
    """R23: a claimed name used outside an arm of its unit."""

    title = "`{name}` is claimed by one {unit}, but this code is not an arm of exactly {unit}"
    label = "used outside such an arm"
    help_template = "use it inside `match split(...)`, in a case of that size"
    unit: Perspective


class ClaimRole(Named, code="claim-one"):
    """R23: a name that a role claims, used by others. The claim has not entered the role, as roles are entered inside it."""

    title = "`{name}` is claimed by `{role}`, and this code is not `{role}`'s"
    label = "used by others"
    note_templates = ("a claim for a role enters the role, but where roles are named inside it",)
    help_template = "use it inside `with {role}:`, or in a claim for `{role}`"
    role: str


class SharedPlace(Named, code="shared-alloc"):
    """R25: shared memory declared elsewhere than in a block's code."""

    title = "`{name}` is shared memory, declared in code that speaks for {code_perspective}"
    label = "not a block's code"
    note_templates = (
        "shared memory belongs to a block, or to the n blocks of a cluster: it is declared in code for block[1] or block[n]",
    )
    help_template = "move the declaration to code at block[1]"
    code_perspective: Perspective


class SharedInArm(Named, code="split-body"):
    """R5: shared memory declared in an arm of a split."""

    title = "`{name}` is shared memory of the block, declared in an arm that speaks only for {code_perspective}"
    label = "block[1] is not available in an arm"
    note_templates = ("the other arms run at the same time, and know nothing of this declaration",)
    help_template = "declare it before the `match`, and let the arm use it through `with claim({name}, ...)`"
    code_perspective: Perspective


class SharedNotBlock(Named, code="shared-alloc"):
    """R25: shared memory declared at another perspective than the code's."""

    title = "shared memory lives at {code_perspective} here, and `{name}` is declared at {place}"
    label = "not {code_perspective}"
    help_template = "declare it @ {code_perspective}, and give each {place} its part with `partition`"
    place: Perspective
    code_perspective: Perspective


class SharedValue(Named, code="shared-alloc"):
    """R25: shared memory with an initial value."""

    title = "the shared object `{name}` cannot have an initial value"
    label = "who would write it?"
    help_template = "declare it without a value, and let threads write it through a partition or claim"
