"""Code for GPUs beside torch; without a GPU, on an OpenCL device that has none."""
