"""The command `luce completion`: scripts that let a shell complete commands, options and words."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from shlex import quote
from typing import Any

_GLOBAL = ("--help", "--version")


@dataclass(frozen=True)
class _Command:
    """A command: its help, its options with theirs, and the words that may stand behind them."""

    about: str
    options: dict[str, str]
    values: dict[str, list[str]]  # of options that take one of a few words
    words: list[str]  # of the command itself
    flags: frozenset[str]  # options that take no value


def add_completion(commands: Any) -> None:
    """Add the command to the parser, behind all commands that it is to complete."""
    words = "print a script that lets a shell complete commands and options"
    parser = commands.add_parser(
        "completion",
        help=words,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=sorted(_SCRIPTS), help="the shell")
    parser.set_defaults(run=partial(run_completion, commands))


def run_completion(commands: Any, arguments: argparse.Namespace) -> int:
    """Print the script of a shell."""
    helps = {action.dest: action.help for action in commands._choices_actions}
    found = {
        name: _described(parser, helps.get(name) or "") for name, parser in commands.choices.items()
    }
    print(_SCRIPTS[arguments.shell](found))
    return 0


_EXAMPLES = """examples:
  source <(luce completion bash)     in ~/.bashrc
  source <(luce completion zsh)      in ~/.zshrc, after compinit
  luce completion fish | source      in ~/.config/fish/config.fish"""


def _described(parser: argparse.ArgumentParser, about: str) -> _Command:
    """List what can stand behind a command, from its parser."""
    options: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    words: list[str] = []
    flags = set[str]()
    expanded = parser._get_formatter()._expand_help
    for action in parser._actions:
        known = sorted(map(str, action.choices or ()))
        if not action.option_strings:
            words += known
        for option in action.option_strings:
            if not option.startswith("--"):
                continue
            options[option] = expanded(action) if action.help else ""
            if known:
                values[option] = known
            if action.nargs == 0:
                flags.add(option)
    return _Command(about, options, values, words, frozenset(flags))


# -- shells ----------------------------------------------------------------------------------------


def _bash(commands: Mapping[str, _Command]) -> str:
    def offer(words: Iterable[str]) -> str:
        return f'COMPREPLY=($(compgen -W {quote(" ".join(words))} -- "$current"))'

    return f"""\
# luce for bash: source <(luce completion bash)
_luce() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="" word
    COMPREPLY=()
    if [[ "$current" == "=" ]]; then
        current=""
    elif [[ "$previous" == "=" ]]; then
        previous="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in
            {"|".join(commands)}) command="$word"; break ;;
        esac
    done
    if [[ -z "$command" ]]; then
        {offer([*commands, *_GLOBAL])}
        return
    fi
    case "$command $previous" in
{_lines(_values(commands), offer, "        {}) {}; return ;;")}
    esac
    case "$command $current" in
{_lines(_options(commands), offer, "        {}-*) {} ;;")}
{_lines(_words(commands), offer, "        {}*) {} ;;")}
    esac
}}
complete -o default -F _luce luce"""


def _zsh(commands: Mapping[str, _Command]) -> str:
    def offer(words: Iterable[str]) -> str:
        return f"compadd -- {' '.join(map(quote, words))}"

    return f"""\
#compdef luce
# luce for zsh: source <(luce completion zsh)
_luce() {{
    local command="" word previous="${{words[CURRENT-1]}}"
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$word" in
            ({"|".join(commands)}) command="$word"; break ;;
        esac
    done
    if [[ -z "$command" ]]; then
        {offer([*commands, *_GLOBAL])}
        return
    fi
    case "$command $previous" in
{_lines(_values(commands), offer, "        ({}) {}; return ;;")}
    esac
    case "$command ${{words[CURRENT]}}" in
{_lines(_options(commands), offer, "        ({}-*) {} ;;")}
{_lines(_words(commands), offer, "        ({}*) {} ;;")}
        (*) _files ;;
    esac
}}
compdef _luce luce"""


def _fish(commands: Mapping[str, _Command]) -> str:
    lines = ["# luce for fish: luce completion fish | source"]
    for name, command in commands.items():
        about = quote(command.about)
        lines.append(f"complete -c luce -n __fish_use_subcommand -f -a {name} -d {about}")
        seen = f"complete -c luce -n '__fish_seen_subcommand_from {name}'"
        if command.words:
            lines.append(f"{seen} -f -a {quote(' '.join(command.words))}")
        for option, about in command.options.items():
            takes = "" if option in command.flags else " -r"
            if option in command.values:
                takes = f" -x -a {quote(' '.join(command.values[option]))}"
            lines.append(f"{seen} -l {option[2:]}{takes} -d {quote(about)}")
    return "\n".join(lines)


_SCRIPTS = {"bash": _bash, "fish": _fish, "zsh": _zsh}

_Offers = Iterable[tuple[str, Iterable[str]]]  # what stands on the line so far, and what may follow


def _values(commands: Mapping[str, _Command]) -> _Offers:
    """Yield each option with known values, behind its command."""
    for name, command in commands.items():
        for option, values in command.values.items():
            yield f"{name} {option}", values


def _options(commands: Mapping[str, _Command]) -> _Offers:
    """Yield the options of each command."""
    return ((f"{name} ", command.options) for name, command in commands.items())


def _words(commands: Mapping[str, _Command]) -> _Offers:
    """Yield the words of each command that takes one of a few."""
    return ((f"{name} ", each.words) for name, each in commands.items() if each.words)


def _lines(offers: _Offers, offer: Callable[[Iterable[str]], str], form: str) -> str:
    """Write a line for each of the offers."""
    return "\n".join(form.format(quote(line), offer(words)) for line, words in offers)
