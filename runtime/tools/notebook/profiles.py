"""Profiles of calls: the verdict, kernels, and pictures."""

from __future__ import annotations

from runelift.runtime.tools.notebook.fragments import fragment, note, title
from runelift.runtime.tools.pages.markup import Markup, element, read
from runelift.runtime.tools.profiling.call import CallProfile
from runelift.runtime.tools.profiling.page import profile_parts


def html(shown: CallProfile) -> Markup:
    """The parts of the page of a profile."""
    return fragment(element("style", read("pictures.css", __package__)),
                    title(f"Profile of {shown.profile.entry}", f"on {shown.profile.device}"),
                    *profile_parts(shown.profile),
                    note("write_html(path), write_trace(path), to_dict()"))
