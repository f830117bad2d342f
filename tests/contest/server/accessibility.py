"""Checks of a page in a browser against rules of WCAG 2.2, level AA, that a script can decide."""

from __future__ import annotations

from playwright.sync_api import Page

CHECKS = r"""
() => {
  const faults = [];
  const visible = (element) => element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  const shown = [...document.querySelectorAll("body *")].filter(visible);
  const where = (element) => element.outerHTML.slice(0, 80);

  // 3.1.1, 2.4.2, 1.3.1: language, title, headings in order, unique ids
  if (!document.documentElement.lang) faults.push("the page names no language");
  if (!document.title.trim()) faults.push("the page has no title");
  const levels = shown.filter((e) => /^H[1-6]$/.test(e.tagName)).map((e) => Number(e.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1 || levels[0] !== 1) faults.push("not one h1, first");
  levels.forEach((level, at) => { if (at && level > levels[at - 1] + 1) faults.push(`h${level} skips a level`); });
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  ids.filter((id, at) => ids.indexOf(id) !== at).forEach((id) => faults.push(`the id ${id} occurs twice`));

  // 2.4.1: a way past the navigation
  const first = document.querySelector("a[href], button, input, select");
  if (!first || !first.matches('a[href="#main"]') || !document.querySelector("main#main")) faults.push("no skip link");

  // 4.1.2, 1.1.1: names of controls and pictures
  const CONTROLS = "input:not([type=hidden]), select, textarea, progress";
  const referred = (e) => (e.getAttribute("aria-labelledby") || "").split(" ")
    .map((id) => document.getElementById(id)?.textContent).join("");
  const named = (e) => (e.getAttribute("aria-label") || [...(e.labels || [])].map((label) => label.textContent).join("")
    || referred(e) || (e.matches(CONTROLS) ? "" : e.textContent)).trim();
  for (const e of shown) {
    if (e.matches(`${CONTROLS}, button, a[href], svg, [role=img], [role=region]`) && !named(e))
      faults.push(`no name: ${where(e)}`);
    if (e.matches("a[href], button") && e.tabIndex < 0) faults.push(`out of reach of the keyboard: ${where(e)}`);
  }

  // 1.3.1: tables
  for (const table of shown.filter((e) => e.tagName === "TABLE")) {
    if (!table.caption?.textContent.trim()) faults.push(`no caption: ${where(table)}`);
    if ([...table.querySelectorAll("th")].some((th) => !th.scope)) faults.push(`th without scope: ${where(table)}`);
  }

  // 1.4.10: no scrolling in two directions at this width; regions that scroll can be reached
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push(`the page is ${root.scrollWidth} pixels wide`);
  for (const e of shown) {
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth + 1;
    if (scrolls && e.tabIndex < 0) faults.push(`scrolls, but not by the keyboard: ${where(e)}`);
  }

  // 2.5.8: size of targets
  for (const e of shown.filter((e) => e.matches("button, input, select, .button"))) {
    const box = e.getBoundingClientRect();
    if (Math.min(box.width, box.height) < 23.9) faults.push(`small target: ${where(e)}`);
  }

  // 2.4.7: focus can be seen
  for (const e of shown.filter((e) => e.matches("a[href], button, input:not([type=hidden]), select"))) {
    e.focus({focusVisible: true});
    const style = getComputedStyle(e);
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) faults.push(`unseen focus: ${where(e)}`);
  }
  document.activeElement.blur();

  // 1.4.3 and 1.4.11: contrast of text, and of fields and marks
  const parse = (text) => {
    const [r, g, b, a] = text.match(/[\d.]+/g).map(Number);
    return {rgb: [r, g, b], alpha: a ?? 1};
  };
  const light = (rgb) => rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const contrast = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.alpha === 1) return colour.rgb;
    }
    return [255, 255, 255];
  };
  const require = (e, colour, back, least, what) => {
    const found = contrast(colour, back);
    if (found < least) faults.push(`${what} with contrast ${found.toFixed(2)}: ${where(e)}`);
  };
  const text = [...shown].filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
  for (const e of text) {
    const style = getComputedStyle(e), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (e.closest("svg")) {
      if (e.tagName !== "text") continue;
      const plot = e.closest("svg");
      const band = plot.querySelector(".band");
      const backs = [ground(plot), ...(band ? [parse(getComputedStyle(band).fill).rgb] : [])];
      backs.forEach((back) => require(e, parse(style.fill).rgb, back, 4.5, "text of a plot"));
    } else {
      require(e, parse(style.color).rgb, ground(e), large ? 3 : 4.5, "text");
    }
  }
  for (const e of shown.filter((e) => e.matches("svg :is(path.bar, path.thin, path.up, path.down, path.same)")))
    require(e, parse(getComputedStyle(e).stroke).rgb, ground(e.closest("svg")), 3, "mark");
  for (const e of shown.filter((e) => e.matches("input[type=text], input[type=password], input[type=file], select")))
    require(e, parse(getComputedStyle(e).borderTopColor).rgb, ground(e.parentElement), 3, "field");
  return [...new Set(faults)];
}
"""


def faults(page: Page) -> list[str]:
    """Return what a page does wrong."""
    found: list[str] = page.evaluate(CHECKS)
    return found
