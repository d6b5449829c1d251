"""One file of code in, its symbols and facts out; which front end reads it is decided by its name."""

from .code_file import CodeFile, ProjectConfig
from .javascript.front_end import JAVASCRIPT, TYPESCRIPT
from .languages import FrontEnd, Language, language_of
from .python.front_end import PYTHON

FRONT_ENDS: dict[Language, FrontEnd] = {"python": PYTHON, "javascript": JAVASCRIPT, "typescript": TYPESCRIPT}


def front_end(language: Language) -> FrontEnd:
    return FRONT_ENDS[language]


def read_code(path: str, text: str, config: ProjectConfig | None = None) -> CodeFile:
    """A file of a language that is read (`language_of`); `path` is relative to the project, with forward slashes."""
    language = language_of(path)
    if language is None:
        raise ValueError(f"no code is read from {path}")
    return front_end(language).read(path, text, config or ProjectConfig())


def module_name(path: str, config: ProjectConfig) -> str:
    """What `read_code` would name its module."""
    language = language_of(path)
    if language is None:
        raise ValueError(f"no code is read from {path}")
    return front_end(language).module_name(path, config)
