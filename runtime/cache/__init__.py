"""The cache on disk: compiled programs, kernels, results of probes."""
