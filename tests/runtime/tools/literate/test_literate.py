"""Literate programs: documents with values, pictures, plots, sounds and what went wrong."""

import re
import shutil
import wave
from collections.abc import Callable
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

from runelift.ir.base.source import Source
from runelift.runtime.data.pictures import pixels, png, read_picture
from runelift.runtime.data.sounds import wav
from runelift.runtime.host import outside_tools
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.literate.blocks import Code, Directive, Text, blocks

DEFINITIONS = """\
-- # Ramps
--
-- | a | b |
-- |---|---|

-- | Numbers in *order*.
def ramp (n: i64): [n]f32 = tabulate n (\\i -> f32.i64 i / 4)

def shift [n] (s: {row: [n]f32, left: i64}): ([1][n]f32, {row: [n]f32, left: i64}) =
  ([s.row], {row = rotate 1 s.row, left = s.left - 1})
"""


class Made(NamedTuple):
    status: int
    markdown: str
    folder: Path
    said: str


Make = Callable[..., Made]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
         ) -> Make:
    """Write the document of a program with these directives, by the interpreter."""
    monkeypatch.chdir(tmp_path)

    def made(*directives: str, options: tuple[str, ...] = ()) -> Made:
        Path("p.fut").write_text("\n\n".join([DEFINITIONS, *directives]))
        status = main(["literate", "p.fut", "--device", "interpreter", *options])
        document = Path("p.md")
        return Made(status, document.read_text() if document.exists() else "",
                    tmp_path / "p-img", capsys.readouterr().err)

    return made


def link(made: Made) -> Path:
    """The file that the document shows last."""
    return made.folder.parent / re.findall(r"\]\((.*?)\)", made.markdown)[-1]


def test_text_code_and_values(make: Make) -> None:
    made = make("-- > ramp 2", "-- > (ramp\n--    (1 + 1), {x = 1u8, y = true})",
                "-- > :covert 2i8", "-- ==\n-- entry: ramp\n-- input { 1i64 } output { [0f32] }")
    assert made.status == 0
    assert made.markdown.startswith("# Ramps\n\n| a | b |\n|---|---|\n\nNumbers in *order*.\n\n"
                                    "```futhark\ndef ramp (n: i64): [n]f32 =")
    assert ("```\n> ramp 2\n```\n\n```\n[0.0f32, 0.25f32]\n```\n\n"
            "```\n> (ramp\n   (1 + 1), {x = 1u8, y = true})\n```\n\n"
            "```\n([0.0f32, 0.25f32], {x = 1u8, y = true})\n```\n\n```\n2i8\n```\n\n"
            "```futhark\n-- ==\n-- entry: ramp\n") in made.markdown


def test_pictures(make: Make) -> None:
    made = make("-- > :brief :img [ramp 5];\n-- file: a b.png")
    assert "```\n> :img [ramp 5]\n```\n\n![\\[ramp 5\\]](p-img/a%20b.png)\n" in made.markdown
    shades = read_picture(made.folder / "a b.png") & 0xFF
    assert shades.tolist() == [[0, 64, 128, 191, 255]]
    again = make('-- > :img ($loadimg "p-img/a b.png")')
    assert (read_picture(link(again)) == 0xFF000000 + 0x010101 * shades).all()


def test_plots(make: Make) -> None:
    made = make("-- > :plot2d {a = (ramp 3, [2f64, 3, 4]), b = (ramp 2, ramp 2)};\n"
                "-- size: (90, 60)")
    chart = link(made).read_text()
    assert ElementTree.fromstring(chart).tag == "{http://www.w3.org/2000/svg}svg"
    assert 'width="90" height="60"' in chart
    assert chart.count('class="line s') == 4  # a path and a sample each
    assert re.search(r">a</text>.*>b</text>", chart)


