"""The launcher: what starts kernels on OpenCL and CUDA devices and has their memory.

It is written in C, launcher.c, over the drivers' own libraries, which it opens when they are
needed. Compiled host code calls it. ``make launcher`` makes LLVM IR of it, launcher.ll, which is
linked with compiled modules like their other support, so that neither a process nor an exported
library needs a C compiler or Python for it.
"""
