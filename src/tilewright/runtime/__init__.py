"""Running compiled functions: devices, arrays, functions by name, modules, timing."""

from tilewright.runtime import ffi_import

# isort: split
from tilewright.ir.dtype import DType as DataType
from tilewright.runtime.benchmark import BenchmarkResult
from tilewright.runtime.device import Device, cpu, cuda, device
from tilewright.runtime.linking import include_directory
from tilewright.runtime.loading import load_module
from tilewright.runtime.module import Module
from tilewright.runtime.ndarray import NDArray, array, empty, from_dlpack
from tilewright.runtime.packed_func import PackedFunc
from tilewright.runtime.params import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)
from tilewright.runtime.process import enabled, num_threads, set_num_threads, system_lib
from tilewright.runtime.registry import (
    ShapeTuple,
    convert,
    default_trace_action,
    get_global_func,
    list_global_func_names,
    print_values,
    register_func,
    remove_global_func,
)
