"""A time zone is found by its name, a city of it, its country or the name it once had."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.message.limits import CHOICE_NAME, length
from bot.times.known_timezones import known_timezones
from bot.times.timezones import search_timezones
from bot.times.zone_cities import CITIES
from tests.builders import utc

NOW = utc("2026-03-01 12:00")


def found(typed: str, *, now: dt.datetime = NOW) -> list[str]:
    return [one.value for one in search_timezones(typed, now=now)]


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe berlin", "Europe/Berlin"),
        ("berl", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("NEW_YORK", "America/New_York"),
        ("new-york", "America/New_York"),
        ("  utc ", "UTC"),
        ("kolkata", "Asia/Kolkata"),
        ("londo", "Europe/London"),
        ("paris", "Europe/Paris"),
        ("tokyo", "Asia/Tokyo"),
        ("S\u00e3o Paulo", "America/Sao_Paulo"),
        ("sao paulo", "America/Sao_Paulo"),
    ],
)
def test_a_zone_is_found_by_its_name(typed: str, first: str) -> None:
    assert found(typed)[0] == first


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("m\u00fcnchen", "Europe/Berlin"),
        ("Mu\u0308nchen", "Europe/Berlin"),
        ("munch", "Europe/Berlin"),
        ("Munich", "Europe/Berlin"),
        ("k\u00f8benhavn", "Europe/Copenhagen"),
        ("krakow", "Europe/Warsaw"),
        ("Bombay", "Asia/Kolkata"),
        ("san francisco", "America/Los_Angeles"),
        ("francisco", "America/Los_Angeles"),
        ("Peking", "Asia/Shanghai"),
        ("rio de", "America/Sao_Paulo"),
    ],
)
def test_a_zone_is_found_by_a_city_that_it_is_not_named_after(typed: str, first: str) -> None:
    assert found(typed)[0] == first


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("germany", "Europe/Berlin"),
        ("Japan", "Asia/Tokyo"),
        ("t\u00fcrkiye", None),
        ("turkey", "Europe/Istanbul"),
        ("united states", "America/New_York"),
        ("cote d", "Africa/Abidjan"),
        ("nepal", "Asia/Kathmandu"),
        ("sweden", "Europe/Stockholm"),
    ],
)
def test_a_zone_is_found_by_its_country_that_with_the_most_people_first(typed: str, first: str | None) -> None:
    assert next(iter(found(typed)), None) == first


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("Kiev", ["Europe/Kyiv", "Europe/Kiev"]),
        ("Kyiv", ["Europe/Kyiv"]),
        ("calcutta", ["Asia/Kolkata", "Asia/Calcutta"]),
        ("Europe/Kiev", ["Europe/Kiev"]),
        ("US/Pacific", ["US/Pacific"]),
    ],
)
def test_the_name_of_today_comes_before_one_that_is_kept_for_old_times_sake(typed: str, names: list[str]) -> None:
    assert found(typed) == names


def test_each_is_shown_with_its_offset_of_now_and_with_what_was_meant() -> None:
    winter, summer = (utc("2026-01-15 12:00"), utc("2026-07-15 12:00"))

    labels = [
        search_timezones(typed, now=now)[0].label
        for typed, now in [
            ("berlin", winter),
            ("berlin", summer),
            ("munich", summer),
            ("kathm", winter),
            ("newf", winter),
        ]
    ]

    assert labels == [
        "Europe/Berlin \u00b7 UTC+01:00",
        "Europe/Berlin \u00b7 UTC+02:00",
        "Europe/Berlin (Munich) \u00b7 UTC+02:00",
        "Asia/Kathmandu \u00b7 UTC+05:45",
        "America/St_Johns (Newfoundland) \u00b7 UTC-03:30",
    ]


def test_a_part_of_a_name_is_enough() -> None:
    assert "America/Argentina/Buenos_Aires" in found("aires")
    assert found("nowhere at all") == []


def test_before_anything_is_typed_the_most_used_are_offered() -> None:
    offered = found("  ")

    assert offered[0] == "UTC"
    assert len(offered) == 25


def test_every_city_lies_in_a_zone_that_there_is() -> None:
    assert set(CITIES.values()) <= known_timezones()


@given(st.text(max_size=20) | st.sampled_from(sorted(CITIES)))
def test_at_most_25_known_zones_come_back_each_once_with_a_label_that_fits(typed: str) -> None:
    offered = search_timezones(typed, now=NOW)

    values = [one.value for one in offered]
    assert len(values) == len(set(values)) <= 25
    assert set(values) <= known_timezones()
    assert all(0 < length(one.label) <= CHOICE_NAME for one in offered)
