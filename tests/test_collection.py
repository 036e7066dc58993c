"""The harness that times programs beside a peer, with a peer that only pretends to compute."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runelift.ir.base.errors import UserError

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

SERVER = f"""#!{sys.executable}
import sys, time
held = set()
print("%%% OK", flush=True)
for line in sys.stdin:
    command, *words = line.split()
    if command == "inputs":
        print("[]f32\\n*[]f32" if words[0] == "shift" else "[]f32")
    elif command == "outputs":
        print("f32")
    elif command == "restore":
        held.add(words[1])
    elif command == "free":
        missing = [each for each in words if each not in held]
        held -= set(words)
        if missing:
            print("%%% FAILURE\\nUnknown: " + missing[0])
    elif command == "call":
        if words[0] == "hang":
            time.sleep(60)
        held.add(words[1])
        print("runtime: 250")
    elif command == "report":
        print('{{"memory": {{"device": 4096}}}}')
    elif command == "held":
        print(*sorted(held))
    print("%%% OK", flush=True)
"""

PROGRAM = """
-- ==
-- "short" random input { [10]f32 }
-- "long" random input { [1000]f32 }
-- nobench random input { [5]f32 }

entry main (xs: []f32): f32 = f32.sum xs
"""


@pytest.fixture(autouse=True)
def _modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for path in BENCHMARKS.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def server(tmp_path: Path) -> Path:
    path = tmp_path / "peers" / "sums"
    path.parent.mkdir()
    path.write_text(SERVER)
    path.chmod(0o755)
    return path


def test_values_that_are_placed_again_stay(server: Path) -> None:
    from peers import Peer

    one, two = np.ones(3, np.float32), np.zeros(3, np.float32)
    with Peer(server, [], 10) as peer:
        assert peer.place("shift", [one, two]) == ["in1", "in2"]
        assert peer.place("shift", [one, one]) == ["in1", "in3"]
        assert peer.ask("held") == ["in1 in3"]
        assert peer.call("shift", ["in1", "in3"]) == 250
        assert peer.ask("held") == ["in1 in3"]
        assert peer.prepare("main", [one])() == 250
        assert peer.ask("held") == ["in1"]
        peer.prepare("shift", [one, two])()
        assert peer.ask("held") == ["in5 in6"]
        assert peer.peak() == 4096


def test_failures_and_hanging_of_the_peer_are_errors(server: Path) -> None:
    from peers import Peer

    with Peer(server, [], 10) as peer, pytest.raises(UserError, match="Unknown: nothing"):
        peer.ask("free nothing")
    with Peer(server, [], 1) as peer, pytest.raises(UserError, match="too long"):
        peer.call("hang", [])
    with Peer(server, [], 10) as peer, pytest.raises(UserError, match="parameters"):
        peer.place("main", [1, 2])


def _rows(file: Path, *arguments: str) -> tuple[list[dict[str, Any]], str]:
    """The rows in a file after a run of the harness, and what that prints."""
    done = subprocess.run([sys.executable, str(BENCHMARKS / "collection.py"), *arguments,
                           "--json", str(file)], check=True, capture_output=True, text=True)
    return ([row for sitting in json.loads(file.read_text()) for row in sitting["rows"]],
            done.stdout)


@pytest.mark.parametrize("options", [[], ["--jobs", "2"]])
def test_rows_are_measured_once(options: list[str], server: Path, tmp_path: Path) -> None:
    folder, file = tmp_path / "programs", tmp_path / "found.json"
    (folder / "lib").mkdir(parents=True)
    for path in (folder / "sums.fut", folder / "lib" / "ignored.fut"):
        path.write_text(PROGRAM)
    (folder / "helper.fut").write_text("def one = 1")
    arguments = [str(folder), "--peers", str(server.parent), "--budget", "100", *options]
    first, _ = _rows(file, *arguments, "--dataset", "short")
    assert [(row["program"], row["dataset"], row["peer"]) for row in first] == [
        ("sums", "short", 250)]
    both, printed = _rows(file, *arguments)
    assert [row["dataset"] for row in both] == ["short", "long"]
    assert both[0] == first[0]
    assert both[1]["launches"] >= 1
    assert both[1]["bytes"] >= 4000
    assert all("sums" in each["cold"] for each in json.loads(file.read_text()))
    assert "by program (1)" in printed
    assert "by row (2)" in printed


def _end(turns: Any, how: str) -> None:
    """Begin a row, and end in some way."""
    turns.send(begun={"entry": "main"})
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hangs":
        time.sleep(60)
    raise ValueError("two\nlines")


@pytest.mark.parametrize(("how", "words"), [
    ("raises", "ValueError: two"), ("killed", "ended by SIGKILL"),
    ("hangs", "ended: it took longer than 1 s")])
def test_the_reason_of_an_end_is_told(how: str, words: str, tmp_path: Path) -> None:
    from collection_parts import Part, messages

    waiting = ["one"]
    found = list(messages(lambda: Part(waiting.pop(), tmp_path, partial(_end, how=how))
                          if waiting else None, 1, time.perf_counter() + 30, 1.0))
    assert [message for _, message in found] == [{"begun": {"entry": "main"}}, None]
    assert found[-1][0].last_words == words


def test_memory_is_compared_where_both_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    from collection_report import print_tables

    row = {"entry": "main", "peer": 10.0, "default": 5.0, "best": 5.0}
    rows = [{**row, "program": "a", "dataset": "x", "peak": 3_000_000, "peer_peak": 2_000_000},
            {**row, "program": "a", "dataset": "y", "peak": 9_000_000, "peer_peak": None},
            {**row, "program": "b", "dataset": "z", "peak": 3_000, "peer_peak": 1_000}]
    print_tables({"rows": rows, "cold": {}, "device": "card", "sittings": []})
    printed = capsys.readouterr().out
    assert "1 of 2 rows need more than 1.2 times" in printed
    assert "a x" in printed.split("MB peak")[1]


def test_results_are_joined_by_row(tmp_path: Path) -> None:
    from collection_report import by_program, joined, mean, ratio

    def sitting(device: str, *rows: tuple[str, str, float]) -> list[dict[str, Any]]:
        return [{"date": "2026-01-01", "loop": 0.5, "device": device, "cold": {},
                 "rows": [{"program": program, "entry": "main", "dataset": dataset, "peer": 10.0,
                           "default": time} for program, dataset, time in rows]}]

    one, two, other = (tmp_path / name for name in ("1.json", "2.json", "3.json"))
    one.write_text(json.dumps(sitting("card", ("a", "x", 10.0), ("a", "y", 5.0))))
    two.write_text(json.dumps(sitting("card", ("a", "x", 2.5), ("b", "x", 10.0))))
    other.write_text(json.dumps(sitting("another card", ("c", "x", 1.0))))
    rows = joined([one, two])["rows"]
    ratios = {name: mean(ratio(row, "default") for row in its)
              for name, its in by_program(rows).items()}
    assert ratios == {"a": pytest.approx(8 ** 0.5), "b": pytest.approx(1.0)}
    with pytest.raises(UserError, match="different devices"):
        joined([one, other])


def test_missing_files_have_generators() -> None:
    from collection_data import values_for

    found = values_for(Path("rodinia/lud/data/64.in.gz"))
    again = values_for(Path("elsewhere/lud/64.in.gz"))
    assert found is not None
    assert again is not None
    assert found[0].shape == (64, 64)
    assert np.array_equal(found[0], again[0])
    assert values_for(Path("rodinia/lud/data/65.in")) is None


def test_generated_graphs_are_connected() -> None:
    from collection_data import values_for

    for name in ("4096nodes", "512nodes_high_edge_variance"):
        starts, counts, ends = values_for(Path(f"bfs/data/{name}.in")) or []
        assert (starts + counts)[-1] == len(ends)
        assert (counts > 0).all()
        reached, border = {0}, [0]
        while border:
            node = border.pop()
            following = set(ends[starts[node] : starts[node] + counts[node]].tolist()) - reached
            reached |= following
            border += following
        assert len(reached) == len(starts)


def test_generated_boxes_have_their_neighbours() -> None:
    from collection_data import values_for

    _, x, y, z, number, *rest = values_for(Path("lavaMD/data/3_boxes.in")) or []
    near, counts = rest[:4], rest[4]
    assert counts.min() == 7
    assert counts.max() == 26
    for box in range(27):
        for place in range(counts[box]):
            other = near[3][place, box]
            assert [each[other] for each in (x, y, z, number)] == [
                each[place, box] for each in near]
            assert max(abs(int(each[other]) - int(each[box])) for each in (x, y, z)) == 1


def test_the_generated_digest_is_of_a_word_of_the_list() -> None:
    import hashlib

    from collection_data import values_for

    *digest, letters, offsets = values_for(Path("hashcat/rockyou.dataset")) or []
    word = letters[offsets[10] : offsets[11]].tobytes()
    assert hashlib.md5(word).digest() == np.array(digest, "<u4").tobytes()
