"""Documents as pages: Markdown is rendered, other text is unchanged, and links between documents lead to pages."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from refgrad.documents import read_bytes, read_text, resolved
from refgrad.native.text import plain_line, plain_text
from refgrad.report import CHARACTERS
from refgrad.report.document import ReportError

SOURCES: Final = frozenset({".cpp", ".js", ".json", ".py", ".toml"})
"""Suffixes of files that are shown unchanged if a document links to them."""

PICTURES: Final = {".png": "image/png", ".svg": "image/svg+xml"}
TAKEN: Final = ("main", "theme")
"""Identifiers that are used on every page of the site."""

COMMENT: Final = re.compile(r"<!--.*?-->\n?", re.DOTALL)
ELSEWHERE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
LABEL: Final = re.compile(r"^\w+\. ")
"""Pattern of the label that a paragraph may begin with: `Question.`, `Decision.`"""

SOURCE: Final = Markup('<pre tabindex="0" role="region" aria-label="Source">{}</pre>')
BLOCK: Final = Markup('<pre tabindex="0" role="region" aria-label="Code, {}">{}</pre>\n')
TABLE: Final = Markup('<div class="scroll" role="region" tabindex="0" aria-label="Table, {}"><table>\n')


SHELVES: Final = ("tutorial", "how-to", "reference", "findings", "decisions")
"""Folders of documents, in the order in which they are read."""


@dataclass(slots=True)
class Document:
    """A file as a page: its path, title, summary, sections and text."""

    path: str
    title: str
    summary: str = ""
    sections: list[tuple[str, str]] = field(default_factory=list)
    body: Markup = field(default_factory=Markup)

    @property
    def folder(self) -> str:
        """Name of the folder that contains the file."""
        return PurePosixPath(self.path).parent.name


def read_documents(folder: Path, page: Callable[[str], str], home: Path) -> list[Document]:
    """Read all Markdown files in a folder, and the files below the folder's parent that they link to.

    Paths of documents are relative to the folder's parent. ``page`` returns the page of a path. A link to the summary
    of the reports in ``home`` leads to the first page.

    Raises ReportError where there is no document, a document cannot be read, or a link in it leads nowhere.
    """
    shelf = _Shelf(resolved(folder).parent, page, resolved(home) / "README.md")
    for path in sorted(resolved(folder).rglob("*.md")):
        shelf.add(path)
    if not shelf.waiting:
        raise ReportError(f"{folder} holds no document (*.md)")
    return list(shelf.read())


def shelves(documents: Sequence[Document]) -> dict[str, list[Document]]:
    """Return the documents that have a summary, by the name of their folder."""
    summarized = [each for each in documents if each.summary]
    folders = sorted({each.folder for each in summarized}, key=lambda name: ((*SHELVES, name).index(name), name))
    return {folder: [each for each in summarized if each.folder == folder] for folder in folders}


class _Shelf:
    """The documents of a folder, and the files that they link to."""

    def __init__(self, root: Path, page: Callable[[str], str], home: Path) -> None:
        self.root = root
        self.page = page
        self.home = home
        self.waiting: dict[str, Path] = {}

    def add(self, path: Path) -> str:
        """Add a file, once, and return its page."""
        name = path.relative_to(self.root).as_posix()
        self.waiting.setdefault(name, path)
        return self.page(name)

    def read(self) -> Iterator[Document]:
        """Yield each document. Linked files come after the documents that link to them."""
        done = 0
        while done < len(self.waiting):
            name, path = list(self.waiting.items())[done]
            yield self._markdown(name, path) if path.suffix == ".md" else self._source(name, path)
            done += 1

    def _source(self, name: str, path: Path) -> Document:
        return Document(name, path.name, body=SOURCE.format(_text(path)))

    def _markdown(self, name: str, path: Path) -> Document:
        tokens = _parser().parse(_text(path))
        document = Document(name, path.stem)
        _name_headings(tokens, document)
        _number(tokens)
        for token in tokens:
            if token.attrs.pop("style", "") == "text-align:right":  # pages may have no inline styles
                token.attrs["class"] = "number"
            self._lead(token.children or [], path)
        document.body = Markup(_parser().renderer.render(tokens, _parser().options, {}))  # noqa: S704 (its text is escaped)
        return document

    def _lead(self, tokens: Sequence[Token], path: Path) -> None:
        """Make links lead to pages, remove links to files without a page, and embed images."""
        open_links: list[Token] = []
        for token in tokens:
            if token.type == "image":
                token.attrs["src"] = _picture(self._file(str(token.attrs["src"]), path))
            elif token.type == "link_open":
                open_links.append(token)
                target = self._target(str(token.attrs["href"]), path)
                token.attrs["href"], token.hidden = target, not target
                token.attrs |= {"rel": "noreferrer"} if ELSEWHERE.match(target) else {}
            elif token.type == "link_close":
                token.hidden = open_links.pop().hidden

    def _target(self, link: str, path: Path) -> str:
        """Return the target of a link on the site, or an empty text if there is no page for it."""
        if ELSEWHERE.match(link) or link.startswith("#"):
            return link
        file, (_, mark, anchor) = self._file(link, path), link.partition("#")
        if file == self.home:
            return "index.html"
        has_page = file.is_file() and file.suffix in {".md", *SOURCES} and file.is_relative_to(self.root)
        return f"{self.add(file)}{mark}{anchor}" if has_page else ""

    def _file(self, link: str, path: Path) -> Path:
        file = resolved(path.parent / unquote(link.partition("#")[0]))
        try:
            file.stat()
        except (OSError, ValueError) as error:
            raise ReportError(f"{path} links to {plain_line(link, 200)}, which is not there") from error
        return file


def _text(path: Path) -> str:
    most = CHARACTERS["document"]
    return plain_text(read_text(path, ReportError, most), most)


def _picture(file: Path) -> str:
    """Return the image as a data URI. Scripts in such an image do not run."""
    if file.suffix not in PICTURES:
        raise ReportError(f"{file} is no picture that a page can hold ({', '.join(PICTURES)})")
    return f"data:{PICTURES[file.suffix]};base64,{base64.b64encode(read_bytes(file, ReportError)).decode()}"


def _name_headings(tokens: Sequence[Token], document: Document) -> None:
    """Set the identifiers of headings as GitHub does, and the title, summary and sections of the document."""
    taken = dict.fromkeys(TAKEN, 0)
    for token, inline in pairwise(tokens):
        text = _line_text(inline)
        if token.type == "heading_open":
            token.attrs["id"] = _free(re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-"), taken)
            if token.tag == "h1":
                document.title = text
            elif token.tag == "h2":
                document.sections.append((str(token.attrs["id"]), text))
        elif token.type == "paragraph_open" and not document.summary and token.level == 0:
            document.summary = LABEL.sub("", text).partition(". ")[0].rstrip(".:")


def _line_text(inline: Token) -> str:
    """Return the text of a line, without its markup."""
    breaks = {"softbreak": " ", "hardbreak": " "}
    return "".join(breaks.get(token.type, token.content) for token in inline.children or ())


def _free(name: str, taken: dict[str, int]) -> str:
    """Return an identifier that no other heading has, from a name."""
    taken[name] = taken.get(name, -1) + 1
    return f"{name}-{taken[name]}" if taken[name] else name


def _number(tokens: Sequence[Token]) -> None:
    """Count tables and blocks of code by their type, and set their numbers, for screen readers."""
    counts = Counter[str]()
    for token in tokens:
        if token.type in {"table_open", "fence", "code_block"}:
            counts[token.type] += 1
            token.meta["number"] = counts[token.type]


def _parser() -> MarkdownIt:
    """Return a parser that renders HTML markup as text, and tables and code such that they scroll."""
    parser = MarkdownIt("commonmark").enable("table")
    for names, rule in RULES.items():
        for name in names:
            parser.add_render_rule(name, rule)
    return parser


def _rule(text: Callable[[Token], str]) -> Callable[..., str]:
    """Return a rule of the parser that renders a token by itself."""
    return lambda _, tokens, number, *_options: str(text(tokens[number]))


RULES: Final[Mapping[tuple[str, ...], Callable[..., str]]] = MappingProxyType({
    ("html_block", "html_inline"): _rule(lambda token: escape(COMMENT.sub("", token.content))),
    ("fence", "code_block"): _rule(lambda token: BLOCK.format(token.meta["number"], token.content)),
    ("table_open",): _rule(lambda token: TABLE.format(token.meta["number"])),
    ("table_close",): _rule(lambda _: "</table></div>\n"),
})
