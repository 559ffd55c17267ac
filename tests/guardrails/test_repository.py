"""What holds for the repository as a whole: what its files may not say, and what a newcomer must find."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TASKS = (
    "help",
    "install",
    "demo",
    "run",
    "test",
    "lint",
    "types",
    "arch",
    "bench",
    "screenshot",
    "migrations",
    "requirements",
    "clean",
)
# Joined from parts, so that this file does not say them itself.
PRIVATE_PATHS = tuple(f"/{folder}/" for folder in ("work", "root"))
INDEX_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
    )
)
ADDRESSES = ("http://", "https://", "index-url", "find-links", "file:", "--trusted-host")
PIN = re.compile(r"^(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[^ ;\\]+)", re.MULTILINE)


@cache
def repository_files() -> tuple[Path, ...]:
    """Every file that is committed, or would be by ``git add --all``."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return tuple(path for name in sorted(set(listing.split("\0")) - {""}) if (path := ROOT / name).is_file())


def text_of(path: Path) -> str:
    """The file's text, or an empty one for a picture and the like."""
    content = path.read_bytes()
    return "" if b"\0" in content else content.decode(errors="replace")


def files_that_say(*words: str, among: tuple[Path, ...]) -> list[str]:
    """One line per file and word, for a failure that tells where to look."""
    return [f"{path.relative_to(ROOT)} says {word}" for path in among for word in words if word in text_of(path)]


def requirement_files() -> tuple[Path, ...]:
    """Pinned requirements and lock files, wherever they stand."""
    return tuple(
        path
        for path in repository_files()
        if path.suffix in {".txt", ".lock", ".toml"}
        and re.search(r"requirements|lock", path.relative_to(ROOT).as_posix())
    )


def pins(name: str) -> dict[str, str]:
    """Package to version, as the named file in requirements/ pins it."""
    found = PIN.finditer((ROOT / "requirements" / name).read_text())
    return {pin["name"]: pin["version"] for pin in found}


def test_requirements_name_no_address() -> None:
    files = requirement_files()

    assert files
    assert files_that_say(*ADDRESSES, among=files) == []


@pytest.mark.parametrize("name", ["build.txt", "run.txt", "test.txt"])
def test_every_pinned_package_has_its_hashes(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()

    unpinned = [line for line in text.splitlines() if line and line[0].isalnum() and not PIN.match(line)]
    unhashed = [pin["name"] for pin in PIN.finditer(text) if "--hash=sha256:" not in text[pin.end() :].splitlines()[1]]

    assert (unpinned, unhashed) == ([], [])


def test_the_bot_is_tested_with_the_versions_it_runs_with() -> None:
    tested = pins("test.txt")

    assert pins("run.txt")
    assert {name: tested.get(name) for name in pins("run.txt")} == pins("run.txt")


def test_no_file_names_a_private_path_or_a_package_index() -> None:
    files = repository_files()

    assert files
    assert files_that_say(*PRIVATE_PATHS, *INDEX_HOSTS, among=files) == []


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme_shows_the_first_commands(command: str) -> None:
    assert command in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("task", TASKS)
def test_makefile_has_the_task_and_lists_it(task: str) -> None:
    assert re.search(rf"^{task}:.*## \S", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_ci_runs_the_checks_then_the_tests() -> None:
    script = ROOT / ".ci" / "run"

    assert script.stat().st_mode & 0o111
    assert re.findall(r"^make (\w+)$", script.read_text(), re.MULTILINE) == ["lint", "test"]
