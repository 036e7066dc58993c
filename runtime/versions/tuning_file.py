"""Tuning files: ``NAME=INT`` lines that Futhark reads too, and a JSON file of facts beside them."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runelift.ir.base.errors import Code, Diagnostic, ProgramError, UserError
from runelift.ir.base.files import read_text
from runelift.ir.base.json_shape import MisshapenJson, parse, read_mapping
from runelift.ir.base.source import Source, Span
from runelift.ir.base.written_files import write_atomically
from runelift.runtime.versions.size_guards import SizeGuard, from_json

if TYPE_CHECKING:
    from runelift.runtime.versions.forest import Forests, Site

_LINE = re.compile(r"\s*(?P<name>[^\s=]+)\s*=\s*(?P<value>-?\d+)\s*")
MOST_DIGITS = 19
"""No size has more digits; leading zeros count."""
FUTHARK_DEFAULTS = frozenset({
    "default_threshold", "default_tile_size", "default_reg_tile_size", "default_group_size",
    "default_thread_block_size", "default_num_groups", "default_grid_size", "default_cache",
    "default_shared_memory", "default_registers",
})
"""Names that Futhark's tuning files may set for all kernels at once."""


LARGEST = (1 << 63) - 1
"""The largest value of a threshold or parameter."""


def tuning_path(program: Path) -> Path:
    """The path of the tuning file of a program: ``FILE.fut.tuning``."""
    return program.with_name(program.name + ".tuning")


def facts_path(tuning: Path) -> Path:
    """The path of the JSON file that belongs to a tuning file."""
    return tuning.with_name(tuning.name + ".json")


def parse_tuning(source: Source) -> dict[str, int]:
    """The values in the text of a tuning file, by name; the last line with a name counts.

    Blank lines and lines that begin with ``--`` are skipped.
    """
    thresholds: dict[str, int] = {}
    start = 0
    for line in source.text.splitlines(keepends=True):
        content = line.strip()
        if content and not content.startswith("--"):
            match = _LINE.fullmatch(content)
            if not match or len(match["value"]) > MOST_DIGITS or int(match["value"]) < 0:
                span = Span(source, start, start + len(line.rstrip()))
                raise ProgramError(Diagnostic(
                    "malformed-tuning", span, "This is not a line of a tuning file.",
                    hints=("A line is NAME=INT with a number from 0 to 2^63, for example "
                           "main.suff_outer_par_0=4096.",)))
            thresholds[match["name"]] = int(match["value"])
        start += len(line)
    return {name: value for name, value in thresholds.items() if value != 0}


PROGRAM, SETTINGS, GUARDS, SCHEDULE = "program_sha256", "settings", "guards", "schedule"
"""Keys of the facts: the program's text, thresholds and parameters by device, size guards, and the
lines of the schedule."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The program text and the device for which parameters of kernels hold."""

    program: str
    device: str


@dataclass(frozen=True, slots=True)
class TuningValues:
    """Values for thresholds and parameters, and the file they are from, if any.

    ``elsewhere`` has the values of other devices, ``stale`` says why some of the file are left out.
    ``borrowed`` is the device that the values are from, if there are none for this one.
    """

    values: dict[str, int]
    file: Path | None = None
    elsewhere: dict[str, dict[str, int]] = field(default_factory=dict)
    stale: str = ""
    borrowed: str = ""

    def warn(self, problems: Iterable[str]) -> None:
        """Warn about what is wrong with the file."""
        for problem in filter(None, (self.stale, *problems)):
            warnings.warn(f"{self.file}: {problem}", stacklevel=5)

    def schedule_for(self, source: Source, rules: Source | None = None) -> Source | None:
        """The schedule beside the tuning file, if the program and rules are unchanged.

        Otherwise the result is None; if the program has changed, with a warning.
        """
        if self.file is None or not facts_path(self.file).exists():
            return None
        facts: dict[str, Any] = {}
        with suppress(UserError):  # which is told when the size guards are read
            facts = read_facts(facts_path(self.file))
        lines = facts.get(SCHEDULE, ())
        if lines and facts.get(PROGRAM) != digest(source, rules):
            self.warn(["The program has changed since it was tuned, so the schedule beside this "
                       "file is ignored; 'runelift autotune --schedule FILE' tunes with one."])
            return None
        if not lines:
            return None
        return Source(str(facts_path(self.file)), "".join(f"{line}\n" for line in lines))

    def on(self, identity: Identity, kernels: Set[str], *, borrow: bool = True) -> TuningValues:
        """The values that hold for a program on a device.

        ``kernels`` are the names of the parameters of kernels.  Such names number operations, so
        the names of another text would only be right by chance.  The facts beside the file name
        their text and have the values of each device.  The file itself has the values of the last
        device.  If this device has no values, the values of the nearest device may be ``borrowed``.
        A file without facts is taken as it is.
        """
        facts = facts_path(self.file) if self.file is not None else None
        if facts is None or not facts.exists():
            return self
        about = read_facts(facts)
        known = about.get(SETTINGS)
        if not isinstance(known, dict) or not known:
            return self
        kept = {name: value for name, value in self.values.items() if name not in kernels}
        lines = {name: value for name, value in self.values.items() if name in kernels}
        if about.get(PROGRAM) != identity.program:
            return replace(self, values=kept, stale=(
                "The program has changed since it was tuned, so the parameters of its kernels are "
                "ignored; 'runelift autotune' finds new ones.") if lines else "")
        others = {device: dict(found) for device, found in known.items()
                  if device != identity.device}
        borrow = borrow and bool(identity.device) and identity.device not in known
        device = nearest_device(identity.device, others) if borrow else identity.device
        if next(reversed(known)) != device:
            own = known.get(device, {})
            kept |= {name: value for name, value in own.items() if name not in kernels}
            lines = {name: value for name, value in own.items() if name in kernels}
        if not borrow:
            return replace(self, values={**kept, **lines}, elsewhere=others)
        return replace(self, values={**kept, **lines}, elsewhere=others, borrowed=device, stale=(
            f"There is no tuning for {identity.device}, so that of {device} is used.  It may be "
            "slow here; 'runelift autotune' tunes for this device."))


