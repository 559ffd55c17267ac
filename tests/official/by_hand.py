"""
What Discord refuses and its description does not say: told by its documentation, or seen.

Source: Discord's documentation of messages, embeds, components, allowed mentions and guild scheduled events.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bot.message import limits
from bot.message.limits import length
from bot.message.native_event import DESCRIPTION, LOCATION, NAME
from bot.presses import FORM_LABEL, FORM_TITLE

MOST_ROWS, MOST_IN_A_ROW, MOST_COMPONENTS = 5, 5, 40
_ROW, _BUTTON, _LINK, _PREMIUM = 1, 2, 5, 6
_MESSAGE_ANSWERS, _MODAL = frozenset({4, 7}), 9
_COMPONENTS_V2 = 1 << 15
_FILLING = ("content", "embeds", "components", "sticker_ids", "poll", "attachments", "message_reference")


def faults(operation: str, body: object) -> Iterator[str]:
    """Yield what Discord would refuse of a request's body; ``operation`` is as the description names it."""
    yield from _text_faults(body, "body")
    if not isinstance(body, dict):
        return
    if operation.endswith("/callback"):
        data = body.get("data") or {}
        if body.get("type") in _MESSAGE_ANSWERS:
            yield from _message_faults(data, is_new=body["type"] != max(_MESSAGE_ANSWERS))
        elif body.get("type") == _MODAL:
            yield from _form_faults(data)
    elif "/messages" in operation or operation == "POST /webhooks/{webhook_id}/{webhook_token}":
        yield from _message_faults(body, is_new=operation.startswith("POST"))
    elif "/scheduled-events" in operation:
        yield from _native_faults(body, is_new=operation.startswith("POST"))


def _native_faults(event: dict[str, Any], *, is_new: bool) -> Iterator[str]:
    place = (event.get("entity_metadata") or {}).get("location")
    texts = (("name", event.get("name"), NAME), ("description", event.get("description"), DESCRIPTION))
    for what, text, limit in (*texts, ("location", place, LOCATION)):
        if text is not None and not 0 < length(text.strip()) <= limit:
            yield f"{what} is {length(text.strip())} long, not 1 to {limit}"
    begins, ends = event.get("scheduled_start_time"), event.get("scheduled_end_time")
    if is_new and (not place or not ends):
        yield "an event outside of Discord without a location or an end"
    if begins and ends and dt.datetime.fromisoformat(begins) >= dt.datetime.fromisoformat(ends):
        yield "an event that ends before it begins"


def _text_faults(value: object, where: str) -> Iterator[str]:
    """Yield where a text is none that Discord could read: half of a surrogate pair, or a NUL."""
    if isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in value):
            yield f"{where} holds a lone surrogate"
        if "\0" in value:
            yield f"{where} holds a NUL"
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _text_faults(inner, f"{where}.{key}")


def _message_faults(message: dict[str, Any], *, is_new: bool) -> Iterator[str]:
    content, embeds = message.get("content") or "", message.get("embeds") or []
    if length(content) > limits.CONTENT:
        yield f"content is {length(content)} long, over {limits.CONTENT}"
    empty = not content.strip() and not any(message.get(key) for key in _FILLING[1:])
    # An edit that names none of them leaves them as they are.
    if empty and (is_new or "content" in message):
        yield "an empty message"
    if len(str(message.get("nonce") or "")) > limits.NONCE:
        yield f"nonce is over {limits.NONCE} characters"
    if message.get("enforce_nonce") and not message.get("nonce"):
        yield "enforce_nonce without a nonce"
    yield from _embed_faults(embeds)
    yield from _component_faults(message.get("components") or [], flags=message.get("flags") or 0)
    yield from _mention_faults(message.get("allowed_mentions") or {})


def _embed_faults(embeds: list[dict[str, Any]]) -> Iterator[str]:
    texts: list[str] = []
    for embed in embeds:
        fields = embed.get("fields") or []
        own = [embed.get("title"), embed.get("description"), (embed.get("footer") or {}).get("text")]
        own += [(embed.get("author") or {}).get("name"), *(one[key] for one in fields for key in ("name", "value"))]
        texts += [one for one in own if one]
        if not any(own) and not embed.get("image") and not embed.get("thumbnail"):
            yield "an empty embed"
        if any(not str(one[key]).strip() for one in fields for key in ("name", "value")):
            yield "an embed's field without a name or a value"
    if (total := sum(length(one) for one in texts)) > limits.EMBED_TOTAL:
        yield f"the embeds are {total} long in all, over {limits.EMBED_TOTAL}"


def _component_faults(rows: list[dict[str, Any]], *, flags: int) -> Iterator[str]:
    inner = [one for row in rows for one in row.get("components", ())]
    if not flags & _COMPONENTS_V2:
        if len(rows) > MOST_ROWS:
            yield f"{len(rows)} rows of components, over {MOST_ROWS}"
        if any(row.get("type") != _ROW for row in rows):
            yield "a component outside a row"
    if len(rows) + len(inner) > MOST_COMPONENTS:
        yield f"{len(rows) + len(inner)} components, over {MOST_COMPONENTS}"
    for held in (row.get("components", ()) for row in rows):
        if len(held) > (MOST_IN_A_ROW if all(one.get("type") == _BUTTON for one in held) else 1):
            yield f"{len(held)} components in one row"
    for one in inner:
        yield from _button_faults(one) if one.get("type") == _BUTTON else _custom_id_faults(one)
    yield from _twice(inner)


def _button_faults(button: dict[str, Any]) -> Iterator[str]:
    if button.get("style") not in {_LINK, _PREMIUM}:
        yield from _custom_id_faults(button)
        if not ((button.get("label") or "").strip() or button.get("emoji")):
            yield "a button without a label"
    if length(button.get("label") or "") > limits.BUTTON_LABEL:
        yield f"a label of {length(button['label'])} characters, over {limits.BUTTON_LABEL}"


def _custom_id_faults(component: dict[str, Any]) -> Iterator[str]:
    if not 1 <= (found := length(component.get("custom_id") or "")) <= limits.CUSTOM_ID:
        yield f"a custom id of {found} characters"


def _form_faults(form: dict[str, Any]) -> Iterator[str]:
    inputs = [one for row in form.get("components") or [] for one in [*row.get("components", ()), row.get("component")]]
    inputs = [one for one in inputs if one]
    if not 1 <= len(inputs) <= MOST_ROWS:
        yield f"a form of {len(inputs)} inputs"
    if not 1 <= length(form.get("title") or "") <= FORM_TITLE:
        yield f"a form's title of {length(form.get('title') or '')} characters"
    for one in [form, *inputs]:
        yield from _custom_id_faults(one)
    for one in inputs:
        if length(one.get("label") or "") > FORM_LABEL:
            yield f"an input's label of {length(one['label'])} characters"
        if length(one.get("value") or "") > (one.get("max_length") or 4_000):
            yield "an input's value over its own limit"
    yield from _twice(inputs)


def _twice(components: list[dict[str, Any]]) -> Iterator[str]:
    ids = Counter(one["custom_id"] for one in components if one.get("custom_id"))
    for custom_id, count in ids.items():
        if count > 1:
            yield f"the custom id {custom_id!r} twice"


def _mention_faults(allowed: dict[str, Any]) -> Iterator[str]:
    for kind in ("users", "roles"):
        if kind in (allowed.get("parse") or ()) and allowed.get(kind):
            yield f"allowed_mentions parses {kind} and names some"
