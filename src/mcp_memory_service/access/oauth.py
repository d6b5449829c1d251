"""Tokens of an authorization server: we are an OAuth 2.1 resource server, never the one who issues.

A token is a JWT, signed with a key of the issuer and made for this service (audience). Its `scope` says what it allows,
and a claim of its own which namespaces; a token without that claim is for nobody.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import jwt

from ..errors import InvalidInput
from .caller import Caller, Scope, check_pattern

logger = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a private key: with a shared secret, whoever checks tokens could make them."""
LEEWAY_SECONDS = 30
KEYS_TIMEOUT_SECONDS = 5
KEYS_PAUSE_SECONDS = 30.0
"""So long after the issuer did not give its keys, it is not asked for them again."""
MAX_ASKED = 32
"""Tokens that are looked at at the same time; a good one takes well under a millisecond."""


@dataclass(frozen=True, slots=True)
class Issuer:
    url: str
    audience: str
    jwks_url: str
    namespace_claim: str


class OAuthTokens:
    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys = jwt.PyJWKClient(issuer.jwks_url, timeout=KEYS_TIMEOUT_SECONDS)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="oauth")
        self._asked = 0
        self._no_keys_before = 0.0

    async def caller(self, token: str) -> Caller | None:
        if token.count(".") != 2 or self._asked >= MAX_ASKED or time.monotonic() < self._no_keys_before:
            return None
        self._asked += 1
        try:
            # On a thread of its own: an issuer that does not answer must not hold up who stores or searches.
            claims = await asyncio.get_running_loop().run_in_executor(self._thread, self._claims, token)
            return self._caller(claims)
        except (jwt.PyJWKClientConnectionError, ValueError, OSError) as error:
            logger.warning("The keys of %s cannot be had: %s", self._issuer.url, error)
            self._no_keys_before = time.monotonic() + KEYS_PAUSE_SECONDS
            return None
        except (jwt.PyJWTError, InvalidInput):
            return None
        finally:
            self._asked -= 1

    def _claims(self, token: str) -> Mapping[str, Any]:
        key = self._keys.get_signing_key_from_jwt(token)
        return jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=self._issuer.audience,
            issuer=self._issuer.url,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )

    def _caller(self, claims: Mapping[str, Any]) -> Caller | None:
        scopes = [name for name in str(claims.get("scope", "")).split() if name in {"read", "write", "admin"}]
        named: object = claims.get(self._issuer.namespace_claim)
        namespaces = cast("Sequence[object]", [named] if isinstance(named, str) else named or ())
        if not scopes or not isinstance(namespaces, list) or not namespaces:
            return None
        for namespace in namespaces:
            check_pattern(str(namespace))
        return Caller(Scope.named(scopes), tuple(map(str, namespaces)), id=f"oauth:{claims['sub']}")
