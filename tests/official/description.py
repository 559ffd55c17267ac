"""
Discord's own description of its API, where it stands beside the repository: does a request fit it?

The description allows keys that it does not name; here one of them is a fault, as is a query that it does not name.
"""

import functools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs

PLACE = Path(os.environ.get("DISCORD_OPENAPI", Path(__file__).parents[3] / "shared" / "discord" / "openapi.json"))

Schema = Mapping[str, Any]

# Named by Discord's documentation, but not by its description: the end of an operation's name, and the key.
_DOCUMENTED = frozenset({("/commands", "nsfw")})
# Written by the library whatever the bot asks for, and left unread by Discord: the only value that it may have.
_OF_THE_LIBRARY: Mapping[str, object] = {"tts": False, "flags": 0}


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one route, as ``POST /channels/{channel_id}/messages``."""

    name: str
    body: Schema | None
    body_required: bool
    queries: Mapping[str, Schema]


class Description:
    """Discord's description, read."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._routes: dict[int, list[tuple[list[str], str]]] = {}
        for path in document["paths"]:
            parts = path.strip("/").split("/")
            self._routes.setdefault(len(parts), []).append((parts, path))
        self._validators: dict[str, Any] = {}
        self.components: Schema = document["components"]

    def operation(self, method: str, path: str) -> Operation | None:
        """Return what the description says of a request, None: it knows no such route."""
        asked = path.strip("/").split("/")
        fitting = [(route, parts) for parts, route in self._routes.get(len(asked), ()) if _fits(parts, asked)]
        # The one with the most words of its own: .../messages/@original before .../messages/{message_id}.
        for route, _ in sorted(fitting, key=lambda one: sum(part.startswith("{") for part in one[1])):
            described = self._document["paths"][route]
            if (found := described.get(method.lower())) is not None:
                body = found.get("requestBody")
                parameters = [*described.get("parameters", ()), *found.get("parameters", ())]
                return Operation(
                    name=f"{method.upper()} {route}",
                    body=body["content"]["application/json"]["schema"] if body is not None else None,
                    body_required=bool(body and body.get("required", False)),
                    queries={one["name"]: one["schema"] for one in parameters if one["in"] == "query"},
                )
        return None

    def faults(self, operation: Operation, query: Mapping[str, str], body: object) -> Iterator[str]:
        """Yield what of a request does not fit its operation."""
        yield from self._query_faults(operation, query)
        if operation.body is None or body is None:
            if body is not None:
                yield "a body where none is described"
            elif operation.body_required:
                yield "no body"
            return
        yield from self._errors(operation.name, operation.body, body)
        for place, key, value in self._unknown([operation.body], body, "body"):
            is_documented = any(operation.name.endswith(end) and key == named for end, named in _DOCUMENTED)
            if not is_documented and (key not in _OF_THE_LIBRARY or value != _OF_THE_LIBRARY[key]):
                yield f"an unknown key {place}.{key}"

    def _query_faults(self, operation: Operation, query: Mapping[str, str]) -> Iterator[str]:
        for name, value in query.items():
            schema = operation.queries.get(name)
            if schema is None:
                yield f"an unknown query {name!r}"
            elif errors := self._errors(f"{operation.name}?{name}", schema, _typed(value, schema)):
                yield f"query {name}: {'; '.join(errors)}"

    def _errors(self, name: str, schema: Schema, value: object) -> list[str]:
        validator = self._validators.get(name)
        if validator is None:
            whole = {**schema, "components": self.components}
            validator = self._validators[name] = jsonschema_rs.validator_for(whole)
        return [f"{_where(error)}{error.message[:200]}" for error in validator.iter_errors(value)]

    def _unknown(self, schemas: list[Schema], value: object, where: str) -> Iterator[tuple[str, str, object]]:
        """Yield where a key stands that none of the forms of its object names, the key, and its value."""
        forms = _of_its_type([form for schema in schemas for form in self._forms(schema)], value)
        if isinstance(value, dict):
            free = [one["additionalProperties"] for one in forms if isinstance(one.get("additionalProperties"), dict)]
            for key, inner in value.items():
                named = [one["properties"][key] for one in forms if key in one.get("properties", {})] or free
                if named:
                    yield from self._unknown(named, inner, f"{where}.{key}")
                elif any("properties" in one for one in forms):
                    yield where, key, inner
        elif isinstance(value, list):
            items = [one["items"] for one in forms if "items" in one]
            for place, inner in enumerate(value):
                yield from self._unknown(items, inner, f"{where}[{place}]")

    def _forms(self, schema: Schema) -> list[Schema]:
        if "$ref" in schema:
            return self._forms(functools.reduce(lambda at, part: at[part], _parts(schema["$ref"]), self._document))
        inner = [one for group in ("oneOf", "anyOf", "allOf") for one in schema.get(group, ())]
        return [schema, *(form for one in inner for form in self._forms(one))]


@functools.cache
def description() -> Description | None:
    """Return the description, None where there is none."""
    return Description(json.loads(PLACE.read_text())) if PLACE.exists() else None


def _fits(parts: list[str], asked: list[str]) -> bool:
    return all(part == word or part.startswith("{") for part, word in zip(parts, asked, strict=True))


def _parts(reference: str) -> list[str]:
    return reference.removeprefix("#/").split("/")


def _where(error: Any) -> str:  # noqa: ANN401 -- the library's
    place = ".".join(str(one) for one in error.instance_path)
    return f"{place}: " if place else ""


def _of_its_type(forms: list[Schema], value: object) -> list[Schema]:
    """Leave out the forms of components, answers and the like that are of another ``type`` than the value."""
    if not isinstance(value, dict) or "type" not in value:
        return forms
    types = [(one, one.get("properties", {}).get("type", {}).get("enum")) for one in forms]
    return [one for one, allowed in types if allowed is None or value["type"] in allowed]


def _typed(value: str, schema: Schema) -> object:
    """Return a query's text as what it says: everything in a query is text."""
    if schema.get("type") == "boolean":
        return {"1": True, "true": True, "0": False, "false": False}.get(value.lower(), value)
    return int(value) if schema.get("type") == "integer" and value.isdigit() else value
