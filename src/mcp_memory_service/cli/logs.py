"""Logging of every command: our own messages at the chosen level, warnings of others, all to standard error."""

import logging
import os
import sys

from ..config import EnvFile, Settings, about_other_product, env_file_left_alone, unknown_variables
from .terminal import printable

logger = logging.getLogger("mcp_memory_service")


class PrintableFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def log_to_stderr(settings: Settings, env_file: EnvFile | None) -> None:
    """Libraries log whole messages at DEBUG, memories among them: they are held to warnings whatever the level."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logger.setLevel(settings.log_level)
    for variable in unknown_variables(os.environ):
        logger.warning("%s is not a setting of this program; is it misspelt?", variable)
    for sentence in about_other_product([*os.environ, *(env_file.values if env_file else ())]):
        logger.warning(sentence)
    if env_file and (unknown := unknown_variables(env_file.values)):
        logger.warning("%s in %s is not a setting of this program; is it misspelt?", ", ".join(unknown), env_file.path)
    if left := env_file_left_alone(env_file):
        logger.warning("%s has settings of this program and was not read; --env-file reads it", left)
