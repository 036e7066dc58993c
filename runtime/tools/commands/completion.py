"""Print what makes a shell complete the commands, options, choices and files of 'runelift'.

bash, for the next shells:

    runelift completion bash > ~/.local/share/bash-completion/completions/runelift

zsh, in a folder of $fpath:

    runelift completion zsh > ~/.zfunc/_runelift

fish:

    runelift completion fish > ~/.config/fish/completions/runelift.fish
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runelift.runtime.tools.commands import cli

EXAMPLES = ("runelift completion bash > runelift.bash", "runelift completion fish | source")
SHELLS = ("bash", "zsh", "fish")
_FIRST = re.compile(r"[^.;(]*")
"""The first clause of a help."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An option, or an argument by its place if it has no ``names``.

    Of the words behind it, ``choices`` are known, or they are names of files, or either.
    """

    names: tuple[str, ...]
    about: str
    takes_value: bool
    choices: tuple[str, ...]
    is_file: bool


@dataclass(frozen=True, slots=True)
class Command:
    """A sub-command with its arguments."""

    name: str
    about: str
    arguments: tuple[Argument, ...]

    @property
    def options(self) -> Iterator[Argument]:
        """The arguments that have names."""
        return (each for each in self.arguments if each.names)

    @property
    def places(self) -> Iterator[Argument]:
        """The arguments by place."""
        return (each for each in self.arguments if not each.names)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift completion``."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift completion``."""
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](commands()))
    return 0


def commands() -> list[Command]:
    """All sub-commands, as their parsers know them."""
    return [Command(name, about, tuple(map(_argument, _actions(name))))
            for name, about in cli.COMMANDS.items()]


def _actions(command: str) -> Sequence[argparse.Action]:
    parser = cli.make_parser(command)
    subparsers, = (each for each in parser._actions
                   if isinstance(each, argparse._SubParsersAction))
    return [each for each in subparsers.choices[command]._actions
            if each.help is not argparse.SUPPRESS]  # which are spellings of before


def _argument(action: argparse.Action) -> Argument:
    about = "" if action.help is None else " ".join(str(action.help).split()).replace("%%", "%")
    first = _FIRST.match(about)
    words: Iterable[object] = action.choices or getattr(action, "words", None) or ()
    return Argument(
        tuple(action.option_strings), first[0].strip().replace("'", "") if first else "",
        action.nargs != 0, tuple(map(str, words)),
        action.type is Path or "FILE" in str(action.metavar))


# The shells


def bash(found: Sequence[Command]) -> str:
    """A bash function that completes the words of a command line."""
    lines = ["# Completion of 'runelift' for bash, made by 'runelift completion bash'.",
             "_runelift() {",
             '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
             "    COMPREPLY=()",
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
             f"        COMPREPLY=($(compgen -W '{' '.join(each.name for each in found)} "
             "--help --version' -- \"$word\"))",
             "        return",
             "    fi",
             '    case "${COMP_WORDS[1]}" in']
    for command in found:
        names = " ".join(name for option in command.options for name in option.names)
        lines += [f"    {command.name})", '        case "$before" in']
        for option in command.options:
            if option.takes_value:
                lines.append(f"        {'|'.join(option.names)}) {_bash_values(option)}; return;;")
        lines += ["        esac",
                  '        if [ "${word#-}" != "$word" ]; then',
                  f"            COMPREPLY=($(compgen -W '{names}' -- \"$word\"))",
                  "        else"]
        lines += [f"            {_bash_values(each)}" for each in command.places] or [
            "            :"]
        lines += ["        fi;;"]
    return "\n".join([*lines, "    esac", "}", "complete -o filenames -F _runelift runelift"])


def _bash_values(argument: Argument) -> str:
    kinds = [f"-W '{' '.join(argument.choices)}'"] * bool(argument.choices) + (
        ["-f"] * argument.is_file)
    return "; ".join(f'COMPREPLY+=($(compgen {kind} -- "$word"))' for kind in kinds) or ":"


def zsh(found: Sequence[Command]) -> str:
    """The completion for zsh: descriptions for ``_arguments``."""
    lines = ["#compdef runelift", "# Made by 'runelift completion zsh'.", "_runelift() {",
             "    local -a commands", "    commands=("]
    lines += [f"        '{each.name}:{_zsh_text(each.about)}'" for each in found]
    lines += ["    )", "    if (( CURRENT == 2 )); then",
              "        _describe command commands", "        return", "    fi",
              '    local command="$words[2]"', "    shift words", "    (( CURRENT-- ))",
              '    case "$command" in']
    for command in found:
        parts = [_zsh_option(option, name) for option in command.options for name in option.names]
        parts += [f"'*:{_zsh_text(each.about)}:{_zsh_values(each)}'" for each in command.places][:1]
        lines.append(f"    {command.name}) _arguments {' '.join(parts)};;")
    return "\n".join([*lines, "    esac", "}",
                      'if [ "$funcstack[1]" = "_runelift" ]; then _runelift "$@"; '
                      "else compdef _runelift runelift; fi"])


def _zsh_option(option: Argument, name: str) -> str:
    value = f":value:{_zsh_values(option)}" if option.takes_value else ""
    return f"'*{name}[{_zsh_text(option.about)}]{value}'"


def _zsh_values(argument: Argument) -> str:
    if argument.choices and argument.is_file:
        return f"{{compadd -- {' '.join(argument.choices)}; _files}}"
    return f"({' '.join(argument.choices)})" if argument.choices else (
        "_files" if argument.is_file else " ")


def _zsh_text(text: str) -> str:
    """A text in which brackets and colons mean nothing."""
    return re.sub(r"([\[\]:])", r"\\\1", text.replace("'", ""))


def fish(found: Sequence[Command]) -> str:
    """The completion for fish: a line per command and option."""
    names = " ".join(each.name for each in found)
    lines = ["# Completion of 'runelift' for fish, made by 'runelift completion fish'.",
             "complete -c runelift -f"]
    for command in found:
        lines.append(f"complete -c runelift -n 'not __fish_seen_subcommand_from {names}' "
                     f"-a {command.name} -d '{command.about.replace(chr(39), '')}'")
        seen = f"complete -c runelift -n '__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            parts = [seen, *(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                             for name in option.names)]
            lines.append(" ".join([*parts, *_fish_values(option), f"-d '{option.about}'"]))
        lines += [" ".join([seen, *_fish_values(each)]) for each in command.places
                  if each.is_file or each.choices]
    return "\n".join(lines)


def _fish_values(argument: Argument) -> Iterator[str]:
    """The options of ``complete`` for what may stand for an argument."""
    if argument.names and argument.takes_value:
        yield "-r" if argument.is_file else "-x"
    if argument.choices:
        yield f"-a '{' '.join(argument.choices)}'"
    if argument.is_file:
        yield "-F"
