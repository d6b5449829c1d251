"""How a backup is told from a store: by its last bytes."""

import os
from pathlib import Path

MARK = b"MCPMEMBK"


def is_backup(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(MARK)), os.SEEK_SET)
        return file.read() == MARK
