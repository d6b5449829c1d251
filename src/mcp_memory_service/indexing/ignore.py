"""What an index run looks at: which files are notes, and what is skipped with all below it."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pathspec import GitIgnoreSpec

from .names import NOTE_SUFFIXES, folded

DocumentKind: TypeAlias = Literal["note", "text", "pdf"]

_KINDS: dict[str, DocumentKind] = {**dict.fromkeys(NOTE_SUFFIXES, "note"), ".txt": "text", ".pdf": "pdf"}
# Beside everything hidden, such as .git, .obsidian and .trash: what programs put there, not people.
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "__pypackages__", "site-packages", "venv", "virtualenv"})
GITIGNORE = ".gitignore"


def document_kind(name: str) -> DocumentKind | None:
    """What a file is by its name; None if it is nothing that is indexed."""
    _, dot, suffix = name.rpartition(".")
    return _KINDS.get(folded(dot + suffix)) if not _is_hidden(name) else None


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "~$"))  # the latter locks a document that is open


def _is_rule(line: str) -> bool:
    """Whether a line of a .gitignore can be read; Git passes over the others."""
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):  # the latter for `[z-a]`
        return False
    return True


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in a folder: ours, and those of the .gitignore files in it and above it."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()
    """The folder of each .gitignore, relative to the root, from the outermost to the innermost."""

    def within(self, folder: str, gitignore: str) -> "IgnoreRules":
        """The rules below a folder that has this .gitignore; `folder` is relative to the root, which is ''."""
        spec = GitIgnoreSpec.from_lines(filter(_is_rule, gitignore.splitlines()))
        return IgnoreRules((*self.specs, (folder, spec)))

    def skips(self, path: str, *, is_folder: bool) -> bool:
        """Whether to leave out a file or a folder with all in it, by its path from the root with forward slashes."""
        name = path.rpartition("/")[2]
        if _is_hidden(name) or (is_folder and folded(name) in SKIPPED_FOLDERS):
            return True
        asked = path + "/" if is_folder else path
        for folder, spec in reversed(self.specs):  # the innermost has the last word
            ignored = spec.check_file(asked.removeprefix(folder + "/" if folder else "")).include
            if ignored is not None:
                return ignored
        return False
