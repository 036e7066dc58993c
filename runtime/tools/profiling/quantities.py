"""Quantities of profiles as text: rates, counts and shares, for tables and pages."""

from __future__ import annotations

from collections.abc import Sequence

from runelift.ir.prim import Prim
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.profiling.next_step import WORDS, Kind, times
from runelift.runtime.tools.profiling.profile import KernelProfile, Profile

NONE = "-"
ESTIMATE = "~"
"""Stands before counts that depend on elements."""
IDLE = 0.5
"""The share of kernels below which the device is called idle."""
AT_ROOF = "at roof"
"""Stands for the share of a kernel that reached more than the peak."""
DOUBTFUL = 1.2
"""The gain of a way from which it is told that it may gain, although not for sure."""
COUNTED = (
    "Times are those of the device, from the start to the end of a command: medians over the runs, "
    "of all launches of a kernel together.",
    "Operations are counted from the kernel and its sizes: arithmetic, roots and functions count "
    "one each, a multiply-add two.  Comparisons, conversions, logic and the arithmetic of indices "
    "do not count.",
    "Bytes are the least that a launch must move: the accessed part of each buffer once, or the "
    "accesses themselves if these are fewer.  Data that a cache keeps from one launch to the next "
    f"may come faster than the peak of memory: '{AT_ROOF}'.",
    "Peaks are measured with short kernels, once per device: a copy of a large array (read and "
    "write count), and chains of multiply-adds.",
    "Predicted times are those of the model of cost, which knows kernels and sizes, not elements.",
    f"{ESTIMATE} marks counts that depend on elements: a branch counts half on each side, a loop "
    "one iteration.",
)
"""The rules of counting, for readers of a profile."""


def scaled(value: float | None, unit: str) -> str:
    """A number with three significant digits and a prefix for its unit.

    >>> scaled(1.25e9, "B/s"), scaled(None, "B")
    ('1.25 GB/s', '-')
    """
    if value is None:
        return NONE
    if not value:
        return f"0 {unit}".rstrip()
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{_digits(value / scale)} {prefix}{unit}"
    return f"{_digits(value)} {unit}".rstrip()


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def percent(share: float | None) -> str:
    """A share.

    >>> percent(0.5), percent(0.0123)
    ('50 %', '1.2 %')
    """
    if share is None:
        return NONE
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def predicted_text(seconds: float | None) -> str:
    """A predicted time; of what is not predicted, nothing."""
    return NONE if seconds is None else show_seconds(seconds)


def short_place(source: str) -> str:
    """A place in a program without the folders of its file.

    >>> short_place("examples/matmul.fut:21:15")
    'matmul.fut:21:15'
    """
    return source.replace("\\", "/").rpartition("/")[2]


def share_of_peak(kernel: KernelProfile, share: float | None) -> str:
    """A share of a peak, which a cache may hide."""
    return (AT_ROOF if kernel.beyond and share == kernel.roof_share
            else marked(kernel, percent(share)))


def marked(kernel: KernelProfile, text: str) -> str:
    """A count, marked if it depends on elements."""
    return ESTIMATE + text if kernel.certainty == "data" and text != NONE else text


def rate(peak: float, prim: Prim) -> str:
    """A rate of operations on values of type ``prim``, in words."""
    return f"{scaled(peak, 'op/s')} on {'integers' if prim.is_int else prim.value}"


def peaks_text(profile: Profile) -> str:
    """The measured peaks that a profile compares with."""
    known = [(prim, profile.peaks.of(prim)) for prim in profile.types]
    return ", ".join([f"{scaled(profile.peaks.bandwidth, 'B/s')} copied", *(
        rate(peak, prim) for prim, peak in known if peak is not None)])


WAYS_HEAD = ("ways in turn", "a call", "times as fast")
"""The heads of a table of ways to make a call."""


def ways(profile: Profile) -> Sequence[tuple[str, ...]]:
    """The rows of the table of ways to make a call, beside the call as it is now."""
    ran = [each for each in profile.ways if each.seconds]
    rows = [(each.name, each.median) for each in ran]
    if ran and profile.roof:
        rows.append(("its kernels at the measured peaks", profile.roof))
    return [(name, show_seconds(seconds), f"{ran[0].median / seconds:.3g}")
            for name, seconds in rows]


