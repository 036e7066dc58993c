"""Errors and warnings in SARIF, the Static Analysis Results Interchange Format.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from runelift import __version__
from runelift.ir.base.codes import CODES
from runelift.ir.base.project_links import repository

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"
ROOT = "%SRCROOT%"
"""The name of the folder that relative addresses begin at: the one that the command runs in."""


def sarif_log(found: Sequence[dict[str, Any]], arguments: Sequence[str] = ()) -> dict[str, Any]:
    """The log of a command line with errors and warnings, which are in the form of ``--json``.

    Errors without a place in a file are no results, but notifications: the command has not done its
    task.
    """
    results = [each for each in found if "file" in each]
    others = [each for each in found if "file" not in each]
    codes = list(dict.fromkeys(each["code"] for each in results))
    address = repository()
    about = {} if address is None else {"informationUri": address}
    return {
        "$schema": SCHEMA, "version": VERSION,
        "runs": [{
            "tool": {"driver": {"name": "Runelift", "version": __version__, **about,
                                "rules": [_rule(code) for code in codes]}},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": all(each["severity"] != "error" for each in others),
                "arguments": list(arguments),
                "toolExecutionNotifications": [
                    {"level": each["severity"], "message": {"text": each["message"]}}
                    for each in others]}],
            "results": [_result(each, codes.index(each["code"])) for each in results]}]}


def _rule(code: str) -> dict[str, Any]:
    known = CODES[code]
    return {"id": code,
            "shortDescription": {"text": f"{known.title[0].upper()}{known.title[1:]}."},
            "fullDescription": {"text": " ".join(known.meaning.split())}}


def _result(found: dict[str, Any], number: int) -> dict[str, Any]:
    """An error or warning; ``number`` is that of its code among the rules.

    SARIF has a field for fixes, but none for other hints, so all hints are in the message.
    """
    result = {"ruleId": found["code"], "ruleIndex": number, "level": found["severity"],
              "message": {"text": "\n".join([found["message"], *(
                  f"Hint: {hint}" for hint in found.get("hints", ()))])},
              "locations": [{"physicalLocation": _place(found)}]}
    if found.get("labels"):
        result["relatedLocations"] = [
            {"id": k, "physicalLocation": _place(label), "message": {"text": label["message"]}}
            for k, label in enumerate(found["labels"])]
    if found.get("fixes"):
        result["fixes"] = [_fix(each) for each in found["fixes"]]
    return result


def _fix(fix: dict[str, Any]) -> dict[str, Any]:
    place = _place(fix)
    return {"description": {"text": fix["hint"]},
            "artifactChanges": [{
                "artifactLocation": place["artifactLocation"],
                "replacements": [{"deletedRegion": place["region"],
                                  "insertedContent": {"text": fix["text"]}}]}]}


def _place(found: dict[str, Any]) -> dict[str, Any]:
    """A file, and a region in it; the character at its end column is behind it."""
    region = {"startLine": found["line"], "startColumn": found["column"]}
    if "end_line" in found:
        region |= {"endLine": found["end_line"], "endColumn": found["end_column"]}
    return {"artifactLocation": _address(found["file"]), "region": region}


def _address(file: str) -> dict[str, str]:
    """The address of a file: relative to the folder of the command if the file is inside of it."""
    absolute = Path(os.path.abspath(file))
    try:
        inside = absolute.relative_to(Path.cwd())
    except ValueError:
        return {"uri": absolute.as_uri()}
    return {"uri": quote(os.fsencode(inside.as_posix())), "uriBaseId": ROOT}
