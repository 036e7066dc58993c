"""HTML fragments for notebooks: they need nothing around them, and fit dark and light themes.

Colours are mixed from that of the text, or of medium lightness.  Every rule of the style sheet is
for what is inside of a fragment.
"""

from __future__ import annotations

from collections.abc import Sequence

from runelift.runtime.tools.pages.document import table
from runelift.runtime.tools.pages.markup import Content, Markup, element

STYLE = """\
.runelift { --line: rgba(128,128,128,.4); --soft: rgba(128,128,128,.14); --red: #d2524b;
  --blue: color-mix(in srgb, #3d8bd4 55%, currentcolor);
  --green: color-mix(in srgb, #3c9a4d 55%, currentcolor);
  --orange: color-mix(in srgb, #c9772b 55%, currentcolor); color: inherit; line-height: 1.4;
  max-width: 100%; overflow-x: auto; }
.runelift .name { font-weight: 600; } .runelift .note { opacity: .8; font-size: 90%; }
.runelift code, .runelift pre { font-family: var(--jp-code-font-family, monospace);
  font-size: 90%; color: inherit; background: none; }
.runelift pre { margin: .3em 0; padding: .5em .7em; max-height: 30em; overflow: auto;
  border: 1px solid var(--line); border-radius: 4px; white-space: pre; }
.runelift.runelift tr { background: none; }
.runelift table { border-collapse: collapse; margin: .4em 0; font-variant-numeric: tabular-nums;
  color: inherit; background: none; border: 0; }
.runelift.runelift th, .runelift.runelift td { text-align: left; vertical-align: top;
  padding: .15em .8em .15em .2em; border: 0; border-bottom: 1px solid var(--line);
  background: none; }
.runelift.runelift .numbers td { text-align: right; }
.runelift caption { text-align: left; opacity: .8; }
.runelift summary { cursor: pointer; opacity: .8; } .runelift figure { margin: .4em 0; }
.runelift .bar { display: inline-block; height: .7em; background: #3d8bd4;
  print-color-adjust: exact; }
.runelift svg { font: 12px system-ui, sans-serif; max-width: none; }
.runelift svg text { fill: currentColor; stroke: none; } .runelift svg .tick { font-size: 11px; }
.runelift .decisions td { white-space: nowrap; } .runelift .soft { opacity: .8; }
.runelift .decisions .condition { font-weight: normal; }
.runelift .decisions .site th { opacity: .8; }
.runelift .decisions .time { padding: 0 .3em; border: 1px solid transparent; border-radius: 4px; }
.runelift .decisions .best { background: rgba(60,154,77,.3); }
.runelift .decisions .chosen { border-color: var(--red); }
.runelift .k, .runelift .kt, .runelift .kn, .runelift .kd, .runelift .kc, .runelift .ow {
  color: var(--blue); }
.runelift .c1, .runelift .cm, .runelift .c, .runelift .sd { opacity: .8; font-style: italic; }
.runelift .cp, .runelift .nd { color: var(--orange); }
.runelift .s, .runelift .s1, .runelift .s2, .runelift .mi, .runelift .mf, .runelift .mh {
  color: var(--green); }
.runelift .nf { font-weight: 600; }
"""


def fragment(*content: Content) -> Markup:
    """A piece of a notebook's output, with its style sheet."""
    return element("div", [element("style", Markup(STYLE)), *(
        each if isinstance(each, Markup) else element("div", each) for each in content)],
        class_="runelift")


def title(name: str, note: str = "") -> Markup:
    """The name of what is shown, and a note behind it."""
    return element("div", [element("span", name, class_="name"), " ",
                           element("span", note, class_="note")])


def numbers(rows: Sequence[Sequence[str]], caption: str = "") -> Markup:
    """A table whose columns are numbers, but for the first."""
    return element("div", table(rows, caption), class_="numbers")


def note(text: str) -> Markup:
    """A remark in small print."""
    return element("div", text, class_="note")


def code(text: str) -> Markup:
    """A short piece of program text."""
    return element("code", text)
