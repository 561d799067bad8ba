"""The site: reports as self-contained HTML pages."""

from refgrad.report.site.writing import write_site

__all__ = ["write_site"]
