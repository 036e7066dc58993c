"""Races of kernels: programs whose kernels run in the interpreter of kernels.

Oclgrind finds races in the OpenCL text, as the device at hand would be given it.  Here kernels are
those of the imperative IR, for processors and for devices that run work-items in lockstep.
"""
