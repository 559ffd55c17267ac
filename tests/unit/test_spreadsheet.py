"""A table for a spreadsheet: read back as it was, and nothing in it is a formula."""

import csv

import pytest

from bot.message.spreadsheet import csv_file


def cells(raw: bytes) -> list[list[str]]:
    return list(csv.reader(raw.decode("utf-8-sig").splitlines(keepends=True)))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "\uff1d1", "\r=1"])
def test_what_a_spreadsheet_takes_for_a_formula_stands_behind_an_apostrophe(text: str) -> None:
    assert csv_file(["name"], [[text]]).decode("utf-8-sig").startswith(("name\r\n'", "name\r\n\"'"))


def test_other_cells_are_as_they_were() -> None:
    row = ['Raid, "night"', "\u05e9\u05dc\u05d5\u05dd \N{BELL}", 5, None, "a-b=c"]

    assert cells(csv_file(["a", "b", "c", "d", "e"], [row]))[1] == [row[0], row[1], "5", "", "a-b=c"]


def test_a_number_stays_one() -> None:
    assert cells(csv_file(["n"], [[-5]]))[1] == ["-5"]
