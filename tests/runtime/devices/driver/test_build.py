"""Building kernels through a driver alone: PoCL's library stands in for NVIDIA's."""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyopencl as cl
import pytest

from runelift.ir.base.files import read_source
from runelift.runtime.cache import disk
from runelift.runtime.cache.programs import ProgramEntry
from runelift.runtime.devices.build import build_request, build_target, cache_name
from runelift.runtime.devices.driver import preload
from runelift.runtime.devices.driver.build import KERNELS, BuildTarget
from runelift.runtime.devices.driver.icd import identity
from runelift.runtime.devices.info import DeviceInfo, select
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.host.channel import receive, send
from runelift.runtime.processes import process
from runelift.runtime.processes.build_pool import Builders, how_many, unrolled
from runelift.runtime.processes.process import Process
from tests.pocl_builds import PLAIN_BUILD

SOURCE = "__kernel void f(__global int *xs) { xs[get_global_id(0)] = VALUE; }", "-DVALUE=7"
BINDINGS = "pyopencl/_cl."
"""The name of their library begins like this."""
WRONG = "__kernel void f(__global int *xs) { no such thing }", "-DVALUE=7"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RUNELIFT_KEEP", raising=False)


@pytest.fixture
def info() -> DeviceInfo:
    """PoCL, as if it were a device with a compiler that does one program at a time."""
    found = select("pocl")
    assert found is not None
    return replace(found, locked_compiler=True, slow_binaries=False, optimised_size=math.inf)


@pytest.fixture
def target(info: DeviceInfo) -> BuildTarget:
    found = build_target(info)
    assert found is not None
    return found


@pytest.fixture(scope="session")
def compiles_alone() -> None:
    """Not where PoCL's compiler rejects its own name of the processor (``name_processor``)."""
    code = """
import pyopencl as cl
device = next(d for p in cl.get_platforms() if "Portable" in p.name for d in p.get_devices())
cl.Program(cl.Context([device]), "__kernel void f() {}").build()
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if "unknown target CPU" in made.stderr:
        pytest.skip("PoCL cannot compile for this processor without help")


@pytest.fixture
def early_driver(driver: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes look for PoCL's library."""
    begin = "icd.begin(device, "
    assert begin in process.RUN
    monkeypatch.setattr(process, "RUN", process.RUN.replace(begin, f"{begin}{driver!r}, "))
    return


def binary_of(info: DeviceInfo) -> bytes | None:
    return disk.load(KERNELS, cache_name(info, *SOURCE))


def check(info: DeviceInfo) -> None:
    """What is in the cache is a program."""
    binary = binary_of(info)
    assert binary
    context = open_device(info).context
    assert cl.Kernel(cl.Program(context, [info.handle], [binary]).build(), "f").num_args == 1


def test_it_is_known_what_the_bindings_add(info: DeviceInfo, target: BuildTarget) -> None:
    context = open_device(info).context
    program = PLAIN_BUILD(cl.Program(context, SOURCE[0]), options=[SOURCE[1]])
    options = program.get_build_info(info.handle, cl.program_build_info.OPTIONS)
    assert options.split() == [SOURCE[1], *target.added_options.split()]


@pytest.mark.parametrize("change", [{"locked_compiler": False}, {"slow_binaries": True},
                                    {"optimised_size": 1e6}])
def test_only_where_it_does_the_same(info: DeviceInfo, change: dict[str, object]) -> None:
    assert build_target(replace(info, **change)) is None  # type: ignore[arg-type]


