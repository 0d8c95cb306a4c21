"""What tests written for TVM use of pytest."""

import subprocess
import sys

TESTS = """
import tilewright as tvm
import tilewright.testing

size = tvm.testing.parameter(2, 3)

@tvm.testing.fixture
def doubled(size):
    return 2 * size

def test_parameter(size, doubled):
    assert doubled == 2 * size

@tvm.testing.parametrize_targets("llvm", "cuda", "c")
def test_targets(target, dev):
    assert target in ("llvm", "c") and dev == tvm.cpu(0)

@tvm.testing.parametrize_targets
def test_one_target(target, dev):
    assert target == "llvm"

@tvm.testing.requires_llvm
def test_here():
    pass

@tvm.testing.requires_cuda
def test_on_a_gpu():
    assert False

@tvm.testing.requires_package("numpy", "a_package_that_is_missing")
def test_with_packages():
    assert False

@tvm.testing.slow
@tvm.testing.requires_gpu()
def test_called_mark():
    assert False

if __name__ == "__main__":
    tvm.testing.main()
"""


def test_a_file_of_tests_runs_itself(tmp_path):
    path = tmp_path / "test_program.py"
    path.write_text(TESTS)
    command = [sys.executable, str(path), "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "6 passed, 3 skipped" in result.stdout, result.stdout + result.stderr
    assert result.returncode == 0
