"""Where do snapshots lie, and in which form? Here, as plain text, one file each, for reviewers to read."""

from __future__ import annotations

from pathlib import Path

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation


class PlainText(SingleFileSnapshotExtension):
    """A text in ``tests/snapshots/FOLDER/MODULE/TEST.txt``."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder for the snapshots of a module."""
        module = Path(test_location.filepath)
        return str(Path(__file__).parent / module.parent.name / module.stem)
