"""The parser of Python, one for each thread: it must not be used by two at a time."""

import threading

import tree_sitter_python
from tree_sitter import Language, Parser

_LANGUAGE = Language(tree_sitter_python.language())


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.parser = Parser(_LANGUAGE)


_of_thread = _OfThread()


def parser() -> Parser:
    return _of_thread.parser
