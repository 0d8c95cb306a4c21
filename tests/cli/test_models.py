"""Models on the command line: compiling, running and timing them."""

import subprocess

import numpy as np
import pytest

from tilewright.runtime.linking import find_compiler

onnx = pytest.importorskip("onnx")
WEIGHT = np.arange(8, dtype="float32").reshape(4, 2)


@pytest.fixture
def model(tmp_path):
    """A file of a model, for any number of rows."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(n, kind, ["rows", k]) for n, k in (("x", 4), ("y", 2))]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    weight = onnx.numpy_helper.from_array(WEIGHT, "w")
    graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:], [weight])
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.fixture
def rows(tmp_path):
    """A file with three rows."""
    np.save(tmp_path / "x.npy", np.ones((3, 4), "float32"))
    return tmp_path / "x.npy"


PROGRAM = """
#include <stdio.h>
#include "model.h"
int main(void) {
  float x[2][4] = {{1, 0, 0, 0}, {0, 0, 0, 1}}, y[2][2];
  if (model_main(x[0], y[0], 2) != 0) return 1;
  printf("%g %g %g %g", y[0][0], y[0][1], y[1][0], y[1][1]);
  return 0;
}
"""


def test_from_a_file_to_a_c_program(run, model, rows, tmp_path):
    compiler = find_compiler()
    if compiler is None:
        pytest.skip("there is no C compiler")
    library, header = tmp_path / "model.so", tmp_path / "model.h"
    code, output, errors = run("compile", model, "-o", library, "--header", header)
    assert (code, errors) == (0, "")
    assert f"library: {library}\nheader: {header}\n" in output
    code, output, _ = run("run", library, "--input", rows, "-o", tmp_path / "y")
    assert (code, output.splitlines()[0]) == (0, "result 0: float32 [3, 2]: 12, 16, 12, 16, ...")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.ones((3, 4)) @ WEIGHT)
    for inputs in (["--input", f"x={rows}"], ["--size", "rows=5"]):
        code, output, _ = run("profile", library, *inputs, "--repeat", "2")
        assert code == 0
        assert output.splitlines()[1].split()[:2] == ["matmul", "1"]
    (tmp_path / "main.c").write_text(PROGRAM)
    command = [compiler, "main.c", "./model.so", "-o", "main"]
    subprocess.run(command, check=True, cwd=tmp_path)
    found = subprocess.run(["./main"], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout == "0 1 6 7"


def test_a_model_is_compiled_to_be_run_or_timed(run, model, rows):
    code, output, _ = run("run", model, "--input", rows)
    assert (code, output) == (0, "result 0: float32 [3, 2]: 12, 16, 12, 16, ...\n")
    code, output, _ = run("profile", model, "--size", "rows=5", "--repeat", "2")
    assert code == 0
    assert "matmul" in output
    code, output, _ = run("compile", model, "--shape", "x=7,4", "-o", model.with_suffix(".tar"))
    assert code == 0
    assert "rows" not in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "nothing.onnx", "-o", "a.so"], "there is no file nothing.onnx"),
        (["compile", "model.txt", "-o", "a.so"], "the suffix is .onnx or .pt2"),
        (["compile", "bad.onnx", "-o", "a.so"], "it is not a model of ONNX"),
        (["compile", "bad.pt2", "-o", "a.so"], "bad.pt2 is not an exported program"),
        (["compile", "model.onnx", "-o", "none/a.so"], "there is no directory 'none'"),
        (["compile", "model.onnx", "-o", "a.so", "--shape", "x"], "--shape is NAME=SIZE"),
        (["compile", "model.onnx", "-o", "a.so", "--shape", "z=1"], "'z', which is not an input"),
        (["run", "nothing.so"], "there is no file nothing.so"),
        (["run", "model.onnx"], "the model needs --input x=FILE.npy"),
        (["run", "model.onnx", "--input", "q=x.npy"], "the model takes x"),
        (["run", "model.onnx", "--input", "model.onnx"], "it is not an array of numpy"),
        (["run", "model.onnx", "--input", "q.npy"], "cannot read q.npy"),
        (["profile", "model.onnx", "--size", "rows=0"], "--size is NAME=NUMBER"),
    ],
)
def test_mistakes(run, model, rows, monkeypatch, arguments, message):
    monkeypatch.chdir(model.parent)
    for name in ("bad.onnx", "bad.pt2", "model.txt"):
        (model.parent / name).write_bytes(b"nonsense")
    code, output, errors = run(*arguments)
    assert (code, output) == (1, "")
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("text", ["", "5 hours", "-1s", "0", "min"])
def test_times_that_are_none(run, model, text):
    code, _, errors = run("compile", model, "-o", "a.so", f"--tune={text}")
    assert code == 2
    assert "expected a time such as" in errors