def nearest_device(device: str, known: Iterable[str]) -> str:
    """The device whose name is most alike; a device of the same platform goes first.

    >>> nearest_device("H100 80GB, CUDA", ["pthread, PoCL", "H200, CUDA", "A100-40GB, CUDA"])
    'H200, CUDA'
    """
    name, _, platform = device.rpartition(", ")

    def likeness(other: str) -> tuple[bool, float]:
        other_name, _, other_platform = other.rpartition(", ")
        return other_platform == platform, SequenceMatcher(None, name, other_name).ratio()

    return max(known, key=likeness)


def digest(source: Source, rules: Source | None = None) -> str:
    """The text of a program, and of rules from outside, as facts name it."""
    text = source.text if rules is None else f"{source.text}\0{rules.text}"
    return hashlib.sha256(text.encode()).hexdigest()


def schedule_of(given: str | Path | None) -> Source | None:
    """The schedule in a file, or with this text; UserError if the file cannot be read."""
    if given is None:
        return None
    if isinstance(given, str) and ("\n" in given or " " in given.strip()):
        return Source("<schedule>", given)
    try:
        return Source(str(given), read_text(Path(given)))
    except UnicodeDecodeError:
        raise UserError(f"{given}: error[malformed-schedule]: not a text file in UTF-8.") from None