def test_sounds(make: Make) -> None:
    with wave.open(str(link(make("-- > :audio [ramp 9, map (0 -) (ramp 9)];\n"
                                 "-- sampling_frequency: 8000")))) as file:
        assert (file.getnchannels(), file.getframerate(), file.getsampwidth()) == (2, 8000, 2)
        found = np.frombuffer(file.readframes(9), "<i2").reshape(9, 2).T
    assert found[:, :6].tolist() == [[0, 8192, 16384, 24575, 32767, 32767],
                                     [0, -8192, -16384, -24575, -32767, -32767]]
    again = make('-- > map (map (\\x -> i64.f64 (x * 32768))) ($loadaudio "p-img/audio-1.wav")')
    assert f"[{', '.join(f'{each}i64' for each in found[0])}]" in again.markdown


@pytest.mark.parametrize("frames", [
    "(shift, {row = ramp 3, left = 3}, 3)",
    "[[[0f32, 0.25, 0.5]], [[0.25, 0.5, 0]], [[0.5, 0, 0.25]]]"])
def test_videos_move_without_other_programs(frames: str, make: Make,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside_tools.shutil, "which", lambda _: None)
    made = make(f"-- > :video {frames};\n-- fps: 7\n-- repeat: false")
    wanted = [pixels(np.array([np.roll([0, 0.25, 0.5], -number)])) for number in range(3)]
    assert link(made).name == "video-1.png"
    assert link(made).read_bytes() == png(wanted, 7, repeat=False)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not here")
def test_videos_and_sounds_of_other_formats(make: Make, tmp_path: Path) -> None:
    made = make("-- > :video [[[0f32, 1], [0, 0]], [[1, 1], [1, 1]]];\n-- format: gif",
                "-- > :audio ramp 5;\n-- codec: flac")
    assert (made.folder / "video-1.gif").read_bytes().startswith(b"GIF89a")
    assert read_picture(made.folder / "video-1.gif")[0].tolist() == [0xFF000000, 0xFFFFFFFF]
    assert link(made).read_bytes().startswith(b"fLaC")
    assert "0.25f64" in make('-- > $loadaudio "p-img/audio-2.flac"').markdown


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not here")
def test_gnuplot(make: Make) -> None:
    made = make("-- > :gnuplot {d = (ramp 3, ramp 3)};\n-- set term png size 80,60\n-- plot d",
                "-- > :gnuplot {d = (ramp 3, ramp 3)};\n-- plto d")
    assert read_picture(made.folder / "gnuplot-1.png").shape == (60, 80)
    assert "p.fut:17:1: error[malformed-data]: 'gnuplot' failed:" in made.said


