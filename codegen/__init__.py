"""From versioned IR to OpenCL kernels and a host plan."""
