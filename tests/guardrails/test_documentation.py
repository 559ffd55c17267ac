"""What the documents and the bot's own sentences name is there: commands, options, keys, files."""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bot.__main__ import app
from bot.client import TocsinBot
from tests.guardrails.told_commands import options_of_commands

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = tuple(sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]))
FOR_WHO_RUNS_IT = (ROOT / "README.md", ROOT / "docs" / "operating.md")
# For whoever uses the bot in Discord: a lone word in code font is an option there.
GUIDES = tuple(ROOT / "docs" / name for name in ("admin-guide.md", "player-guide.md"))
# Words in code font that are what an option is given, and no option.
VALUES = {"server"}
CODE = re.compile(r"```.*?```|`([^`\n]+)`", re.DOTALL)
SLASH = re.compile(r"/([a-z][a-z-]*(?: [a-z_-]+)*)")
# In a sentence of the bot's own: what could be a command, and no part of a path.
IN_A_SENTENCE = re.compile(r"(?:^|(?<=[\s`(:]))/([a-z][a-z-]*)(?![/\w]|\.\w)(?: ([a-z-]+))?")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
CODE_FILE = re.compile(r"\b((?:bot|cogs|models|tests|migrations|deploy|docs)/[\w/.-]*\w)")


def code_spans(path: Path) -> Iterator[str]:
    """Yield what stands in code font in a document."""
    yield from (found for found in CODE.findall(path.read_text()) if found)


def code_lines(path: Path) -> Iterator[str]:
    """Yield what stands in code font, and each line of the blocks that are set in by four."""
    yield from code_spans(path)
    yield from (line.strip() for line in path.read_text().splitlines() if line.startswith("    "))


def unknown_command(words: str, known: dict[str, frozenset[str]]) -> bool:
    """Return whether the words lead to no command or group, or are followed by what is none of its options."""
    said = words.split()
    if words in {command.split()[0] for command in known}:
        return False
    for length in range(len(said), 0, -1):
        options = known.get(" ".join(said[:length]))
        if options is not None:
            return not options.issuperset(said[length:])
    return True


@pytest.mark.parametrize(
    ("words", "is_unknown"),
    [
        ("event", False),
        ("event move", False),
        ("event move when", False),
        ("event move where", True),
        ("event explode", True),
        ("explode", True),
        ("events", False),
        ("events when", True),
    ],
)
def test_a_command_or_an_option_that_is_not_there_is_found(words: str, *, is_unknown: bool) -> None:
    known = {"event move": frozenset({"event", "when"}), "event edit": frozenset({"event"}), "events": frozenset[str]()}

    assert unknown_command(words, known) is is_unknown


@pytest.mark.parametrize(
    ("text", "code", "broken"),
    [
        ("Press `/event move`.", ["/event move"], []),
        ("See [there](gone.md#it).", [], ["gone.md#it"]),
        ("# Here it is\n[up](#here-it-is), [down](#there)", [], ["#there"]),
    ],
)
def test_what_a_planted_document_names_is_seen(tmp_path: Path, text: str, code: list[str], broken: list[str]) -> None:
    document = tmp_path / "guide.md"
    document.write_text(text)

    assert list(code_spans(document)) == code
    assert broken_links(document) == broken


async def test_every_command_that_a_document_names_is_there_with_its_options(bot: TocsinBot) -> None:
    known = options_of_commands(bot)
    named = [
        (path.name, found[1]) for path in DOCUMENTS for span in code_spans(path) if (found := SLASH.fullmatch(span))
    ]

    assert len(named) > 50
    assert [one for one in named if unknown_command(one[1], known)] == []


async def test_every_command_has_its_place_in_a_guide(bot: TocsinBot) -> None:
    text = "\n".join(path.read_text() for path in GUIDES)

    assert [command for command in options_of_commands(bot) if f"`/{command}" not in text] == []


async def test_a_lone_word_in_code_font_in_a_guide_is_an_option(bot: TocsinBot) -> None:
    options = frozenset[str]().union(*options_of_commands(bot).values())
    lone = re.compile(r"([a-z_]+)(?:: \w+| \d+)?")
    named = {found[1] for path in GUIDES for span in code_spans(path) if (found := lone.fullmatch(span))}

    assert len(named) > 15
    assert named - options - VALUES == set()


async def test_every_command_that_the_bots_own_sentences_name_is_there(bot: TocsinBot) -> None:
    known = options_of_commands(bot)
    groups = {command.split()[0] for command in known if " " in command}
    wrong, seen = [], 0
    modules = {*(ROOT / "bot").rglob("*.py"), *(ROOT / "cogs").glob("*.py")} - {*(ROOT / "bot" / "demo").glob("*.py")}
    for path in sorted(modules):
        for sentence in sentences(path):
            for root, follows in IN_A_SENTENCE.findall(sentence):
                seen += 1
                command = f"{root} {follows}" if root in groups else root
                if command not in known:
                    wrong.append((path.name, sentence))

    assert seen > 20
    assert wrong == []


