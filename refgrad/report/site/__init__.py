"""The site: reports as pages of HTML that need nothing but a browser."""

from refgrad.report.site.writing import write_site

__all__ = ["write_site"]
