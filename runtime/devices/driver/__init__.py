"""The OpenCL driver without PyOpenCL, for work that begins before Python has imported it."""
