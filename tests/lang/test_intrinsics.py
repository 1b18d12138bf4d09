"""Each intrinsic compiles for every type that it allows, and its meaning is what a plain loop says."""

import numpy as np
import pytest

from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics.memory import VECTOR, mailbox_cuda, vector_cuda
from prism.lang.types import FLOAT32, INT32, SCALARS, UINT32, Scalar


def harness(intrinsic, binding):
    """A kernel that applies the intrinsic to parameters of its own."""
    scalar, parameters, operands, before = binding.scalar, [], [], ""
    for k, p in enumerate(p for p in intrinsic.parameters if p.kind != "static"):
        type_ = p.type if isinstance(p.type, Scalar) else scalar
        if p.kind == "element":
            parameters.append(f"{mailbox_cuda(scalar) if p.mailbox else scalar.cuda}* p{k}")
            operands.append(f"(p{k} + threadIdx.x)")
        elif p.kind == "array":
            before += f"    {scalar.cuda} a{k}[5];\n"
            operands.append(f"a{k}")
        elif p.kind == "vector":
            parameters.append(f"{vector_cuda(scalar, binding.lengths[p.name])} p{k}")
            operands.append(f"p{k}")
        else:
            parameters.append(f"{type_.cuda} p{k}")
            operands.append(f"p{k}")
    call = intrinsic.cuda(binding, *operands)
    result = intrinsic.result
    if result is not None:
        named = result.cuda if isinstance(result, Scalar) else scalar.cuda
        named = vector_cuda(scalar, binding.statics["width"]) if result == "vector" else named
        parameters.append(f"{named}* out")
        call = f"out[threadIdx.x] = {call}"
    for k, p in enumerate(p for p in intrinsic.parameters if p.kind != "static"):
        if p.kind == "array":
            parameters.append(f"{scalar.cuda}* written")
            call += f";\n    for (int i = 0; i < 5; ++i) written[i] = a{k}[i]"
    preamble = intrinsic.preamble(binding) if intrinsic.preamble else ""
    vector = "" if VECTOR in preamble else VECTOR
    return f'{vector}\n{preamble}\nextern "C" __global__ void f({", ".join(parameters)}) {{\n{before}    {call};\n}}\n'


def bindings(intrinsic):
    for scalar in filter(intrinsic.allows, SCALARS.values()):
        if "vector" in intrinsic.name:
            for width in (1, 2, 4, 8, 16):
                if width * scalar.bytes <= 16:
                    yield Binding(scalar, {"width": width}, {"value": width})
        elif intrinsic.name == "atomic_add":
            for order in ("relaxed", "acquire", "release", "acq_rel"):
                yield Binding(scalar, {"order": order})
        else:
            yield Binding(scalar, {}, {"values": 5})


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", TABLE)
def test_compiles_for_every_type(nvrtc, name, arch):
    intrinsic = TABLE[name]
    pieces, kernels = {}, []
    for n, binding in enumerate(bindings(intrinsic)):
        text = harness(intrinsic, binding).replace("void f(", f"void f{n}(")
        head, kernel = text.split('extern "C"')
        pieces.update(dict.fromkeys(head.strip("\n").split("\n\n")))  # as the emitter does
        kernels.append('extern "C"' + kernel)
    assert nvrtc("\n".join([*pieces, *kernels]), arch).cubin


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

    def add(self, reference, value, order):
        old = []
        for i, v in zip(reference, np.broadcast_to(value, reference.shape), strict=True):
            old.append(self.cells[i])
            self.cells[i] += v
        return np.array(old)

    def align(self, reference, elements):
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
