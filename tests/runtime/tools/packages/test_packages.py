"""Packages: manifests, versions, and ``runelift pkg`` on repositories made here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runelift.frontend.load import check
from runelift.frontend.manifest import Requirement, Version, parse_manifest, version_of
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.packages.install import solve

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Runs Git, for which https://github.com/ is a folder."""
    settings = {"user.name": "a", "user.email": "a@b.c",
                f"url.file://{tmp_path}/hosts/.insteadOf": "https://"}
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (key, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)

    def run(folder: Path, *words: str) -> str:
        return subprocess.run(["git", "-C", folder, *words], check=True, text=True,
                              capture_output=True).stdout.strip()

    return run


@pytest.fixture
def release(git: Git, tmp_path: Path) -> Callable[..., str]:
    """Commits files of a package, perhaps with a tag; the commit."""
    def made(package: str, version: str, requires: str = "", text: str = "") -> str:
        folder = tmp_path / "hosts" / package.partition("@")[0]
        if not folder.exists():
            folder.mkdir(parents=True)
            git(folder, "init", "-q")
        place = folder / "lib" / package
        place.mkdir(parents=True, exist_ok=True)
        (folder / "futhark.pkg").write_text(f"package {package}\nrequire {{\n{requires}\n}}\n")
        (place / "x.fut").write_text(text or f"def version = \"{version}\"\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", version or "work")
        if version:
            git(folder, "tag", f"v{version}")
        return git(folder, "rev-parse", "HEAD")

    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*.fut"))


def pkg(*words: str) -> int:
    return main(["pkg", *words])


# Manifests


TEXT = """\
-- above
package github.com/a/b

-- between
require {
  -- inside
  github.com/c/d 1.2.3 #abc
  gitlab.com/e/f@2 2.0.0
  g.org/h 0.0.0-20180801102532+b700
}
-- below
"""


def test_a_manifest_keeps_its_comments() -> None:
    manifest = parse_manifest(Source("futhark.pkg", TEXT))
    assert str(manifest) == TEXT
    assert manifest.required["github.com/c/d"] == ("github.com/c/d", (1, 2, 3, "", ""), "abc")
    new = Requirement("github.com/c/d", Version(1, 3, 0))
    assert str(manifest.requiring(new)) == TEXT.replace("1.2.3 #abc", "1.3.0")
    assert str(manifest.without("gitlab.com/e/f@2")) == TEXT.replace(
        "  gitlab.com/e/f@2 2.0.0\n", "")


