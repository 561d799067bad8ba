"""The file of --junitxml: without checks that are not offered, and with an error where an engine does not start."""

from __future__ import annotations

import json
from xml.etree.ElementTree import Element

import pytest
from _pytest.junitxml import LogXML, xml_key

from refgrad.pytest_plugin.conformance import PROPERTY, SUITE


def complete(config: pytest.Config, start_error: str) -> None:
    """Change what pytest is about to write, if it writes a file, when a session ends."""
    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    kept = [each for each in xml.node_reporters_ordered if not _is_not_offered(each.to_xml())]
    xml.stats["skipped"] -= len(xml.node_reporters_ordered) - len(kept)
    xml.node_reporters_ordered[:] = kept
    if start_error:
        _add_error(xml, start_error)


def write_error(config: pytest.Config, start_error: str) -> None:
    """Write the file of a session that does not begin, since its engine cannot be started."""
    if config.option.xmlpath and not hasattr(config, "workerinput"):
        xml = LogXML(config.option.xmlpath, config.option.junitprefix)
        xml.pytest_sessionstart()
        _add_error(xml, start_error)
        xml.pytest_sessionfinish()


def _is_not_offered(case: Element) -> bool:
    found = case.find(f"properties/property[@name='{PROPERTY}']")
    return found is not None and json.loads(found.get("value", "{}")).get("verdict") == "unsupported"


def _add_error(xml: LogXML, message: str) -> None:
    reporter = xml.node_reporter(f"{SUITE}::start")
    reporter.attrs.update(classname=SUITE, name="start")
    reporter._add_simple("error", "the engine cannot be started", message)  # noqa: SLF001 (plugins have no other way)
