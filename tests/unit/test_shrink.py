"""Shortening what fails: to what it fails by, in its order, within a number of tries."""

from tests.chaos.days.shrink import shrink


def test_of_a_hundred_the_three_that_matter_are_left_in_their_order() -> None:
    assert shrink(range(100), lambda left: {7, 40, 93} <= set(left)) == [7, 40, 93]


def test_where_one_of_two_is_enough_one_is_left() -> None:
    assert len(shrink(range(50), lambda left: bool({3, 4} & set(left)))) == 1


def test_what_fails_by_itself_needs_nothing() -> None:
    assert shrink(range(10), lambda _: True) == []


def test_the_tries_are_bounded_and_what_is_left_still_fails() -> None:
    tries = 0

    def fails(left: list[int]) -> bool:
        nonlocal tries
        tries += 1
        return {1, 50, 99} <= set(left)

    left = shrink(range(100), fails, most_tries=10)

    assert tries <= 11
    assert {1, 50, 99} <= set(left)
    assert len(left) < 100
