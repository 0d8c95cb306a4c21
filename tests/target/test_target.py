"""Targets: how they are written, what is known about them, and what is refused."""

import json
import pickle
import platform
import re
import threading

import llvmlite.binding
import pytest

import tilewright as tvm
from tilewright import te
from tilewright.error import TargetError
from tilewright.target import Target, cpu, create
from tilewright.target.cpu import Host
from tilewright.tir.transform.machine import Machine


def test_a_string():
    target = Target("llvm -mcpu=skylake-avx512 -mattr=+avx512f,-fma -num-cores 4")
    assert target.kind.name == "llvm"
    assert target.attrs == {
        "mcpu": "skylake-avx512", "mattr": ["+avx512f", "-fma"], "num-cores": 4
    }  # fmt: skip
    assert target.num_cores == 4
    assert "cpu" in target.keys


@pytest.mark.parametrize("text", ["llvm -num-cores=1", "llvm --num-cores=1", "llvm --num-cores 1"])
def test_one_or_two_dashes(text):
    assert Target(text) == Target("llvm -num-cores=1")
    assert hash(Target(text)) == hash(Target("llvm -num-cores=1"))


def test_dictionaries_and_json():
    config = {"kind": "llvm", "mcpu": "znver4", "num-cores": 2}
    assert Target(config) == Target("llvm -mcpu=znver4 -num-cores=2")
    assert Target(json.dumps(config)) == Target(config)
    assert config == {"kind": "llvm", "mcpu": "znver4", "num-cores": 2}


@pytest.mark.parametrize(
    "text",
    ["llvm", "llvm -mcpu=haswell -mattr=+avx2,+fma", "cuda -arch=sm_80", "opencl", "c",
     "nvidia/nvidia-a100", "raspberry-pi/4b-aarch64"],
)  # fmt: skip
def test_text_export_and_pickle_give_the_same_target(text):
    target = Target(text)
    assert Target(target.export()) == target
    assert Target(json.dumps(target.export())) == target
    assert pickle.loads(pickle.dumps(target)) == target
    assert create(target) == target
    if not target.tag:
        assert Target(str(target)) == target
    assert eval(repr(target), {"Target": Target}).attrs == target.attrs


def test_different_targets_differ():
    assert Target("llvm") != Target("llvm -num-cores=2")
    assert Target("llvm") != Target("c")
    assert Target("llvm") != "llvm"


def test_tags():
    target = Target("nvidia/geforce-rtx-3070")
    assert (target.kind.name, target.attrs["arch"]) == ("cuda", "sm_86")
    assert target.tag == "nvidia/geforce-rtx-3070"
    assert Target("aws/cpu/c5.9xlarge").num_cores == 18


def test_host():
    target = Target("cuda", host="llvm -mcpu=znver4")
    assert target.host == Target("llvm -mcpu=znver4")
    assert Target({"kind": "cuda", "host": {"kind": "llvm"}}).host == Target("llvm")
    assert Target("cuda").host is None
    assert Target("cuda").with_host("llvm").host == Target("llvm")
    assert Target(target.export()).host == target.host


def test_scopes():
    assert Target.current() is None
    with pytest.raises(TargetError, match="with Target"):
        Target.current(allow_none=False)
    with Target("llvm -num-cores=2") as outer:
        assert Target.current() is outer
        with Target("c") as inner:
            assert Target.current() is inner
        assert Target.current() is outer
        seen = []
        thread = threading.Thread(target=lambda: seen.append(Target.current()))
        thread.start()
        thread.join()
        assert seen == [None]
    assert Target.current() is None


def test_an_exception_leaves_the_scope():
    with pytest.raises(RuntimeError), Target("llvm"):
        raise RuntimeError
    assert Target.current() is None


def test_kinds():
    assert {"c", "cuda", "llvm", "opencl", "metal"} < set(Target.list_kinds())
    assert Target.from_device("cpu").kind.name == "llvm"
    assert Target.from_device(tvm.cpu(0)).kind.name == "llvm"
    assert Target.from_device("cuda").kind.name == "cuda"
    with pytest.raises(TargetError, match="abacus"):
        Target.from_device("abacus")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("llvmm", "did you mean 'llvm'"),
        ("", "names its kind"),
        ("llvm mcpu=x", "expected an option"),
        ("llvm -mcpuu=haswell", "did you mean 'mcpu'"),
        ("llvm -num-cores=many", "num-cores needs a value of type int"),
        ("llvm -num-cores=0", "at least 1"),
        ("llvm -num-cores=-3", "at least 1"),
        ('llvm -mcpu="unfinished', "quot"),
        ("{not json", "JSON"),
        ({"mcpu": "haswell"}, "kind"),
        ({"kind": "cuda", "colour": 1}, "colour"),
        (17, "string or a dictionary"),
        (None, "string or a dictionary"),
    ],
)
def test_mistakes(target, message):
    with pytest.raises(TargetError, match=message):
        Target(target)


@pytest.mark.parametrize(
    ("text", "bits", "registers"),
    [
        ("llvm -mtriple=x86_64-linux-gnu", 128, 16),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", 256, 16),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512", 512, 32),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -mattr=-avx512f", 256, 16),
        ("llvm -mtriple=x86_64-linux-gnu -mattr=+avx512f", 512, 32),
        ("llvm -mtriple=aarch64-linux-gnu", 128, 32),
        ("riscv/rv64gcv", 128, 32),
        ("llvm -vector-width=128", 128, None),
    ],
)
def test_vector_registers(text, bits, registers):
    target = Target(text)
    assert target.vector_bits == bits
    assert registers is None or target.vector_registers == registers


