"""Where code of the package reads text: a report prints programs, and reads none of them."""

from __future__ import annotations

import ast

from tests.repository.sources import PACKAGE, dotted, name_of, nodes, python_files, syntax_tree

READERS = {
    "refgrad/report/standalone.py": "the standard error of a compiler or a program",
    "refgrad/report/document.py": "names of engines, for names of files",
    "refgrad/report/findings/causes.py": "code templates of engine files",
    "refgrad/report/findings/folding.py": "no text: it changes trees of code templates",
    "refgrad/report/findings/inlining.py": "no text: it changes trees of code templates",
    "refgrad/report/findings/languages.py": "the setup of an engine file, and code templates",
    "refgrad/report/findings/python.py": "code of measurements, which is not made of statements yet",
    "refgrad/report/findings/__init__.py": "names of checks, for names of files",
    "refgrad/report/findings/tidying.py": "no text: it changes trees of code templates",
    "refgrad/report/findings/trees.py": "setups of engine files, code of measurements, code templates, and literals",
    "refgrad/report/ci.py": "messages, for workflow commands of GitHub, and text that becomes Markdown, to escape it",
    "refgrad/report/pages.py": "names of checks, for anchors of a page",
    "refgrad/report/site/documents.py": "documents in Markdown",
}
"""Modules of reports that use ``ast`` or ``re``, and what each reads."""

PARSERS = {"refgrad/report/findings/python.py", "refgrad/report/findings/trees.py"}
"""Modules of reports that parse code."""


def test_only_these_modules_of_reports_read_text() -> None:
    found = set()
    for path in python_files(PACKAGE / "report"):
        for node in nodes(syntax_tree(path)):
            if isinstance(node, ast.Import) and {each.name for each in node.names} & {"ast", "re"}:
                found.add(name_of(path))
    assert found == READERS.keys()


def test_only_these_modules_of_reports_parse_code() -> None:
    found = set()
    for path in python_files(PACKAGE / "report"):
        for node in nodes(syntax_tree(path)):
            if isinstance(node, ast.Call) and dotted(node.func) == "ast.parse":
                found.add(name_of(path))
    assert found == PARSERS
