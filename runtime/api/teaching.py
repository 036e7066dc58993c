"""For lessons and exercises: pictures, other devices, races, contests of strategies.

Own lessons may use it, too.

>>> from runelift.teaching import Axis, Series, curves
>>> drawn = curves("Squares", "y over x", Axis("x", "{:g}".format), Axis("y", "{:g}".format),
...                [Series("y = x²", [(x, x * x) for x in range(9)], 0)])
>>> "<svg" in drawn
True
"""

from runelift.runtime.tools.notebook.teaching import *  # noqa: F403
from runelift.runtime.tools.notebook.teaching import __all__ as __all__
