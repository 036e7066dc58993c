"""Devices for all tests, and the choice between the quick suite and whole sweeps."""

from __future__ import annotations

import gc
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from runelift.rewrite import pipeline
from runelift.runtime.devices.info import DeviceInfo, find_devices
from tests import pocl_builds

pocl_builds.install()
gc.set_threshold(100_000, 20, 100)
"""Programs of tests are large, and collections would look at all of them again and again."""
pipeline.EVERY_PASS = True
os.environ["RUNELIFT_KEEP"] = "0"
"""Tests change the compiler while they run, so programs must not come from the cache."""
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Hundreds of tests start a process, which would compile all modules anew: half of its time."""
for _name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
    os.environ.pop(_name, None)  # outputs are those on a pipe, whatever terminal tests run in

settings.register_profile("full", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)


@pytest.fixture(scope="module", params=["Portable", "Oclgrind"])
def installed(request: pytest.FixtureRequest) -> DeviceInfo:
    """Each of the devices that can be installed anywhere."""
    for info in find_devices():
        if request.param in info.platform and info.problem is None:
            return info
    pytest.skip(f"no device of {request.param}")


@pytest.fixture(scope="session")
def simulator() -> str:
    """The Oclgrind simulator, which finds races and accesses out of bounds."""
    if not any(d.is_simulator for d in find_devices()):
        pytest.fail("Oclgrind is not installed; pip install -e '.[test]'")
    return "oclgrind"


@pytest.fixture(scope="session")
def sweeps(pytestconfig: pytest.Config) -> bool:
    """True if ``--sweeps`` is given; otherwise tests of many programs try few of them."""
    return bool(pytestconfig.getoption("--sweeps"))


QUICK = """\
runelift: quick suite: every rule, pass, kind of kernel, command and error; samples of the sweeps
  (random programs, mutations, settings, examples in every version).  --sweeps runs them whole"""
FULL = """\
runelift: all tests, the sweeps whole (random programs, mutations, settings, examples)"""
SWEPT, CHOSEN = pytest.StashKey[set[str]](), pytest.StashKey[set[str]]()
"""Tests with cases that are left out without ``--sweeps``, and tests with cases that run."""
OPTIMISED = pytest.StashKey[set[pytest.Item]]()
"""Cases that the quick suite leaves out: their kernels are optimised in all folders."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate-golden", action="store_true",
                     help="write the files of tests/golden anew")
    parser.addoption("--sweeps", action="store_true",
                     help="run the sweeps of random programs, settings and examples whole")
    parser.addoption("--sweeps-part", metavar="K/N", type=part,
                     help="run the quick suite, and every N-th further case of the sweeps")


def part(text: str) -> tuple[int, int]:
    """The number of a part, from 1 on, and the number of all parts."""
    number, _, count = text.partition("/")
    found = int(number), int(count)
    assert 1 <= found[0] <= found[1]
    return found


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("full" if config.getoption("--sweeps") else "quick")


def pytest_report_header(config: pytest.Config) -> str:
    return FULL if config.getoption("--sweeps") else QUICK


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter,
                            config: pytest.Config) -> None:
    """Say at the end what was covered where the header is not printed (``-q``)."""
    if not terminalreporter.showheader:
        terminalreporter.write_line(pytest_report_header(config))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have PoCL optimise the kernels of a test or not; in other processes it always does."""
    folder = item.path.relative_to(Path(__file__).parent).as_posix()
    pocl_builds.optimises = (item in item.config.stash[OPTIMISED]
                             or not folder.startswith(pocl_builds.UNOPTIMISED))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of sweeps, unless they are asked for or a test is named by its id."""
    left_out = cases_left_out(items)
    config.stash[SWEPT] = {name_of(item) for item in left_out}
    config.stash[OPTIMISED] = set(items if config.getoption("--sweeps") else left_out)
    if config.getoption("--sweeps-part"):
        number, count = config.getoption("--sweeps-part")
        left_out = [item for n, item in enumerate(left_out) if n % count != number - 1]
    if not config.getoption("--sweeps") and not any("::" in each for each in config.args):
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
    config.stash[CHOSEN] = {name_of(item) for item in items}


def cases_left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """Cases of tests marked as ``sweep(every=n, keep=texts)`` that the quick suite leaves out.

    It runs each n-th case, and those with one of the texts in their id.
    """
    counts: Counter[str] = Counter()
    found = []
    for item in items:
        if (sweep := item.get_closest_marker("sweep")) is None:
            continue
        name, every = name_of(item), sweep.kwargs.get("every")
        number = counts[name]
        counts[name] += 1
        kept = any(text in item.name for text in sweep.kwargs.get("keep", ()))
        if not kept and (every is None or number % every != 0):
            found.append(item)
    return found


def name_of(item: pytest.Item) -> str:
    """The id of a test without its parameters."""
    return item.nodeid.partition("[")[0]
