"""The site in Chromium: found, filtered, sorted, copied, walked by keyboard, in dark and light, large and small."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refgrad.report.document import read_report, write_report
from refgrad.report.site import write_site
from tests.report.example import write_example
from tests.report.site.hostile import write_hostile
from tests.repository.sources import ROOT

pytestmark = pytest.mark.browser

KINDS = ("engine", "finding", "operator", "document-docs-tutorial", "document-docs-reference", "document-specs")
KEPT, FINDINGS = ("a", "conv", "m"), 3
"""How the operators begin whose verdicts are shown, and how many findings of each engine are: each is a program."""

ALIKE = "tbody tr:nth-child(n+12), section > :is(details, article, li):nth-of-type(n+12), li:nth-child(n+12)"
"""Rows and items behind the first ones of their list, which are made by the same lines of a template."""

OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""Rules of axe whose result the colours can change."""

SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Chromium, as playwright drives it."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs chromium (apt-get install chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of all engines with few operators and findings, and an earlier report that holds less."""
    target, earlier, reports = (tmp_path_factory.mktemp(name) for name in ("site", "earlier", "reports"))
    shutil.copytree(ROOT / "reports", reports, ignore=shutil.ignore_patterns("versions"), dirs_exist_ok=True)
    for path in reports.glob("*.json"):
        document = read_report(path)
        kept = [v for v in document.verdicts if v.operator.startswith(KEPT)]
        verdicts = (*(v for v in kept if not v.failed), *[v for v in kept if v.failed][:FINDINGS])
        write_report(path, replace(document, verdicts=verdicts))
        if path.name == "neograd.json":
            write_report(earlier / path.name, replace(document, verdicts=verdicts[:-1]))
    write_site(reports, target, [earlier], ROOT / "docs")
    return target


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A page that fails the test where it says anything to the console, or throws."""
    context = chromium.new_context(viewport=SIZES["desktop"])
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    yield page
    context.close()
    assert said == []


def one_of_each_kind(site: Path) -> list[str]:
    """The names of pages, one of each template."""
    single = sorted(path.name for path in site.glob("*.html") if "-" not in path.name)
    return [*single, *(min(site.glob(f"{kind}-*.html")).name for kind in KINDS)]


def shown(page: Any) -> int:
    return int(page.locator("tbody tr:visible").count())


def test_operators_are_searched_filtered_and_sorted(page: Any, site: Path) -> None:
    page.goto(f"file://{site}/operators.html")
    everything = shown(page)
    page.keyboard.press("/")
    page.keyboard.type("conv transpose")
    assert 0 < shown(page) < everything
    assert all("conv_transpose" in name for name in page.locator("tbody tr:visible th").all_inner_texts())
    page.fill("[data-search]", "")
    page.select_option("[data-state]", "bad")
    assert 0 < shown(page) < everything
    assert page.locator("tbody tr:visible:not(:has(td.bad))").count() == 0
    assert page.inner_text("[data-count]") == f"{shown(page)} of {everything}"
    page.locator(".sort").first.click()
    names = page.locator("tbody tr:visible th").all_inner_texts()
    page.locator(".sort").first.click()
    assert page.locator("tbody tr:visible th").all_inner_texts() == names[::-1]
    assert page.locator("th[aria-sort=descending]").count() == 1


def test_a_finding_is_reached_from_the_first_page_and_its_program_copied(page: Any, site: Path) -> None:
    page.goto(f"file://{site}/index.html")
    page.locator("a[href^=engine-autograd]").first.click()
    page.locator("#causes a[href^=finding]").first.click()
    page.locator("[data-copy=program]").click()
    page.locator("[data-copy=program]", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.text_content("#program")
    page.locator("[data-copy=issue]").click()
    page.locator("[data-copy=issue]", has_text="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.text_content("#issue")
    assert page.text_content("#program").strip() in copied


def test_links_are_followed_by_keyboard(page: Any, site: Path) -> None:
    page.goto(f"file://{site}/index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(40):
        page.keyboard.press("Tab")
        if (page.evaluate("document.activeElement.getAttribute('href')") or "").startswith("engine-"):
            break
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert Path(page.url).name.startswith("engine-")


def test_a_document_is_reached_and_its_links_lead_on(page: Any, site: Path) -> None:
    page.goto(f"file://{site}/documents.html")
    page.get_by_role("link", name="The reference engine in ten minutes").first.click()
    sizes = page.evaluate("[...document.querySelectorAll('.document img')].map(each => each.naturalWidth)")
    assert len(sizes) == 3
    assert all(sizes)
    page.get_by_role("link", name="The life of a graph").click()
    assert page.inner_text("h1") == "The life of a graph"


def test_dark_and_light_are_chosen_and_kept(chromium: Any, site: Path) -> None:
    context = chromium.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(f"file://{site}/index.html")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("#theme")
    light = page.evaluate(background)
    assert (dark, light) == ("rgb(13, 17, 23)", "rgb(255, 255, 255)")
    page.goto(f"file://{site}/operators.html")
    assert page.evaluate(background) == light
    context.close()


@pytest.mark.parametrize("size", SIZES)
def test_no_page_is_wider_than_the_window(chromium: Any, site: Path, size: str) -> None:
    context = chromium.new_context(viewport=SIZES[size])
    page = context.new_page()
    for name in one_of_each_kind(site):
        page.goto(f"file://{site}/{name}")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
    context.close()


def test_no_page_has_what_keeps_somebody_from_reading_it(page: Any, site: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    found = set()
    for name in one_of_each_kind(site):
        page.goto(f"file://{site}/{name}")
        page.evaluate(f"document.querySelectorAll('{ALIKE}').forEach(each => each.remove())")
        for scheme, rules in (("dark", {}), ("light", {"runOnly": OF_COLOURS})):
            page.emulate_media(color_scheme=scheme)
            violations = axe.run(page, options={"resultTypes": ["violations"], **rules}).response["violations"]
            serious = [each for each in violations if each["impact"] in {"serious", "critical"}]
            found |= {(name, scheme, each["id"], each["nodes"][0]["html"]) for each in serious}
    assert found == set()


def test_nothing_of_a_hostile_engine_runs(page: Any, tmp_path: Path) -> None:
    write_example(tmp_path)
    write_hostile(tmp_path)
    for path in write_site(tmp_path, tmp_path / "site"):
        page.goto(f"file://{path}")
        assert page.title().endswith("· refgrad"), path.name
        page.hover("h1")
