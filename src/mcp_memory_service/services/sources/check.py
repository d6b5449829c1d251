"""The links of a folder of notes, looked at without a store."""

from pathlib import Path

from ...errors import InvalidInput
from ...indexing.links import LinkResolver
from ...indexing.report import VaultReport, check_notes
from .documents import ReadDocument
from .files import FoundFile, RefusedFile, found_files
from .reading import Reading


def check_folder(path: Path) -> tuple[VaultReport, list[RefusedFile]]:
    """What is wrong with the links of a folder, and which of its files could not be read."""
    try:
        root = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"{path} cannot be found.", reason="path_not_found", field="path") from error
    if not root.is_dir():
        raise InvalidInput(f"{path} is no folder.", reason="no_folder", field="path")
    reading = Reading(root, "", mentions=False)
    looked_at = [
        reading.read(found, None) if isinstance(found, FoundFile) else found for found in found_files(root, root)
    ]
    documents = [each.document for each in looked_at if isinstance(each, ReadDocument)]
    resolver = LinkResolver(document.names for document in documents)
    links = {document.names.path: [link for _, link in document.links] for document in documents}
    return check_notes(links, resolver), [each for each in looked_at if isinstance(each, RefusedFile)]
