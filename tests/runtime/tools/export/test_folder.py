"""Names of what is exported."""

import doctest

from runelift.runtime.tools.export import folder


def test_doctests() -> None:
    assert doctest.testmod(folder).failed == 0
