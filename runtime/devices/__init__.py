"""OpenCL devices: what they can do, their memory, their programs and kernels."""
