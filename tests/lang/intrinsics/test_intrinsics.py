"""Each intrinsic compiles for every type that it allows, and its meaning is what a plain loop says.

Tests of prism/lang/intrinsics: declaration, mailboxes, memory, namespace.
"""

import itertools

import numpy as np
import pytest

from prism.lang.emit.halves import short_pieces
from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics.asynchronous import helpers
from prism.lang.intrinsics.mailboxes import mailbox_cuda
from prism.lang.intrinsics.memory import VECTOR, vector_cuda
from prism.lang.types import BFLOAT16, FLOAT32, INT32, SCALARS, UINT8, UINT32, Scalar, Vector


def operand_of(p, binding, k):
    """A parameter's declarations in the kernel's head and body, and how the operand is spelled."""
    type_ = p.type if isinstance(p.type, Scalar) else binding.scalar
    match p.kind:
        case "element":
            return f"{mailbox_cuda(type_) if p.mailbox else type_.cuda}* p{k}", "", f"(p{k} + threadIdx.x)"
        case "map":
            return f"const void* p{k}", "", f"p{k}"
        case "array":
            n = binding.lengths[p.name]
            return f"{type_.cuda}* written{k}", f"    {type_.cuda} a{k}[{n}] = {{}};\n", f"a{k}"
        case "vector":
            return f"{vector_cuda(type_, binding.lengths[p.name])} p{k}", "", f"p{k}"
        case _:
            cuda = vector_cuda(type_, binding.lengths[p.name]) if p.name in binding.lengths else type_.cuda
            return f"{cuda} p{k}", "", f"p{k}"


def result_of(intrinsic, binding):
    """The C++ type of an intrinsic's result, or None."""
    match intrinsic.result:
        case None:
            return None
        case "vector":
            return vector_cuda(binding.scalar, binding.statics["width"])
        case "T" if any(p.vectors and p.name in binding.lengths for p in intrinsic.parameters):
            return vector_cuda(binding.scalar, binding.lengths["value"])
        case Scalar() as scalar:
            return scalar.cuda
        case Vector(element, length):
            return vector_cuda(element, length)
        case str() as name:
            found = binding.statics.get(name, binding.scalar)
            return vector_cuda(found.element, found.length) if isinstance(found, Vector) else found.cuda


GATHERS = """\
extern __shared__ __align__(16) unsigned char px_shared[];
constexpr unsigned int px_gather_at = 0u, px_gather_room = 4096u; constexpr bool px_gather_late = true;
"""


def harness(intrinsic, binding):
    """A kernel that applies the intrinsic to parameters of its own."""
    given = [p for p in intrinsic.parameters if p.kind != "static"]
    heads, bodies, operands = (
        map(list, zip(*(operand_of(p, binding, k) for k, p in enumerate(given)), strict=True))
        if given
        else ([], [], [])
    )
    more = {"barrier": "nullptr"} if intrinsic.asynchronous == "remote" else {}
    call = intrinsic.cuda(binding, *operands, **more)
    if named := result_of(intrinsic, binding):
        heads.append(f"{named}* out")
        call = f"out[threadIdx.x] = {call}"
    for k, p in enumerate(given):
        if p.kind == "array":
            call += f";\n    for (int i = 0; i < {binding.lengths[p.name]}; ++i) written{k}[i] = a{k}[i]"
    preamble = intrinsic.preamble(binding) if intrinsic.preamble else ""
    if intrinsic.clusters:  # a kernel has room for these, and their number
        preamble = "\n\n".join([*helpers(preamble), preamble, GATHERS])
        bodies.append("    unsigned int px_round = 0u;\n")
    pieces = "\n\n".join(short_pieces(preamble + "".join(heads) + "".join(bodies) + call))
    vector = "" if VECTOR in preamble else VECTOR
    return (
        f'{pieces}\n\n{vector}\n{preamble}\nextern "C" __global__ void f({", ".join(heads)}) '
        f"{{\n{''.join(bodies)}    {call};\n}}\n"
    )


