"""The story that ``tocsin demo --story`` tells, line by line: as it stands in story.txt."""

from pathlib import Path

from tests.golden.test_command_line import tocsin

STORY = (Path(__file__).parent / "story.txt").read_text(encoding="utf-8")


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
    messages = [line.split("UTC  ")[1] for line in lines if "UTC  " in line and "  -- " not in line]

    assert {message.split("  ")[1].split(":")[0] for message in messages} == {
        "announcement",
        "event_repost",
        "signup_reminder",
        "profile_reminder",
        "profile_unreachable",
        "attendance_post",
        "attendance_reminder",
    }
    assert len(messages) == len(set(messages)) == 12
    assert any(
        message.endswith('profile_unreachable: "Friday raid" on Fri 06 Mar 18:30 UTC, pings cyan')
        for message in messages
    )
    assert lines[-1] == "12 messages became visible, 0 of them twice."
