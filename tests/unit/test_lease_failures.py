"""What follows from a failed send, and how long its key waits."""

import datetime as dt

import pytest

from bot.leases.failures import Backoff, ErrorClass, SendError, Verdict

SECOND = dt.timedelta(seconds=1)
MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)

VERDICTS = {
    ErrorClass.RECIPIENT_UNREACHABLE: Verdict.PERMANENT,
    ErrorClass.OPENING_TOO_FAST: Verdict.TRANSIENT,
    ErrorClass.FORBIDDEN: Verdict.PERMANENT,
    ErrorClass.GONE: Verdict.PERMANENT,
    ErrorClass.INVALID: Verdict.PERMANENT,
    ErrorClass.RATE_LIMITED: Verdict.TRANSIENT,
    ErrorClass.CDN_BLOCK: Verdict.TRANSIENT,
    ErrorClass.OUTAGE: Verdict.TRANSIENT,
    # The process stops; its message is not at fault and goes out once the token is right.
    ErrorClass.UNAUTHORIZED: Verdict.TRANSIENT,
    ErrorClass.NO_CHANNEL: Verdict.PERMANENT,
    ErrorClass.NO_ROOM: Verdict.PERMANENT,
    ErrorClass.UNKNOWN_OUTCOME: Verdict.TRANSIENT,
    ErrorClass.EVENT_STARTED: Verdict.PERMANENT,
}


def test_every_error_class_has_its_verdict_here() -> None:
    assert set(VERDICTS) == set(ErrorClass)


@pytest.mark.parametrize(("error_class", "verdict"), VERDICTS.items())
def test_a_refused_send_gets_the_verdict_of_its_class(error_class: ErrorClass, verdict: Verdict) -> None:
    assert SendError(error_class, "refused").verdict is verdict


@pytest.mark.parametrize("error_class", ErrorClass)
def test_what_may_have_arrived_is_unknown_whatever_its_class(error_class: ErrorClass) -> None:
    assert SendError(error_class, "no answer", may_have_arrived=True).verdict is Verdict.UNKNOWN


def test_an_error_tells_its_text_and_the_missing_permissions() -> None:
    error = SendError(ErrorClass.FORBIDDEN, "Missing Access", status=403, missing=["Send Messages"])

    assert (str(error), error.status, error.missing) == ("Missing Access", 403, ("Send Messages",))


@pytest.mark.parametrize(
    ("attempts", "wait"),
    [
        pytest.param(1, 30 * SECOND, id="first"),
        pytest.param(2, 1 * MINUTE, id="second"),
        pytest.param(3, 2 * MINUTE, id="third"),
        pytest.param(4, 4 * MINUTE, id="fourth"),
        pytest.param(5, 8 * MINUTE, id="fifth"),
        pytest.param(6, 10 * MINUTE, id="sixth"),
        pytest.param(7, 10 * MINUTE, id="just past the table"),
        pytest.param(1_000, 10 * MINUTE, id="far past the table"),
    ],
)
def test_a_transient_failure_waits_longer_each_time_up_to_ten_minutes(attempts: int, wait: dt.timedelta) -> None:
    assert Backoff().wait(Verdict.TRANSIENT, attempts=attempts) == wait


@pytest.mark.parametrize("attempts", [1, 2, 6, 100])
def test_a_permanent_failure_waits_an_hour_each_time(attempts: int) -> None:
    assert Backoff().wait(Verdict.PERMANENT, attempts=attempts) == HOUR


@pytest.mark.parametrize(
    ("verdict", "told", "wait"),
    [
        pytest.param(Verdict.TRANSIENT, 29 * SECOND, 30 * SECOND, id="told less than the step"),
        pytest.param(Verdict.TRANSIENT, 30 * SECOND, 30 * SECOND, id="told exactly the step"),
        pytest.param(Verdict.TRANSIENT, 31 * SECOND, 31 * SECOND, id="told just more than the step"),
        pytest.param(Verdict.TRANSIENT, 2 * HOUR, 2 * HOUR, id="told much more"),
        pytest.param(Verdict.PERMANENT, 59 * MINUTE, HOUR, id="permanent, told less"),
        pytest.param(Verdict.PERMANENT, 61 * MINUTE, 61 * MINUTE, id="permanent, told more"),
    ],
)
def test_the_wait_is_never_shorter_than_discord_told(verdict: Verdict, told: dt.timedelta, wait: dt.timedelta) -> None:
    assert Backoff().wait(verdict, attempts=1, retry_after=told) == wait


def test_the_table_can_be_set() -> None:
    backoff = Backoff(transient=(SECOND, 2 * SECOND), permanent=MINUTE)

    waits = [backoff.wait(Verdict.TRANSIENT, attempts=attempts) for attempts in (1, 2, 3)]

    assert waits == [SECOND, 2 * SECOND, 2 * SECOND]
    assert backoff.wait(Verdict.PERMANENT, attempts=1) == MINUTE
