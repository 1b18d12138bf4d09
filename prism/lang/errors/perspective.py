"""Errors of the perspective rules: bounds, group, split, reads and writes, loops, ids, claims, partitions, shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from prism.lang.diagnostics import Error
from prism.lang.perspective import Perspective

CHANGES = (
    "`{memory}` may be written meanwhile: threads may load different values; `ptr(const(...))` says that it is not"
)


@dataclass(frozen=True, kw_only=True)
class BoundTwice(Error):
    """R1: two entries of one level."""

    code = "bound-wf"
    rule = "R1"
    title = "`requires` has two entries for the level {level}: {first} and {second}"
    label = "one entry a level"
    help_template = "keep the one that states the number of {level} units that can be relied on"
    level: str
    first: int
    second: int


@dataclass(frozen=True, kw_only=True)
class BoundMissing(Error):
    """R1: no @requires, or an empty one."""

    code = "bound-wf"
    rule = "R1"
    title = "`{name}` does not say which threads run it"
    label = "no `@requires(...)`"
    help_template = "put `@requires({example})` on it"
    name: str
    example: str


@dataclass(frozen=True, kw_only=True)
class BoundValue(Error):
    """R1: an entry that is no perspective with a positive size."""

    code = "bound-wf"
    rule = "R1"
    title = "`requires` takes perspectives with a positive constant size, not `{text}`"
    label = "this bound"
    help_template = "write levels with sizes: `@requires(grid[1], block[1], thread[32])`"
    text: str


@dataclass(frozen=True, kw_only=True)
class BoundKernel(Error):
    """R1: a kernel without an entry for the grid."""

    code = "bound-wf"
    rule = "R1"
    title = "the kernel `{name}` starts with the whole grid, and its bound has no `grid[1]`"
    label = "only {bound}"
    help_template = "write `@requires(grid[1], {bound})`, and `with group(block[1]):` around what each block does"
    name: str
    bound: str


@dataclass(frozen=True, kw_only=True)
class GroupDivides(Error):
    """R2: a group whose size does not divide the guaranteed units."""

    code = "group"
    rule = "R2"
    title = "`group({unit})` does not fit the {have} {level}s that are guaranteed here"
    label = "{size} does not divide {have}"
    help_template = "use a divisor of {have}, or a multiple of {size} in the bound, group or arm around it"
    unit: Perspective
    level: str
    size: int
    have: int


@dataclass(frozen=True, kw_only=True)
class GroupBroadens(Error):
    """R2: a group broader than the code."""

    code = "group"
    rule = "R2"
    title = "`group({unit})` is broader than the code here, which speaks for {code_perspective}"
    label = "a nested group may only narrow"
    help_template = "end the enclosing group first, or group by a divisor of {code_perspective}"
    unit: Perspective
    code_perspective: Perspective


@dataclass(frozen=True, kw_only=True)
class SplitLevel(Error):
    """R3: a split at a level that the bound does not have."""

    code = "split-sum"
    rule = "R3"
    title = "`split({level})` needs {level} units, and the bound here, {bound}, has none"
    label = "nothing to split"
    help_template = "split a level of the bound, or add one to `@requires`"
    level: str
    bound: str


@dataclass(frozen=True, kw_only=True)
class SplitSum(Error):
    """R3: the cases need more units than there are."""

    code = "split-sum"
    rule = "R3"
    title = "the cases need {needed} {level}s, and {have} are guaranteed here"
    label = "{over} {level}s too many"
    help_template = "shrink the cases by {over} {level}s, or raise the bound to {needed}"
    level: str
    needed: int
    have: int
    over: int


@dataclass(frozen=True, kw_only=True)
class SplitAlign(Error):
    """R4: a case that starts at no multiple of its size."""

    code = "split-align"
    rule = "R4"
    title = "`case {size}` would start at {level} {first}, which is no multiple of {size}"
    label = "misaligned"
    help_template = "list the larger cases first, or pad with a case of `pass`"
    size: int
    level: str
    first: int


@dataclass(frozen=True, kw_only=True)
class SplitBase(Error):
    """R4: a case whose size does not divide the alignment of what is split."""

    code = "split-align"
    rule = "R4"
    title = "`case {size}` may be misaligned: the {level}s here start at a multiple of {base} only"
    label = "{size} does not divide {base}"
    help_template = "use case sizes that divide {base}, or split in the block's own code"
    size: int
    level: str
    base: int


@dataclass(frozen=True, kw_only=True)
class SplitCase(Error):
    """R3: a case that is no positive constant."""

    code = "split-sum"
    rule = "R3"
    title = "a case of `split` is a positive constant number of units"
    label = "not one"
    help_template = "write `case 32:`, or the name of a template parameter"


@dataclass(frozen=True, kw_only=True)
class DeclareBroader(Error):
    """R6: a declaration broader than the code."""

    code = "decl"
    rule = "R6"
    title = "`{name}` is declared at {place}, but this code speaks only for {code_perspective}"
    label = "broader than the code"
    help_template = "declare it at {code_perspective} or narrower, or move it out to code that speaks for {place}"
    name: str
    place: Perspective
    code_perspective: Perspective


@dataclass(frozen=True, kw_only=True)
class DeclareUnits(Error):
    """R6: a declaration at units that the bound does not guarantee: they could straddle two broader ones."""

    code = "decl"
    rule = "R6"
    title = "`{name}` is declared at {place}, and the bound here, {bound}, does not guarantee whole units of {place}"
    label = "no such units are guaranteed"
    note_templates = ("a block whose size is no multiple of {size} would share one {place} with its neighbour",)
    help_template = "raise the bound to a multiple of {size} {level} units in `@requires`, or declare `{name}` at another size"
    name: str
    place: Perspective
    bound: str
    size: int
    level: str


@dataclass(frozen=True, kw_only=True)
class WriteDown(Error):
    """R8: a value that varies within the target's unit."""

    code = "write-down"
    rule = "R8"
    title = "`{name}` is one value for each {place}, but {what} varies per {has}"
    label = "varies per {has}"
    note_templates = ("all threads of a {place} must agree on `{name}`",)
    help_template = "combine the values with a collective (a reduce or a broadcast), or declare `{name}` @ {has}"
    name: str
    place: Perspective
    what: str
    has: Perspective


