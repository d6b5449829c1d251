"""The text of PDF files, by a library that is an extra."""

import io
import logging

from ...indexing import Unreadable

MAX_PAGES = 2_000


def pdf_pages(data: bytes) -> list[str]:
    """The text of each page; Unreadable if it has none that can be read."""
    try:
        from pypdf import PdfReader  # noqa: PLC0415 - few folders have PDFs
        from pypdf.errors import DependencyError, PyPdfError  # noqa: PLC0415
    except ModuleNotFoundError:
        raise Unreadable("reading PDFs needs pypdf: pip install pypdf") from None
    # It tells of every small fault of a file.
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is encrypted")
        pages = [page.extract_text() for page in reader.pages[:MAX_PAGES]]
    # What a damaged file makes the library do: it has no error of its own for most of it.
    except (
        PyPdfError,
        DependencyError,  # it is encrypted in a way that needs another library
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RuntimeError,  # too deep, or not implemented
    ) as error:
        raise Unreadable(f"it cannot be read as a PDF ({type(error).__name__})") from error
    if not any(page.strip() for page in pages):
        raise Unreadable("it has no text, only pictures of it")
    return pages
