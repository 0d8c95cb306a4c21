"""The passes of `tvm.build`: which there are, which may be left out, and who is told of them."""

import io
import warnings

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.driver.pipeline import legalization, lowering
from tilewright.error import ArgumentError, ArgumentValueError, InternalError, TargetError
from tilewright.ir import IRModule
from tilewright.ir.instrument import PassTimingInstrument, PrintIRInstrument, pass_instrument
from tilewright.ir.transform import Pass
from tilewright.script import from_source
from tilewright.target import Target
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform import passes as all_passes
from tilewright.tir.transform.machine import Machine
from tilewright.transform import PassContext

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((20, 33), "float32"), B: T.Buffer((33, 18), "float32"),
         C: T.Buffer((20, 18), "float32"), D: T.Buffer((20, 18), "float32")):
    T.func_attr({"tir.noalias": True})
    copied = T.alloc_buffer((33, 18))
    scratch = T.alloc_buffer((20, 18))
    for k, j in T.grid(33, 18):
        with T.block("copied"):
            vk, vj = T.axis.remap("SS", [k, j])
            copied[vk, vj] = B[vk, vj] + T.float32(1)
    for i_0, j in T.grid(3, 18):
        for i_1 in T.unroll(8):
            for k in range(33):
                with T.block("C"):
                    vi = T.axis.spatial(20, i_0 * 8 + i_1)
                    vj, vk = T.axis.remap("SR", [j, k])
                    T.where(i_0 * 8 + i_1 < 20)
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] += A[vi, vk] * copied[vk, vj]
    for i in T.parallel(20):
        for j_0 in range(2):
            for j_1 in T.vectorized(16):
                with T.block("scratch"):
                    vi, vj = T.axis.spatial(20, i), T.axis.spatial(18, j_0 * 16 + j_1)
                    T.where(j_0 * 16 + j_1 < 18)
                    scratch[vi, vj] = C[vi, vj] * T.float32(0.125)
        for j in range(18):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.exp(scratch[vi, vj] - T.float32(5))
