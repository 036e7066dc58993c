"""The host plan: its steps, its buffers and their lifetimes, views, parameters, launch shapes.

All packages of the code generator build or read plans; this one imports the IR only.  Read
:mod:`~runelift.codegen.plan.plan` first.
"""
