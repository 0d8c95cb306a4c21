"""A compiled loop that calls Python functions by name, with arrays that are not copied.

python examples/call_python_from_compiled_code.py
"""

from __future__ import annotations

import numpy as np

import tilewright as tvm
from tilewright.script import tir as T


@tvm.register_func("example.fft")
def fft(signal: tvm.NDArray, spectrum: tvm.NDArray) -> None:
    """What a library is better at: the power of each frequency."""
    power = np.abs(np.fft.rfft(signal.numpy())) ** 2
    spectrum.copyfrom(power.astype("float32"))


@tvm.register_func("example.report")
def report(step: int, energy: float) -> None:
    print(f"  step {step}: energy {energy:.4f}")


@T.prim_func
def smooth(
    signal: T.Buffer((64,), "float32"), spectrum: T.Buffer((33,), "float32"), steps: T.int32
):
    """Smooths the signal `steps` times, and has its spectrum computed after each step."""
    smoothed = T.alloc_buffer((64,), "float32")
    energy = T.alloc_buffer((1,), "float32")
    for step in T.serial(steps):
        for i in T.serial(64):
            smoothed[i] = (signal[(i + 63) % 64] + signal[i] + signal[(i + 1) % 64]) / T.float32(3)
        for i in T.serial(64):
            signal[i] = smoothed[i]
        T.evaluate(T.call_packed("example.fft", signal, spectrum))
        energy[0] = T.float32(0)
        for i in T.serial(1, 32):
            energy[0] = energy[0] + spectrum[i]
        T.evaluate(T.call_packed("example.report", step, energy[0]))


def main() -> None:
    function = tvm.build(smooth, target="llvm")
    signal = np.random.default_rng(0).standard_normal(64).astype("float32")
    spectrum = np.empty(33, "float32")
    print("The energy falls as the signal gets smoother:")
    function(signal, spectrum, 5)
    assert np.allclose(spectrum, np.abs(np.fft.rfft(signal)) ** 2, rtol=1e-3)

    print("An exception of a Python function passes through the compiled code:")
    tvm.register_func("example.report", complain, override=True)
    try:
        function(signal, spectrum, 5)
    except ValueError as error:
        print(f"  ValueError: {error}")


def complain(step: int, energy: float) -> None:
    raise ValueError(f"nobody wants to hear about step {step}")


if __name__ == "__main__":
    main()