def test_a_device_is_left_to_the_bindings_if_they_do_not_say_what_they_add(
        info: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(cl.Program, "_process_build_options")
    assert build_target(info) is None


@pytest.mark.usefixtures("cache", "compiles_alone")
def test_what_is_built_is_in_the_cache(driver: str, info: DeviceInfo, target: BuildTarget) -> None:
    code = f"""
import sys
from runelift.runtime.devices.driver import build, icd
icd.begin("pocl", {driver!r})
for source in {WRONG!r}, {SOURCE!r}:
    build.build(source, build.BuildTarget(*{tuple(target)!r}), icd.driver_context())
assert "pyopencl" not in sys.modules and "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    check(info)
    assert disk.load(KERNELS, cache_name(info, *WRONG)) is None


LOADING = """
import os
from runelift.runtime.devices.driver import icd, preload
behind, gate = os.pipe()
icd.begin("pocl", {driver!r}, gate=behind)
preload.begin()
os.write(gate, {word!r}.encode())
os.close(gate)
from runelift.runtime.execution.probes.on_demand import open_device
from runelift.runtime.devices.info import select
import pyopencl as cl, numpy as np
device = open_device(select("pocl"))
context = device.context.int_ptr
"""


@pytest.mark.usefixtures("cache", "compiles_alone")
def test_what_was_built_is_loaded_while_python_imports(
        driver: str, info: DeviceInfo, tmp_path: Path) -> None:
    """And is used where it is asked for by the same words, in the same context, once."""
    (path := tmp_path / "program.fut").write_text("def main = 7i32")
    right, wrong = (build_request(info, *each) for each in (SOURCE, WRONG))
    assert right is not None
    assert wrong is not None
    assert not preload.message_for(str(path), "all")
    device = identity(info.name, info.driver)
    ProgramEntry.of(read_source(path), "all").driver_texts.store((device, (wrong, right)))
    assert not preload.message_for(str(path), "classic")
    assert not preload.message_for(str(tmp_path / "missing.fut"), "all")
    code = f"""{LOADING.format(driver=driver, word=preload.message_for(str(path), "all"))}
other = cl.Context([device.info.handle])
assert preload.take(other.int_ptr, *{right!r}) is None
assert preload.take(context, {right[0]!r}, "-DVALUE=8") is None
assert preload.take(context, *{wrong!r}) is None
address = preload.take(context, *{right!r})
assert preload.take(context, *{right!r}) is None
kernel = cl.Kernel(cl.Program.from_int_ptr(address, retain=False), "f")
xs = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 12)
kernel.set_arg(0, xs)
cl.enqueue_nd_range_kernel(device.plain, kernel, (3,), None)
cl.enqueue_copy(device.plain, found := np.empty(3, np.int32), xs)
assert found.tolist() == [7, 7, 7]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.usefixtures("cache", "compiles_alone")
def test_nothing_is_loaded_for_another_device(
        driver: str, info: DeviceInfo, tmp_path: Path) -> None:
    (path := tmp_path / "program.fut").write_text("def main = 7i32")
    text = build_request(info, *SOURCE)
    assert text is not None
    for of, is_loaded in (info.driver, True), ("another", False):
        ProgramEntry.of(read_source(path), "all").driver_texts.store(
            (identity(info.name, of), (text,)))
        code = f"""{LOADING.format(driver=driver, word=preload.message_for(str(path), "all"))}
assert (preload.take(context, *{text!r}) is not None) == {is_loaded}
"""
        subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.usefixtures("cache")
def test_nothing_is_loaded_where_the_driver_keeps_nothing(
        info: DeviceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be built anew, one program after the other."""
    (path := tmp_path / "program.fut").write_text("def main = 7i32")
    text = build_request(info, *SOURCE)
    assert text is not None
    ProgramEntry.of(read_source(path), "all").driver_texts.store(
        (identity(info.name, info.driver), (text,)))
    assert preload.message_for(str(path), "all")
    monkeypatch.setenv("CUDA_CACHE_DISABLE", "1")
    assert not preload.message_for(str(path), "all")


@pytest.mark.usefixtures("cache", "compiles_alone", "early_driver")
def test_processes_build_and_do_more_when_asked(info: DeviceInfo, target: BuildTarget) -> None:
    builders = Builders("pocl", 2, target=target)
    builders.build([SOURCE, WRONG], 60.0)
    check(info)
    worker = builders.take_worker()
    assert worker is not None
    loaded = Path(f"/proc/{worker._process.pid}/maps")
    assert "libpocl" in loaded.read_text()
    assert BINDINGS not in loaded.read_text()
    send(worker.connection, ("drop_arguments", []))
    assert receive(worker.connection) == ("result", None)
    assert BINDINGS in loaded.read_text()
    send(worker.connection, ("build", SOURCE))
    assert receive(worker.connection) == ("result", None)
    worker.kill()
    builders.close()


@pytest.mark.usefixtures("cache", "compiles_alone", "early_driver")
def test_trials_are_for_those_that_are_ready_for_them(
        info: DeviceInfo, target: BuildTarget) -> None:
    builders = Builders("pocl", 2, probes=["probe_subgroups"], target=target)
    first, second = builders._processes
    assert (first.probes, second.probes) == (True, False)
    builders.build([SOURCE], 60.0)
    builders.take_over("probe_subgroups")
    assert not builders._queue
    assert binary_of(info) is not None
    builders.close()


LOOPS = """
#define chunk 4L
#pragma unroll
for (long i = 0L; i < 32L; i += 1L) {
    #pragma unroll
    for (long k = 0L; k < i; k += 1L) {
    }
    for (long k = 0L; k < 100L; k += 1L) {
    }
}
#pragma unroll
for (long n = 0L; n < chunk; n += 1L) {
}
#pragma unroll
for (long n = 0L; n < length; n += 1L) {
}
"""


@pytest.mark.parametrize(("cores", "gigabytes", "count"), [
    (1, 80, 1), (4, 80, 2), (16, 80, 14), (64, 80, 14), (16, 8, 4), (16, 1, 1)])
def test_how_many_processes_build(cores: int, gigabytes: int, count: int,
                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert how_many(gigabytes << 30) == count


def test_loops_that_are_unrolled_take_long_to_build() -> None:
    assert unrolled(LOOPS) == 32 + 32 * 16 + 4 + 1


@pytest.mark.usefixtures("early_driver")
def test_contexts_are_made_one_after_another(target: BuildTarget) -> None:
    """The second process waits for the first, even if that ends."""
    for ends in (False, True):
        first = Process("pocl", builds=True, held=True, target=target)
        second = Process("pocl", builds=True, after=first, target=target)
        assert not second._started.opened.poll(0.5)
        if ends:
            first.kill()
        else:
            first.go()
        second.wait_until_open()
        assert receive(second.connection) == "ready"
        if not ends:
            assert receive(first.connection) == "ready"
            first.kill()
        second.kill()
