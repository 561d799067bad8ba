"""The files of the corpus: one line for each entry, one file for each chapter, and a manifest with their SHA-256."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from tests.grading.corpus.entries import Entry, entries_of, line_of
from tests.grading.corpus.selection import CHAPTERS, OF_EVERY_POLICY

SCHEMA: Final = "refgrad/corpus/1"
MANIFEST: Final = "manifest.json"


def chapter(name: str) -> Iterator[Entry]:
    """Yield the entries of a chapter."""
    for check, scenario in CHAPTERS[name]():
        yield from entries_of(check, scenario, every_policy=name in OF_EVERY_POLICY)


def write_corpus(folder: Path) -> None:
    """Write all chapters and the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{name}.jsonl": "".join(map(line_of, chapter(name))) for name in CHAPTERS}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    (folder / MANIFEST).write_text(manifest_text(files.items()), encoding="utf-8", newline="\n")


def manifest_text(files: Iterable[tuple[str, str]]) -> str:
    """Return the manifest of files, given by their names and texts."""
    rows = {name: {"entries": text.count("\n"), "sha256": _digest(text)} for name, text in files}
    whole = _digest("".join(f"{row['sha256']}  {name}\n" for name, row in sorted(rows.items())))
    manifest: dict[str, Any] = {"schema": SCHEMA, "sha256": whole, "files": rows}
    return json.dumps(manifest, indent=2) + "\n"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
