"""The compile-time half of the model of cost: formulas of the work of a kernel's launches.

:mod:`.expressions` has Python expressions that share parts, and prints functions of them.
:mod:`.polynomials` has indices over what varies among work-items, and :mod:`.forms` their ranges
and means.
:mod:`.conditions` says for which share of work-items a condition holds, :mod:`.sectors` how many
bytes an access moves.  :mod:`.follow` walks through a kernel, and :mod:`.work` is the interface.
"""