@dataclass(frozen=True, kw_only=True)
class LoadVaries(Error):
    """R19: a load that varies within the target's unit."""

    code = "ptr-read"
    rule = "R19"
    name: str
    place: Perspective
    memory: str
    has: Perspective


@dataclass(frozen=True, kw_only=True)
class LoadIndex(LoadVaries):
    """R19: a load whose index varies."""

    title = "`{name}` is one value for each {place}, but the index into `{memory}` varies per {has}"
    label = "each {has} loads another element"
    help_template = "index with a value @ {place} or broader, or declare `{name}` @ {has}"


@dataclass(frozen=True, kw_only=True)
class LoadPart(LoadVaries):
    """R19: a load from a part that belongs to something narrower."""

    title = "`{name}` is one value for each {place}, but `{memory}` is each {has}'s own part"
    label = "one element for each {has}"
    help_template = "declare `{name}` @ {has}, or combine the values with a collective (a reduce or a broadcast)"


@dataclass(frozen=True, kw_only=True)
class LoadChanging(LoadVaries):
    """R19: a load from global memory that somebody may write."""

    title = "`{name}` is one value for each {place}, but `{memory}` may be written while its threads load it"
    label = "threads may load different values"
    help_template = (
        "declare `{memory}` as `ptr(const(...))` if nobody writes it; else let one thread load it into shared memory"
    )


@dataclass(frozen=True, kw_only=True)
class WriteUp(Error):
    """R8: an assignment to something broader than the code."""

    code = "write-down"
    rule = "R8"
    title = "`{name}` lives at {place} and cannot be assigned by code that speaks only for {code_perspective}"
    label = "assigned by {code_perspective}"
    note_templates = ("the other threads of the {place} would keep the old value",)
    help_template = "assign it in code that speaks for {place}, or use a variable @ {code_perspective}"
    name: str
    place: Perspective
    code_perspective: Perspective


@dataclass(frozen=True, kw_only=True)
class ReadUp(Error):
    """R7: an index that varies within the unit that needs to agree on it."""

    code = "read-up"
    rule = "R7"
    title = "{what} varies per {has}, and `{name}` is one array for each {needed}"
    label = "varies per {has}"
    note_templates = ("all threads of a {needed} must assign the same element",)
    help_template = "index with a value @ {needed} or broader, or declare `{name}` @ {has}"
    what: str
    has: Perspective
    needed: Perspective
    name: str


