"""The language of docstrings and pages: plain first lines, short sentences, no riddles.

``python tests/test_prose.py [PATH ...]`` lists all violations, or those below the given paths.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("ir", "frontend", "rewrite", "codegen", "runtime", "benchmarks")
PAGES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("tests/*.md")])

WORDS_IN_DOCSTRING = 25
WORDS_ON_PAGE = 40
MEDIAN_ON_PAGE = 15
WORDS_IN_CHANGE = 15

OPENINGS = frozenset({"What", "Which", "Whether", "How", "Where", "Who", "Whose", "When", "Why",
                      "That", "If", "It", "Its", "They", "Their", "Them"})
_AFTER_THOSE = ("of|that|with|for|in|on|which|who|whom|to|from|by|are|is|were|whose|where|without|"
                "before|after|between|inside|around|below|above|at|not|it|they|a|the|he|we")
_AFTER_SAME = "as|for|of|in|but|with|where|if|on|again|to"
POINTING = re.compile(
    rf"\b(?:ones|others|those (?:{_AFTER_THOSE})\b|those(?=[.,;:)]|$)|as above"
    rf"|the same(?=[.,;:)]|$| (?:{_AFTER_SAME})\b)|the rest(?=[.,;:)]|$))", re.I)
"""Words in place of the noun that a docstring speaks of."""
NO_VERBS = re.compile(r"(?:an?|the|one|each|all|every|both|no|nothing|something|its|several)\b|`",
                      re.I)
"""Openings that name a thing: wrong for functions that return nothing."""
RIDDLES = re.compile(r'(?<!")\b(nobody|somebody|anybody|whoever|of (?:its|their) own)\b', re.I)

CODE = re.compile(r"(?::[a-z:]+:)?(``.+?``|`[^`]+`)", re.S)
FENCED = re.compile(r"^( *)```.*?^\1```|<!--.*?-->", re.S | re.M)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
LAW = re.compile("[⇒⊢]")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|et al|cf|vs|ch|sec|resp|Fig|No)\.(?=\s)")
ITEM = re.compile(r"(?:[-*+]|\d+[.)]) +")
NOTE = re.compile(r"([A-Z][a-z]+(?: [a-z]+){0,3}):\s")
END = re.compile(r"[.!?][\"')\]*_]*(?:  +|\s+(?=[A-Z\"'(\[*_]))")


@dataclass(frozen=True)
class Sentence:
    """A sentence, an item of a list, or a cell of a table."""

    line: int
    text: str
    prose: bool = True
    """No heading and no cell of a table."""

    @property
    def words(self) -> int:
        return sum(bool(re.search(r"\w", each)) for each in self.text.split())


@dataclass(frozen=True)
class Violation:
    path: Path
    line: int
    reason: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.reason}: {self.text}"


def same_lines(match: re.Match[str], word: str) -> str:
    return word + "\n" * match[0].count("\n")


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, items, headings and rows with their lines, without indented code."""
    block: list[str] = []
    start, literal = 0, False
    for number, line in enumerate([*text.splitlines(), ""]):
        bare = line.strip()
        if literal and (not bare or line.startswith(" ")):
            continue
        literal = not block and line.startswith("    ") and not ITEM.match(bare)
        if literal:
            continue
        if block and (not bare or ITEM.match(bare) or bare.startswith(("#", "|"))):
            yield start, "\n".join(block)
            literal = not bare and block[-1].endswith("::")
            block = []
        if bare:
            if not block:
                start = number
            block.append(bare)


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a docstring or page; code counts as one word, and laws are left out."""
    text = FENCED.sub(lambda m: same_lines(m, ""), text)
    text = CODE.sub(lambda m: same_lines(m, "CODE"), text)
    text = ABBREVIATION.sub(r"\1", LINK.sub(r"\1", text))
    for line, block in blocks(text):
        if LAW.search(block) or block.startswith(("Source:", ">>>")):
            continue
        if block.startswith("|"):
            yield from (Sentence(line, cell.strip(), False) for cell in block.split("|"))
            continue
        prose = not block.startswith("#")
        block = ITEM.sub("", block, count=1) if ITEM.match(block) else block
        if note := NOTE.match(block):
            line, block = line + note[0].count("\n"), block[note.end():]
        at = 0
        for end in [*(m.end() for m in END.finditer(block)), len(block)]:
            if words := block[at:end].split():
                yield Sentence(line + block[:at].count("\n"), " ".join(words), prose)
            at = end


def procedures(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings of functions that return nothing, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) \
                and isinstance(node.returns, ast.Constant) and node.returns.value is None \
                and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, text


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings of modules, classes, functions, constants and fields, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body
            for before, stm in zip([None, *body], body, strict=False):
                if isinstance(stm, ast.Expr) and isinstance(stm.value, ast.Constant) \
                        and isinstance(stm.value.value, str) \
                        and isinstance(before, ast.Assign | ast.AnnAssign | None):
                    yield stm.lineno, cleandoc(stm.value.value)


def in_module(path: Path) -> Iterator[Violation]:
    tree = ast.parse(path.read_text())
    for start, text in procedures(tree):
        if NO_VERBS.match(text):
            yield Violation(path, start, "say what it does, with a verb", text.splitlines()[0])
    for start, text in docstrings(tree):
        first = text.splitlines()[0] if text else ""
        opening = re.match(r"\w*", first)
        if opening and opening[0] in OPENINGS:
            yield Violation(path, start, f"opens with {opening[0]}", first)
        for sentence in sentences(text):
            yield from of_sentence(path, start, sentence, WORDS_IN_DOCSTRING)
            if pointing := POINTING.search(sentence.text):
                yield Violation(path, start + sentence.line, f"say what '{pointing[0]}' are",
                                sentence.text)


def on_page(path: Path) -> Iterator[Violation]:
    changes = path.name == "CHANGELOG.md"
    found = list(sentences(path.read_text()))
    for sentence in found:
        yield from of_sentence(path, 1, sentence, WORDS_IN_CHANGE if changes else WORDS_ON_PAGE)
    lengths = [sentence.words for sentence in found if sentence.prose]
    if lengths and path.name != "errors.md" and median(lengths) > MEDIAN_ON_PAGE:
        yield Violation(path, 1, "long sentences", f"a median of {median(lengths):g} words")


def of_sentence(path: Path, start: int, sentence: Sentence, most: int) -> Iterator[Violation]:
    line = start + sentence.line
    if sentence.words > most:
        yield Violation(path, line, f"{sentence.words} words", sentence.text)
    if riddle := RIDDLES.search(sentence.text):
        yield Violation(path, line, riddle[0], sentence.text)


def violations(path: Path) -> list[Violation]:
    """Of a page, a module, or all modules and pages below a folder."""
    if path.is_file():
        return list(on_page(path) if path.suffix == ".md" else in_module(path))
    modules = [each for folder in FOLDERS for each in sorted((ROOT / folder).rglob("*.py"))]
    return sorted((each for file in [*modules, *PAGES] if file.is_relative_to(path)
                   for each in violations(file)), key=lambda each: (each.path, each.line))


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings(folder: str) -> None:
    assert not (found := violations(ROOT / folder)), "\n" + "\n".join(map(str, found))


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_pages(page: Path) -> None:
    assert not (found := violations(page)), "\n" + "\n".join(map(str, found))


def test_sentences_are_told_apart() -> None:
    text = ("A law, `a. B`.  Like ``x\ny``, e.g. this: one; two.\n\n* An item.\n* Two\n  lines\n\n"
            "a ⇒ b")
    assert [(each.line, each.text, each.words) for each in sentences(text)] == [
        (0, "A law, CODE.", 3), (0, "Like CODE , e.g this: one; two.", 6), (3, "An item.", 2),
        (4, "Two lines", 2)]


def test_words_that_point_at_nothing_are_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('"""Groups and those of others.  The same.  The same group, one of many."""\n')
    assert [each.reason for each in in_module(path)] == [
        "say what 'those of' are", "say what 'The same' are"]


def test_functions_that_return_nothing_say_what_they_do(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('def f() -> None:\n    """The steps of a loop."""\n\n\n'
                    'def g() -> None:\n    """Add the steps of a loop."""\n\n\n'
                    'def h() -> int:\n    """The number of a loop."""\n')
    assert [(each.line, each.reason) for each in in_module(path)] == [
        (2, "say what it does, with a verb")]


def test_code_and_tables_are_told_apart() -> None:
    text = "Like this::\n\n    Code.  Code.\n\n    More.\nText.\n\n| a b | c |\n\n```\nCode.\n```\n"
    assert [each.text for each in sentences(text) if each.text] == [
        "Like this::", "Text.", "a b", "c"]


def main() -> None:
    found = [each for path in sys.argv[1:] or ["."] for each in violations(Path(path).resolve())]
    print(*found, f"{len(found)} violations", sep="\n")


if __name__ == "__main__":
    main()
