"""A time zone is found by its name or its city."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.series_fields import known_timezones
from bot.events.timezones import search_timezones


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("berl", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("NEW_YORK", "America/New_York"),
        ("  utc ", "UTC"),
        ("kolkata", "Asia/Kolkata"),
        ("londo", "Europe/London"),
        ("paris", "Europe/Paris"),
    ],
)
def test_a_zone_is_found_by_its_name_or_its_city(typed: str, first: str) -> None:
    assert search_timezones(typed)[0] == first


def test_a_part_of_a_name_is_enough() -> None:
    assert "America/Argentina/Buenos_Aires" in search_timezones("buenos")
    assert search_timezones("nowhere at all") == []


def test_before_anything_is_typed_the_most_used_are_offered() -> None:
    offered = search_timezones("  ")

    assert offered[0] == "UTC"
    assert len(offered) == 25


@given(st.text(max_size=20))
def test_at_most_25_known_zones_come_back_each_once(typed: str) -> None:
    found = search_timezones(typed)

    assert len(found) == len(set(found)) <= 25
    assert set(found) <= known_timezones()
