"""One test case: a model of one operator, its inputs, and the results that it must give."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

import tilewright as tvm
from tilewright import relax
from tilewright.error import UnsupportedOperatorError
from tilewright.relax.frontend.onnx import from_onnx


class Status(Enum):
    """What became of a case."""

    PASSED = "passed"
    """All results are right."""
    PASSED_WITH_CONSTANTS = "passed with constants"
    """The same, with the integers among the operands as constants, which most models have there."""
    UNSUPPORTED = "not supported"
    """The importer has refused it."""
    WRONG = "wrong"
    """A result is another one."""
    CRASHED = "crashed"
    """There was another error, a crash, or no end."""


class Outcome(NamedTuple):
    """What became of a case, and why."""

    status: Status
    reason: str = ""


class Case(NamedTuple):
    """A model and what it must compute."""

    name: str
    operator: str
    model: ModelProto
    data: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    rtol: float
    atol: float


def collect(modules: Iterable[str] = ()) -> list[Case]:
    """The cases that the installed package has.

    Args:
        modules: of ``onnx.backend.test.case.node``, each of which makes its cases when it is
            imported, which takes some of them seconds; without any, all.
    """
    from onnx.backend.test.case import node

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = [importlib.import_module(f"{node.__name__}.{name}") for name in modules]
        found = node._NodeTestCases if chosen else node.collect_testcases(None)
    return [
        Case(case.name, _operator(case), case.model, case.data_sets, case.rtol, case.atol)
        for case in found
    ]


def _operator(case: Any) -> str:
    """The operator that a case is about; cases of its definition by others count with it."""
    nodes = case.model.graph.node
    if "_expanded" not in case.name and len(nodes) == 1:
        return nodes[0].op_type
    names = {node.op_type for node in nodes}
    return f"{sorted(names)[0]}..." if len(names) == 1 else "(several)"


def run(case: Case) -> Outcome:
    """Import, compile and run a case."""
    if any(value is None for inputs, _ in case.data for value in inputs):
        return Outcome(Status.UNSUPPORTED, "an input that is not there")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            first = _attempt(case, case.model, frozenset())
        except Exception as error:
            return Outcome(Status.CRASHED, f"{type(error).__name__}: {error}")
        if first.status is not Status.UNSUPPORTED:
            return first
        fixed = _integer_inputs(case)
        if not fixed:
            return first
        outcome = first
        for inputs, outputs in case.data:
            try:
                model = _with_constants(
                    case.model, dict(zip(_names(case), inputs, strict=False)), fixed
                )
                outcome = _attempt(case._replace(data=[(inputs, outputs)]), model, fixed)
            except Exception as error:
                return Outcome(Status.CRASHED, f"with constants: {type(error).__name__}: {error}")
            if outcome.status is not Status.PASSED:
                return outcome
        return Outcome(Status.PASSED_WITH_CONSTANTS)


def _names(case: Case) -> list[str]:
    return [value.name for value in case.model.graph.input]


_INTEGERS = (TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT)


def _integer_inputs(case: Case) -> frozenset[str]:
    """Inputs, but for the first, that decide shapes: small integers, and scalars of any type."""
    inputs = case.data[0][0] if case.data else []
    names = set()
    for position, (value, given) in enumerate(zip(case.model.graph.input, inputs, strict=False)):
        kind = value.type.tensor_type.elem_type
        if given is None or isinstance(given, list) or kind not in _INTEGERS:
            continue
        array = _array(given)
        is_option = kind != TensorProto.FLOAT or (position > 0 and array.ndim <= 1)
        if array.size <= 16 and is_option:
            names.add(value.name)
    return frozenset(names)


def _with_constants(model: ModelProto, values: dict[str, Any], fixed: frozenset[str]) -> ModelProto:
    result = ModelProto()
    result.CopyFrom(model)
    inputs = [value for value in result.graph.input if value.name not in fixed]
    del result.graph.input[:]
    result.graph.input.extend(inputs)
    result.graph.initializer.extend(
        numpy_helper.from_array(_array(values[name]), name) for name in sorted(fixed)
    )
    return result


def _attempt(case: Case, model: ModelProto, fixed: frozenset[str]) -> Outcome:
    try:
        module = from_onnx(model)
    except UnsupportedOperatorError as error:
        return Outcome(Status.UNSUPPORTED, _reason(str(error)))
    executable = relax.build(module, target="llvm")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    for inputs, expected in case.data:
        pairs = zip(_names(case), inputs, strict=False)
        results = machine["main"](*(_argument(value) for name, value in pairs if name not in fixed))
        outcome = _compared(results, expected, case)
        if outcome.status is not Status.PASSED:
            return outcome
    return Outcome(Status.PASSED)


def _reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    return "; ".join(lines[1:3:2] or lines[:1]) if len(lines) > 1 else text


def _argument(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_argument(item) for item in value)
    return _plain(_array(value))


def _array(value: Any) -> np.ndarray:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def _plain(array: np.ndarray) -> np.ndarray:
    """Integers of less than a byte as bytes."""
    name = array.dtype.name
    if name in ("int4", "int2"):
        return array.astype("int8")
    return array.astype("uint8") if name in ("uint4", "uint2") else np.asarray(array, order="C")


def _compared(results: Any, expected: Sequence[Any], case: Case) -> Outcome:
    several = list(results) if isinstance(results, (tuple, list)) else [results]
    if len(expected) == 1 and isinstance(expected[0], list):
        several = [several]
    if len(several) != len(expected):
        return Outcome(Status.WRONG, f"{len(several)} results instead of {len(expected)}")
    for position, (result, wanted) in enumerate(zip(several, expected, strict=True)):
        problem = _difference(result, wanted, case)
        if problem:
            return Outcome(Status.WRONG, f"result {position}: {problem}")
    return Outcome(Status.PASSED)


def _spacing(dtype: np.dtype) -> float:
    """Twice the relative distance of neighbouring numbers of a narrow type, by which results may
    differ: what lies between the operators is not rounded at the same places."""
    return {"bfloat16": 2.0**-6, "float16": 2.0**-9}.get(dtype.name, 0.0)


def _difference(result: Any, wanted: Any, case: Case) -> str:
    if isinstance(wanted, list):
        items = list(result)
        if len(items) != len(wanted):
            return f"{len(items)} items instead of {len(wanted)}"
        pairs = zip(items, wanted, strict=True)
        return next((p for item, want in pairs if (p := _difference(item, want, case))), "")
    found, target = result.numpy(), _plain(_array(wanted))
    if found.dtype != target.dtype or found.shape != target.shape:
        return f"{found.dtype}{found.shape} instead of {target.dtype}{target.shape}"
    if np.issubdtype(target.dtype, np.number) and not np.issubdtype(target.dtype, np.floating):
        same = np.array_equal(found, target)
        return "" if same else f"{found.reshape(-1)[:8]} instead of {target.reshape(-1)[:8]}"
    wide = found.astype("float64"), target.astype("float64")
    rtol = max(case.rtol, _spacing(target.dtype))
    # Where terms cancel each other, what they were rounded by is left, here and there.
    finite = np.abs(wide[1][np.isfinite(wide[1])])
    atol = max(case.atol, 2.0**-23 * finite.max(initial=0.0))
    if np.allclose(*wide, rtol=rtol, atol=atol, equal_nan=True):
        return ""
    worst = np.nanmax(np.abs(wide[0] - wide[1])) if wide[0].size else 0
    return f"differs by {worst:.3g}: {wide[0].reshape(-1)[:4]} instead of {wide[1].reshape(-1)[:4]}"
