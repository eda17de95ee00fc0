"""`completion`: what a shell needs to complete verbs, options and choices, made from the parser."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from .cli import PROGRAM, parser

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a verb: its name, its help, its choices, and whether a value follows."""

    name: str
    about: str
    choices: tuple[str, ...]
    value: bool


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: its options, and the choices of its words."""

    name: str
    about: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def verbs() -> list[Verb]:
    """All verbs of the command line, in its order."""
    (group,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    about = {a.dest: a.help or "" for a in group._choices_actions}
    return [Verb(name, about.get(name, ""), *_parts(sub)) for name, sub in group.choices.items()]


def _parts(sub: argparse.ArgumentParser) -> tuple[tuple[Option, ...], tuple[str, ...]]:
    options: list[Option] = []
    words: list[str] = []
    for action in sub._actions:
        choices = tuple(map(str, action.choices or ()))
        if not action.option_strings:
            words += choices
            continue
        name = next(n for n in action.option_strings if n.startswith("--"))
        options.append(Option(name, action.help or "", choices, action.nargs != 0))
    return tuple(options), tuple(words)


def bash() -> Iterator[str]:
    """A completion function for bash; where no word is known, files are completed."""
    known = verbs()
    yield f"# completions of {PROGRAM} for bash: source this file"
    yield f"_{PROGRAM}() {{"
    yield '    local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=""'
    yield "    COMPREPLY=()"
    yield '    if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f"        words='{' '.join(v.name for v in known)} --help --version'"
    yield "    else"
    yield '        case "${COMP_WORDS[1]} $before" in'
    for verb in known:
        for option in verb.options:
            if option.choices:
                choices = " ".join(option.choices)
                yield f"            '{verb.name} {option.name}') words='{choices}' ;;"
    for verb in known:
        names = [o.name for o in verb.options]
        yield f"            '{verb.name} '*) words='{' '.join([*names, *verb.words])}' ;;"
    yield "        esac"
    yield "    fi"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$now"))'
    yield "}"
    yield f"complete -o default -o bashdefault -F _{PROGRAM} {PROGRAM}"


def zsh() -> Iterator[str]:
    """A completion function for zsh."""
    known = verbs()
    yield f"#compdef {PROGRAM}"
    yield f"# completions of {PROGRAM} for zsh: _{PROGRAM} in a folder of $fpath"
    yield "local -a verbs"
    yield "verbs=("
    for verb in known:
        yield f"    {_quoted(f'{verb.name}:{verb.about}')}"
    yield ")"
    yield "if (( CURRENT == 2 )); then"
    yield "    _describe verb verbs"
    yield "    return"
    yield "fi"
    yield "case $words[2] in"
    for verb in known:
        parts = []
        for option in verb.options:
            about = option.about.replace("[", "(").replace("]", ")").replace(":", ",")
            values = f"({' '.join(option.choices)})" if option.choices else "_files"
            parts.append(
                _quoted(f"{option.name}[{about}]" + (f":value:{values}" if option.value else ""))
            )
        rest = f"({' '.join(verb.words)})" if verb.words else "_files"
        parts.append(_quoted(f"*:word:{rest}"))
        yield f"    {verb.name}) shift words; (( CURRENT-- )); _arguments {' '.join(parts)} ;;"
    yield "esac"


def fish() -> Iterator[str]:
    """Completions for fish."""
    known = verbs()
    yield f"# completions of {PROGRAM} for fish: a file in ~/.config/fish/completions"
    first = "__fish_use_subcommand"
    for verb in known:
        yield f"complete -c {PROGRAM} -f -n {first} -a {verb.name} -d {_quoted(verb.about)}"
    for verb in known:
        where = _quoted(f"__fish_seen_subcommand_from {verb.name}")
        if verb.words:
            yield f"complete -c {PROGRAM} -n {where} -a {_quoted(' '.join(verb.words))}"
        for option in verb.options:
            line = f"complete -c {PROGRAM} -n {where} -l {option.name.removeprefix('--')}"
            if option.choices:
                line += f" -x -a {_quoted(' '.join(option.choices))}"
            elif option.value:
                line += " -r"
            yield f"{line} -d {_quoted(option.about)}"


def _quoted(text: str) -> str:
    """As one word of all three shells."""
    return "'" + text.replace("\\", "").replace("'", "’") + "'"


def completion(options: Namespace) -> int:
    """The verb ``completion SHELL``."""
    made = {"bash": bash, "zsh": zsh, "fish": fish}[options.shell]
    print("\n".join(made()))
    return 0


VERBS = {"completion": completion}

__all__ = ["SHELLS", "VERBS", "bash", "fish", "verbs", "zsh"]
