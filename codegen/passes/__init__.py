"""Passes from kernels to kernels: barriers, local memory, unrolling, masks, teams.

They take imperative IR and return it, and import the IR and ``plan``.
"""
