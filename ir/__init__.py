"""The languages of Runelift: core, versioned and imperative IR.

Each language has its syntax, printer, parser, checker and interpreter side by side.  This
package imports nothing else of Runelift.  Read :mod:`runelift.ir.syntax` first, then
:mod:`runelift.ir.interpret`, which gives every node its meaning.
"""
