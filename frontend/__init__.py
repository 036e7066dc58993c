"""The front end: source text to core IR, in the steps parse, check and elaborate.

Its packages, from the bottom: ``syntax``, ``modules`` and ``check``, ``elaborate``.  It imports
:mod:`runelift.ir` only.  Entry points: :func:`~runelift.frontend.load.checked`,
:func:`~runelift.frontend.load.load`.
"""