def sentences(path: Path) -> Iterator[str]:
    """Yield every text in a module that is no docstring."""
    tree = ast.parse(path.read_text())
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value


@cache
def command_line() -> dict[str, frozenset[str]]:
    """Return the options of each command of ``tocsin``, as they are typed."""
    functions = {name: app[name].default_command for name in app if not name.startswith("-")}
    return {
        name: frozenset(f"--{option.replace('_', '-')}" for option in inspect.signature(function).parameters)
        | {"--help"}
        for name, function in functions.items()
        if function is not None
    }


def test_every_tocsin_command_that_a_document_names_is_there_with_its_options() -> None:
    said = re.compile(r"(?:\.venv/bin/)?tocsin ([a-z]+)(.*)")
    named = [
        (path.name, *found.groups()) for path in DOCUMENTS for one in code_lines(path) if (found := said.match(one))
    ]

    assert len(named) > 10
    assert [
        one
        for one in named
        if one[1] not in command_line() or not command_line()[one[1]].issuperset(re.findall(r"--[a-z][a-z-]*", one[2]))
    ] == []
    assert {one[1] for one in named} == set(command_line())


def test_every_option_of_tocsin_that_stands_alone_is_one() -> None:
    known = frozenset[str]().union(*command_line().values())
    alone = re.compile(r"--[a-z][a-z-]*")
    named = {found[0] for path in FOR_WHO_RUNS_IT for span in code_spans(path) if (found := alone.match(span))}

    assert len(named) > 3
    assert named - known == set()


def test_every_key_of_the_configuration_that_a_document_names_is_in_the_file() -> None:
    sections = tomllib.loads((ROOT / "config.toml").read_text())
    keys = {".".join((*above, name)) for above, table in tables(sections) for name in table}
    heads = {key.split(".")[0] for key in keys}
    dotted = re.compile(r"\[?([a-z_]+(?:\.[a-z_]+)+)\]?(?: = .*)?")
    named = [
        (path.name, found[1])
        for path in FOR_WHO_RUNS_IT
        for span in code_spans(path)
        if (found := dotted.fullmatch(span)) and found[1].split(".")[0] in heads
    ]

    assert len(named) > 5
    assert [one for one in named if one[1] not in keys] == []


def tables(
    table: dict[str, object], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, object]]]:
    """Yield each table of a TOML file with the names that lead to it."""
    yield above, table
    for name, value in table.items():
        if isinstance(value, dict):
            yield from tables(value, (*above, name))


def test_every_log_line_and_field_that_operating_names_stands_in_the_code() -> None:
    sources = "\n".join(
        path.read_text() for folder in ("bot", "cogs", "models") for path in (ROOT / folder).rglob("*.py")
    )
    words = set(re.findall(r"\w+", sources))
    snake = re.compile(r"[a-z]+(?:_[a-z]+)+")
    named = {span for span in code_spans(ROOT / "docs" / "operating.md") if snake.fullmatch(span)}

    assert len(named) > 30
    assert named - words == set()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path) -> None:
    assert broken_links(path) == []


def broken_links(path: Path) -> list[str]:
    """Return the links of a document that lead to no file, or to none of its headings."""
    broken = []
    for target, anchor in LINK.findall(path.read_text()):
        found = path.parent / target if target else path
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(f"{target}#{anchor}")
    return broken


def anchors(path: Path) -> set[str]:
    """Return what a document's headings are linked by."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_names_is_there(path: Path) -> None:
    named = set(CODE_FILE.findall(path.read_text()))

    assert [name for name in sorted(named) if not any((ROOT / f"{name}{end}").exists() for end in ("", ".py"))] == []


def test_every_module_that_the_architecture_names_is_there() -> None:
    modules = {path.name for folder in ("bot", "cogs", "models", "tests") for path in (ROOT / folder).rglob("*.py")}
    named = set(re.findall(r"\b(\w+\.py)\b", (ROOT / "ARCHITECTURE.md").read_text()))

    assert len(named) > 50
    assert named - modules == {"discord.py"}


def test_every_task_that_a_document_names_is_one_of_make() -> None:
    tasks = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    said = re.compile(r"make ([a-z]+)\b")
    named = {word for path in DOCUMENTS for one in code_lines(path) for word in said.findall(one)}

    assert len(named) > 5
    assert named - tasks == set()
