"""The store of plain dictionaries: the reference of the contract, and the fast store of tests of the service.

Nothing is kept when the process ends, so it is no setting, and the composition root does not know it.
"""

from .contents import Contents
from .store import MemoryStore

__all__ = ["Contents", "MemoryStore"]
