"""What is tuned: tensors for the front doors, and the works of the suite that measure them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from benchmarks.harness.peers import numpy_peer
from benchmarks.suite import conv2d, matmul, rows
from benchmarks.suite.work import Call, Work
from tilewright import auto_scheduler, te

MATMUL: Final = "benchmarks/doors/matmul"
CONV2D: Final = "benchmarks/doors/conv2d"
SOFTMAX: Final = "benchmarks/doors/softmax"


def matmul_tensors(m: int, n: int, k: int) -> list[te.Tensor]:
    """A product of two matrices: A, B and C."""
    return matmul.tensors(m, n, k)


def conv2d_tensors(channels: int, size: int, filters: int) -> list[te.Tensor]:
    """A convolution with a bias and the maximum with 0: the image, the filters, bias and result."""
    return conv2d.tensors(channels, size, size, filters, 3, pad=1, bias_and_relu=True)


def softmax_tensors(m: int, n: int) -> list[te.Tensor]:
    """Softmax of the rows of a matrix: the matrix and the result."""
    return rows.softmax_tensors(m, n)


FUNCTIONS: Final[dict[str, Callable[..., list[te.Tensor]]]] = {
    MATMUL: matmul_tensors,
    CONV2D: conv2d_tensors,
    SOFTMAX: softmax_tensors,
}
"""The tensors, by the name of the workload of the auto-scheduler and of the template of AutoTVM."""

for _name, _function in FUNCTIONS.items():
    auto_scheduler.register_workload(_name, f=_function)


class Workload(NamedTuple):
    """One computation of fixed sizes.

    Attributes:
        function: of `FUNCTIONS`.
        sizes: its arguments.
        work: the inputs, the reference and the peers.
    """

    function: str
    sizes: tuple[int, ...]
    work: Work

    def tensors(self) -> list[te.Tensor]:
        """The inputs and the result."""
        return FUNCTIONS[self.function](*self.sizes)

    def peers(self) -> Mapping[str, Callable[..., Call]]:
        """The computation in numpy and in torch."""
        known = self.work.peers
        # The suite has no convolution in numpy, but a reference that is written in numpy.
        return {
            "numpy": known.get("numpy") or numpy_peer(self.work.reference),
            "torch": known["torch"],
        }


def _workloads(
    product: tuple[int, int, int], convolution: tuple[int, int, int], matrix: tuple[int, int]
) -> dict[str, Workload]:
    listed = (
        Workload(MATMUL, product, matmul.matmul(*product)),
        Workload(CONV2D, convolution, conv2d.bias_and_relu_work(*convolution)),
        Workload(SOFTMAX, matrix, rows.softmax_work(*matrix)),
    )
    return {workload.work.name: workload for workload in listed}


WORKLOADS: Final = _workloads((1024, 1024, 1024), (512, 7, 512), (1024, 1024))
SMALL: Final = _workloads((64, 64, 64), (16, 7, 16), (32, 64))
"""The same in sizes that are measured quickly."""
