"""The processes, devices and machines that measure."""
