// Chromium, or a released Firefox by WebDriver BiDi, for the tests; and pages that report what they must not do.
// playwright-core 1.60 is the version: 1.65 sends Firefox 153 a command that it does not know.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { chromium, firefox } from "playwright-core";

export const errors = [];
export const requests = [];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const PATIENCE = 120_000; // milliseconds: the speed of a machine proves nothing about a page

export function launch(name, executablePath) {
  return name === "firefox"
    ? firefox.launch({ channel: "moz-firefox", executablePath })
    : chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

/** A page in a new context, whose errors, dialogs and requests beyond the disk are collected. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const report = (words) => errors.push(`${address}: ${words}`);
  page.on("console", (message) => message.type() === "error" && report(message.text()));
  page.on("pageerror", (error) => report(String(error)));
  page.on("dialog", (dialog) => report(`a dialog: ${dialog.message()}`) && dialog.dismiss());
  page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || requests.push(request.url()));
  await page.goto(address);
  return page;
}

/** The violations that axe-core finds on the page as it is now, each with its first elements. */
export async function violations(page, where = "") {
  // through the debugger, which the page's policy does not limit
  await page.evaluate(`${axe}; 0`);
  const result = await page.evaluate((runOnly) => axe.run(document, { runOnly }), RULES);
  return result.violations.map(
    (each) => `${where} ${each.id}: ${each.nodes.map((node) => node.html).slice(0, 3)}`,
  );
}

/** Notes where the page is wider than its window. */
export async function checkWidth(page, where) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) errors.push(`${where}: the page is ${wide} pixels too wide`);
}
