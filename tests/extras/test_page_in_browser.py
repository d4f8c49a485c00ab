"""The report's page in a real browser: no error, every control does what it says, on a desk, a
phone and in the dark.

Needs Chromium and its driver from the system's packages. With ICRL_SCREENSHOTS=docs/images the
pictures of the documentation are made anew.
"""

import json
import os
import shutil
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from icrl.cli import main
from icrl.constraint.learned import load_constraint
from icrl.json_files import write_json

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from hostile import HOSTILE, IMAGE

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Two seeds of ICRL, one of a classifier, one without a constraint; the first is judged too."""
    out = tmp_path_factory.mktemp("runs") / "lap"
    for method, seed in (("icrl", 0), ("icrl", 1), ("binary-classifier", 0), ("nominal", 0)):
        main(
            [
                "learn",
                "lap-grid",
                "--method",
                method,
                "--seed",
                str(seed),
                "--out",
                str(out / f"{method}-{seed}"),
            ]
        )
    main(["evaluate", str(out / "icrl-0")])
    return out


@pytest.fixture(scope="session")
def page(runs):
    main(["report", str(runs), "--out", str(runs.parent / "report")])
    return runs.parent / "report" / "index.html"


@pytest.fixture
def open_page():
    """Opens a page as wide as a screen, and closes the browser afterwards; fails if the page said
    an error."""
    assert None not in (CHROMIUM, DRIVER), (
        "install Chromium and its driver: apt-get install chromium chromium-driver"
    )
    opened = []

    def open_at(path, width=1280, height=900, dark=False):
        options = Options()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = webdriver.Chrome(options=options, service=Service(DRIVER))
        opened.append(browser)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = "dark" if dark else "light"
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        browser.get(path.as_uri())
        return browser

    yield open_at
    logs = [browser.get_log("browser") for browser in opened]
    for browser in opened:
        browser.quit()
    assert logs == [[] for _ in opened]


def series(browser, chart=0):
    return browser.execute_script(f"return icrlCharts[{chart}].series.map((one) => one.label)")


def span(browser, chart=0):
    return browser.execute_script(f"const x = icrlCharts[{chart}].scales.x; return x.max - x.min")


def box(browser, words, where="t0-legend"):
    """The checkbox with these words beside it."""
    labels = browser.find_elements(By.CSS_SELECTOR, f"#{where} label")
    return next(label for label in labels if label.text.strip() == words).find_element(
        By.TAG_NAME, "input"
    )


def button(browser, words, nth=0):
    return browser.find_elements(By.XPATH, f"//button[normalize-space()='{words}']")[nth]


def reading(browser, nth=0):
    return browser.find_elements(By.CSS_SELECTOR, ".readout")[nth].text


def screenshot(browser, name, width, height, top="content"):
    """For the documentation, and to be looked at."""
    folder = os.environ.get("ICRL_SCREENSHOTS")
    if folder is None:
        return
    from PIL import Image

    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    WebDriverWait(browser, 10).until(lambda it: it.execute_script("return innerHeight") == height)
    browser.execute_script(
        f"scrollTo(0, document.getElementById('{top}').getBoundingClientRect().top + scrollY - 60)"
    )
    path = Path(folder) / f"report-{name}.png"
    browser.save_screenshot(str(path))
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(
        path, optimize=True
    )


def test_the_page_loads_nothing_and_shows_every_part(page, open_page):
    browser = open_page(page)
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return icrlCharts.length") >= 3
    headings = [heading.text for heading in browser.find_elements(By.TAG_NAME, "h3")]
    assert headings == [
        "Learning curves",
        "Final scores",
        "Each run: its constraint, how far to trust it, its agent",
        "Settings",
    ]
    animation = browser.find_element(By.CSS_SELECTOR, "#t0-r0 img")
    # it is loaded when it comes into view
    browser.execute_script("arguments[0].scrollIntoView()", animation)
    WebDriverWait(browser, 30).until(
        lambda it: it.execute_script("return arguments[0].naturalWidth", animation) > 100
    )
    assert "with care" in browser.find_element(By.ID, "t0-r0").text
    screenshot(browser, "desktop", 1280, 1480)


def test_methods_and_seeds_can_be_switched_off_and_on(page, open_page):
    browser = open_page(page)
    before = series(browser)
    assert "ICRL (ours), seed 1" in before
    dots = len(browser.find_elements(By.CSS_SELECTOR, "#t0-scores circle"))
    box(browser, "binary classifier").click()
    assert not any("binary" in name for name in series(browser))
    # in both charts
    assert len(browser.find_elements(By.CSS_SELECTOR, "#t0-scores circle")) == dots - 2
    box(browser, "binary classifier").click()
    assert series(browser) == before
    browser.find_element(By.CSS_SELECTOR, "#t0-legend summary").click()
    box(browser, "seed 1").click()
    assert "ICRL (ours), seed 1" not in series(browser)
    assert not any("mean" in name for name in series(browser))  # of one seed there is no mean
    box(browser, "references").click()
    assert not any("reference" in name for name in series(browser))
    box(browser, "seed 1").click()
    box(browser, "every seed").click()
    assert not any(name.startswith("ICRL (ours), seed") for name in series(browser))
    assert "ICRL (ours), mean" in series(browser)
    box(browser, "mean ± standard error").click()
    assert "ICRL (ours), mean" not in series(browser)


def test_curves_are_zoomed_by_buttons_and_by_dragging(page, open_page):
    browser = open_page(page)
    whole = span(browser)
    button(browser, "+").click()
    assert span(browser) == pytest.approx(whole / 2)
    assert span(browser, 1) == whole  # every chart by itself
    box(browser, "nominal (no constraint)").click()
    assert span(browser) == pytest.approx(whole / 2)  # what is switched off leaves the zoom alone
    button(browser, "Whole").click()
    assert span(browser) == pytest.approx(whole)
    area = browser.find_element(By.CSS_SELECTOR, "#t0-curves .u-over")
    ActionChains(browser).move_to_element_with_offset(area, -60, 0).click_and_hold().move_by_offset(
        80, 0
    ).release().perform()
    assert span(browser) < 0.8 * whole
    ActionChains(browser).double_click(area).perform()
    assert span(browser) == pytest.approx(whole)


def test_pointing_reads_the_values(page, open_page):
    browser = open_page(page)
    assert reading(browser).startswith("At the end: ICRL (ours) ")
    area = browser.find_element(By.CSS_SELECTOR, "#t0-curves .u-over")
    ActionChains(browser).move_to_element(area).perform()
    assert "steps: " in reading(browser)
    assert "nearest: " in reading(browser)


def test_any_logged_number_can_be_drawn(page, open_page):
    browser = open_page(page)
    select = Select(browser.find_element(By.ID, "t0-quantity-0"))
    assert len(select.options) > 20
    select.select_by_visible_text("agent/entropy")
    values = browser.execute_script("return icrlCharts.map((one) => one.data[1])")
    metrics = json.loads(
        (page.parents[1] / "lap" / "icrl-0" / "metrics.jsonl").read_text().splitlines()[0]
    )
    drawn = [value for line in values for value in line if value is not None]
    assert any(value == pytest.approx(metrics["agent/entropy"], rel=1e-4) for value in drawn)


def test_one_run_is_shown_at_a_time_with_its_constraint(page, open_page):
    browser = open_page(page)
    select = Select(browser.find_element(By.ID, "t0-run"))
    shown = [
        article.get_attribute("id")
        for article in browser.find_elements(By.CSS_SELECTOR, "article:not([hidden])")
    ]
    assert shown == ["t0-r0"]
    select.select_by_visible_text("binary classifier, seed 0")
    (article,) = browser.find_elements(By.CSS_SELECTOR, "article:not([hidden])")
    assert article.find_element(By.TAG_NAME, "h4").text == "binary classifier, seed 0"
    assert len(browser.find_elements(By.CSS_SELECTOR, "canvas.map")) == 1
    select.select_by_visible_text("nominal (no constraint), seed 0")
    assert browser.find_elements(By.CSS_SELECTOR, "canvas.map") == []  # it has no constraint


def test_the_map_of_zeta_is_read_by_keys_and_shows_who_was_where(page, open_page):
    browser = open_page(page)
    # ours looks at the action alone here, which has no map; the classifier looks at everything
    Select(browser.find_element(By.ID, "t0-run")).select_by_visible_text(
        "binary classifier, seed 0"
    )
    canvas = browser.find_element(By.CSS_SELECTOR, "canvas.map")
    screenshot(browser, "constraint", 1280, 1400, "t0-run")
    before = browser.execute_script("return arguments[0].toDataURL()", canvas)
    said = []
    for key in (Keys.ARROW_LEFT, Keys.ARROW_RIGHT, Keys.ARROW_UP, Keys.ARROW_DOWN):
        for _ in range(20):
            canvas.send_keys(key)
            said.append(browser.find_element(By.CSS_SELECTOR, ".maps .readout").text)
    assert len(set(said)) > 5, said
    assert all("judged feasible" in words or "judged infeasible" in words for words in said), said
    assert any("anticlockwise" in words and "judged infeasible" in words for words in said), said
    box(browser, "agents (orange crosses)", "t0-constraint").click()
    assert canvas.get_attribute("data-shown") == "demonstrations"
    assert browser.execute_script("return arguments[0].toDataURL()", canvas) != before
    Select(browser.find_element(By.ID, "t0-plane-0")).select_by_visible_text("cell")
    assert canvas.get_attribute("aria-label").startswith("Map of ζ over cell and action")
    Select(browser.find_element(By.ID, "t0-slice")).select_by_visible_text("cell")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#t0-constraint .uplot")) == 1


CONTRAST = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
  .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (node) => {
  for (; node; node = node.parentElement) {
    const colour = parse(getComputedStyle(node).backgroundColor);
    if (colour.length < 4 || colour[3] > 0.99) return colour;
  }
  return [255, 255, 255];
};
const found = [];
for (const node of document.querySelectorAll("body *")) {
  const said = (child) => child.nodeType === 3 && child.textContent.trim();
  const own = [...node.childNodes].some(said);
  if (!own || node.closest("script, svg, [hidden]")) continue;
  const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) found.push([node.tagName, node.textContent.slice(0, 30), ratio]);
}
return found;
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_can_be_read_against_what_is_behind_it(page, open_page, dark):
    browser = open_page(page, dark=dark)
    assert browser.execute_script(CONTRAST) == []
    if dark:
        screenshot(browser, "dark", 1280, 1480)
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.find_element(By.ID, "theme").click()
    assert (
        browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        != background
    )
    assert browser.execute_script(CONTRAST) == []


def test_a_phone_shows_it_without_scrolling_sideways(page, open_page):
    browser = open_page(page, width=390, height=800)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    wide = browser.execute_script(
        """return [...document.querySelectorAll(".uplot, svg, canvas.map")]
        .filter((node) => node.getBoundingClientRect().right > 391).length"""
    )
    assert wide == 0
    screenshot(browser, "phone", 390, 1700)


def test_everything_has_a_name_for_those_who_do_not_see_it(page, open_page):
    browser = open_page(page)
    nameless = browser.execute_script(
        """return [...document.querySelectorAll(
            "img, select, input, button, canvas.map, svg[role=img], .plot")]
        .filter((node) => !(node.alt || node.getAttribute("aria-label")
                            || (node.labels && node.labels.length) || node.textContent.trim()))
        .map((node) => node.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    levels = [
        int(h.tag_name[1]) for h in browser.find_elements(By.CSS_SELECTOR, "h1, h2, h3, h4, h5")
    ]
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_hostile_names_run_nothing(runs, tmp_path, open_page):
    copied = tmp_path / "<b>runs"
    shutil.copytree(runs / "binary-classifier-0", copied / "run")
    # a task of somebody's own: the names of its features are theirs, and nobody knows its truth
    theirs = {"task": f"nowhere:{HOSTILE}", "preset": IMAGE}
    for name, changes in {
        "config.json": {**theirs, "label": HOSTILE},
        "scores.json": {"true_return": None, "violation_rate": None},
    }.items():
        content = json.loads((copied / "run" / name).read_text())
        write_json(copied / "run" / name, content | changes)
    constraint = load_constraint(copied / "run" / "constraint")
    features = replace(constraint.features, names=(IMAGE, *constraint.features.names[1:]))
    card = {**constraint.card, **theirs}
    replace(constraint, features=features, card=card).save(copied / "run" / "constraint")
    main(["report", str(copied), "--out", str(tmp_path / "out")])
    browser = open_page(tmp_path / "out" / "index.html")
    assert browser.execute_script("return window.hacked") is None
    assert IMAGE in browser.find_element(By.ID, "t0-plane-0").text
    assert "<script>window.hacked = 1</script>" in browser.find_element(By.ID, "t0-legend").text


def test_one_run_has_the_same_page(runs, open_page):
    browser = open_page(runs / "icrl-0" / "report.html")
    assert browser.title == "icrl: icrl on lap-grid, seed 0"
    assert browser.execute_script("return icrlCharts.length") >= 3
