"""Making models of ONNX, and running them."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tilewright import relax
from tilewright.relax.frontend.onnx import from_onnx

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, shape, dtype=FLOAT):
    """An input or output."""
    return helper.make_tensor_value_info(name, dtype, shape)


def tensor(name, values, dtype="float32"):
    """An initialiser."""
    return numpy_helper.from_array(np.asarray(values, dtype=dtype), name)


def node(operator, inputs, outputs, **attributes):
    """A node; names are divided by spaces, and ``_`` is none."""
    names = ["" if name == "_" else name for name in inputs.split()]
    return helper.make_node(operator, names, outputs.split(), **attributes)


def model(nodes, inputs, outputs, initializers=(), opset=17, functions=()):
    """A model, which need not be a good one."""
    graph = helper.make_graph(list(nodes), "graph", list(inputs), list(outputs), list(initializers))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=list(functions))


def run(proto, *arrays, **options):
    """The results of a model, compiled, as arrays of numpy."""
    return run_module(from_onnx(proto, **options), *arrays)


def run_module(module, *arrays):
    """The results of ``main``."""
    result = relax.VirtualMachine(relax.build(module, target="llvm"))["main"](*arrays)
    return [part.numpy() for part in result] if isinstance(result, tuple | list) else result.numpy()
