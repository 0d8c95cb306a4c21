"""What the kernels of the default schedule for CUDA devices cost, counted without a device."""
