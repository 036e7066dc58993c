"""Measuring through a Dask scheduler, on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import runelift
from runelift.ir.base.errors import UserError
from runelift.runtime.research import dask_cluster
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.costs.log import LoggedRun, read_log
from runelift.runtime.versions.forest import plans

distributed = pytest.importorskip("distributed")

WORKER = """
import sys
import tempfile
from pathlib import Path
from distributed.cli.dask_worker import main
from runelift.runtime.research import dask_cluster
do = dask_cluster.do
def first(task):
    {before}
    return do(task)
first.__module__, first.__qualname__ = "runelift.runtime.research.dask_cluster", "do"
dask_cluster.do = first
main([sys.argv[1], "--no-nanny", "--nthreads", "1", "--no-dashboard"], standalone_mode=False)
"""
DIES_ONCE = """import contextlib, os
    with contextlib.suppress(FileExistsError):
        Path({path!r}).touch(exist_ok=False)
        os._exit(3)"""


class Cluster:
    """A scheduler, and machines that are processes."""

    def __init__(self) -> None:
        self.cluster = distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=None, protocol="tcp://",
            host="127.0.0.1")
        self.address: str = self.cluster.scheduler_address
        self.machines: list[subprocess.Popen[bytes]] = []

    def start(self, before: str = "pass", **environment: str) -> None:
        self.machines.append(subprocess.Popen(
            [sys.executable, "-c", WORKER.format(before=before), self.address],
            env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL))

    def close(self) -> None:
        for machine in self.machines:
            machine.kill()
            machine.wait()
        self.cluster.close()


@pytest.fixture
def machines() -> Iterator[Cluster]:
    found = Cluster()
    yield found
    found.close()


def tune(path: Path, machines: Cluster, *options: str, status: int = 0) -> list[LoggedRun]:
    """The runs in the log of a tuning."""
    assert main(["autotune", str(path), "--device", "pocl", "--no-parameters", "--scheduler",
                 machines.address, *options]) == status
    return read_log(path.with_name("rows.fut.tuning.log"))["main"].runs


def test_datasets_are_measured_elsewhere(path: Path, machines: Cluster) -> None:
    """And not again when tuning goes on."""
    machines.start()
    machines.start()
    runs = tune(path, machines)
    assert {run.dataset for run in runs} == {"wide", "tall"}
    assert not any(run.error for run in runs)
    assert all(run.record is not None and run.place for run in runs)
    assert tune(path, machines, "--resume") == runs
    assert path.with_name("rows.fut.tuning").exists()


def test_machines_share_the_versions_of_a_dataset(path: Path, machines: Cluster) -> None:
    machines.start()
    machines.start()
    with distributed.Client(machines.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
    runs = tune(path, machines, "--only", "wide")
    assert not any(run.error for run in runs)
    forest = runelift.compile(path, device="interpreter", tuning={}).tree.entry("main")
    assert {tuple(run.force.items()) for run in runs if not run.reference} == {
        tuple(plan.items()) for plan in plans(forest)}
    assert any(run.reference for run in runs)
    assert tune(path, machines, "--only", "wide", "--resume") == runs


def test_a_lost_machine_has_its_dataset_measured_by_another(path: Path, machines: Cluster,
                                                            tmp_path: Path) -> None:
    machines.start(DIES_ONCE.format(path=str(tmp_path / "died")))
    machines.start(DIES_ONCE.format(path=str(tmp_path / "died")))
    runs = tune(path, machines, "--effort", "quick")
    assert (tmp_path / "died").exists()
    assert {run.dataset for run in runs} == {"wide", "tall"}
    assert not any(run.error for run in runs)


def test_a_dataset_that_loses_every_machine_has_failed(path: Path, machines: Cluster,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    """It says why, and is measured when tuning goes on."""
    machines.cluster.scheduler.allowed_failures = 0
    machines.start("__import__('os')._exit(3)")
    runs = tune(path, machines, "--only", "wide", status=1)  # nothing was measured
    assert {run.dataset for run in runs} == {"wide"}
    assert all((run.error or "").startswith("lost: ") for run in runs)
    assert "lost: " in capsys.readouterr().out
    machines.start()
    again = tune(path, machines, "--only", "wide", "--resume")
    assert again
    assert not any(run.error for run in again)


def test_unlike_machines_are_refused(path: Path, machines: Cluster,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    machines.start(POCL_DEVICES="basic")
    assert main(["autotune", str(path), "--device", "pthread", "--scheduler",
                 machines.address]) == 1
    assert "must not be mixed" in capsys.readouterr().err


def test_other_editions_are_refused(path: Path, machines: Cluster,
                                    monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(dask_cluster, "edition", lambda: "another")
    machines.start()
    assert main(["autotune", str(path), "--device", "pocl", "--scheduler", machines.address]) == 1
    assert "another edition" in capsys.readouterr().err


def test_without_machines_or_scheduler(path: Path, machines: Cluster,
                                       monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.5)
    for address, message in ((machines.address, "No machine works"),
                             ("tcp://127.0.0.1:9", "There is no Dask scheduler"),
                             ("nonsense://x", "There is no Dask scheduler")):
        assert main(["autotune", str(path), "--device", "pocl", "--scheduler", address]) == 1
        assert message in capsys.readouterr().err


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r'pip install "\.\[dask\]"'):
        dask_cluster._distributed()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"runelift-{os.getuid()}"


def test_locks_are_in_a_folder_for_the_user_alone(temporary: Path) -> None:
    assert dask_cluster._lock_folder() == temporary
    assert temporary.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("spoil", [
    lambda folder: (folder.with_name("other").mkdir(), folder.symlink_to("other")),
    lambda folder: folder.symlink_to("missing"), lambda folder: folder.write_text("mine"),
    lambda folder: (folder.mkdir(), folder.chmod(0o777))])
def test_a_folder_of_locks_that_is_not_private_is_refused(
        spoil: Callable[[Path], object], temporary: Path) -> None:
    spoil(temporary)
    with pytest.raises(UserError, match="TMPDIR"):
        dask_cluster._lock_folder()


def test_a_lock_that_is_a_link_is_not_followed(temporary: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    lock = dask_cluster._lock_folder() / "name.lock"
    lock.symlink_to(tmp_path / "precious")
    with pytest.raises(UserError, match="Cannot lock"):
        dask_cluster._opened(lock)
    lock.unlink()
    dask_cluster._opened(lock).close()
    assert (tmp_path / "precious").read_text() == "mine"
