"""What watches passes."""

import io
import re

import pytest

import tilewright as tvm
from tilewright.error import ArgumentError
from tilewright.ir import IRModule, const
from tilewright.ir.instrument import (
    DumpIR,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    PrintIRInstrument,
    pass_instrument,
)
from tilewright.tir import Evaluate, PrimFunc
from tilewright.transform import PassContext, Sequential, module_pass


def module(value=0):
    return IRModule({"f": PrimFunc((), Evaluate(const(value)))})


@module_pass
def set_one(mod, ctx):
    return module(1)


@module_pass
def set_two(mod, ctx):
    return module(2)


@module_pass
def failing(mod, ctx):
    raise ValueError("no")


BOTH = Sequential([set_one, set_two], name="both")


@pass_instrument
class Log:
    def __init__(self, skip=()):
        self.events, self.skip = [], skip

    def enter_pass_ctx(self):
        self.events.append("enter")

    def exit_pass_ctx(self):
        self.events.append("exit")

    def should_run(self, mod, info):
        return info.name not in self.skip

    def run_before_pass(self, mod, info):
        self.events.append(f"before {info.name}")

    def run_after_pass(self, mod, info):
        self.events.append(f"after {info.name}")


@pass_instrument
class Ends:
    def __init__(self):
        self.events = []

    def run_after_pass(self, mod, info):
        self.events.append("after")

    def run_failed_pass(self, error, info):
        self.events.append("failed")

    def exit_pass_ctx(self):
        self.events.append("exit")


class TestEvents:
    def test_in_order(self):
        log = Log()
        with PassContext(instruments=[log]):
            BOTH(module())
        assert log.events == [
            "enter", "before both", "before set_one", "after set_one", "before set_two",
            "after set_two", "after both", "exit",
        ]  # fmt: skip

    def test_a_pass_that_an_instrument_does_not_want(self):
        log = Log(skip=("set_two",))
        with PassContext(instruments=[log]):
            result = BOTH(module())
        assert "before set_two" not in log.events
        assert result["f"].body.value.value == 1

    def test_a_context_inside_keeps_the_instruments_without_another_beginning(self):
        log = Log()
        with PassContext(instruments=[log]), PassContext(opt_level=3):
            set_one(module())
        assert log.events == ["enter", "before set_one", "after set_one", "exit"]

    def test_other_instruments_from_now_on(self):
        first, second = Log(), Log()
        with PassContext(instruments=[first]) as context:
            set_one(module())
            context.override_instruments([second])
            set_two(module())
        assert first.events == ["enter", "before set_one", "after set_one", "exit"]
        assert second.events == ["enter", "before set_two", "after set_two", "exit"]


class TestErrors:
    @pytest.mark.parametrize("method", ["enter_pass_ctx", "run_before_pass", "exit_pass_ctx"])
    def test_an_error_names_the_instrument(self, method):
        def fail(self, *args):
            raise ValueError("broken")

        broken = pass_instrument(type("Broken", (), {method: fail}))()
        with (
            pytest.raises(ValueError, match=rf"^Broken\.{method}: broken$"),
            PassContext(instruments=[broken]),
        ):
            set_one(module())
        assert not PassContext.current().instruments

    def test_those_that_began_end_if_another_one_fails_to_begin(self):
        def fail(self):
            raise ValueError("broken")

        log, broken = Log(), pass_instrument(type("Broken", (), {"enter_pass_ctx": fail}))()
        with (
            pytest.raises(ValueError, match="broken"),
            PassContext(instruments=[log, broken]),
        ):
            pass
        assert log.events == ["enter", "exit"]

    @pytest.mark.parametrize("method", ["run_before_pass", "run_after_pass", "exit_pass_ctx"])
    def test_the_others_are_told_that_one_failed(self, method):
        def fail(self, *args):
            raise ValueError("broken")

        first, last = Ends(), Ends()
        broken = pass_instrument(type("Broken", (), {method: fail}))()
        with (
            pytest.raises(ValueError, match="broken"),
            PassContext(instruments=[first, broken, last]),
        ):
            set_one(module())
        ends = {
            "run_before_pass": (["failed", "exit"], ["exit"]),
            "run_after_pass": (["after", "exit"], ["failed", "exit"]),
            "exit_pass_ctx": (["after", "exit"], ["after", "exit"]),
        }
        assert (first.events, last.events) == ends[method]

    def test_only_classes_are_instruments(self):
        with pytest.raises(ArgumentError, match="decorate a class"):
            pass_instrument(lambda: None)


def test_timing_names_every_pass():
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        BOTH(module())
        with pytest.raises(ValueError, match="no"):
            Sequential([set_one, failing])(module())
    lines = [line.split("  ", 1)[-1] for line in timing.render().splitlines()[1:]]
    names = [re.sub(r"^.*%  ", "", line) for line in lines]
    assert names == [
        "both", "  set_one", "  set_two", "sequential (failed)", "  set_one", "  failing (failed)",
    ]  # fmt: skip
    total, own = map(float, timing.render().splitlines()[1].split()[:2])
    assert 0 <= own <= total


def test_printing(capsys):
    file = io.StringIO()
    with PassContext(instruments=[PrintIRInstrument(only=["set_two"], file=file)]):
        BOTH(module())
    before, after = file.getvalue().split("# --- after set_two ---")
    assert before.startswith("# --- before set_two ---")
    assert "T.evaluate(1)" in before
    assert "T.evaluate(2)" in after
    one = io.StringIO()
    with PassContext(instruments=[PrintIRInstrument(only="set_two", file=one)]):
        BOTH(module())
    assert one.getvalue() == file.getvalue()
    with PassContext(instruments=[PrintBeforeAll(), PrintAfterAll()]):
        set_one(module())
    assert re.findall("# --- (.*) ---", capsys.readouterr().out) == [
        "before set_one",
        "after set_one",
    ]


def test_dumps(tmp_path):
    directory = tmp_path / "passes"
    with PassContext(instruments=[DumpIR(directory)]):
        BOTH(module())
        with pytest.raises(ValueError, match="no"):
            failing(module(7))
        set_one(module(8))
        module_pass(lambda mod, ctx: mod, name="a/b c")(module())
    assert sorted(path.name for path in directory.iterdir()) == [
        "000_both_after.py", "000_both_before.py", "001_set_one_after.py",
        "001_set_one_before.py", "002_set_two_after.py", "002_set_two_before.py",
        "003_failing_before.py", "004_set_one_after.py", "004_set_one_before.py",
        "005_a_b_c_after.py", "005_a_b_c_before.py",
    ]  # fmt: skip
    assert "T.evaluate(1)" in (directory / "002_set_two_before.py").read_text()
    assert "T.evaluate(2)" in (directory / "000_both_after.py").read_text()


def test_the_name_that_programs_use():
    assert tvm.instrument.PassTimingInstrument is PassTimingInstrument
    assert tvm.ir.instrument is tvm.instrument
