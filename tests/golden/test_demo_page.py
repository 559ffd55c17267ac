"""The demo as a visitor starts it: its terminal, and its page over HTTP, as a browser would ask for it."""

import signal
import subprocess
import time
from pathlib import Path

from tests.golden.demo_process import demo, texts

_FIRST_SIGHT_SECONDS = 20


def test_the_first_announcement_is_shown_without_a_click_within_twenty_seconds(tmp_path: Path) -> None:
    began = time.monotonic()
    with demo(tmp_path) as running:
        status, document = running.index()
        running.opens_page()
        state = running.sees(lambda state: "Friday raid" in texts(state))
        took = time.monotonic() - began
        told = running.reads_until("announcement:")
        code = running.ends()

    assert status == 200
    assert "<html" in document.lower()
    assert took <= _FIRST_SIGHT_SECONDS
    assert len(state["messages"]) == 1
    assert told == 'Thu 05 Mar 18:30:00 UTC  #announcements  announcement: "Friday raid" on Fri 06 Mar 18:30 UTC\n'
    assert (code, running.errors) == (0, "")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_press_on_the_page_signs_up_and_the_post_follows(tmp_path: Path) -> None:
    with demo(tmp_path) as running:
        running.types("+1m")
        running.reads_until("One message was sent until now.")
        running.opens_page()
        before = running.sees(lambda state: "Sign up" in texts(state))
        receipt = running.presses("Sign up")
        answered = running.state()
        followed = running.sees(lambda state: "Coming (3)" in texts(state))
        running.presses("Sign up")
        again = running.state()
        commands = running.commands()
        running.types("quit")
        code = running.process.wait(timeout=60)

    assert "Coming (2)" in texts(before)
    assert (receipt["rejected"], receipt["settlement"]) == (False, "settled")
    assert "You are signed up for" in texts(answered)
    # People are shown by their names, not by their ids.
    assert '"label": "@ada"' in texts(followed)
    assert "3 of 20 taken" in texts(followed)
    assert "already" in texts(again)
    assert {"events", "subscribe", "profile"} <= {entry["path"][0] for entry in commands["entries"]}
    assert code == 0


def test_the_page_keeps_its_address_through_another_view_and_a_restart(tmp_path: Path) -> None:
    with demo(tmp_path) as running:
        running.types("next")
        running.types("next")
        running.reads_until("2 messages were sent until now.")
        running.opens_page()
        running.types("view brook")
        shown = running.reads_until("The page shows brook's direct messages")
        gone = running.status()
        direct = running.opens_page()
        pressed = running.presses("Sign up")
        running.types("restart")
        running.reads_until("The bot was killed and started again.")
        after = running.opens_page()
        pressed_again = running.presses("Sign up")
        answered = running.state()
        code = running.ends(signal.SIGTERM)

    assert running.address in shown
    assert gone == 410
    assert "you asked to hear of this series" in texts(direct)
    assert not pressed["rejected"]
    assert "you asked to hear of this series" in texts(after)
    assert not pressed_again["rejected"]
    assert "You are signed up for" in texts(answered)
    assert "already" in texts(answered)
    assert (code, running.errors) == (0, "")


def test_without_a_terminal_the_demo_goes_on_until_it_is_told_to_stop(tmp_path: Path) -> None:
    with demo(tmp_path, stdin=subprocess.DEVNULL) as running:
        told = running.reads_until("announcement:")
        code = running.ends()

    assert "Friday raid" in told
    assert (code, running.errors) == (0, "")
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_wrong_line_is_a_sentence_and_the_demo_goes_on(tmp_path: Path) -> None:
    with demo(tmp_path) as running:
        running.types("dance")
        wrong = running.reads_until("dance")
        running.types("+1m")
        running.reads_until("One message was sent until now.")
        code = running.ends()

    assert wrong == "'dance' is no command. `help` tells them all.\n"
    assert (code, running.errors) == (0, "")
