"""Kernels as source text in OpenCL C and CUDA C, which share all but a few words."""
