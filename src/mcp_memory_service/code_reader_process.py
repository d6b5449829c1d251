"""Reads files of code for an index run in another process (`services/code/readers.py`).

Reads batches of texts from standard input, and writes what they became to standard output, until its input ends. It
imports the parsers and nothing of the service, so that it is there soon, and opens no file.
"""

import gc
import json
import os
import pickle
import signal
import struct
import sys
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from .indexing.code import CodeFile, Language, ProjectConfig, Symbol, read_code

# A module that is run by its name would be there twice, and its classes would not be those that are sent.
COMMAND = (sys.executable, "-P", "-c", f"from {__name__} import run; run()")

FRAME = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Batch:
    texts: Sequence[tuple[str, str]]
    """Paths relative to the project, and what stands there."""
    config: ProjectConfig


@dataclass(frozen=True, slots=True)
class ReadCode:
    """A file that was read."""

    path: str
    language: Language
    module: str
    symbols: tuple[Symbol, ...]
    packed: str
    """All else of it, as its record keeps it: as objects it would take as long to send as to read."""
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unparsed:
    """What a file became that the parser failed on."""

    reason: str


def read_batch(batch: Batch) -> list[ReadCode | Unparsed]:
    return [_read(path, text, batch.config) for path, text in batch.texts]


def _read(path: str, text: str, config: ProjectConfig) -> ReadCode | Unparsed:
    try:
        file = read_code(path, text, config)
    except Exception as error:  # noqa: BLE001 - one file must not keep the others out, whatever is in it
        return Unparsed(f"its parser failed ({type(error).__name__})")
    return ReadCode(path, file.language, file.module, file.symbols, packed(file), file.problems)


def packed(file: CodeFile) -> str:
    """Without its symbols."""
    text = json.dumps(file.to_json(), ensure_ascii=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 1)).decode()


def unpacked(kept: str) -> CodeFile:
    return CodeFile.from_json(json.loads(zlib.decompress(b64decode(kept)).decode("utf-8", "surrogatepass")))


def send(stream: BinaryIO, value: object) -> None:
    payload = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(FRAME.pack(len(payload)) + payload)
    stream.flush()


def receive(stream: BinaryIO) -> object:
    """EOFError at the end."""
    (size,) = FRAME.unpack(_exactly(stream, FRAME.size))
    return pickle.loads(_exactly(stream, size))  # noqa: S301 - from a process of ours, over a pipe of its own


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def run() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends this by ending its input
    asked = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what anything prints goes to standard error
    gc.disable()  # it looks through all that was read again and again: 12 s with it where there are 7 without
    while True:
        try:
            batch = receive(asked)
        except EOFError:
            return
        assert isinstance(batch, Batch), "sent by the service"
        send(answers, read_batch(batch))
