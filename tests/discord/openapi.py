"""A validator of one operation's bodies, for a test that says which body it means; every request is checked anyway."""

from typing import Any

import jsonschema_rs
import pytest

from tests.official.description import description


def described(method: str, path: str) -> Any:  # noqa: ANN401 -- jsonschema-rs has no type of its own for it
    """Return a validator of the bodies of one operation, as Discord itself describes them."""
    known = description()
    operation = known.operation(method, path) if known is not None else None
    if known is None or operation is None or operation.body is None:
        pytest.skip("Discord's description of its API is not beside the repository")
    return jsonschema_rs.validator_for({**operation.body, "components": known.components})
