"""Mistakes of kernels that their interpreter finds, as users are told of them."""

from __future__ import annotations

RACE, OTHER = "data race", "mistake of a kernel"
NO_DEVICE = ("--check-races keeps arrays on a device, and there is none here; 'runelift doctor' "
             "says why.")


class KernelMistake(Exception):
    """A kernel does what no kernel may do; the cause is :data:`RACE` or :data:`OTHER`."""

    def __init__(self, message: str, cause: str) -> None:
        super().__init__(message)
        self.cause = cause


class RunTooLong(Exception):
    """A run with interpreted kernels takes longer than allowed."""
