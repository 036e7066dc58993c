"""The code generator: versioned IR to a host plan with OpenCL kernels.

Its packages, from the bottom: ``plan``, ``passes``, ``emit``, ``kernel``, ``segops``,
``intragroup``, ``hostplan``.  It imports :mod:`runelift.ir` only.  Entry point:
:func:`~runelift.codegen.hostplan.host.plan_fun`.
"""