def read_size_guards(file: Path, identity: Identity, policy: str, forests: Forests,
                     borrowed: str = "") -> tuple[dict[str, SizeGuard], str]:
    """The size guards beside a tuning file, by site, and the reason why they do not hold, or "".

    Guards of a device whose values are ``borrowed`` hold, too.
    """
    if not facts_path(file).exists():
        return {}, ""
    try:
        about = read_facts(facts_path(file))
    except UserError as error:
        return {}, str(error)
    guards = about.get(GUARDS)
    if not isinstance(guards, dict) or not guards.get("sites"):
        return {}, ""
    if about.get(PROGRAM) != identity.program or guards.get("policy") != policy:
        return {}, "The program or the policy has changed since its guards were tuned" + _IGNORED
    if guards.get("device") not in (identity.device, borrowed or identity.device):
        return {}, f"The guards were tuned on another device, {guards.get('device')}" + _IGNORED
    try:
        guards_by_site = {str(site): from_json(raw) for site, raw in guards["sites"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return {}, "The guards in the file of facts are damaged" + _IGNORED
    sites = {site.name: site for forest in forests.entries for site in forest.sites().values()}
    if any(name not in sites or not _fits(sites[name], each)
           for name, each in guards_by_site.items()):
        return {}, "The guards ask for versions or sizes that there are not" + _IGNORED
    return guards_by_site, ""


LEVELS = 4
"""So many levels of the JSON file have a line for each fact: what is deeper was measured on one
dataset, and is one line."""
_IGNORED = ", so they are ignored; 'runelift autotune' finds new ones."


def _fits(site: Site, guard: SizeGuard) -> bool:
    """True if a site has the versions, and its guards the sizes, that a size guard mentions."""
    known = {guard.name for guard in site.guards} | {
        str(name) for guard in site.guards for size in guard.sizes()
        for name in size.variables()}
    return (guard.possible() <= set(range(len(site.alternatives)))
            and guard.mentioned() <= known)


def tuning_of(program: Path | None, tuning: str | Path | Mapping[str, int] | None) -> TuningValues:
    """The given values; without any, the values of the file, or of the file beside the program."""
    if isinstance(tuning, Mapping):
        return TuningValues(checked_values(tuning))
    beside = tuning_path(program) if program is not None else None
    file = Path(tuning) if tuning is not None else beside
    if file is None or (tuning is None and not file.exists()):
        return TuningValues({})
    return TuningValues(read_tuning(file), file)


def checked_values(given: Mapping[str, Any]) -> dict[str, int]:
    """Values that Python code gives, by name; UserError unless they are integers in range."""
    found = dict[str, int]()
    for name, value in given.items():
        try:
            found[name] = index(value)
        except TypeError:
            raise UserError(f"The value of '{name}' must be an integer, not "
                            f"{value!r:.80}.") from None
        if not 0 <= found[name] <= LARGEST:
            raise UserError(f"The value of '{name}' must be from 0 to 2^63 - 1.")
    return found


def read_tuning(path: Path) -> dict[str, int]:
    """The values in a tuning file by name; UserError if the file cannot be read or is damaged."""
    try:
        return parse_tuning(Source(str(path), read_text(path)))
    except UnicodeDecodeError:
        raise UserError(f"{path}: error[malformed-tuning]: not a text file in UTF-8.") from None


def names_in(file: Path) -> set[str]:
    """The names in a tuning file, and the names in the facts beside it, for any device."""
    names = set(read_tuning(file))
    if facts_path(file).exists():
        settings = read_facts(facts_path(file)).get(SETTINGS)
        names.update(*settings.values() if isinstance(settings, dict) else ())
    return names


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """A complaint about a value for a parameter; as text it is the warning about a file's value.

    ``place`` is the place in the source that the value is about, if it is known.
    """

    code: Code
    text: str
    hint: str = ""
    place: str = ""

    def __str__(self) -> str:
        return f"{self.text}; it is ignored.{self.hint}"

    def error(self) -> UserError:
        """The error about a value that the user gives with a command."""
        place, text = f"{self.place}: " if self.place else "", self.text
        if self.place:
            text = text.replace(f"; at {self.place}", "")
        return UserError(f"{place}error[{self.code}]: {text}.{self.hint}")


def unknown_names(thresholds: Iterable[str], known: Iterable[str]) -> list[SettingProblem]:
    """A problem for every name that is no threshold and no parameter of the program."""
    names = sorted(known)
    found = []
    for name in sorted(set(thresholds) - set(names) - FUTHARK_DEFAULTS):
        close = get_close_matches(name, names, n=1)
        found.append(SettingProblem(
            "unknown-parameter", f"The program has no threshold or parameter '{name}'",
            f"  Did you mean '{close[0]}'?" if close else ""))
    return found


def read_facts(path: Path) -> dict[str, Any]:
    """The content of the JSON file beside a tuning file; UserError if the file is damaged.

    A start reads it several times, so the last content is kept until the file is replaced.
    """
    try:
        found = path.stat()
    except OSError:
        return _facts_in(path, ())
    return _facts_in(path, (found.st_ino, found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=1)
def _facts_in(path: Path, _: tuple[int, ...]) -> dict[str, Any]:
    try:
        facts = parse(read_text(path))
        if not isinstance(facts, dict):
            raise MisshapenJson("not a JSON object")
        for name in (PROGRAM,):
            if not isinstance(facts.get(name, ""), str):
                raise MisshapenJson("should be a text", (name,))
        lines = facts.get(SCHEDULE, [])
        if not isinstance(lines, list) or not all(isinstance(each, str) for each in lines):
            raise MisshapenJson("should be a list of texts", (SCHEDULE,))
        if SETTINGS in facts:
            for device, values in read_mapping(facts[SETTINGS], Any, SETTINGS).items():
                read_mapping(values, int, f"{SETTINGS}.{device}")
    except MisshapenJson as error:
        raise UserError(f"{path}: error[malformed-tuning]: {error}.") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: error[malformed-tuning]: not a text file in UTF-8.") from None
    return facts


def write_tuning(path: Path, thresholds: Mapping[str, int], facts: Mapping[str, Any]) -> None:
    """Write both files, each in one step: a reader sees the old content or the new."""
    lines = "".join(f"{name}={value}\n" for name, value in sorted(thresholds.items()))
    write_atomically(facts_path(path), _laid_out(facts) + "\n")
    write_atomically(path, lines)


def _laid_out(facts: Mapping[str, Any]) -> str:
    """JSON that people can look through; to indent all of it takes Python ten times as long."""
    def lines(value: Any, depth: int) -> str:
        if depth == LEVELS or not isinstance(value, Mapping) or not value:
            return json.dumps(value)
        inner = "  " * (depth + 1)
        return "{\n" + ",\n".join(f"{inner}{json.dumps(str(name))}: {lines(each, depth + 1)}"
                                  for name, each in value.items()) + f"\n{'  ' * depth}}}"

    return lines(facts, 0)
