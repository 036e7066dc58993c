"""Host plans run: arguments, launches, persistent loops, command buffers, dry runs.

A host plan is a Python function of ``rt``.  There are seven ``rt``\ s:

* :class:`~runelift.runtime.execution.run.Run` runs the plan.
* :class:`~runelift.runtime.execution.command_buffer.CapturingRun` runs it and fills a command
  buffer.
* :class:`~runelift.runtime.execution.dry_run.DryRun` follows it without using the device.
* :class:`~runelift.runtime.execution.command_buffer.DryCapture` fills a command buffer without
  using the device.
* :class:`~runelift.runtime.prebuild.rehearsal.KernelCollector` collects the kernels that it needs.
* :class:`~runelift.runtime.replay.replay_run.ReplayRun` runs all versions at every choice.
* :class:`~runelift.runtime.trials.trial_run.TrialRun` runs operations with other settings.
"""
