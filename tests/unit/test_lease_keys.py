"""The nonce by which Discord itself drops a second copy."""

from hypothesis import given
from hypothesis import strategies as st

from bot.leases.keys import MessageKey, nonce

IDS = st.integers(min_value=0, max_value=2**63 - 1)
KEYS = st.builds(
    MessageKey,
    source=st.text(min_size=1, max_size=64),
    source_id=IDS,
    recipient_id=IDS,
    part=st.integers(min_value=0, max_value=2**31 - 1),
)


@given(key=KEYS, target_id=IDS)
def test_a_nonce_fits_discords_limit(key: MessageKey, target_id: int) -> None:
    assert 16 <= len(nonce(key, target_id=target_id)) <= 25


@given(key=KEYS, target_id=IDS)
def test_every_attempt_at_one_message_has_the_same_nonce(key: MessageKey, target_id: int) -> None:
    again = MessageKey(key.source, key.source_id, key.recipient_id, key.part)

    assert nonce(again, target_id=target_id) == nonce(key, target_id=target_id)


@given(key=KEYS, targets=st.lists(IDS, min_size=2, max_size=20, unique=True))
def test_no_two_targets_share_a_nonce(key: MessageKey, targets: list[int]) -> None:
    assert len({nonce(key, target_id=target_id) for target_id in targets}) == len(targets)


@given(keys=st.lists(KEYS, min_size=2, max_size=20, unique=True), target_id=IDS)
def test_no_two_keys_share_a_nonce(keys: list[MessageKey], target_id: int) -> None:
    assert len({nonce(key, target_id=target_id) for key in keys}) == len(keys)


def test_a_source_that_looks_like_another_key_has_its_own_nonce() -> None:
    keys = [MessageKey("a", 1, 2, 3), MessageKey("a/1", 2, 3), MessageKey("a/1/2", 3), MessageKey("a/1/2/3", 0)]

    assert len({nonce(key, target_id=0) for key in keys}) == len(keys)


def test_a_nonce_does_not_change_from_version_to_version() -> None:
    # A process that was updated between the attempts still resends under the nonce of the first.
    assert nonce(MessageKey("event_announcement", 42), target_id=70) == "0db2a5073b95dfcd6ed7a462"
