"""Arrays under their short name: ``tilewright.nd.array(values)``."""

from tilewright.runtime.device import (
    cl,
    cpu,
    cuda,
    device,
    ext_dev,
    gpu,
    hexagon,
    metal,
    opencl,
    rocm,
    vpi,
    vulkan,
    webgpu,
)
from tilewright.runtime.ndarray import NDArray, array, empty, from_dlpack

__all__ = [
    "NDArray", "array", "cl", "cpu", "cuda", "device", "empty", "ext_dev", "from_dlpack", "gpu",
    "hexagon", "metal", "opencl", "rocm", "vpi", "vulkan", "webgpu",
]  # fmt: skip