@dataclass(frozen=True, kw_only=True)
class Condition(Error):
    """R9: a condition that the code's threads may disagree on."""

    code = "cond"
    rule = "R9"
    title = "{what} varies per {has}, but this {construct} decides for a whole {code_perspective}"
    label = "varies per {has}"
    note_templates = ("threads of one {code_perspective} could disagree and part ways", "{changes}")
    help_template = "put it inside `with group({has}):`, or let the {code_perspective} agree on one value first"
    what: str
    has: Perspective
    code_perspective: Perspective
    construct: str
    memory: str = ""

    @property
    def changes(self) -> str:
        """Why a load from a broad pointer varies."""
        return CHANGES.format(memory=self.memory) if self.memory else ""


@dataclass(frozen=True, kw_only=True)
class ConditionCollective(Error):
    """R9: a collective that only some threads would reach."""

    code = "cond"
    rule = "R9"
    title = (
        "{what} varies per {has}, but decides whether {collective} is computed, which a whole {code_perspective} runs"
    )
    label = "varies per {has}"
    note_templates = ("threads that go the other way would be missing where the others wait for them",)
    help_template = "assign {collective} to a variable on a line of its own, and choose between the values after it"
    what: str
    has: Perspective
    collective: str
    code_perspective: Perspective


@dataclass(frozen=True, kw_only=True)
class LoopBound(Error):
    """R10: a loop bound that the code's threads may disagree on."""

    code = "loop"
    rule = "R10"
    title = "{what} varies per {has}, but this loop runs for a whole {code_perspective}"
    label = "varies per {has}"
    note_templates = ("threads of one {code_perspective} would make different numbers of trips", "{changes}")
    help_template = "put the loop inside `with group({has}):`, or use a bound @ {code_perspective} and test inside"
    what: str
    has: Perspective
    code_perspective: Perspective
    memory: str = ""

    @property
    def changes(self) -> str:
        """Why a load from a broad pointer varies."""
        return CHANGES.format(memory=self.memory) if self.memory else ""


@dataclass(frozen=True, kw_only=True)
class LoopVariable(Error):
    """R10: an assignment to a loop's variable."""

    code = "loop"
    rule = "R10"
    title = "the loop variable `{name}` is read-only in the loop's body"
    label = "assigned here"
    help_template = "copy it: `j: int = {name}`, or use a `while` loop"
    name: str


@dataclass(frozen=True, kw_only=True)
class LoopStep(Error):
    """R10: a loop with step zero."""

    code = "loop"
    rule = "R10"
    title = "the step of `range` is zero"
    label = "never ends"
    help_template = "use a step that is not zero"


@dataclass(frozen=True, kw_only=True)
class Jump(Error):
    """R11: a jump across a change of perspective."""

    code = "jump"
    rule = "R11"
    title = "`{word}` leaves `{construct}`, but {target} outside it"
    label = "some threads would skip ahead"
    note_templates = ("threads that jump would miss what the others still meet together",)
    help_template = "put what follows under an `if` instead; or test a condition in the outer code and `{word}` there"
    word: str
    construct: str
    target: str


@dataclass(frozen=True, kw_only=True)
class IdBroader(Error):
    """R12: an index of units that the code does not have."""

    code = "id"
    rule = "R12"
    title = "there are no {unit} units to count inside {code_perspective}"
    label = "counts {unit}"
    help_template = (
        "count a unit no broader than {code_perspective}, or take the number in broader code, and keep it in a variable"
    )
    unit: Perspective
    code_perspective: Perspective


@dataclass(frozen=True, kw_only=True)
class IdSize(Error):
    """R12: an index of units that the bound does not guarantee."""

    code = "id"
    rule = "R12"
    title = "{unit} units cannot be counted here: {have} {level}s are guaranteed"
    label = "counts {unit}"
    help_template = "count units of a size that divides {have}, or raise the bound to a multiple of {size}"
    unit: Perspective
    size: int
    level: str
    have: int


@dataclass(frozen=True, kw_only=True)
class StoreCode(Error):
    """R18: a store to memory by more than one thread."""

    code = "ptr-write"
    rule = "R18"
    title = "a store to memory needs one thread; this code speaks for {code_perspective}"
    label = "{code_perspective} stores here"
    help_template = (
        "open `with partition({name}, thread[1], offset) as mine:` and store inside `with group(thread[1]):`"
    )
    name: str
    code_perspective: Perspective


