"""Example programs, which are installed with the package: `runelift demo` tunes one of them."""
