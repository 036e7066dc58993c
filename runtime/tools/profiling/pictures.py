"""Pictures of profiles as SVG: the roofline, the timeline and device memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.pages.charts import WIDTH, Series, curves, picture
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.pages.scales import Axis, Scale
from runelift.runtime.tools.profiling.profile import Profile
from runelift.runtime.tools.profiling.quantities import percent, rate, scaled
from runelift.runtime.tools.profiling.timeline import Span

MOST_BARS, MOST_STEPS = 800, 1000
"""The most bars of a track, of which the shortest are left out first, and steps of a curve."""
NAME_WIDTH, ROW, BAR = 78.0, 30.0, 20.0


def roofline(profile: Profile) -> Markup | None:
    """Kernels between the ceilings of the device; None if none computes and moves anything.

    See Williams, Waterman and Patterson 2009, "Roofline".
    """
    kernels = [each for each in profile.kernels if each.intensity and each.operation_rate]
    roofs = [(prim, peak) for prim in profile.types
             if (peak := profile.peaks.of(prim)) is not None]
    if not kernels or not roofs:
        return None
    bandwidth = profile.peaks.bandwidth
    ridges = [peak / bandwidth for _, peak in roofs]
    intensities = [each.intensity or 1.0 for each in kernels]
    low, high = min(*intensities, *ridges) / 4, max(*intensities, *ridges) * 4
    ceilings = [Series(rate(peak, prim),
                       ((low, low * bandwidth), (peak / bandwidth, peak), (high, peak)),
                       number, dots=False) for number, (prim, peak) in enumerate(roofs)]
    points = [Series(f"{each.version} {each.name}".strip(),
                     [(each.intensity or 1.0, each.operation_rate or 0.0)], len(roofs) + number,
                     lines=False) for number, each in enumerate(kernels)]
    described = "; ".join(f"{each.name}: {percent(each.roof_share)} of what the roofline allows"
                          for each in kernels)
    return curves("Roofline", described,
                  Axis("operations per byte", "{:g}".format, logarithmic=True),
                  Axis("operations per second", lambda v: scaled(v, ""), logarithmic=True),
                  [*ceilings, *points])


def memory(profile: Profile) -> Markup | None:
    """The device memory in use during the call; None if it does not change."""
    run = profile.shown
    if len(run.memory) < 2:
        return None
    apart = -(-len(run.memory) // MOST_STEPS)  # of so many in a row, the greatest one
    points = [max(run.memory[first:first + apart], key=lambda each: each[1])
              for first in range(0, len(run.memory), apart)]
    points.append((run.wall, run.memory[-1][1]))
    return curves("Device memory", f"At most {scaled(run.peak_bytes, 'B')} in use.",
                  Axis("time", show_seconds), Axis("in use", lambda v: scaled(v, "B")),
                  [Series("in use", points, 0, steps=True)])


def timeline(profile: Profile, most: int = MOST_BARS) -> Markup:
    """The work of the host and of the device during the call, at most ``most`` bars in a row."""
    run = profile.shown
    waits = [each for each in run.host if each.name == "wait"]
    issues = [each for each in run.host if each.name != "wait" and not each.detail]
    rows: list[tuple[str, Sequence[Span], str]] = [
        ("host issues", issues, "s5"), ("host waits", waits, "s7"),
        ("versions", run.versions, "s3"),
        ("kernels", [c.span for c in run.commands if c.is_kernel], "s0"),
        ("copies", [c.span for c in run.commands if not c.is_kernel], "s1")]
    rows = [row for row in rows if row[1]]
    across = Scale(0.0, run.wall or 1.0, NAME_WIDTH, WIDTH - 16)
    bottom = 8 + ROW * len(rows)
    content = list[Markup]()
    for tick in across.ticks():
        content += [element("line", x1=across(tick), x2=across(tick), y1=4, y2=bottom,
                            class_="grid"),
                    element("text", show_seconds(tick) if tick else "0", x=across(tick),
                            y=bottom + 16, text_anchor="middle", class_="tick")]
    for number, (name, spans, style) in enumerate(rows):
        y = 8 + ROW * number
        content.append(element("text", name, x=0, y=y + BAR / 2 + 4, class_="tick"))
        content += _bars(spans, across, y, style, most)
    kinds = ", ".join(name for name, _, _ in rows)
    return picture("Timeline", f"The call of {show_seconds(run.wall)} as bars: {kinds}.",
                   WIDTH, bottom + 24, content)


def _bars(spans: Sequence[Span], across: Scale, y: float, style: str, most: int
          ) -> Iterator[Markup]:
    longest = sorted(spans, key=lambda each: -each.seconds)[:most]
    for each in sorted(longest, key=lambda each: each.start):
        yield element("rect", element("title", f"{each.name}: {show_seconds(each.seconds)}"),
                      x=across(each.start), y=y, height=BAR,
                      width=max(0.5, across(each.end) - across(each.start)),
                      class_=f"bar {style}")
