"""From kernels to kernels: barriers, local memory, unrolling."""
