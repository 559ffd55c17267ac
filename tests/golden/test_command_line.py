"""The command line as an operator meets it: a process, its exit code, and what it says."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bot.instance_lock import InstanceLock
from tests.schedules import mixed_schedule

ROOT = Path(__file__).resolve().parents[2]
# Process start and imports on a busy machine; nothing here waits for time to pass.
_PATIENCE_SECONDS = 60

RAID: dict[str, Any] = {
    "name": "Raid",
    "frequency": "weekly",
    "day_of_week": "FR",
    "time_of_day": "19:30",
    "timezone": "Europe/Berlin",
    "starts_at": "2026-03-02",
}


def environment(**extra: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("TOCSIN__", "DISCORD_", "DATABASE_"))
    }
    return {**kept, "PYTHONPATH": str(ROOT), **extra}


def tocsin(folder: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bot", *arguments],
        cwd=folder,
        env=environment(**extra),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_SECONDS,
        check=False,
    )


def schedule_file(folder: Path, document: object) -> str:
    path = folder / "schedule.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return str(path)


def stored(folder: Path, table: str) -> int:
    with contextlib.closing(sqlite3.connect(folder / "data" / "tocsin.db", isolation_level=None)) as session:
        count: int = session.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]  # noqa: S608 -- the test's own name
    return count


def test_tocsin_alone_explains_itself(tmp_path: Path) -> None:
    done = tocsin(tmp_path)

    assert done.returncode == 0
    for command in ("run", "check", "migrate", "import", "guild", "forecast", "simulate", "demo", "version"):
        assert command in done.stdout


def test_the_version_is_told(tmp_path: Path) -> None:
    assert tocsin(tmp_path, "version").stdout == "tocsin 0.1.0\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("bogus",), 'Unknown command "bogus"'),
        (("run",), "No token: set DISCORD_TOKEN"),
        (("import", "no-such-file", "--guild", "5"), "no-such-file cannot be read: no such file or directory."),
        (("import", ".", "--guild", "5"), ". cannot be read: is a directory."),
        (("simulate", "no-such-file", "--start", "2026-03-01", "--days", "1"), "no-such-file cannot be read"),
        (("simulate", "x", "--start", "2026-13-01", "--days", "1"), "--start"),
        (("simulate", "x", "--start", "2026-03-01", "--days", "0"), "--days is 0; allowed is"),
        (("simulate", "x", "--start", "2026-03-01", "--days", "1", "--crashes", "-1"), "--crashes is -1; allowed is"),
        (("simulate", "x", "--start", "2026-03-01", "--days", "1", "--members", "-1"), "--members is -1; allowed is"),
        (("simulate", "x", "--start", "2026-03-01", "--days", "1", "--members", "101"), "whole number from 0 to 100"),
        (("check", "--config", "nowhere.toml"), "nowhere.toml"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = tocsin(tmp_path, *arguments)

    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_every_fault_of_a_configuration_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[reminders]\npoll_secs = 30\nsweep_seconds = "often"\n[bot]\ndefault_timezone = "Europe/Lodnon"\n'
    )

    done = tocsin(tmp_path, "check")

    assert done.returncode == 2
    assert "poll_seconds" in done.stderr
    assert "sweep_seconds" in done.stderr
    assert "Europe/Lodnon" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 3


def test_a_planted_token_is_never_shown(tmp_path: Path) -> None:
    secret = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.abcdefghijklmnopqrstuvwxyz0123456789ab"
    database = "postgresql://tocsin:hunter2hunter2@127.0.0.1:1/none"

    done = tocsin(tmp_path, "run", DISCORD_TOKEN=secret, DATABASE_URL=database)

    assert done.returncode == 1
    assert "cannot be opened" in done.stderr
    assert secret not in done.stdout + done.stderr
    assert "hunter2" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_check_says_what_is_there_and_what_is_missing(tmp_path: Path) -> None:
    tocsin(tmp_path, "migrate")

    done = tocsin(tmp_path, "check")

    assert done.returncode == 0
    assert "no config.toml here: the defaults" in done.stdout
    assert f"The database at {tmp_path}/data/tocsin.db opens and has every table." in done.stdout
    assert "No token is set" in done.stdout


def test_migrating_twice_applies_nothing_twice(tmp_path: Path) -> None:
    first, second = tocsin(tmp_path, "migrate"), tocsin(tmp_path, "migrate")

    assert first.stdout.startswith("Applied ")
    assert second.stdout == "Nothing to apply.\n"


def test_an_import_plans_events_and_says_that_there_is_no_channel(tmp_path: Path) -> None:
    done = tocsin(tmp_path, "import", schedule_file(tmp_path, {"source": "us", "series": [RAID]}), "--guild", "5")

    assert done.returncode == 0
    assert "Imported 1 series; 2 events are planned. The guild has no announcement channel yet" in done.stdout
    assert stored(tmp_path, "event WHERE discord_announcement") == 2


def test_an_import_sets_the_channel_it_is_given_and_a_later_one_leaves_it(tmp_path: Path) -> None:
    first = schedule_file(tmp_path, {"series": [RAID]})
    tocsin(tmp_path, "import", first, "--guild", "5", "--announce-in", "77")
    second = schedule_file(tmp_path, {"series": [{**RAID, "name": "Other"}]})

    done = tocsin(tmp_path, "import", second, "--guild", "5")

    assert "announced in channel 77" in done.stdout
    assert stored(tmp_path, "guild_settings WHERE announcement_channel_id = 77") == 1


def test_the_same_file_twice_is_refused_whole(tmp_path: Path) -> None:
    first = schedule_file(tmp_path, {"series": [RAID]})
    tocsin(tmp_path, "import", first, "--guild", "5")
    both = schedule_file(tmp_path, {"series": [{**RAID, "name": "New"}, {**RAID, "name": "raid"}]})

    done = tocsin(tmp_path, "import", both, "--guild", "5", "--announce-in", "9")

    assert done.returncode == 1
    assert "Entry 2: a series named" in done.stderr
    assert stored(tmp_path, "event_repeater") == 1
    assert stored(tmp_path, "guild_settings WHERE announcement_channel_id IS NULL") == 1


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (b"\xff\xfe\x00", "UTF-8"),
        (b" " * 10_000_000, "1"),
        (b"{", "line 1"),
        ({"series": [{**RAID, "timezone": "Europe/Lodnon"}]}, "Europe/London"),
        ({"series": [{**RAID, "tiem_of_day": "19:00"}]}, "time_of_day"),
        ({"series": [{**RAID, "interval": 53}]}, "1 to 52"),
        ({"series": [{**RAID, "name": "x" * 101}]}, "100"),
        ({"series": [RAID, RAID]}, "Entries 1 and 2"),
    ],
    ids=["not utf-8", "10 MB", "no json", "zone", "field", "interval", "long name", "twice"],
)
def test_a_bad_schedule_file_stores_nothing(tmp_path: Path, document: object, says: str) -> None:
    done = tocsin(tmp_path, "import", schedule_file(tmp_path, document), "--guild", "5")

    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "data" / "tocsin.db").exists() or stored(tmp_path, "event_repeater") == 0


async def test_a_second_run_on_one_database_is_refused_in_words(tmp_path: Path) -> None:
    tocsin(tmp_path, "migrate")
    lock = InstanceLock(f"sqlite://{tmp_path}/data/tocsin.db", "first")
    await lock.hold()

    done = tocsin(tmp_path, "run", DISCORD_TOKEN="not.asked.for")
    await lock.release()

    assert done.returncode == 1
    assert "Another `tocsin run` already holds the database" in done.stderr


def test_the_channels_of_a_guild_are_set_and_shown(tmp_path: Path) -> None:
    tocsin(tmp_path, "import", schedule_file(tmp_path, {"series": [RAID]}), "--guild", "5")

    first = tocsin(tmp_path, "guild", "--guild", "5", "--announce-in", "77")
    second = tocsin(tmp_path, "guild", "--guild", "5", "--tell-in", "78")

    assert first.stdout == (
        "Events are announced in channel 77. Trouble is told in the log alone: no channel is set.\n"
    )
    assert second.stdout == "Events are announced in channel 77. Trouble is told in channel 78.\n"
    assert stored(tmp_path, "audit_log WHERE action = 'settings.edit'") == 2


def test_simulate_prints_a_json_object_for_each_message_and_the_counts(tmp_path: Path) -> None:
    document = schedule_file(tmp_path, {"series": [RAID]})

    done = tocsin(tmp_path, "simulate", document, "--start", "2026-03-01", "--days", "14", "--format", "json")

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert rows == [
        {
            "at": f"2026-03-{day:02}T18:30:00+00:00",
            "kind": "announcement",
            "series": "Raid",
            "occurrence": f"2026-03-{day + 1:02}T18:30:00+00:00",
            "channel": "announcements",
            "recipient": None,
        }
        for day in (5, 12)
    ]
    assert "attempted=2 acknowledged=2 ok=2 lost=0 duplicated=0 unexpected=0 recovered=0 unknown=0" in done.stderr


def test_simulate_with_all_reminders_tells_who_gets_what(tmp_path: Path) -> None:
    document = schedule_file(tmp_path, {"series": [RAID]})

    done = tocsin(tmp_path, "simulate", document, "--start", "2026-03-01", "--days", "7", "--all-reminders")

    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [(row["kind"], row["channel"], row["recipient"]) for row in rows] == [
        ("announcement", "announcements", None),
        ("signup_reminder", None, "member-2"),
        ("signup_reminder", None, "member-4"),
        ("profile_reminder", None, "member-3"),
        ("profile_reminder", None, "member-5"),
        ("attendance_post", "announcements", None),
        ("attendance_reminder", None, "member-3"),
        # The one whose channel had to be opened first comes behind one whose channel was open.
        ("attendance_reminder", None, "member-1"),
        ("attendance_reminder", None, "member-5"),
    ]
    assert "attempted=9 acknowledged=9 ok=9 lost=0 duplicated=0 unexpected=0 recovered=0 unknown=0" in done.stderr


def test_simulate_without_members_sends_posts_alone(tmp_path: Path) -> None:
    document = schedule_file(tmp_path, {"series": [RAID]})
    options = ("--start", "2026-03-01", "--days", "7", "--all-reminders", "--members", "0")

    done = tocsin(tmp_path, "simulate", document, *options)

    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] == ["announcement"]
    assert "ok=1 lost=0 duplicated=0 unexpected=0" in done.stderr


def test_simulate_with_faults_loses_and_doubles_nothing_and_replays_to_the_same_trace(tmp_path: Path) -> None:
    document = schedule_file(tmp_path, {"series": mixed_schedule()["series"][:6]})
    arguments = ("--start", "2026-03-01", "--days", "3", "--all-reminders", "--faults", "--seed", "4", "--crashes", "2")

    runs = [
        subprocess.run(
            [sys.executable, "-m", "bot", "simulate", document, *arguments],
            cwd=tmp_path,
            env=environment() | {"PYTHONHASHSEED": seed_of_hashes},
            capture_output=True,
            text=True,
            check=True,
        )
        for seed_of_hashes in ("1", "2")
    ]

    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stderr == runs[1].stderr
    told = dict(pair.split("=") for pair in runs[0].stderr.split())
    assert {name: told[name] for name in ("seed", "lost", "duplicated", "unexpected", "unknown")} == {
        "seed": "4",
        "lost": "0",
        "duplicated": "0",
        "unexpected": "0",
        "unknown": "0",
    }
    assert int(told["faults"]) > 20
    assert int(told["crashes"]) >= 2
    assert int(told["attempted"]) > int(told["acknowledged"])
    assert len(told["trace"]) == 16


def test_a_simulation_told_to_stop_ends_soon_and_leaves_no_open_lease(tmp_path: Path) -> None:
    document = schedule_file(tmp_path, mixed_schedule())
    database = tmp_path / "simulated.db"
    arguments = ["simulate", document, "--start", "2026-03-01", "--days", "366", "--database", f"sqlite://{database}"]
    with subprocess.Popen(
        [sys.executable, "-m", "bot", *arguments],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()

        asked = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=_PATIENCE_SECONDS)
        took = time.monotonic() - asked

    assert process.returncode == 1
    assert "Stopped before the end." in errors
    assert took <= 10
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as session:
        assert session.execute("SELECT COUNT(*) FROM discord_message_log WHERE success IS NULL").fetchone() == (0,)
        assert session.execute("SELECT COUNT(*) FROM discord_message_log WHERE success").fetchone()[0] > 0


@pytest.mark.parametrize("start", ["0001-01-01", "2014-12-31", "9999-12-20"])
def test_a_start_that_discords_ids_do_not_reach_is_refused(tmp_path: Path, start: str) -> None:
    document = schedule_file(tmp_path, {"series": [RAID]})

    done = tocsin(tmp_path, "simulate", document, "--start", start, "--days", "5")

    assert done.returncode == 2
    assert "allowed is a whole number from 2016 to 2900" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_reader_that_goes_away_leaves_no_trace(tmp_path: Path) -> None:
    document = schedule_file(tmp_path, mixed_schedule())
    command = f"{sys.executable} -m bot simulate {document} --start 2026-03-01 --days 30 | head -n 1"

    done = subprocess.run(  # noqa: S602 -- our own program, and the pipe is what is tested
        command, shell=True, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )

    assert json.loads(done.stdout)["kind"] == "announcement"
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr


def test_a_full_disk_behind_the_output_is_one_sentence(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 -- a device
        done = subprocess.run(
            [sys.executable, "-m", "bot", "version"],
            cwd=tmp_path,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_of_every_language_go_out_whatever_the_locale(tmp_path: Path) -> None:
    name = "\u591c\u306e\u96c6\u3044 \u0644\u064a\u0644\u0629 \U0001f514"
    document = schedule_file(tmp_path, {"series": [{**RAID, "name": name}]})
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    with subprocess.Popen(
        [sys.executable, "-m", "bot", "simulate", document, "--start", "2026-03-01", "--days", "7"],
        cwd=tmp_path,
        env=environment(**plain),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        out, errors = process.communicate(timeout=60)

    assert process.returncode == 0, errors
    assert json.loads(out.decode("utf-8").splitlines()[0])["series"] == name


def test_a_database_that_another_program_wrote_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "tocsin.db", isolation_level=None)) as session:
        session.execute("CREATE TABLE event (other INTEGER)")

    done = tocsin(tmp_path, "migrate")

    assert done.returncode == 1
    assert 'Stopped: table "event" already exists' in done.stderr
    assert "Traceback" not in done.stderr


def test_a_database_of_a_newer_version_is_refused_in_words(tmp_path: Path) -> None:
    tocsin(tmp_path, "migrate")
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "tocsin.db", isolation_level=None)) as session:
        session.execute(
            "INSERT INTO tortoise_migrations (app, name, applied_at) VALUES ('models', '0999_later', '2026-01-01')"
        )

    done = tocsin(tmp_path, "import", schedule_file(tmp_path, {"series": [RAID]}), "--guild", "5")

    assert done.returncode == 1
    assert "The database has migration 0999_later, which this version does not know" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


async def test_a_link_to_the_database_is_the_same_database(tmp_path: Path) -> None:
    tocsin(tmp_path, "migrate")
    (tmp_path / "link.db").symlink_to(tmp_path / "data" / "tocsin.db")
    lock = InstanceLock(f"sqlite://{tmp_path}/link.db", "first")
    await lock.hold()

    done = tocsin(tmp_path, "run", DISCORD_TOKEN="not.asked.for")
    await lock.release()

    assert "Another `tocsin run` already holds the database" in done.stderr
