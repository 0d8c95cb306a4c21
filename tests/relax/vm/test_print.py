"""Graphs that print, and graphs with assertions."""

import subprocess

import numpy as np
import pytest
from tests.relax.builders import array

from tilewright import relax
from tilewright.error import ArgumentError, ProgramAssertionError
from tilewright.relax.interpreter import evaluate
from tilewright.runtime import include_directory
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T


@I.ir_module
class Texts:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), flag: R.Tensor((), "bool")):
        n = T.int64()
        y = R.add(x, x)
        R.print(y, R.shape([n, 2]), R.prim_value(n), (x, flag), R.str("50%"))
        R.print(y, R.prim_value(n), format="100% of {1}: {0}")
        R.assert_op(flag, [R.prim_value(n), y], format="{} wrong: {}")
        return y


DATA = np.array([1, 2.5], "float32")


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_texts_are_those_of_the_evaluator(target, capsys):
    ex = relax.build(Texts, target)
    assert not ex.reasons
    main = relax.VirtualMachine(ex)["main"]
    np.testing.assert_array_equal(main(DATA, np.array(True)).numpy(), DATA * 2)
    printed = capsys.readouterr().out
    evaluate(Texts, DATA, np.array(True))
    assert printed == capsys.readouterr().out
    assert "100% of 2: [2. 5.]" in printed
    with pytest.raises(ProgramAssertionError, match=r"2 wrong: \[2. 5.\]"):
        main(DATA, np.array(False))
    with pytest.raises(ProgramAssertionError, match=r"2 wrong: \[2. 5.\]"):
        evaluate(Texts, DATA, np.array(False))


def test_a_format_has_as_many_places_as_values():
    x = relax.Var("x", array(2))
    with pytest.raises(ArgumentError, match="has a place for which there is no value among the 1"):
        relax.op.print(x, format="{} {}")
    with pytest.raises(ArgumentError, match="is not a format"):
        relax.op.assert_op(relax.Var("flag", array(dtype="bool")), [x], format="{")


PROGRAM = """
#include "texts.h"
int main(void) {
  float x[2] = {1, 2}, result[2];
  uint8_t flag = 1;
  if (texts_main(x, &flag, result, 2) != 0 || result[1] != 4) return 1;
  flag = 0;
  return texts_main(x, &flag, result, 2) == 0;
}
"""


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_c_program_prints_too(target, tmp_path):
    ex = relax.build(Texts, target)
    ex.export_library(tmp_path / "libtexts.so")
    ex.export_header(tmp_path / "texts.h")
    (tmp_path / "program.c").write_text(PROGRAM)
    command = ["cc", "program.c", f"-I{include_directory()}", "-L.", "-ltexts", "-Wl,-rpath,."]
    subprocess.run([*command, "-o", "program"], cwd=tmp_path, check=True)
    done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    first = "<float32[2]> (2, 2) 2 (<float32[2]>, <bool[]>) 50%\n100% of 2: <float32[2]>\n"
    assert done.stdout == first * 2
    assert done.stderr == "AssertionError: 2 wrong: <float32[2]>\n"
