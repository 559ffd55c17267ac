"""Discord's own description of its API, where it stands beside the repository."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

_OPENAPI = Path(os.environ.get("DISCORD_OPENAPI", Path(__file__).parents[3] / "shared" / "discord" / "openapi.json"))


def described(method: str, path: str) -> Any:  # noqa: ANN401 -- jsonschema-rs is there or not
    """Return a validator of the bodies of one operation, as Discord itself describes them."""
    jsonschema_rs = pytest.importorskip("jsonschema_rs", reason="jsonschema-rs is not installed")
    if not _OPENAPI.exists():
        pytest.skip("Discord's description of its API is not beside the repository")
    document = json.loads(_OPENAPI.read_text())
    schema = document["paths"][path][method.lower()]["requestBody"]["content"]["application/json"]["schema"]
    return jsonschema_rs.validator_for(schema | {"components": document["components"]})
