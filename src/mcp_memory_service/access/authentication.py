"""From what a request says of itself to who is calling."""

import hmac
from typing import Protocol

from ..errors import NotAuthenticated
from .caller import OWNER, Caller
from .keys import KeyRing

MISSING = "Send a key as 'Authorization: Bearer <key>'."
WRONG = "This key is not known here, or not any more."


class TokenVerifier(Protocol):
    async def caller(self, token: str) -> Caller | None:
        """Who a token of an authorization server stands for; None if it is not good."""
        ...


class Authentication:
    """The one key of the settings, the keys of the file and, if there is one, an authorization server. Where there is
    none of these, whoever can reach the service owns it, unless it is `closed` to all without a key."""

    def __init__(
        self,
        api_key: str | None = None,
        keys: KeyRing | None = None,
        tokens: TokenVerifier | None = None,
        *,
        closed: bool = False,
    ) -> None:
        self._api_key = None if api_key is None else api_key.encode()
        self._keys = keys
        self._tokens = tokens
        self._closed = closed or api_key is not None or tokens is not None

    @property
    def is_required(self) -> bool:
        """Once there was a key, one is needed as long as the process lives: a file of keys that goes away opens
        nothing."""
        self._closed = self._closed or bool(self._keys)
        return self._closed

    async def caller(self, authorization: str) -> Caller:
        """Who sends this header; NotAuthenticated if it says nobody."""
        if not self.is_required:
            return OWNER
        scheme, _, given = authorization.partition(" ")
        given = given.strip()
        if scheme.lower() != "bearer" or not given:
            raise NotAuthenticated(MISSING)
        # As bytes, in constant time; a header may hold any.
        if self._api_key is not None and hmac.compare_digest(given.encode("latin-1", "replace"), self._api_key):
            return OWNER
        caller = self._keys.caller(given) if self._keys is not None else None
        if caller is None and self._tokens is not None:
            caller = await self._tokens.caller(given)
        if caller is None:
            raise NotAuthenticated(WRONG)
        return caller
