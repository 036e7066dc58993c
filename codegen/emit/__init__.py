"""Source text of kernels and host plans.

| module | emits |
| --- | --- |
| ``opencl`` | a kernel in OpenCL C, or as a function of other kernels |
| ``prelude`` | the functions of ``prelude.cl`` that kernels call |
| ``phases`` | kernels as functions of persistent and fused kernels |
| ``persistent`` | one kernel that runs all iterations of a loop |
| ``fused`` | one kernel for several launches |
| ``python`` | a host plan as a Python function |
"""