def choices(p):
    """The values of a static."""
    return SCALARS.values() if p.type == "type" else p.choices or (p.default,)


def bindings(intrinsic):
    """Every binding: each type, each combination of statics, each length of the arrays."""
    generic = any(p.type == "T" and p.kind != "static" for p in intrinsic.parameters)
    statics = [p for p in intrinsic.parameters if p.kind == "static"]
    arrays = [p for p in intrinsic.parameters if p.kind == "array"]
    vectors = [p for p in intrinsic.parameters if p.kind == "vector"]
    for scalar in filter(intrinsic.allows, SCALARS.values()) if generic else [None]:
        for values in itertools.product(*map(choices, statics)):
            for lengths in itertools.product(*(p.length or (5,) for p in arrays), *((1, 2, 4, 8, 16) for _ in vectors)):
                found = Binding(
                    scalar,
                    dict(zip([p.name for p in statics], values, strict=True)),
                    dict(zip([p.name for p in (*arrays, *vectors)], lengths, strict=True)),
                    frozenset({"element"}),
                )
                width = found.statics.get("width", found.lengths.get("value", 1))
                if (scalar is None or width * scalar.bytes <= 16) and not (
                    intrinsic.problem and intrinsic.problem(found)
                ):
                    yield found
                if any(p.vectors for p in intrinsic.parameters) and not statics:
                    yield from (Binding(scalar, {}, {"value": n}) for n in (1, 2, 4, 8, 16) if n * scalar.bytes <= 16)
        if intrinsic is TABLE["bitcast"]:
            for n in (n for n in (2, 4, 8, 16) if n * scalar.bytes <= 16):
                yield Binding(scalar, {"to": Vector(UINT8, n * scalar.bytes)}, {"x": n})
            yield Binding(scalar, {"to": Vector(UINT8, scalar.bytes)})


ARCHITECTURES = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_90a")
OF_TILES = [
    i.name for i in TABLE.values() if any(p.kind in ("tile", "tensor") for p in i.parameters)
]  # these have files of their own


NAMES = [name for name in TABLE if name not in OF_TILES]
TOGETHER = 12


def program_of(names, arch, step):
    """One text with a kernel for each binding, or each of so many, of some intrinsics."""
    pieces, kernels = {}, []
    for name in names:
        for binding in list(bindings(TABLE[name]))[::step]:
            if arch == "sm_75" and BFLOAT16 in (binding.scalar, binding.statics.get("to")):
                continue  # its conversions are sm_80's
            text = harness(TABLE[name], binding).replace("void f(", f"void f{len(kernels)}(")
            head, kernel = text.split('extern "C"')
            pieces.update(dict.fromkeys(p.strip("\n") for p in head.split("\n\n") if p.strip()))  # as the emitter does
            kernels.append('extern "C"' + kernel)
    assert kernels
    return "\n".join([*pieces, *kernels])


@pytest.mark.parametrize("name", NAMES)
def test_compiles_for_every_type(nvrtc, name):
    """On the first architecture that has it."""
    arch = TABLE[name].min_arch
    assert nvrtc(program_of([name], arch, 1), arch).cubin


@pytest.mark.parametrize("first", range(0, len(NAMES), TOGETHER))
def test_compiles_for_the_latest(nvrtc, first):
    """The text is the same: some of the types, and a dozen intrinsics in one program."""
    assert nvrtc(program_of(NAMES[first : first + TOGETHER], "sm_90a", 5), "sm_90a").cubin


# Rejected by the assembler below their architecture; the others are older than all that is supported, or emulated below it.
NEW = [i for i in TABLE.values() if i.min_arch != "sm_75" and i.name not in OF_TILES]


@pytest.mark.parametrize("intrinsic", NEW, ids=lambda i: i.name)
def test_the_least_architecture_is_the_least(nvrtc, intrinsic):
    before = ARCHITECTURES[ARCHITECTURES.index(intrinsic.min_arch) - 1]
    text = harness(intrinsic, next(iter(bindings(intrinsic))))
    with pytest.raises(AssertionError):
        nvrtc(text, before)


