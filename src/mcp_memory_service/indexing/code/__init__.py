"""Reading code: a file in, symbols and what they refer to out; all files of a project in, edges out. No I/O, no
clock, no settings."""

from .code_file import CodeFile, ProjectConfig
from .javascript.project_files import is_project_file
from .languages import Language, language_of
from .model import Certainty, CodeEdge, OpenCall, RelationKind, Symbol, SymbolKind
from .project import FileEdges, Project, Resolved
from .reading import module_name, read_code

__all__ = [
    "Certainty",
    "CodeEdge",
    "CodeFile",
    "FileEdges",
    "Language",
    "OpenCall",
    "Project",
    "ProjectConfig",
    "RelationKind",
    "Resolved",
    "Symbol",
    "SymbolKind",
    "is_project_file",
    "language_of",
    "module_name",
    "read_code",
]
