"""Execution of host plans: runs, command buffers, fused launches and persistent loops.

A host plan is a Python function of ``rt``.  There are eight such objects:

- ``Run`` runs the plan,
- ``CapturingRun`` fills a command buffer meanwhile,
- ``DryRun`` runs it so that nothing reaches the device,
- ``DryCapture`` fills a command buffer without a run,
- ``KernelCollector`` collects the kernels that would be built (in ``prebuild``),
- ``MemoryRun`` counts the memory of every version (in ``memory``),
- ``ReplayRun`` runs all versions at every encounter (in ``replay``),
- ``TrialRun`` runs operations with other parameters (in ``trials``).

It imports ``devices``, ``geometry``, ``records`` and ``versions``.  Entry points:
:class:`~runelift.runtime.execution.calls.Call`,
:class:`~runelift.runtime.execution.run.Run`.
"""
