"""The search indexes of a store: that of memories, and that of code, which is made when there is code to search."""

import asyncio

import apsw

from ...models import code_of
from .file.connection import real_path
from .file.connections import ConnectionPool
from .index import CODE, PARTS, IndexFactory, SearchIndex, index_file

_ANY_CODE = code_of("")


class Indexes:
    """Made in the event loop that will close them."""

    def __init__(self, connections: ConnectionPool, model_id: str, make: IndexFactory | None) -> None:
        self._connections = connections
        self._model_id = model_id
        self._make = make
        self.of_memories = make(connections, model_id) if make else None
        self._of_code: SearchIndex | None = None
        self._closed = False

    def of(self, namespace: str) -> SearchIndex | None:
        """That which a search within a namespace is answered from, if there is any; in the event loop."""
        if not namespace.endswith(_ANY_CODE):  # is_code, which is a call more, several times for each search
            return self.of_memories
        if self._of_code is None and self._make is not None and not self._closed:
            self._of_code = self._make(self._connections, self._model_id, part=CODE)
        return self._of_code

    async def wait_ready(self) -> None:
        if self.of_memories is None:
            return
        if self._of_code is None and await self._connections.read(_has_code):
            self._of_code = self.of(_ANY_CODE)
        await asyncio.gather(*[index.wait_ready() for index in (self.of_memories, self._of_code) if index])

    async def close(self) -> None:
        self._closed = True
        for index in (self._of_code, self.of_memories):
            if index is not None:
                await index.close()

    def forget_files(self) -> None:
        """They hold what was purged, if not as text."""
        for part in PARTS.values():
            index_file(real_path(self._connections.path), part.file_suffix).unlink(missing_ok=True)

    def build_again(self) -> None:
        for index in (self.of_memories, self._of_code):
            if index is not None:
                index.build_again()


def _has_code(connection: apsw.Connection) -> bool:
    found = connection.execute(f"SELECT 1 FROM namespaces m WHERE {CODE.indexed} LIMIT 1").get  # noqa: S608
    return found is not None
