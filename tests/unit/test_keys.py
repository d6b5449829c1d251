"""Keys: kept hashed, good until they expire or are revoked, and tokens that never allow more than their key."""

import base64
import hashlib
import hmac
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.access.authentication import Authentication
from mcp_memory_service.access.caller import OWNER, Caller, Scope, covers
from mcp_memory_service.access.keys import KeyRing, NewKey, derived_token, local_key
from mcp_memory_service.access.limits import FREE_GUESSES, MAX_GUESSES, RateLimits
from mcp_memory_service.errors import (
    ConfigurationError,
    InvalidInput,
    NamespaceNotAllowed,
    NotAuthenticated,
    TooManyRequests,
)
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND

ALICE = NewKey("alice", ("team/alice",), Scope.WRITE)
HOUR = 3_600 * MICROSECONDS_PER_SECOND


class Clock:
    def __init__(self) -> None:
        self.now = 20_000 * MICROSECONDS_PER_DAY

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ring(tmp_path: Path, clock: Clock) -> KeyRing:
    return KeyRing(tmp_path / "keys.json", clock)


def test_a_key_is_shown_once_and_kept_as_a_hash(ring: KeyRing, tmp_path: Path):
    key, written = ring.create(ALICE)
    assert written.startswith(f"mmk_{key.id}_")
    file = tmp_path / "keys.json"
    assert written.split("_")[2] not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert ring.caller(written) == Caller(Scope.WRITE, ("team/alice",), id=key.id)


def test_a_key_that_is_not_quite_the_key_is_nobodys(ring: KeyRing):
    _, written = ring.create(ALICE)
    for changed in (written[:-1], f"{written}a", written.upper(), f"mmk_x_{written}"):
        assert ring.caller(changed) is None


@given(st.text(max_size=200))
def test_no_text_is_taken_for_a_key(tmp_path_factory: pytest.TempPathFactory, text: str):
    ring = KeyRing(tmp_path_factory.mktemp("keys") / "keys.json", Clock())
    key, _ = ring.create(ALICE)
    for written in (text, f"mmk_{key.id}_{text}", f"mmt_{key.id}_{text}", f"mmt_{key.id}_{text}.{text}"):
        assert ring.caller(written) is None


def test_changes_of_another_process_hold_at_once(ring: KeyRing, tmp_path: Path, clock: Clock):
    other = KeyRing(tmp_path / "keys.json", clock)
    assert not other
    key, written = ring.create(ALICE)
    assert other.caller(written) is not None
    _, renewed = ring.rotate(key.id)
    assert (other.caller(written), other.caller(renewed) is not None) == (None, True)
    ring.revoke(key.id)
    assert other.caller(renewed) is None
    assert other  # and the service stays closed
    with pytest.raises(InvalidInput, match="is revoked"):
        ring.rotate(key.id)
    assert other.caller(renewed) is None


def test_a_key_expires(ring: KeyRing, clock: Clock):
    _, written = ring.create(replace(ALICE, expires_at=clock.now + HOUR))
    assert ring.caller(written) is not None
    clock.now += HOUR
    assert ring.caller(written) is None


def test_the_day_of_the_last_use_is_noted(ring: KeyRing, clock: Clock):
    _, written = ring.create(ALICE)
    assert ring.keys()[0].last_used is None
    ring.caller(written)
    assert ring.keys()[0].last_used == "2024-10-04"
    clock.now += MICROSECONDS_PER_DAY
    ring.caller(written)
    assert ring.keys()[0].last_used == "2024-10-05"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2, "keys": []}', '{"version": 1, "keys": [{}]}', "\x00"])
def test_a_file_that_cannot_be_read_lets_nobody_in(ring: KeyRing, tmp_path: Path, text: str):
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(ConfigurationError):
        ring.caller("mmk_aaaaaaaa_b")
    with pytest.raises(ConfigurationError):
        bool(ring)


