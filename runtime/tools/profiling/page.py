"""Profiles as one HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runelift.runtime.records.format import dataset_label, show_seconds
from runelift.runtime.tools.pages import document as html
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.profiling import quantities
from runelift.runtime.tools.profiling.next_step import next_step
from runelift.runtime.tools.profiling.pictures import MOST_BARS, memory, roofline, timeline
from runelift.runtime.tools.profiling.profile import KernelProfile, Profile

TIMES = ["kernel", "source", "version", "time", "predicted", "share", "launches", "of peak B/s",
         "of peak op/s", "bound"]
CLOCKS = "the device's for kernels and versions, the host's for calls"
COUNTS = ["kernel", "kind", "bytes", "bytes accessed", "operations", "operations per byte"]


def page(program: str, profiles: Sequence[Profile]) -> str:
    """The HTML page that shows profiles of a program."""
    content = [html.facts({"program": program, "device": profiles[0].device,
                      "measured peaks": quantities.peaks_text(profiles[0]),
                      "runs": str(profiles[0].wall.count), "clock": CLOCKS})]
    bars = MOST_BARS // len(profiles)
    content += [html.section(dataset_label(each.entry, each.dataset),
                             list(profile_parts(each, bars)))
                for each in profiles]
    content.append(html.section("What is counted", [html.lines(quantities.COUNTED)]))
    return html.document(f"Profile of {program}", content)


def profile_parts(profile: Profile, bars: int = MOST_BARS) -> Iterator[Markup]:
    """The verdict, tables and pictures of a profile; at most ``bars`` bars in a row."""
    yield html.paragraph(quantities.verdict(profile))
    text = quantities.call_text(profile)
    yield html.paragraph(f"{text[0].upper()}{text[1:]}.")
    whole = profile.shown.parts.whole or 1.0
    yield html.table([["part of the call", "time", "share"], *(
        [name, show_seconds(seconds), quantities.percent(seconds / whole)]
        for name, seconds in quantities.parts_of_call(profile))], kind="numbers")
    yield html.section("Kernels", [
        html.table([TIMES, *map(_times, profile.kernels)], kind="numbers"),
        html.folded("Bytes and operations", [
            html.table([COUNTS, *map(_counts, profile.kernels)], kind="numbers")])], 3)
    if profile.versions:
        yield html.section("Versions", [html.table([
            ["version", "choice", "times run", "time", "share", "launches"], *(
                [each.name, each.site, str(each.encounters), show_seconds(each.time.median),
                 quantities.percent(each.share), str(each.launches)] for each in profile.versions)],
            kind="numbers")], 3)
    if profile.compared:
        yield html.section("Each version alone", [
            html.table([quantities.VERSIONS_HEAD, *quantities.compared(profile)], kind="numbers"),
            *map(html.paragraph, quantities.refusals(profile))], 3)
    if profile.ways:
        following = next_step({profile.dataset: profile.steps}, "")
        commands = [element("pre", following.step.command)] if following.step else []
        yield html.section("Ways to make the call, in turn", [
            html.table([quantities.WAYS_HEAD, *quantities.ways(profile)], kind="numbers"),
            *map(html.paragraph, (*quantities.about_ways(profile), following.words)), *commands], 3)
    if (roof := roofline(profile)) is not None:
        yield html.section("Roofline", [html.figure(
            roof, "Each mark is a kernel.  The lines are the measured peaks of the device.")], 3)
    yield html.section("Timeline", [html.figure(
        timeline(profile, bars), "The run with the median time.  Point at a bar for its name and "
        "length.")], 3)
    if (used := memory(profile)) is not None:
        yield html.section("Device memory", [html.figure(
            used, f"At most {quantities.scaled(profile.shown.peak_bytes, 'B')}, arguments "
            "included.")], 3)


def _times(kernel: KernelProfile) -> list[str]:
    return [kernel.name, quantities.short_place(kernel.source) or "-", kernel.version or "-",
            show_seconds(kernel.time.median), quantities.predicted_text(kernel.predicted),
            quantities.percent(kernel.share), str(kernel.launches),
            quantities.share_of_peak(kernel, kernel.memory_share),
            quantities.share_of_peak(kernel, kernel.compute_share), kernel.bound or "-"]


def _counts(kernel: KernelProfile) -> list[str]:
    intensity = "-" if kernel.intensity is None else f"{kernel.intensity:.3g}"
    return [kernel.name, kernel.does or "-", *(quantities.marked(kernel, each) for each in (
        quantities.scaled(kernel.moved, "B"),
        quantities.scaled(kernel.accessed, "B"),
        quantities.scaled(kernel.operations, ""), intensity))]