@dataclass(frozen=True, kw_only=True)
class StoreView(Error):
    """R18: a store through a name that several threads own."""

    code = "ptr-write"
    rule = "R18"
    title = "`{name}` belongs to {place}: one thread alone cannot store through it"
    label = "shared by {place}"
    help_template = "partition or claim `{name}` down to thread[1], and store through the new name"
    name: str
    place: Perspective


@dataclass(frozen=True, kw_only=True)
class ConstWrite(Error):
    """R17: a store to something const."""

    code = "const"
    rule = "R17"
    title = "`{name}` is {type}: it is never written"
    label = "written here"
    help_template = "drop `const` from its declaration, or write something else"
    name: str
    type: str


@dataclass(frozen=True, kw_only=True)
class MailboxPlain(Error):
    """R19: a plain access to a mailbox."""

    code = "ptr-read"
    rule = "R19"
    title = "`{name}` holds mailboxes, which plain loads and stores do not touch"
    label = "plain access"
    help_template = "use `publish({name}[i], value, epoch)` and `receive({name}[i], values, ...)`"
    name: str


@dataclass(frozen=True, kw_only=True)
class PartitionSource(Error):
    """R20: a partition of something that threads do not share."""

    code = "partition"
    rule = "R20"
    title = "`{name}` is {type}, which no other thread can reach: there is nothing to partition"
    label = "not memory"
    help_template = "only pointers and shared objects are partitioned; use a local array as it is"
    name: str
    type: str


@dataclass(frozen=True, kw_only=True)
class ClaimSource(Error):
    """R22: a claim of something that threads do not share."""

    code = "claim"
    rule = "R22"
    title = "`{name}` is {type}, which no other thread can reach: there is nothing to claim"
    label = "not memory"
    help_template = "only pointers and shared objects are claimed; use a local array as it is"
    name: str
    type: str


@dataclass(frozen=True, kw_only=True)
class PartitionOwners(Error):
    """R20: a partition where the owners are not all present, or not only they."""

    code = "partition"
    rule = "R20"
    title = "`{name}` belongs to {place}, but this code speaks for {code_perspective}"
    label = "partitioned by {code_perspective}"
    note_templates = ("a partition stands where the owners are all present: in code at exactly {place}",)
    help_template = "{change}"
    name: str
    place: Perspective
    code_perspective: Perspective
    narrowed: bool

    @property
    def change(self) -> str:
        """Where the partition can go, or what the function should take."""
        if self.narrowed:
            return f"open the partition in code at {self.place}, before the group or arm that narrows it"
        return f"declare `{self.name}` @ {self.code_perspective}, and pass a part that belongs to it"


@dataclass(frozen=True, kw_only=True)
class PartitionUnit(Error):
    """R20: a partition to a unit broader than the source, or not of its size."""

    code = "partition"
    rule = "R20"
    title = "`{name}` belongs to {place}: it has no parts for {unit}"
    label = "not a sub-unit of {place}"
    help_template = "partition to {place} or narrower, of a size that divides what is guaranteed ({bound})"
    name: str
    place: Perspective
    unit: Perspective
    bound: str


@dataclass(frozen=True, kw_only=True)
class OffsetVaries(Error):
    """R7 for offsets: one that varies within the unit that the part is for."""

    title = "{what} varies per {has}, and an offset is one value for each {needed}"
    label = "varies per {has}"
    note_templates = ("each {needed} gets a part of its own, and its threads must agree on where that starts",)
    help_template = "use a value @ {needed} or broader, as `w: int @ {needed} = id()`"
    what: str
    has: Perspective
    needed: Perspective


@dataclass(frozen=True, kw_only=True)
class PartitionOffset(OffsetVaries):
    """R20: a partition's offset or lambda that varies within the unit."""

    code = "partition"
    rule = "R20"


@dataclass(frozen=True, kw_only=True)
class ClaimOffset(OffsetVaries):
    """R22: a claim's offset or lambda that varies within the unit."""

    code = "claim"
    rule = "R22"


@dataclass(frozen=True, kw_only=True)
class Hidden(Error):
    """R21: the original name used inside its partition or claim."""

    code = "hide"
    rule = "R21"
    title = "`{name}` goes by `{view}` here"
    label = "the original name is hidden"
    help_template = "use `{view}`, or end the `with` first: a barrier is then inferred where one is needed"
    name: str
    view: str


