"""Names of the files of a site: safe for any file system, and different for each subject."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from refgrad.report.findings.script import safe_name


@dataclass(slots=True)
class Names:
    """Assigns each subject the name of a file, always the same one."""

    given: dict[Hashable, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def page(self, kind: str, *subject: str) -> str:
        """Return the file of the page on a subject, such as ``finding-torch-operators-exp.html``."""
        key = (kind, *subject)
        if key not in self.given:
            self.given[key] = self._free(safe_name("-".join(key)).lower())
        return self.given[key]

    def _free(self, stem: str) -> str:
        name, number = f"{stem}.html", 1
        while name in self.taken:
            number += 1
            name = f"{stem}-{number}.html"
        self.taken.add(name)
        return name
