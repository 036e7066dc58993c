"""Races of kernels: programs whose kernels run in the interpreter of kernels.

Oclgrind finds races in the OpenCL text, as the device at hand would be given it.  Here kernels are
in the imperative IR.  There are kernels for processors, and kernels for devices that run work-items
in lockstep.
"""
