"""``tocsin forecast`` as an operator meets it: read only, without a token, and in words where it cannot."""

import json
from pathlib import Path

import pytest

from tests.golden.test_command_line import RAID, schedule_file, stored, tocsin

DAILY = RAID | {"name": "Daily =raid", "frequency": "daily", "day_of_week": None, "starts_at": "2026-01-01"}
KEYS = {"at", "kind", "series", "occurrence", "channel", "recipients", "reason", "event", "slot"}


def with_guilds(folder: Path, *guilds: int) -> None:
    """Import a daily series into some guilds."""
    for guild in guilds:
        file = schedule_file(folder, {"series": [DAILY]})
        done = tocsin(folder, "import", file, "--guild", str(guild), "--announce-in", "7")
        assert done.returncode == 0, done.stderr


def test_it_prints_a_line_of_json_for_each_message_and_stores_nothing(tmp_path: Path) -> None:
    with_guilds(tmp_path, 5)
    tables = ("event", "reminder_due", "discord_message_log", "audit_log", "instance")
    before = [stored(tmp_path, table) for table in tables]

    done = tocsin(tmp_path, "forecast", "--days", "30", "--format", "json")

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    # Beyond the fourteen days that are made, one a day; the first are announced at once if they are due.
    assert len(rows) in {30, 31}
    assert all(row.keys() == KEYS for row in rows)
    assert {(row["kind"], row["series"], row["channel"], row["recipients"], row["reason"]) for row in rows} == {
        ("announcement", "Daily =raid", 7, 0, None)
    }
    assert all(row["at"].endswith("+00:00") and row["occurrence"].endswith("+00:00") for row in rows)
    assert sum(1 for row in rows if row["event"] is None) > 10
    assert before == [stored(tmp_path, table) for table in tables]


def test_it_tells_in_words_and_asks_which_guild_where_there_are_several(tmp_path: Path) -> None:
    with_guilds(tmp_path, 5, 6)

    which = tocsin(tmp_path, "forecast", "--days", "2")
    told = tocsin(tmp_path, "forecast", "--days", "2", "--guild", "6")

    assert which.returncode == 2
    assert which.stderr == "The database has 2 guilds, so say which with --guild: 5, 6.\n"
    assert told.returncode == 0
    assert all("Z  announcement of Daily =raid (2" in line for line in told.stdout.splitlines())
    assert told.stdout.splitlines()[-1].endswith("Z): in channel 7")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--days", "0"), "--days is 0; allowed is a whole number from 1 to 366."),
        (("--days", "1"), "There is no database at sqlite://data/tocsin.db yet"),
    ],
)
def test_what_it_cannot_do_it_says_in_one_sentence(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = tocsin(tmp_path, "forecast", *arguments)

    assert done.returncode == 2
    assert says in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()
