"""Which kernels runs will need, found out and built before they are made."""
