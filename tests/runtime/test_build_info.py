"""What this build and this machine can do."""

import pytest

import tilewright as tvm
from tilewright import runtime
from tilewright.error import ExportError, TargetError
from tilewright.target import Target
from tilewright.te import compute, create_prim_func


@pytest.mark.parametrize("kind", Target.list_kinds())
def test_enabled_targets_are_those_that_build_takes(kind):
    function = create_prim_func([compute((4,), lambda i: i)])
    try:
        tvm.build(function, target=kind)
    except TargetError:
        built = False
    except Exception:  # such as a kernel without threads, by a backend that is there
        built = True
    else:
        built = True
    assert runtime.enabled(kind) == built
    assert runtime.enabled(f"{kind} -keys=x") == built
    assert runtime.enabled(Target(kind)) == built


def test_names_of_devices_and_of_nothing():
    assert runtime.enabled("cpu")
    assert not runtime.enabled("vulkan")
    assert not runtime.enabled("")


def test_there_is_no_system_library():
    with pytest.raises(ExportError, match="load_module"):
        runtime.system_lib()
