"""What all kernels are built with: sequential code, launches, collective operations."""
