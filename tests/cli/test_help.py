"""What every ``--help`` has: examples that can be pasted and are accepted, and one wording for one option."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from storyalign.cli.main import app

ROOT: Any = typer.main.get_command(app)


def subcommands(command: Any) -> dict[str, Any]:
    return getattr(command, "commands", {})


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, one in subcommands(command).items():
        yield from commands(one, (*path, name))


ALL = dict(commands(ROOT))


def shown(path: tuple[str, ...]) -> str:
    """The help text on a narrow terminal."""
    return CliRunner().invoke(app, [*path, "--help"], prog_name="storyalign", terminal_width=60).output


def examples(path: tuple[str, ...]) -> list[list[str]]:
    """The words behind ``storyalign`` in each example."""
    lines = re.findall(r"^ {4}(?:accelerate launch .* -m )?storyalign (.*)$", shown(path), flags=re.M)
    return [shlex.split(line) for line in lines]


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_verb_and_group_has_an_example_that_can_be_pasted(path: tuple[str, ...]) -> None:
    verb = ("annotate",) if path == ("annotate", "open") else path
    found = examples(path)
    assert found and any(tuple(words[: len(verb)]) == verb for words in found), shown(path)
    for words in found:
        read(words)


def read(words: list[str]) -> None:
    """Let the command line read an example: an unknown option, a missing one or a wrong choice is an error."""
    command, path = ROOT, ["storyalign"]
    while words and words[0] in subcommands(command):
        command, path, words = subcommands(command)[words[0]], [*path, words[0]], words[1:]
    if subcommands(command):
        assert path[-1] == "annotate"
        command = subcommands(command)["open"]
    command.make_context(" ".join(path), list(words))


OPTIONS = {"dtype", "max_length", "truncate", "batch_tokens", "revision", "trust_remote_code", "mode"}


def test_an_option_of_models_reads_the_same_for_every_verb() -> None:
    texts: dict[str, set[str]] = defaultdict(set)
    for path, command in ALL.items():
        for option in command.params:
            if option.name in OPTIONS and path[:1] != ("annotate",):  # there --mode is another thing
                texts[option.name].add(option.help)
    assert set(texts) == OPTIONS and all(len(found) == 1 for found in texts.values()), texts
