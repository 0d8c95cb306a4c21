"""The order of the operations of a computation, by which records of schedules number stages."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from tilewright.te.operation import Operation
from tilewright.te.tensor import Tensor


def numbered_operations(tensors: Iterable[Tensor]) -> list[Operation]:
    """All operations behind some tensors, each after those whose results it reads.

    Of those that could be next, the one comes first that a search from the last tensor, through
    the last input of each operation first, meets last. Record files of Apache TVM's auto-scheduler
    number stages in this order.

    Args:
        tensors: the inputs and outputs of a computation, or only its outputs.
    """
    met = _met(tensors)
    rank = {op: -position for position, op in enumerate(met)}
    readers: dict[Operation, list[Operation]] = {op: [] for op in met}
    missing = {op: len(op.input_tensors) for op in met}
    for op in met:
        for tensor in op.input_tensors:
            readers[tensor.op].append(op)
    ready = [(rank[op], op) for op in met if not missing[op]]
    heapq.heapify(ready)
    order: list[Operation] = []
    while ready:
        _, op = heapq.heappop(ready)
        order.append(op)
        for reader in readers[op]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, (rank[reader], reader))
    return order


def _met(tensors: Iterable[Tensor]) -> list[Operation]:
    """The operations in the order of a depth-first search from the last tensor."""
    found: dict[Operation, None] = {}
    waiting = [tensor.op for tensor in tensors]
    while waiting:
        op = waiting.pop()
        if op not in found:
            found[op] = None
            waiting.extend(tensor.op for tensor in op.input_tensors)
    return list(found)
