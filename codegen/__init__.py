"""Code generation: from versioned IR to OpenCL kernels and a host plan.

| folder | holds |
| --- | --- |
| ``plan/`` | the host plan: its syntax, and facts about buffers |
| ``hostplan/`` | versioned IR → host plan; ``dispatch`` picks lowerings of segmented operations |
| ``segops/`` | kernels for segmented operations over the grid |
| ``intragroup/`` | kernels in which one work-group runs a whole body |
| ``kernel/`` | builders that all kernels share |
| ``passes/`` | kernel → kernel: barriers, local memory, unrolling |
| ``emit/`` | OpenCL C and Python source |
"""
