"""The predicted time of runs on devices, from the work of kernels and constants of the device."""
