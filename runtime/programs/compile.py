"""From a file or a text to a program that can be called: ``runelift.compile``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runelift.ir.base.deep import room
from runelift.ir.base.errors import BriefErrors, HiddenEntryWarning
from runelift.ir.base.files import read_source, require_file
from runelift.ir.base.policies import within
from runelift.ir.base.source import Source
from runelift.runtime.compilation.reuse import compile_anew, if_current, load_compiled
from runelift.runtime.devices.info import DeviceInfo, select
from runelift.runtime.devices.waiting import begin_session
from runelift.runtime.host.gc_policy import collecting_rarely
from runelift.runtime.processes import compile_ahead
from runelift.runtime.programs.program import Program
from runelift.runtime.programs.takes import (
    BYTES,
    FLAG,
    PATH,
    PROGRAM,
    SETTINGS,
    TEXT,
    TUNING,
    check,
    or_none,
)
from runelift.runtime.versions.tuning_file import checked_values, schedule_of, tuning_of

if TYPE_CHECKING:
    from runelift.runtime.prebuild.first_run import FirstRun


_KINDS = {"source_or_path": PROGRAM, "device": or_none(TEXT), "tuning": or_none(TUNING),
          "settings": or_none(SETTINGS), "policy": TEXT, "fp_contract": FLAG,
          "memory": or_none(BYTES), "runs": FLAG, "schedule": or_none(PATH),
          "rules": or_none(PATH)}
"""The kinds of the arguments of :func:`compile`."""


def compile(source_or_path: str | Path | Source, *, device: str | None = None,
            tuning: str | Path | Mapping[str, int] | None = None,
            settings: Mapping[str, int] | None = None, policy: str = "all",
            fp_contract: bool = False, memory: int | str | None = None, runs: bool = True,
            schedule: str | Path | None = None, rules: str | Path | None = None) -> Program:
    """Compile a program from a path or from source text, which may have a name (``Source``).

    ``tuning`` is a file or the thresholds themselves; without it ``PATH.tuning`` is used if it
    exists.  ``settings`` go before it.  Names that are not in a file must be names of the program,
    with values that its parameters can have.  ``policy`` says which versions are kept, and with
    ``+ignore-attributes`` behind it attributes of the source have no say in that.
    ``+without-NAME`` behind it leaves out a rule or pass.  With ``fp_contract`` the device may
    round ``a * b + c`` once instead of twice, which is faster, and no longer what the interpreter
    computes to the last bit.  ``memory`` bounds the bytes of device memory of a call, such as
    ``30MB``: versions that need more do not run.  If it ``runs`` in this process, other processes
    may start to build its kernels.  A ``schedule``, a path or the text itself, replaces the rewrite
    points of the program and the schedule of the tuning file.  ``rules`` is a file of rules from
    outside (docs/rules.md).  Raises UserError or CompilerLimitation.
    """
    __tracebackhide__ = True
    given = locals()
    with room(), BriefErrors():
        for name, kind in _KINDS.items():
            check(name, given[name], kind)
        begin_session()
        path = None if isinstance(source_or_path, Source) else _as_path(source_or_path)
        source = source_or_path if isinstance(source_or_path, Source) else (
            read_source(path) if path is not None else Source("<source>", str(source_or_path)))
        program = _compiled(source, path, device, tuning, checked_values(settings or {}),
                            within(memory, policy, source.text), fp_contract=fp_contract,
                            runs=runs, schedule=schedule, rules=rules)
        if memory is not None:
            program.memory = memory
    _warn_of_hidden(program)
    return program


def _compiled(source: Source, path: Path | None, device: str | None,
              tuning: str | Path | Mapping[str, int] | None, settings: Mapping[str, int],
              policy: str, *, fp_contract: bool, runs: bool, schedule: str | Path | None,
              rules: str | Path | None) -> Program:
    outside = None if rules is None else read_source(require_file(Path(rules)))
    chosen = tuning_of(path, tuning)
    values = {**chosen.values, **settings}
    steps = schedule_of(schedule) or chosen.schedule_for(source, outside)
    compiled = if_current(
        load_compiled(source, policy=policy, schedule="" if steps is None else steps.text,
                      rules=outside)
        or (compile_ahead.take(source, policy) if outside is None else None), values, steps)
    info, first = select(device), None
    if compiled is None:
        first = None if info is None or not runs else _first_run(info, device, source)
        try:
            with collecting_rarely():
                compiled = compile_anew(source, policy=policy, parameters=values, schedule=steps,
                                        rules=outside)
        except BaseException:
            if first is not None:
                first.end()
            raise
    program = Program(compiled, info, values, policy, fp_contract=fp_contract, first=first)
    given = {} if chosen.file is not None else chosen.values
    for problem in program.problems({**given, **settings}):
        raise problem.error()
    if chosen.file is not None:
        program.take(chosen, settings)
    return program


@contextmanager
def entries_are_names() -> Iterator[None]:
    """Give no warnings of entry points that are no attributes: they are bound to names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HiddenEntryWarning)
        yield


def _warn_of_hidden(program: Program) -> None:
    """Warn of entry points that cannot be called as attributes, at the caller's caller."""
    if program.hidden:
        names = " and ".join(f"program[{name!r}]" for name in program.hidden)
        warnings.warn("Every program has attributes with the names of these entry points; "
                      f"call them as {names}.", HiddenEntryWarning, stacklevel=3)


def _first_run(info: DeviceInfo, device: str | None, source: Source) -> FirstRun | None:
    """Processes for the first run of a program that has to be compiled."""
    # late: start-up; it imports what other runs do without
    from runelift.runtime.prebuild.first_run import first_run

    return first_run(info, device, source)


def _as_path(source_or_path: str | Path) -> Path | None:
    if isinstance(source_or_path, Path):
        return source_or_path
    if "\n" in source_or_path or not source_or_path.endswith(".fut"):
        return None
    return Path(source_or_path)
