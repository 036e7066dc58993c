"""Lowering of versioned IR to host plans, and the choice of a strategy for each operation.

It imports all other packages of the code generator.  Entry point:
:func:`~runelift.codegen.hostplan.host.plan_fun`; operations go through
:func:`~runelift.codegen.hostplan.dispatch.lower_segop`.
"""