@dataclass(frozen=True, kw_only=True)
class ClaimOwners(Error):
    """R22: a claim where the owners are not all present."""

    code = "claim"
    rule = "R22"
    title = "`{name}` belongs to {place}, but this code speaks for {code_perspective}"
    label = "claimed by {code_perspective}"
    note_templates = ("a claim stands where the owners are all present: in code at exactly {place}",)
    help_template = "{change}"
    name: str
    place: Perspective
    code_perspective: Perspective
    narrowed: bool

    @property
    def change(self) -> str:
        """Where the claim can go, or what the function should take."""
        if self.narrowed:
            return f"open the claim in code at {self.place}, and put the split inside it"
        return f"declare `{self.name}` @ {self.code_perspective}, and pass a part that belongs to it"


@dataclass(frozen=True, kw_only=True)
class ClaimUnit(Error):
    """R22: a claim for a unit that the owners do not have."""

    code = "claim"
    rule = "R22"
    title = "`{name}` belongs to {place}: no {unit} of it can claim it"
    label = "not a sub-unit of {place}"
    help_template = "claim for {place} or narrower, of a size that divides what is guaranteed ({bound})"
    name: str
    place: Perspective
    unit: Perspective
    bound: str


@dataclass(frozen=True, kw_only=True)
class ClaimTwice(Error):
    """R23: a claimed name used by two arms."""

    code = "claim-one"
    rule = "R23"
    title = "`{name}` is claimed by one {unit}, but two arms use it"
    label = "a second arm"
    help_template = "let one arm use it; for the other, claim again after this `with` ends"
    name: str
    unit: Perspective


@dataclass(frozen=True, kw_only=True)
class ClaimGroup(Error):
    """R23: a claimed name under a group."""

    code = "claim-one"
    rule = "R23"
    title = "`{name}` is claimed by one {unit}, but every unit of a group uses it"
    label = "used by all of them"
    help_template = "pick the one with `match split(...)`, or use `partition` to give each its own part"
    name: str
    unit: Perspective


@dataclass(frozen=True, kw_only=True)
class ClaimNoArm(Error):
    """R23: a claimed name used outside an arm of its unit."""

    code = "claim-one"
    rule = "R23"
    title = "`{name}` is claimed by one {unit}, but this code is not an arm of exactly {unit}"
    label = "used outside such an arm"
    help_template = "use it inside `match split(...)`, in a case of that size"
    name: str
    unit: Perspective


@dataclass(frozen=True, kw_only=True)
class SharedPlace(Error):
    """R25: shared memory declared elsewhere than in a block's code."""

    code = "shared-alloc"
    rule = "R25"
    title = "`{name}` is shared memory, declared in code that speaks for {code_perspective}"
    label = "not a block's code"
    note_templates = ("shared memory belongs to a block: it is declared @ block[1], in code that speaks for block[1]",)
    help_template = "move the declaration to code at block[1]"
    name: str
    code_perspective: Perspective


@dataclass(frozen=True, kw_only=True)
class SharedInArm(Error):
    """R5: shared memory declared in an arm of a split."""

    code = "split-body"
    rule = "R5"
    title = "`{name}` is shared memory of the block, declared in an arm that speaks only for {code_perspective}"
    label = "block[1] is not available in an arm"
    note_templates = ("the other arms run at the same time, and know nothing of this declaration",)
    help_template = "declare it before the `match`, and let the arm use it through `with claim({name}, ...)`"
    name: str
    code_perspective: Perspective


@dataclass(frozen=True, kw_only=True)
class SharedNotBlock(Error):
    """R25: shared memory declared at another perspective than the block's."""

    code = "shared-alloc"
    rule = "R25"
    title = "shared memory lives at block[1], and `{name}` is declared at {place}"
    label = "not block[1]"
    help_template = "declare it @ block[1], and give each {place} its part with `partition`"
    name: str
    place: Perspective


@dataclass(frozen=True, kw_only=True)
class SharedValue(Error):
    """R25: shared memory with an initial value."""

    code = "shared-alloc"
    rule = "R25"
    title = "the shared object `{name}` cannot have an initial value"
    label = "who would write it?"
    help_template = "declare it without a value, and let threads write it through a partition or claim"
    name: str
