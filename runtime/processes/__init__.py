"""Child processes that run programs, build kernels, or compile."""
