"""From versioned IR to host plans.

:func:`~runelift.codegen.hostplan.host.plan_fun` is the entrance.
:mod:`~runelift.codegen.hostplan.dispatch` chooses the lowering of a segmented operation.
"""