def about_ways(profile: Profile) -> Sequence[str]:
    """Sentences about ways: why some did not run, and how NumPy compares."""
    told = refusals(profile)
    found = [each.refused for each in profile.ways if each.refused and each.refused not in told]
    kinds = {each.kind: each for each in profile.ways if each.seconds}
    own = kinds.get(Kind.HOST, kinds.get(Kind.DEVICE))
    if Kind.NUMPY in kinds and own is not None:
        ratio = kinds[Kind.NUMPY].median / own.median
        one, other = f"'{kinds[Kind.NUMPY].name}'", f"'{own.name}'"
        slow, fast = (one, other) if ratio >= 1 else (other, one)
        found.append(f"{fast} is {times(max(ratio, 1 / ratio))} as fast as {slow}.")
    now = kinds.get(Kind.NOW)
    tried = [] if now is None or profile.steps else [
        (each.gain(now).value, each.name) for each in profile.ways if each.seconds
        and each.kind in WORDS and each.kind is not Kind.DEVICE]
    if tried and max(tried)[0] >= DOUBTFUL:
        found.append(f"'{max(tried)[1]}' may be {times(max(tried)[0])} as fast, but times vary too "
                     "much: profile again while no other program runs.")
    if profile.difference:
        found.append(f"The results of NumPy differ: {profile.difference}.")
    return found


VERSIONS_HEAD = ("version", "a call", "beside default", "busiest kernel", "of peak B/s",
                 "of peak op/s")
"""The heads of a table of versions that ran alone."""


def compared(profile: Profile) -> Sequence[tuple[str, ...]]:
    """The rows of the table that compares versions which ran alone."""
    rows = list[tuple[str, ...]]()
    for each in profile.compared:
        if each.wall is None or each.busiest is None:
            rows.append((each.name, "cannot run", NONE, NONE, NONE, NONE))
        else:
            kernel = each.busiest
            rows.append((each.name, show_seconds(each.wall.median),
                         f"{_digits(each.wall.median / profile.wall.median)}x", kernel.name,
                         share_of_peak(kernel, kernel.memory_share),
                         share_of_peak(kernel, kernel.compute_share)))
    return rows


def refusals(profile: Profile) -> Sequence[str]:
    """The reasons why versions in that table did not run."""
    return [each.refused for each in profile.compared if each.refused]


def parts_of_call(profile: Profile) -> Sequence[tuple[str, float]]:
    """The parts of the time of the shown call in words, with seconds.  Small parts are left out."""
    parts = profile.shown.parts
    named = (("kernels ran", parts.kernels), ("copies and reads", parts.copies),
             ("the device waited for the host", parts.late),
             ("between commands otherwise", parts.between), ("before the first", parts.before),
             ("after the last", parts.after))
    return [(name, each) for name, each in named if each >= 0.001 * parts.whole]


def verdict(profile: Profile) -> str:
    """The most important finding of a profile, in one or two sentences."""
    parts = profile.shown.parts
    busiest = next(iter(profile.kernels), None)
    if busiest is None or not parts.whole:
        return "No kernel ran."
    if parts.kernels < IDLE * parts.whole:
        return (f"Kernels run {percent(parts.kernels / parts.whole)} of the call.  The rest is "
                "launching, copying and waiting.")
    place = f" ({short_place(busiest.source)})" if busiest.source else ""
    text = f"{busiest.name}{place} takes {percent(busiest.share)} of the time of kernels"
    share = busiest.roof_share
    if share is None or not busiest.nearer:
        return f"{text}."
    peak = "bandwidth" if busiest.nearer == "memory" else "operations"
    if busiest.beyond:
        why = ("The counts are estimates." if busiest.certainty == "data" else
               "Its data stay in a cache, or others used the device when the peaks were measured "
               "(--measure-peaks).")
        return f"{text}, at the roof of peak {peak}.  {why}"
    bound = (f"  {busiest.bound.capitalize()} bounds it: with as much work it takes at least "
             f"{percent(share)} of this time." if busiest.bound else "")
    return f"{text}, at {marked(busiest, percent(share))} of peak {peak}.{bound}"


def call_text(profile: Profile) -> str:
    """The time of calls in words."""
    return (f"a call takes {show_seconds(profile.wall.median)} ± {show_seconds(profile.wall.mad)} "
            f"({show_seconds(profile.plain.median)} without a profile, "
            f"{'≥ ' * profile.least}{predicted_text(profile.predicted)} predicted), at most "
            f"{scaled(profile.shown.peak_bytes, 'B')} of device memory")