@pytest.mark.parametrize(("directive", "place", "message"), [
    ("-- > ramp x", "13:11", "Unknown variable 'x'"),
    ("-- > (ramp 3)[i64.f32 (4 * (ramp 5)[4])]", "13:6", "Index [4] out of bounds"),
    ("-- > :imgs ramp 3", "13:1", "There is no directive ':imgs'"),
    ("-- > :img ramp 3", "13:1", "an array of numbers with 2 dimensions; this is of type [3]f32"),
    ("-- > ramp", "13:1", "This is a function: give it arguments"),
    ("-- > :covert :img", "13:1", "An expression is missing"),
    ("-- > :img [[1i64]]", "13:1", "elements of type u32, i32"),
    ("-- > :img empty([2][0]u8)", "13:1", "has the shape [2][0]"),
    ("-- > :img [[1u8]];\n-- file: ../a.png", "13:1", "'../a.png' is no name of a file"),
    ("-- > :img [[1u8]];\n-- size: 3", "13:1", "There is no parameter 'size': there are file."),
    ("-- > 1;\n-- file: a", "13:1", "a value has none"),
    ("-- > :plot2d (ramp 3, ramp 4)", "13:1", "The arrays differ in length"),
    ("-- > :plot2d ramp 3", "13:1", "shows a tuple of arrays of numbers"),
    ("-- > :audio [1i64]", "13:1", "not int64"),
    ("-- > :audio ramp 3;\n-- sampling_frequency: 0", "13:1", "is a number from 1"),
    ("-- > :video [[[0u8]]];\n-- format: mkv", "13:1", "no format 'mkv'"),
    ("-- > :video [[0u8]]", "13:1", "with 3 dimensions"),
    ("-- > :video (\\(x: i32) -> (x, x + 1), 3, 3)", "13:1", "a picture and the next state"),
    ('-- > $loadimg "p.fut"', "13:1", "p.fut"),
    ('-- > $loadaudio "p.fut"', "13:1", "p.fut"),
    ('-- > $loadvideo "p.fut"', "13:6", "is no input"),
])
def test_what_fails_stands_in_the_document(directive: str, place: str, message: str, make: Make,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    made = make(directive, "-- > ramp 1")
    assert made.status == 1
    for text in (made.said, made.markdown):
        assert f"p.fut:{place}" in text
        assert message in " ".join(text.split())
    assert "**Failed:**" in made.markdown
    assert made.markdown.endswith("[0.0f32]\n```\n")


@pytest.mark.parametrize(("directive", "tool"), [
    (":gnuplot (ramp 2, ramp 2)", "gnuplot"), (":audio ramp 2;\n-- codec: ogg", "ffmpeg"),
    (":video [[[1u8]]];\n-- format: webm", "ffmpeg")])
def test_other_programs_that_are_not_there_are_named(directive: str, tool: str, make: Make,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert f"needs the program '{tool}', which is not found" in make(f"-- > {directive}").said


def test_nothing_is_written_after_an_error(make: Make, tmp_path: Path) -> None:
    made = make("-- > :img [ramp 3]", "-- > ramp x", options=("--stop-on-error",))
    assert (made.status, made.markdown) == (1, "")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["p.fut"]
    assert "p.fut:15:11: error[unknown-name]" in made.said
    Path("p.fut").write_text("def f = g\n\n-- > f")
    assert main(["literate", "p.fut"]) == 1
    assert not Path("p.md").exists()


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.sources: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.sources += [f"{tag} {value}" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.words += data


def test_one_page_has_all_inside(make: Make, tmp_path: Path) -> None:
    (tmp_path / "own.png").write_bytes(png([pixels(np.zeros((1, 1), np.uint8))]))
    make("-- > :img [ramp 3]", "-- > :audio ramp 3", "-- > ramp 1", "-- ![](own.png) <b>no</b>",
         options=("--html", "one.html"))
    text = (tmp_path / "one.html").read_text()
    page = Page(text)
    assert [each[:21] for each in page.sources] == [
        "img data:image/png;ba", "audio data:audio/wav;", "img data:image/png;ba"]
    assert "<title>Ramps</title>" in text
    assert text.count("<h1>") == 1
    assert "def ramp (n: i64): [n]f32 =" in page.words
    assert '<span class="key">def</span>' in text
    assert "[0.0f32]" in page.words
    assert "<b>no</b>" in page.words
    assert "<table>" in text


def test_blocks_and_their_places() -> None:
    source = Source("p.fut", "-- a\n-- > not one\ndef x = 1\n-- > :brief x;\n-- y: 1\n"
                    "-- > x +\n--x")
    text, code, first, second = blocks(source)
    assert text == Text("a\n> not one")
    assert code == Code("def x = 1")
    assert isinstance(first, Directive)
    assert isinstance(second, Directive)
    assert (first.shown, first.rest, first.script.text.strip()) == ("> x", ("y: 1",), "x")
    assert second.script.text.split() == ["x", "+", "x"]
    for each in (first, second):
        assert len(each.script.text) == len(source.text)
        assert all(new in (" ", old) for new, old in zip(
            each.script.text, source.text, strict=True))


@pytest.mark.parametrize("kind", ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"])
def test_samples_of_all_types(kind: str) -> None:
    middle = {"u": 1 << (8 * int(kind[1]) - 1)}.get(kind[0], 0)
    step = 0.5 if kind[0] == "f" else 1 << (8 * int(kind[1]) - 2)
    samples = np.array([[middle - step, middle, middle + step]], kind)
    with wave.open(BytesIO(wav(samples))) as file:
        width = file.getsampwidth()
        raw = np.frombuffer(file.readframes(3), "u1" if width == 1 else f"<i{width}")
    zero, top = (128, 64) if width == 1 else (0, 1 << (8 * width - 2))
    assert np.abs(raw - (zero + top * np.array([-1.0, 0, 1]))).max() <= (kind[0] == "f")
