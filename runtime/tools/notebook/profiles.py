"""Profiles of calls: the verdict, kernels, and pictures."""

from __future__ import annotations

from runelift.runtime.tools.notebook.fragments import fragment, note, title
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.profiling.call import CallProfile
from runelift.runtime.tools.profiling.page import profile_parts

COLOURS = ("#3d8bd4", "#c9772b", "#3c9a4d", "#a45bb0", "#a08a2a", "#1f9494", "#d2524b", "#888")
STYLE = "".join(
    f".runelift svg .s{number} {{ stroke: {colour}; }} .runelift svg .bar.s{number} "
    f"{{ fill: {colour}; stroke: none; fill-opacity: .75; height: 20px; }}\n"
    for number, colour in enumerate(COLOURS)) + """\
.runelift svg .axis { fill: none; stroke: currentColor; stroke-opacity: .6; }
.runelift svg .grid { stroke: currentColor; stroke-opacity: .15; }
.runelift svg .line { fill: none; stroke-width: 1.8; }
.runelift svg .dot { fill: none; stroke-width: 1.8; }
.runelift svg .mark { stroke: var(--red); stroke-width: 1.4; stroke-dasharray: 5 3; }
.runelift svg .cell { fill: #c9772b; }
.runelift svg .cell.empty { fill: none; stroke: var(--line); }
"""
"""The looks of pictures on dark and on light ground."""


def html(shown: CallProfile) -> Markup:
    """The parts of the page of a profile."""
    return fragment(element("style", Markup(STYLE)),
                    title(f"Profile of {shown.profile.entry}", f"on {shown.profile.device}"),
                    *profile_parts(shown.profile),
                    note("write_html(path), write_trace(path), to_dict()"))
