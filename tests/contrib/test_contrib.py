"""Temporary directories, compilers, and old places of names."""

import ctypes
import os
import shutil
import subprocess

import pytest

import tilewright as tvm
from tilewright.contrib import cc, clang, utils
from tilewright.error import ExportError

SOURCE = "int seven(void) { return 7; }\n"


def test_a_directory_goes_with_its_object():
    directory = utils.tempdir()
    path = directory.relpath("x.txt")
    with open(path, "w") as file:
        file.write("x")
    assert directory.listdir() == ["x.txt"]
    assert directory / "x.txt" == path
    del directory
    assert not os.path.exists(path)


def test_a_directory_that_is_kept(tmp_path):
    path = utils.tempdir(str(tmp_path / "kept"), keep_for_debug=True).path
    assert os.path.isdir(path)


def test_shared_libraries_and_programs(tmp_path):
    source, library, program = (str(tmp_path / name) for name in ("a.c", "a.so", "a"))
    with open(source, "w") as file:
        file.write(SOURCE + "int main(void) { return seven(); }\n")
    cc.create_shared(library, source)
    assert ctypes.CDLL(library).seven() == 7
    cc.create_executable(program, [source])
    assert subprocess.run([program], check=False).returncode == 7


def test_a_module_is_linked_by_a_given_compiler(tmp_path):
    a = tvm.te.placeholder((4,), name="a")
    b = tvm.te.compute((4,), lambda i: a[i] + 1, name="b")
    module = tvm.build(tvm.te.create_schedule(b.op), [a, b], "llvm", name="f")
    for name, compiler in (("x.so", cc.create_shared), ("y.so", cc.cross_compiler(cc.get_cc()))):
        path = str(tmp_path / name)
        module.export_library(path, fcompile=compiler)
        assert "f" in tvm.runtime.load_module(path).function_names()


@pytest.mark.skipif(shutil.which("clang") is not None, reason="there is a clang")
def test_without_clang():
    assert clang.find_clang(required=False) == []
    with pytest.raises(ExportError, match="no clang found"):
        clang.create_llvm(SOURCE)


def test_clang_gets_the_text_and_options(tmp_path):
    fake = tmp_path / "clang"
    fake.write_text('#!/bin/sh\nfor last; do :; done\ncat "$last"; cat "$last" > "$6"\n')
    fake.chmod(0o755)
    output = str(tmp_path / "out.ll")
    assert clang.create_llvm(SOURCE, output, ["-g"], cc=str(fake)) == SOURCE
    with open(output) as file:
        assert file.read() == SOURCE


def test_old_places_of_the_registry():
    tvm._ffi.register_func("contrib.seven", lambda: 7, override=True)
    assert tvm._ffi.get_global_func("contrib.seven")() == 7
    assert "contrib.seven" in tvm._ffi.registry.list_global_func_names()
    tvm._ffi.remove_global_func("contrib.seven")
