// Opens a page in a browser for the tests and prints what it found as JSON:
// node browse.mjs PAGE BROWSER FOLDER. The saved record is FOLDER/saved.jsonl.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [file, executablePath, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const errors = [];
const requests = [];

async function open(options) {
  const page = await (await browser.newContext(options)).newPage();
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("dialog", (dialog) => errors.push(`a dialog: ${dialog.message()}`) && dialog.dismiss());
  page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || requests.push(request.url()));
  await page.goto(`file://${file}`);
  return page;
}

const found = { axe: [], summary: {} };
for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1440]) {
    const page = await open({ viewport: { width, height: 900 }, colorScheme, acceptDownloads: true });
    // through the debugger, which the page's policy does not limit
    await page.evaluate(`${axe}; 0`);
    await page.locator("details").evaluateAll((all) => all.forEach((details) => (details.open = true)));
    await page.waitForTimeout(200);
    const result = await page.evaluate(() =>
      axe.run(document, {
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      }),
    );
    for (const each of result.violations)
      found.axe.push(
        `${colorScheme} ${width} ${each.id}: ${each.nodes.map((node) => node.html).slice(0, 3)}`,
      );
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) errors.push(`at ${width} pixels the page is ${wide} pixels too wide`);
    if (colorScheme === "light" && width === 1440) await use(page);
    await page.context().close();
  }
}
const bare = await open({ javaScriptEnabled: false });
found.summary.without = await bare.locator("#summary").isVisible();
await browser.close();
console.log(JSON.stringify({ ...found, errors, requests }));

async function use(page) {
  found.summary["with scripts"] = (await page.locator("#summary").count()) > 0;
  const shown = async () =>
    Number((await page.locator(".place").textContent()).split(" ")[0].replace(",", ""));
  found.tokens = await shown();
  const range = page.getByLabel("Step of the run");
  await range.focus();
  await page.keyboard.press("Home");
  found.first = await shown();
  await page.keyboard.press("End");
  const stage = page.locator(".scroll");
  found.rows = await stage.locator("tbody tr").count();
  await page.getByRole("grid").focus();
  for (const key of ["Home", "ArrowDown"]) await page.keyboard.press(key);
  if ((await page.locator('[aria-selected="true"]').getAttribute("aria-rowindex")) !== "3")
    errors.push("the arrow keys do not choose the second token");
  await page.keyboard.press("End");
  if ((await page.locator('[aria-selected="true"]').count()) !== 1)
    errors.push("the last token is not in sight");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the record" }).click();
  await (await saving).saveAs(join(folder, "saved.jsonl"));
  await page.getByLabel("Theme").selectOption("dark");
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  if (dark !== "rgb(18, 22, 27)") errors.push(`the dark theme's ground is ${dark}`);
  await page.emulateMedia({ media: "print" });
  await page.pdf({ path: join(folder, "page.pdf") });
}
