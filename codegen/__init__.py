"""Code generation: from versioned IR to OpenCL kernels and a host plan.

| folder | holds |
| --- | --- |
| ``hostplan/`` | versioned IR → host plan; ``dispatch`` picks lowerings of segmented operations |
| ``intragroup/`` | kernels in which one work-group runs a whole body |
| ``segops/`` | kernels for segmented operations over the grid |
| ``kernel/`` | builders that all kernels share |
| ``emit/`` | OpenCL C and Python source |
| ``passes/`` | kernel → kernel: barriers, local memory, unrolling |
| ``plan/`` | the host plan: its syntax, and facts about buffers |

It imports :mod:`runelift.ir` only.  A folder imports only folders below it in the table.  Entry
point: :func:`~runelift.codegen.hostplan.host.plan_fun`.
"""