def test_a_poll_issues_all_its_loads_before_it_tests_one(nvrtc):
    text = harness(TABLE["receive"], Binding(INT32, {}, {"values": 5}))
    ptx = nvrtc(text, "sm_90a").ptx
    assert ptx.count("ld.relaxed.gpu.global.b64") == 5
    loads = ptx[ptx.index("ld.relaxed") : ptx.rindex("ld.relaxed")]
    assert "bra" not in loads and "setp.eq" not in loads


@pytest.mark.parametrize(
    "width, scalar", [(4, INT32), (16, SCALARS["int8"]), (8, SCALARS["int16"]), (2, SCALARS["float64"])]
)
def test_a_vector_is_moved_in_one_access(nvrtc, width, scalar):
    binding = Binding(scalar, {"width": width}, {"value": width})
    for name, instruction in (("load_vector", "ld.global.v"), ("store_vector", "st.global.v")):
        ptx = nvrtc(harness(TABLE[name], binding), "sm_90a").ptx
        assert ptx.count(instruction) >= 1
        assert ptx.count("st.global") == 1 or name == "load_vector"
        assert ptx.count("ld.global") == (name == "load_vector")


# -- Meanings ---------------------------------------------------------------------------------------------------------


def source_lane(name, lane, by):
    by &= 31
    lane = {
        "shuffle_up": lane - by if lane >= by else lane,
        "shuffle_down": lane + by if lane + by < 32 else lane,
        "shuffle_xor": lane ^ by,
        "shuffle": by,
        "broadcast": by,
    }[name]
    return lane


@pytest.mark.parametrize("name", ["shuffle_up", "shuffle_down", "shuffle_xor", "shuffle", "broadcast"])
@pytest.mark.parametrize("scalar", SCALARS.values(), ids=str)
def test_shuffles(name, scalar):
    value = np.random.default_rng(1).integers(0, 100, (3, 32)).astype(scalar.numpy)
    by = np.random.default_rng(2).integers(0, 40, (3, 32) if name == "shuffle" else (3, 1)).astype(np.int32)
    by = np.broadcast_to(by, (3, 32))
    result = TABLE[name].meaning(Binding(scalar), value, by)
    assert result.dtype == value.dtype and result.shape == value.shape
    for warp in range(3):
        for lane in range(32):
            assert result[warp, lane] == value[warp, source_lane(name, lane, int(by[warp, lane]))]


@pytest.mark.parametrize("name", ["shuffle_up", "shuffle_down", "shuffle_xor", "shuffle", "broadcast"])
def test_vectors_are_shuffled_whole(name):
    value = np.random.default_rng(1).integers(0, 100, (3, 32, 4)).astype(np.float32)
    by = np.random.default_rng(2).integers(0, 32, (3, 32) if name == "shuffle" else (3, 1)).astype(np.int32)
    result = TABLE[name].meaning(Binding(FLOAT32, {}, {"value": 4}), value, by)
    for part in range(4):
        assert (result[..., part] == TABLE[name].meaning(Binding(FLOAT32), value[..., part], by)).all()


def test_votes():
    predicate = np.random.default_rng(3).integers(0, 2, (4, 32)).astype(bool)
    predicate[0], predicate[1] = False, True
    for warp in range(4):
        bits = sum(int(predicate[warp, lane]) << lane for lane in range(32))
        ballot = TABLE["ballot"].meaning(Binding(None), predicate)
        assert ballot.dtype == np.uint32 and (ballot[warp] == bits).all() and ballot.shape == (4, 32)
        assert (TABLE["warp_any"].meaning(Binding(None), predicate)[warp] == (bits != 0)).all()
        assert (TABLE["warp_all"].meaning(Binding(None), predicate)[warp] == (bits == 2**32 - 1)).all()


@pytest.mark.parametrize("scalar", [INT32, UINT32], ids=str)
def test_warp_sum_wraps(scalar):
    value = np.full((2, 32), 2**30 + 1).astype(scalar.numpy)
    result = TABLE["warp_sum"].meaning(Binding(scalar), value)
    expected = np.array(32 * (2**30 + 1) % 2**32, np.uint32).astype(scalar.numpy)
    assert result.dtype == value.dtype and (result == expected).all()


