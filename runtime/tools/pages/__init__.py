"""Pages: one style, their parts, charts, and HTML as text.

Reports, profiles and explanations are each one file: nothing comes from a network.
"""
