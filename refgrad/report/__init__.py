"""What is told of a run: documents (ENGINE.json), texts of verdicts, pages, and scripts of findings."""

from refgrad.report.confirmation import Confirmation, confirm
from refgrad.report.document import (
    SCHEMA_NAME,
    ReportError,
    build_document,
    describe_engine,
    document_path,
    read_document,
    verdicts_of,
    write_document,
)
from refgrad.report.findings import Script, scripts
from refgrad.report.narration import failure_text, headline
from refgrad.report.pages import write_pages

__all__ = [
    "SCHEMA_NAME",
    "Confirmation",
    "ReportError",
    "Script",
    "build_document",
    "confirm",
    "describe_engine",
    "document_path",
    "failure_text",
    "headline",
    "read_document",
    "scripts",
    "verdicts_of",
    "write_document",
    "write_pages",
]
