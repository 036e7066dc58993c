"""The OpenCL driver without PyOpenCL, for what has to begin before Python has imported it."""
