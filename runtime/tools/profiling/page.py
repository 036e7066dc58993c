"""Profiles as one HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runelift.runtime.records.format import dataset_label, show_seconds
from runelift.runtime.tools.pages.document import (
    document,
    facts,
    figure,
    folded,
    lines,
    paragraph,
    section,
    table,
)
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.profiling.next_step import next_step
from runelift.runtime.tools.profiling.pictures import MOST_BARS, memory, roofline, timeline
from runelift.runtime.tools.profiling.profile import KernelProfile, Profile
from runelift.runtime.tools.profiling.quantities import (
    COUNTED,
    VERSIONS_HEAD,
    WAYS_HEAD,
    about_ways,
    call_text,
    compared,
    marked,
    parts_of_call,
    peaks_text,
    percent,
    predicted_text,
    refusals,
    scaled,
    share_of_peak,
    short_place,
    verdict,
    ways,
)

TIMES = ["kernel", "source", "version", "time", "predicted", "share", "launches", "of peak B/s",
         "of peak op/s", "bound"]
CLOCKS = "the device's for kernels and versions, the host's for calls"
COUNTS = ["kernel", "kind", "bytes", "bytes accessed", "operations", "operations per byte"]


def page(program: str, profiles: Sequence[Profile]) -> str:
    """The HTML page that shows profiles of a program."""
    content = [facts({"program": program, "device": profiles[0].device,
                      "measured peaks": peaks_text(profiles[0]),
                      "runs": str(profiles[0].wall.count), "clock": CLOCKS})]
    bars = MOST_BARS // len(profiles)
    content += [section(dataset_label(each.entry, each.dataset), list(profile_parts(each, bars)))
                for each in profiles]
    content.append(section("What is counted", [lines(COUNTED)]))
    return document(f"Profile of {program}", content)


def profile_parts(profile: Profile, bars: int = MOST_BARS) -> Iterator[Markup]:
    """The verdict, tables and pictures of a profile; at most ``bars`` bars in a row."""
    yield paragraph(verdict(profile))
    text = call_text(profile)
    yield paragraph(f"{text[0].upper()}{text[1:]}.")
    whole = profile.shown.parts.whole or 1.0
    yield table([["part of the call", "time", "share"], *(
        [name, show_seconds(seconds), percent(seconds / whole)]
        for name, seconds in parts_of_call(profile))], kind="numbers")
    yield section("Kernels", [
        table([TIMES, *map(_times, profile.kernels)], kind="numbers"),
        folded("Bytes and operations", [
            table([COUNTS, *map(_counts, profile.kernels)], kind="numbers")])], 3)
    if profile.versions:
        yield section("Versions", [table([
            ["version", "choice", "times run", "time", "share", "launches"], *(
                [each.name, each.site, str(each.encounters), show_seconds(each.time.median),
                 percent(each.share), str(each.launches)] for each in profile.versions)],
            kind="numbers")], 3)
    if profile.compared:
        yield section("Each version alone", [
            table([VERSIONS_HEAD, *compared(profile)], kind="numbers"),
            *map(paragraph, refusals(profile))], 3)
    if profile.ways:
        following = next_step({profile.dataset: profile.steps}, "")
        command = element("pre", following.step.command if following.step else "", class_="command")
        yield section("Ways to make the call, in turn", [
            table([WAYS_HEAD, *ways(profile)], kind="numbers"),
            *map(paragraph, (*about_ways(profile), following.words)), command], 3)
    if (roof := roofline(profile)) is not None:
        yield section("Roofline", [figure(
            roof, "Each mark is a kernel.  The lines are the measured peaks of the device.")], 3)
    yield section("Timeline", [figure(
        timeline(profile, bars), "The run with the median time.  Point at a bar for its name and "
        "length.")], 3)
    if (used := memory(profile)) is not None:
        yield section("Device memory", [figure(
            used, f"At most {scaled(profile.shown.peak_bytes, 'B')}, arguments included.")], 3)


def _times(kernel: KernelProfile) -> list[str]:
    return [kernel.name, short_place(kernel.source) or "-", kernel.version or "-",
            show_seconds(kernel.time.median), predicted_text(kernel.predicted),
            percent(kernel.share), str(kernel.launches),
            share_of_peak(kernel, kernel.memory_share),
            share_of_peak(kernel, kernel.compute_share), kernel.bound or "-"]


def _counts(kernel: KernelProfile) -> list[str]:
    intensity = "-" if kernel.intensity is None else f"{kernel.intensity:.3g}"
    return [kernel.name, kernel.does or "-", *(marked(kernel, each) for each in (
        scaled(kernel.moved, "B"),
        scaled(kernel.accessed, "B"),
        scaled(kernel.operations, ""), intensity))]
