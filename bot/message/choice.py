"""What Discord offers while somebody types."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """One row that may be meant: ``label`` of at most 100 characters is shown, ``value`` is what a command gets."""

    label: str
    value: str
