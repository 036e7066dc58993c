"""OpenCL C and Python source."""
