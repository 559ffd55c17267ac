"""The story that ``tocsin demo --story`` tells, line by line: as it stands in story.txt, which the command wrote."""

from pathlib import Path

from tests.golden.test_command_line import tocsin

STORY = (Path(__file__).parent / "story.txt").read_text(encoding="utf-8")
README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")

LIST = "The server's list of events "


def test_the_story_tells_each_message_and_closes_with_a_count(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    done = tocsin(tmp_path, "demo", "--story", TMPDIR=str(scratch))

    assert done.stdout.splitlines() == STORY.splitlines()
    assert done.stderr == ""
    assert done.returncode == 0
    assert list(scratch.iterdir()) == []


def test_the_story_has_in_it_what_a_bot_has_to_live_through() -> None:
    lines = STORY.splitlines()
    told = [line.split("UTC  ", 1)[1] for line in lines if "UTC  " in line and "UTC  -- " not in line]
    messages = [one for one in told if not one.startswith(LIST)]

    assert {message.split("  ")[1].split(":")[0] for message in messages} == {
        "announcement",
        "event_repost",
        "signup_reminder",
        "profile_reminder",
        "profile_unreachable",
        "attendance_post",
        "attendance_reminder",
        "promotion",
        "time_changed",
    }
    assert len(messages) == len(set(messages)) == 19
    assert any(
        message.endswith('profile_unreachable: "Friday raid" on Fri 06 Mar 18:30 UTC, pings cyan')
        for message in messages
    )
    assert [one.removeprefix(LIST) for one in told if one.startswith(LIST)] == [
        'now has "Dragon hunt" on Sat 07 Mar 19:00 UTC',
        'moves "Dragon hunt" to Sat 07 Mar 20:00 UTC',
        'shows "Dragon hunt" as running',
        'shows "Dragon hunt" as over',
    ]
    assert [one.partition("  ")[0] for one in messages if "  promotion: " in one] == [
        "DM to dale",
        "DM to ember",
        "DM to dale",
    ]
    assert lines[-1] == "19 messages became visible, 0 of them twice."


def test_the_readme_shows_lines_of_the_story_in_their_order() -> None:
    block = README.split("tocsin demo --story")[1].split("## ")[0]
    shown = [line.strip() for line in block.splitlines() if line.startswith("    ") and line.strip() != "..."]
    lines = STORY.splitlines()

    assert shown
    assert [line for line in lines if line in shown] == shown