@pytest.mark.parametrize(("text", "place", "message"), [
    ("require {\n  a.b/c\n}", "3:1", "Expected a version"),
    ("require {\n  a.b/c 1.0\n}", "2:9", "Expected a version"),
    ("require {\n  a.b/c 01.0.0\n}", "2:9", "Expected a version"),
    ("require {\n  a.b/../c 1.0.0\n}", "2:3", "Expected a package path"),
    ("package /etc", "1:9", "Expected a package path"),
    ("require {\n", "2:1", "found the end of the file"),
    ("require {} x", "1:12", "Expected the end of the file"),
])
def test_mistakes_have_a_place(text: str, place: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse_manifest(Source("futhark.pkg", text))
    assert str(caught.value).startswith(f"futhark.pkg:{place}: error[malformed-manifest]")
    assert message in str(caught.value)


def test_a_slash_at_the_end_of_a_package_is_no_part_of_it() -> None:
    assert parse_manifest(Source("futhark.pkg", "package a.b/c/")).package == "a.b/c"


def test_versions_have_an_order() -> None:
    texts = ["0.0.0-20180801102532+b7", "0.0.0-20190801102532+a1", "0.0.1", "0.9.0", "0.10.0",
             "1.0.0"]
    versions = [found for each in texts if (found := version_of(each)) is not None]
    assert [*map(str, versions)] == texts
    assert sorted(versions[::-1], key=lambda each: each.order) == versions


# The choice of versions


WORLD = {
    ("a", 1): {}, ("a", 2): {"b": 1}, ("a", 3): {}, ("b", 1): {}, ("c", 1): {"a": 3},
    ("two", 1): {"a": 2, "c": 1}, ("way", 1): {"c": 1, "w": 1}, ("w", 1): {"a": 2},
    ("ring", 1): {"rong": 1}, ("rong", 1): {"ring": 2}, ("ring", 2): {"rong": 1}}


@pytest.mark.parametrize(("wanted", "found"), [
    ({"a": 1}, {"a": 1}), ({"a": 2}, {"a": 2, "b": 1}), ({"two": 1}, {"two": 1, "a": 3, "c": 1}),
    ({"way": 1}, {"way": 1, "a": 3, "c": 1, "w": 1}), ({"ring": 1}, {"ring": 2, "rong": 1}),
    ({"a": 2, "c": 1}, {"a": 3, "c": 1})])
def test_the_least_versions_that_satisfy_all(wanted: dict[str, int],
                                             found: dict[str, int]) -> None:
    def required(listed: dict[str, int]) -> dict[str, Requirement]:
        return {name: Requirement(name, Version(number, 0, 0)) for name, number in listed.items()}

    chosen = solve(required(wanted), lambda each: required(
        WORLD[each.package, each.version.major]).values())
    assert {name: version.major for name, version in chosen.items()} == found


# The command


def test_from_nothing_to_an_import(release: Callable[..., str], home: Path,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    release("github.com/u/base", "0.1.0", text="def one = 1i32")
    commit = release("github.com/u/top", "1.0.0", "github.com/u/base 0.1.0",
                     'import "../base/x"\ndef two = one + one')
    program = home / "p.fut"
    program.write_text('import "lib/github.com/u/top/x"\nentry main = two')
    with pytest.raises(ProgramError) as caught:
        check(read_source(Path("p.fut")))
    assert caught.value.span is not None
    assert caught.value.span.text == 'import "lib/github.com/u/top/x"'
    assert "run 'runelift pkg add github.com/u/top' and 'runelift pkg sync'" in caught.value.hint
    assert pkg("add", "github.com/u/top") == 0
    assert Path("futhark.pkg").read_text() == (
        f"require {{\n  github.com/u/top 1.0.0 #{commit}\n}}\n")
    with pytest.raises(ProgramError, match=r"requires the package github.com/u/top: run "
                                           "'runelift pkg sync'"):
        check(read_source(Path("p.fut")))
    assert not Path("lib").exists()
    assert pkg("sync") == 0
    assert files(Path("lib")) == ["github.com/u/base/x.fut", "github.com/u/top/x.fut"]
    assert sorted(os.listdir()) == ["futhark.pkg", "lib", "p.fut"]
    check(read_source(Path("p.fut")))
    capsys.readouterr()
    assert pkg("list", "--json") == 0
    assert json.loads(capsys.readouterr().out)["result"] == {"package": None, "required": [
        {"package": "github.com/u/top", "version": "1.0.0", "hash": commit, "in_lib": True}]}
    assert pkg("remove", "github.com/u/top") == 0
    assert pkg("sync") == 0
    assert files(Path("lib")) == []


def test_a_folder_is_a_source(release: Callable[..., str], tmp_path: Path, home: Path) -> None:
    release("github.com/u/n@2", "2.0.0")
    release("github.com/u/n@2", "2.1.0")
    folder = tmp_path / "elsewhere"
    (tmp_path / "hosts" / "github.com" / "u" / "n").rename(folder)
    assert pkg("add", "../elsewhere", "2.0.0") == 0
    assert "  -- source: github.com/u/n ../elsewhere\n" in Path("futhark.pkg").read_text()
    assert pkg("upgrade") == 0
    assert pkg("sync") == 0
    assert Path("lib/github.com/u/n@2/x.fut").read_text() == 'def version = "2.1.0"\n'
    assert pkg("add", f"file://{folder}", "2.0.0") == 0
    assert f"-- source: github.com/u/n file://{folder}\n" in Path("futhark.pkg").read_text()
    assert "../elsewhere" not in Path("futhark.pkg").read_text()
    assert pkg("remove", "github.com/u/n@2") == 0
    assert Path("futhark.pkg").read_text() == "require {\n}\n"


def test_commits_without_release(release: Callable[..., str], home: Path) -> None:
    commit = release("github.com/u/n", "")
    assert pkg("add", "github.com/u/n") == 0
    found, = parse_manifest(read_source(Path("futhark.pkg"))).required.values()
    assert (found.version.build, found.commit, len(found.version.stamp)) == (commit, "", 14)
    assert pkg("sync") == 0
    assert files(Path("lib")) == ["github.com/u/n/x.fut"]


def test_a_moved_tag_is_noticed(release: Callable[..., str], git: Git, tmp_path: Path, home: Path,
                                capsys: pytest.CaptureFixture[str]) -> None:
    release("github.com/u/n", "0.1.0")
    assert pkg("add", "github.com/u/n") == 0
    assert pkg("sync") == 0
    release("github.com/u/n", "", text="def evil = 1i32")
    git(tmp_path / "hosts/github.com/u/n", "tag", "-f", "v0.1.0")
    assert pkg("sync") == 1
    assert "github.com/u/n 0.1.0 has changed" in capsys.readouterr().err
    assert Path("lib/github.com/u/n/x.fut").read_text() == 'def version = "0.1.0"\n'


def test_no_file_leaves_its_package(release: Callable[..., str], git: Git, tmp_path: Path,
                                    home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release("github.com/u/n", "")
    folder = tmp_path / "hosts/github.com/u/n"

    def tree(*lines: str) -> str:
        return subprocess.run(["git", "-C", folder, "mktree"], check=True, text=True,
                              input="\n".join(lines), capture_output=True).stdout.strip()

    blob = git(folder, "rev-parse", "HEAD:futhark.pkg")
    outside = tree(f"100644 blob {blob}\tevil.fut")
    found = tree(f"040000 tree {outside}\t..")
    for name in ("n", "u", "github.com", "lib"):
        found = tree(f"040000 tree {found}\t{name}", *(
            [f"100644 blob {blob}\tfuthark.pkg"] if name == "lib" else []))
    commit = git(folder, "commit-tree", found, "-m", "evil")
    git(folder, "tag", "v1.0.0", commit)
    assert pkg("add", "github.com/u/n") == 0
    assert pkg("sync") == 1
    assert "has a file outside of its package: '../evil.fut'" in capsys.readouterr().err
    assert not list(home.rglob("evil.fut"))


def test_own_package_stays_and_other_files_are_not_lost(
        release: Callable[..., str], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release("github.com/u/n", "0.1.0")
    assert pkg("init", "github.com/me/mine") == 0
    Path("lib/github.com/me/mine/m.fut").write_text("def m = 1i32")
    assert pkg("add", "github.com/u/n") == 0
    assert pkg("sync") == 0
    assert files(Path("lib")) == ["github.com/me/mine/m.fut", "github.com/u/n/x.fut"]
    Path("lib/helper.fut").write_text("def h = 1i32")
    assert pkg("sync") == 1
    assert "'lib/helper.fut' is of no package" in capsys.readouterr().err
    assert Path("lib/helper.fut").exists()
    assert pkg("init", "github.com/me/mine") == 1


@pytest.mark.parametrize(("words", "message"), [
    (["add", "github.com/u/none"], "Cannot read the repository 'https://github.com/u/none'"),
    (["add", "github.com/u/n", "7.0.0"], "Version 7 has the path github.com/u/n@7."),
    (["add", "github.com/u/n", "0.2.0"], "has no version 0.2.0.  Its versions: 0.1.0."),
    (["add", "github.com/u/n", "1"], "'1' is not a version"),
    (["add", "../nowhere"], "hint: There is no such folder."),
    (["add", "/nowhere"], "hint: There is no such folder."),
    (["add", "."], "hint: The folder must be a repository of Git"),
    (["add", "https:///none"], "hint: Without a network, name the folder"),
    (["add", "n"], "'n' is not a package path"),
    (["init", "../../x.y"], "is not a package path"),
    (["remove", "github.com/u/n"], "It requires no package."),
    (["sync", "x"], "'pkg sync' takes no package."),
])
def test_mistakes_of_users(words: list[str], message: str, release: Callable[..., str], home: Path,
                           capsys: pytest.CaptureFixture[str]) -> None:
    release("github.com/u/n", "0.1.0")
    assert pkg(*words) == 1
    assert message in capsys.readouterr().err
    assert os.listdir() == []


def test_without_git_there_is_advice(home: Path, monkeypatch: pytest.MonkeyPatch,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(home))
    assert pkg("add", "github.com/u/n") == 1
    assert "need the program 'git'" in capsys.readouterr().err