@pytest.mark.parametrize("name", ["minimum", "maximum"])
def test_extrema_propagate_nan(name):
    a = np.array([1, np.nan, 2, np.nan], np.float32)
    b = np.array([np.nan, 1, 3, np.nan], np.float32)
    result = TABLE[name].meaning(Binding(FLOAT32), a, b)
    assert np.isnan(result[[0, 1, 3]]).all() and result[2] == (2 if name == "minimum" else 3)


def test_absolute_of_the_least_integer():
    assert TABLE["absolute"].meaning(Binding(INT32), np.array([-(2**31), -5, 5], np.int32)).tolist() == [-(2**31), 5, 5]


class Plain:
    """The memory of the reference machine, without its checks: a reference is an array of indices."""

    def __init__(self, cells):
        self.cells, self.tags = cells, np.zeros(len(cells), np.uint32)

    def load(self, reference, offset=0, atomic=False):
        return self.cells[reference + offset]

    def store(self, reference, value, offset=0, atomic=False):
        self.cells[reference + offset] = value

    def load_row(self, reference, count):
        return self.cells[reference[:, None] + np.arange(count)]

    def store_row(self, reference, values):
        self.cells[reference[:, None] + np.arange(values.shape[-1])] = values

    def update(self, reference, step, order, added=None):
        old = []
        for k, i in enumerate(reference):
            old.append(self.cells[i])
            self.cells[i] = step(self.cells[i], k)
        return np.array(old)

    def align(self, reference, elements, where=None):
        assert (reference % elements == 0).all()

    def publish(self, reference, value, epoch):
        self.cells[reference], self.tags[reference] = value, epoch

    def ready(self, reference, offset, epoch, mask):
        where = np.where(mask, reference + offset, 0)
        return ~mask | (self.tags[where] == epoch)

    def take(self, reference, offset, mask):
        return self.cells[np.where(mask, reference + offset, 0)]


def test_vectors():
    memory = Plain(np.arange(16, dtype=np.int32))
    binding = Binding(INT32, {"width": 4}, {"value": 4})
    v = TABLE["load_vector"].meaning(binding, memory, np.array([4, 0]))
    assert v.tolist() == [[4, 5, 6, 7], [0, 1, 2, 3]]
    TABLE["store_vector"].meaning(binding, memory, np.array([8, 12]), v)
    assert memory.cells[8:].tolist() == [4, 5, 6, 7, 0, 1, 2, 3]


def test_atomic_add_returns_the_value_before_in_thread_order():
    memory = Plain(np.zeros(2, np.int32))
    old = TABLE["atomic_add"].meaning(Binding(INT32), memory, np.array([0, 0, 1, 0]), np.array([1, 2, 3, 4]))
    assert old.tolist() == [0, 1, 0, 3] and memory.cells.tolist() == [7, 3]
    with pytest.raises(ValueError, match="acq_rel"):
        TABLE["atomic_add"].cuda(Binding(INT32, {"order": "seq_cst"}), "p", "v")


def test_receive_waits_for_exactly_the_valid_words():
    memory = Plain(np.zeros(12, np.int32))
    values = np.full((2, 3), -1, np.int32)
    binding, boxes, valid = Binding(INT32, {}, {"values": 3}), np.array([0, 6]), np.array([2, 0])
    waiting = TABLE["receive"].meaning(binding, memory, boxes, values, np.int32(2), valid, np.int32(9), 7)
    next(waiting)
    TABLE["publish"].meaning(Binding(INT32), memory, np.array([0]), 5, 7)
    next(waiting)
    TABLE["publish"].meaning(Binding(INT32), memory, np.array([2]), 6, 8)  # another epoch's
    next(waiting)
    assert (values == -1).all()
    TABLE["publish"].meaning(Binding(INT32), memory, np.array([2]), 6, 7)
    assert list(waiting) == []
    assert values.tolist() == [[5, 6, 9], [9, 9, 9]]