@pytest.mark.parametrize(
    "new",
    [
        replace(ALICE, name=" "),
        replace(ALICE, namespaces=()),
        replace(ALICE, namespaces=("../x",)),
        replace(ALICE, namespaces=("a*",)),
        replace(ALICE, expires_at=1),
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(ring: KeyRing, new: NewKey):
    with pytest.raises(InvalidInput):
        ring.create(new)
    assert not ring


def test_a_token_is_for_one_namespace_until_a_moment(ring: KeyRing, clock: Clock):
    key, written = ring.create(NewKey("host", ("team/*",), Scope.WRITE))
    token = derived_token(written, namespace="team/a", scope=Scope.READ, expires_at=clock.now + HOUR, tags=["x"])
    assert ring.caller(token) == Caller(Scope.READ, ("team/a",), id=key.id, tags=("x",))
    clock.now += HOUR
    assert ring.caller(token) is None


@pytest.mark.parametrize(
    ("namespace", "scope"),
    [("team/a", Scope.ADMIN), ("other", Scope.READ), ("team", Scope.READ), ("teams/a", Scope.READ)],
)
def test_a_token_never_exceeds_its_key(ring: KeyRing, clock: Clock, namespace: str, scope: Scope):
    _, written = ring.create(NewKey("host", ("team/*",), Scope.WRITE))
    token = derived_token(written, namespace=namespace, scope=scope, expires_at=clock.now + HOUR)
    assert ring.caller(token) is None


def test_a_token_ends_with_its_key(ring: KeyRing, clock: Clock):
    key, written = ring.create(ALICE)
    token = derived_token(written, namespace="team/alice", scope=Scope.READ, expires_at=clock.now + HOUR)
    assert ring.caller(token) is not None
    ring.rotate(key.id)
    assert ring.caller(token) is None


def test_a_changed_token_is_refused(ring: KeyRing, clock: Clock):
    _, written = ring.create(ALICE)
    token = derived_token(written, namespace="team/alice", scope=Scope.READ, expires_at=clock.now + HOUR)
    signed, _, signature = token.rpartition(".")
    for place in range(len(signed)):
        changed = signed[:place] + ("A" if signed[place] != "A" else "B") + signed[place + 1 :]
        assert ring.caller(f"{changed}.{signature}") is None


def test_tokens_with_tags_are_for_reading(ring: KeyRing, clock: Clock):
    _, written = ring.create(ALICE)
    with pytest.raises(InvalidInput):
        derived_token(written, namespace="a", scope=Scope.WRITE, expires_at=clock.now + HOUR, tags=["x"])


@pytest.mark.parametrize(
    "exp", ['"9"', "[0]", "Infinity", "NaN", "1e308", "true", '"' + "9" * 2_000 + '"', "[" * 2_000]
)
def test_a_token_signed_with_nonsense_is_refused_and_costs_nothing(ring: KeyRing, exp: str):
    key, written = ring.create(ALICE)
    payload = f'{{"ns":"team/alice","scope":"read","exp":{exp}}}'.encode()
    signed = f"mmt_{key.id}_{base64.urlsafe_b64encode(payload).decode().rstrip('=')}"
    secret = hashlib.sha256(written.split("_")[2].encode()).hexdigest()
    signature = base64.urlsafe_b64encode(hmac.new(secret.encode(), signed.encode(), "sha256").digest())
    assert ring.caller(f"{signed}.{signature.decode().rstrip('=')}") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_keys_that_another_user_has_put_there_let_nobody_in(ring: KeyRing, tmp_path: Path):
    _, written = ring.create(ALICE)
    os.chown(tmp_path / "keys.json", 12345, 12345)
    with pytest.raises(ConfigurationError, match="belongs to another user"):
        ring.caller(written)


def test_keys_that_others_can_write_or_behind_a_link_let_nobody_in(ring: KeyRing, tmp_path: Path):
    _, written = ring.create(ALICE)
    file = tmp_path / "keys.json"
    file.chmod(0o620)
    with pytest.raises(ConfigurationError, match="others can write it"):
        ring.caller(written)
    file.chmod(0o600)
    file.rename(tmp_path / "real.json")
    file.symlink_to(tmp_path / "real.json")
    with pytest.raises(ConfigurationError):
        ring.caller(written)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ConfigurationError):
        ring.caller(written)


async def test_keys_that_go_away_open_nothing(ring: KeyRing, tmp_path: Path):
    authentication = Authentication(keys=ring)
    assert await authentication.caller("") == OWNER
    ring.create(ALICE)
    assert authentication.is_required
    (tmp_path / "keys.json").unlink()
    with pytest.raises(NotAuthenticated):
        await authentication.caller("")
    assert Authentication(keys=ring, closed=True).is_required


def test_the_local_key_is_made_once(ring: KeyRing, tmp_path: Path):
    file = tmp_path / "local"
    written = local_key(ring, file)
    assert local_key(ring, file) == written
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ring.revoke(ring.keys()[0].id)
    assert local_key(ring, file) != written


def test_a_caller_acts_in_a_namespace_of_their_own():
    alice = Caller(Scope.READ, ("team/alice", "shared/*"))
    assert (alice.namespace(None), alice.namespace("shared/x")) == ("team/alice", "shared/x")
    for other in ("team", "team/alice/x", "default", "shared"):
        with pytest.raises(NamespaceNotAllowed):
            alice.namespace(other)
    for wrong in ("", "a b", "a//b", "/a", "a/", "*", "team/*", "é", "a" * 201):
        with pytest.raises(InvalidInput):
            alice.namespace(wrong)
    with pytest.raises(InvalidInput, match="Name the namespace"):
        Caller(Scope.READ, ("team/*",)).namespace(None)


@given(
    st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3}){0,2}", fullmatch=True),
    st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3}){0,2}", fullmatch=True),
)
def test_a_pattern_covers_whole_segments(root: str, namespace: str):
    assert covers(f"{root}/*", f"{root}/{namespace}")
    assert not covers(f"{root}/*", f"{root}{namespace}".replace("/", "_"))
    assert covers("*", namespace)
    assert covers(root, namespace) == (root == namespace)


def test_a_rate_is_kept_over_any_minute():
    seconds = 0.0
    limits = RateLimits(lambda: seconds)
    caller = Caller(Scope.READ, ("a",), id="k", requests_per_minute=60)
    for _ in range(60):
        limits.take(caller)
    with pytest.raises(TooManyRequests) as refused:
        limits.take(caller)
    assert refused.value.retry_after_seconds == 1
    seconds += 2.0
    limits.take(caller)
    limits.take(replace(caller, id="another"))


def test_wrong_keys_are_answered_later_and_later():
    limits = RateLimits(lambda: 0.0)
    delays = [limits.delay_of_wrong_key("1.2.3.4") for _ in range(MAX_GUESSES)]
    assert delays[:FREE_GUESSES] == [0.0] * FREE_GUESSES
    assert delays == sorted(delays)
    assert delays[-1] == 2.0
    with pytest.raises(TooManyRequests):
        limits.delay_of_wrong_key("1.2.3.4")
    assert limits.delay_of_wrong_key("1.2.3.5") == 0.0


def test_the_file_is_json_that_others_can_read(ring: KeyRing, tmp_path: Path):
    ring.create(ALICE)
    (listed,) = json.loads((tmp_path / "keys.json").read_text())["keys"]
    assert (listed["name"], listed["scope"], listed["namespaces"]) == ("alice", "write", ["team/alice"])