def test_this_machine():
    target = Target("llvm")
    assert target.is_host
    assert target.num_cores >= 1
    level1, level2, level3 = target.cache_sizes
    assert 0 < level1 <= level2
    assert level3 > 0
    assert target.vector_bits in (64, 128, 256, 512)


def test_the_machine_of_a_target_is_what_the_target_says():
    target = Target(
        "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=3 "
        "-cache-sizes=16384,262144,4194304"
    )
    caches, products = (16384, 262144, 4194304), frozenset({"int16", "narrow int8"})
    assert target.machine == Machine(256, 16, True, False, *caches, 3, products)
    assert Target(target.export()).cache_sizes == (16384, 262144, 4194304)
    assert Target(str(target)).machine == target.machine


@pytest.mark.parametrize("sizes", ["32768", "32768,x,1048576", "0,1,1"])
def test_cache_sizes_are_three_numbers(sizes):
    with pytest.raises(TargetError, match="the bytes of the level 1, 2 and 3 caches, got"):
        Target(f"llvm -cache-sizes={sizes}")


@pytest.mark.parametrize("text", ["llvm", "llvm -mcpu=znver4"])
def test_extensions_that_a_virtual_machine_hides_are_not_used(monkeypatch, text):
    from tilewright import te

    wide = frozenset({"avx512f", "avx512dq", "avx512vl", "avx512bw"})
    processor = Host("x86_64-unknown-linux-gnu", "znver4", frozenset({"avx", "avx2", "fma"}), wide)
    monkeypatch.setattr("tilewright.target.target.host", lambda: processor)
    monkeypatch.setattr("tilewright.target.target.is_host_architecture", lambda triple: True)
    target = Target(text)
    assert not wide & target.features
    assert target.vector_bits == 256
    a = te.placeholder((35,), name="A")
    b = te.compute((35,), lambda i: a[i] + 1.0, name="B")
    assembly = tvm.build(te.create_prim_func([a, b]), target=target).get_source("asm")
    assert not re.search(r"%zmm|%k[0-7]", assembly)


def test_other_machines_are_not_this_one():
    assert not Target("llvm -mtriple=armv7-linux-gnueabihf").is_host
    assert not Target("cuda").is_host


@pytest.mark.parametrize("kind", ["rocm", "metal"])
def test_kinds_without_a_backend_cannot_be_built_for(kind):
    from tilewright import te

    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    with pytest.raises(TargetError, match=kind):
        tvm.build(te.create_schedule(b.op), [a, b], kind)


def test_import_of_targets_needs_no_llvm():
    import subprocess
    import sys

    code = (
        "import sys; from tilewright.target import Target; Target('llvm -num-cores=2').keys; "
        "assert not any(name.startswith('llvmlite') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


@pytest.mark.parametrize("kind", ["rocm", "metal", "vulkan", "webgpu", "hexagon"])
def test_kinds_without_a_backend(kind):
    assert Target(kind).kind.name == kind
    assert tvm.target.Target(f"{kind} -keys=some,other").keys[:2] == ["some", "other"]
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1, name="B")
    with pytest.raises(TargetError, match=f"'{kind}' has no backend"):
        tvm.build(te.create_prim_func([a, b]), target=kind)


def test_what_was_given_about_the_machine():
    target = Target("llvm -mcpu=skylake -mattr=+avx2,+fma")
    assert (target.mcpu, target.mattr, target.model) == ("skylake", ["+avx2", "+fma"], "unknown")
    assert Target("nvidia/geforce-rtx-3070").arch == "sm_86"
    assert (Target("c").mcpu, Target("c").mattr, Target("c").arch) == ("", [], "")


@pytest.mark.parametrize("permitted", [False, True])
def test_tile_registers_count_if_the_process_may_use_them(permitted, monkeypatch):
    features = {"avx512f": True, "amx-tile": True, "amx-int8": True, "amx-bf16": True}
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", lambda: features)
    monkeypatch.setattr(cpu, "may_use_tiles", lambda: permitted)
    found = cpu.host.__wrapped__()
    assert ("amx-tile" in found.features) is permitted
    assert ("amx-tile" in found.missing) is not permitted
    assert "avx512f" in found.features


def test_a_process_may_use_tile_registers_if_the_processor_has_them():
    asked = cpu.may_use_tiles()
    if platform.system() == "Linux" and not llvmlite.binding.get_host_cpu_features()["amx-tile"]:
        assert not asked


def test_native_is_the_processor_of_this_machine():
    assert Target("llvm -mcpu=native -num-cores=2") == Target("llvm -num-cores=2")
    here = Target(f"llvm -mtriple={cpu.host().triple} -mcpu=native")
    assert here.cpu == cpu.host().cpu
    other = "riscv64-linux-gnu" if here.architecture != "riscv64" else "x86_64-linux-gnu"
    with pytest.raises(TargetError, match="-mcpu=native is the processor of this machine"):
        Target(f"llvm -mtriple={other} -mcpu=native")