"""


def program():
    return from_source(PROGRAM)


def plain():
    """The same kind of program, without a schedule."""
    a, b = te.placeholder((20, 33), name="A"), te.placeholder((33, 18), name="B")
    k = te.reduce_axis((0, 33), name="k")
    c = te.compute((20, 18), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((20, 18), lambda i, j: te.exp(c[i, j] - 9.0), name="D")
    return te.create_prim_func([a, b, c, d])


def check(func, module):
    """The compiled function gives what the interpreter gives."""
    rng = np.random.default_rng(0)
    inputs = [rng.random((20, 33), "float32"), rng.random((33, 18), "float32")]
    outputs = [[np.zeros((20, 18), "float32") for _ in "CD"] for _ in range(2)]
    interpret(func, *inputs, *outputs[0])
    module(*inputs, *outputs[1])
    for want, got in zip(*outputs, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5)


@pass_instrument
class Note:
    def __init__(self):
        self.names = []

    def run_before_pass(self, mod, info):
        self.names.append(info.name)


def names_of(build):
    note = Note()
    with PassContext(instruments=[note]):
        build()
    return note.names


def every_pass(kind):
    """The passes between a program and its code, by name."""
    target = Target(kind)
    with PassContext(config={"tir.add_lower_pass": []}):
        steps = (*lowering().passes, *legalization(target).passes)
    return {step.name: step for step in steps}


LLVM, C = every_pass("llvm -mcpu=haswell"), every_pass("c")
NECESSARY = {
    "tir.ExpandTileOperations",
    "tir.LowerAtomicUpdates",
    "tir.MarkSoftwarePipelines",
    "tir.LowerBlocks",
    "tir.InjectSoftwarePipeline",
    "tir.FlattenBuffer",
    "tir.VectorizeLoop",
    "tir.LowerMath",
}
NECESSARY_FOR_C = {
    "tir.ExpandTileOperations",
    "tir.LowerAtomicUpdates",
    "tir.MarkSoftwarePipelines",
    "tir.LowerBlocks",
    "tir.InjectSoftwarePipeline",
    "tir.FlattenBuffer",
    "tir.LowerIntrin",
    "tir.ScalarizeVectors",
}


class TestWatching:
    def test_each_pass_of_a_build_is_seen(self):
        names = names_of(lambda: tvm.build(plain(), target="llvm -mcpu=haswell"))
        assert names == [
            "schedule", "tir.DefaultSchedule", "lower", *lowering_names(), "legalize",
            *(step.name for step in legalization(Target("llvm -mcpu=haswell")).passes),
            "generate_code", "tir.MakePackedAPI", "target.build.llvm",
        ]  # fmt: skip

    def test_for_c(self):
        names = names_of(lambda: tvm.build(plain(), target="c"))
        assert names[-3:] == ["generate_code", "tir.MakePackedAPI", "target.build.c"]
        assert "tir.VectorizeLoop" not in names

    def test_lower_alone(self):
        assert names_of(lambda: tvm.lower(plain())) == ["lower", *lowering_names()]
        simple = names_of(lambda: tvm.lower(plain(), simple_mode=True))
        left_out = ("tir.LowerAtomicUpdates", "tir.MarkSoftwarePipelines")  # for later passes
        readable = [name for name in lowering_names()[:6] if name not in left_out]
        assert simple == ["lower", *readable]

    def test_a_pass_sees_all_functions_of_a_module_at_once(self):
        module = IRModule({"f": plain().with_attr("global_symbol", "f"), "g": program()})
        assert names_of(lambda: tvm.lower(module)).count("tir.LowerBlocks") == 1

    def test_times_and_texts(self):
        timing, text = PassTimingInstrument(), io.StringIO()
        printing = PrintIRInstrument(before=False, only="tir.FlattenBuffer", file=text)
        with PassContext(instruments=[timing, printing]):
            tvm.build(plain(), target="llvm")
            table = timing.render()
        assert "    tir.VectorizeLoop" in table
        assert "after tir.FlattenBuffer" in text.getvalue()
        assert "T.block" not in text.getvalue()


def lowering_names():
    return [step.name for step in lowering().passes]


class TestLeavingOut:
    @pytest.mark.parametrize("make", [program, plain])
    @pytest.mark.parametrize("name", sorted(LLVM.keys() - NECESSARY))
    def test_what_is_not_necessary(self, make, name):
        func = make()
        with PassContext(disabled_pass=[name]):
            note = names_of(lambda: check(func, tvm.build(func, target="llvm")))
        assert name not in note
        assert "tir.LowerMath" in note

    @pytest.mark.parametrize("make", [program, plain])
    @pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell", "c"])
    def test_all_that_is_not_necessary(self, make, target):
        known = C if target == "c" else LLVM
        func = make()
        optional = known.keys() - NECESSARY - NECESSARY_FOR_C
        with PassContext(disabled_pass=sorted(optional)):
            check(func, tvm.build(func, target=target))
        with PassContext(opt_level=0):
            module = tvm.build(func, target=target)
            assert "tir.DefaultSchedule" not in names_of(lambda: tvm.build(func, target=target))
        check(func, module)

    @pytest.mark.parametrize("name", sorted(C.keys() - NECESSARY_FOR_C))
    def test_what_is_not_necessary_for_c(self, name):
        func = program()
        with PassContext(disabled_pass=[name]):
            check(func, tvm.build(func, target="c"))

    @pytest.mark.parametrize(
        ("name", "target"),
        [
            *((name, "llvm") for name in sorted(NECESSARY)),
            *((name, "c") for name in sorted(NECESSARY_FOR_C)),
            ("tir.MakePackedAPI", "llvm"),
            ("target.build.llvm", "llvm"),
            ("target.build.c", "c"),
        ],
    )
    def test_what_is_necessary(self, name, target):
        message = f"PassContext leaves out the pass {name}, which is necessary: "
        with PassContext(disabled_pass=[name]), pytest.raises(ArgumentValueError, match=message):
            tvm.build(program(), target=target)

    def test_an_instrument_may_not_leave_it_out_either(self):
        @pass_instrument
        class Never:
            def should_run(self, mod, info):
                return info.name != "tir.LowerBlocks"

        with (
            PassContext(instruments=[Never()]),
            pytest.raises(ArgumentValueError, match=r"Never leaves out the pass tir\.LowerBlocks"),
        ):
            tvm.build(program())

    def test_levels(self):
        with PassContext(opt_level=0, required_pass=["tir.StorageRewrite"]):
            names = names_of(lambda: tvm.build(plain(), target="llvm"))
        assert "tir.StorageRewrite" in names
        assert "tir.CompactBufferAllocation" not in names
        assert "tir.DefaultSchedule" not in names

    def test_the_default_schedule(self):
        with PassContext(disabled_pass=["tir.DefaultSchedule"]):
            assert "tir.DefaultSchedule" not in names_of(lambda: tvm.build(plain()))

    @pytest.mark.parametrize(
        ("option", "name"),
        [
            ("tir.disable_cse_tir", "tir.CommonSubexprElimTIR"),
            ("tir.disable_storage_rewrite", "tir.StorageRewrite"),
            ("tir.disable_vectorize", "tir.VectorizeInnerLoops"),
        ],
    )
    def test_options(self, option, name):
        func = program()
        with PassContext(config={option: True}):
            assert name not in names_of(lambda: check(func, tvm.build(func, target="llvm")))
        assert name in names_of(lambda: tvm.build(func, target="llvm"))

    def test_without_vectors(self):
        target = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell"
        assert "x float>" in tvm.build(program(), target=target).get_source("ll")
        with PassContext(config={"tir.disable_vectorize": True, "tir.default_schedule": False}):
            module = tvm.build(program(), target=target)
        assert "x float>" not in module.get_source("ll")


class TestRunningByName:
    def test_the_names_are_those_of_the_passes(self):
        for name in ("LowerInitBlock", "FlattenBuffer", "VectorizeLoop", "Simplify", "RemoveNoOp"):
            assert issubclass(getattr(tvm.tir.transform, name), Pass)
        for name, step in vars(all_passes).items():
            if isinstance(step, type) and issubclass(step, all_passes.LoweringPass):
                assert getattr(tvm.tir.transform, name) is step
        with pytest.raises(AttributeError, match="NoSuchPass"):
            tvm.tir.transform.NoSuchPass

    @pytest.mark.parametrize("name", sorted(LLVM))
    def test_every_pass_can_be_made(self, name):
        assert getattr(tvm.tir.transform, name.removeprefix("tir."))().name == name

    def test_a_pipeline_of_a_user(self):
        t = tvm.tir.transform
        steps = [
            t.LowerInitBlock(), t.PlanAndUpdateBufferAllocationLocation(),
            t.ConvertBlocksToOpaque(), t.CompactBufferAllocation(), t.LowerMatchBuffer(),
            t.LowerOpaqueBlock(), t.FlattenBuffer(), t.LoopPartition(), t.VectorizeLoop(),
            t.StorageRewrite(), t.UnrollLoop(), t.RemoveNoOp(), t.Simplify(),
        ]  # fmt: skip
        func = program()
        result = tvm.transform.Sequential(steps)(IRModule({"main": func}))
        outcome = [np.zeros((20, 18), "float32") for _ in "CDCD"]
        inputs = [np.ones((20, 33), "float32"), np.ones((33, 18), "float32")]
        interpret(func, *inputs, *outcome[:2])
        interpret(result["main"], *inputs, *outcome[2:])
        np.testing.assert_allclose(outcome[2:], outcome[:2], rtol=1e-6)

    def test_machines(self):
        lowered = tvm.lower(program())
        narrow, wide = (
            tvm.tir.transform.VectorizeInnerLoops(Machine(vector_bits=bits)) for bits in (128, 512)
        )
        assert narrow(lowered).script() != wide(lowered).script()
        assert wide(lowered).script() == tvm.tir.transform.VectorizeInnerLoops()(lowered).script()
        assert "Broadcast" not in tvm.tir.transform.VectorizeLoop(False)(lowered).script()
        with pytest.raises(ArgumentError, match="PromoteRegisters: expected a Target, got 'llvm'"):
            tvm.tir.transform.PromoteRegisters("llvm")

    def test_packed_functions(self):
        packed = tvm.tir.transform.MakePackedAPI()(tvm.lower(program()))
        assert "__tvm_ffi_main" in [var.name_hint for var in packed.functions]


def test_what_a_pass_makes_is_verified(monkeypatch):
    def breaks(func):
        return func.with_body(tir.Evaluate(tir.Var("nowhere", "int32")))

    broken = all_passes.pass_of("Broken", breaks)
    with pytest.raises(ValueError, match=r"tir\.Broken: .*variable nowhere is not bound"):
        broken()(tvm.lower(program()))


class TestDefaultSchedule:
    @pytest.mark.parametrize("error", [InternalError("impossible"), KeyError("k"), TypeError("t")])
    def test_errors_of_ours_are_raised(self, monkeypatch, error):
        def fail(*_):
            raise error

        monkeypatch.setattr("tilewright.schedule_rules.default.default_schedule", fail)
        with pytest.raises(type(error), match=r"tir\.DefaultSchedule"):
            tvm.build(plain(), target="llvm")

    def test_a_refused_step_leaves_the_program_as_it_is(self, monkeypatch):
        def refuse(*_):
            raise tir.ScheduleError("the loops are in another order")

        monkeypatch.setattr("tilewright.schedule_rules.default.default_schedule", refuse)
        with pytest.warns(RuntimeWarning, match="no default schedule: .*in another order"):
            module = tvm.build(plain(), target="llvm")
        check(plain(), module)


class TestArguments:
    def test_the_name_of_a_function(self):
        assert tvm.build(program(), name="other").function_names() == ["other"]

    def test_the_name_of_a_module_is_that_of_its_entry(self):
        one = IRModule({"f": plain().with_attr("global_symbol", "f")})
        assert tvm.build(one, name="other").function_names() == ["other"]
        two = IRModule({**one.functions, "main": program()})
        assert sorted(tvm.build(two, name="other").function_names()) == ["f", "other"]
        assert sorted(tvm.build(two).function_names()) == ["f", "main"]

    def test_modules_without_an_entry_have_nothing_to_name(self):
        module = IRModule({n: plain().with_attr("global_symbol", n) for n in "fg"})
        with pytest.raises(ArgumentError, match=r"its only one; it exports \['f', 'g'\]"):
            tvm.build(module, name="other")

    @pytest.mark.parametrize("host", ["llvm", "c", Target("llvm")])
    def test_a_target_host(self, host):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check(plain(), tvm.build(plain(), target="llvm", target_host=host))

    @pytest.mark.parametrize("host", ["cuda", "llvm -mtriple=riscv64-linux-gnu"])
    def test_another_target_host(self, host):
        with pytest.raises(TargetError, match=r"the target host .* is another one"):
            tvm.build(plain(), target="llvm", target_host=host)
        with pytest.raises(TargetError, match=r"the target host .* is another one"):
            tvm.build(plain(), target=Target("llvm", host=host))
