// Opens pages of runs in a browser for the tests, goes through each, and prints what it found as JSON by page:
// node browse.mjs chromium|firefox EXECUTABLE FOLDER PAGE…. The saved record of a page is PAGE.saved.jsonl.
import { writeFileSync } from "node:fs";
import { checkWidth, errors, launch, open, requests, violations } from "./browsers.mjs";

const [name, executable, folder, ...files] = process.argv.slice(2);
const browser = await launch(name, executable);
const emulates = name === "chromium";
const found = {};
for (const file of files) {
  found[file] = await visit(file);
  found[file].errors = errors.splice(0);
  found[file].requests = requests.splice(0);
}
await browser.close();
console.log(JSON.stringify(found));

async function visit(file) {
  const address = `file://${file}`;
  const found = { axe: [], summary: {} };
  for (const [colorScheme, width] of [
    ["light", 1440],
    ["dark", 390],
  ]) {
    const options = { viewport: { width, height: 900 }, acceptDownloads: true };
    const page = await open(browser, address, emulates ? { ...options, colorScheme } : options);
    if (!emulates) await page.getByLabel("Theme").selectOption(colorScheme);
    if (width === 1440) await use(page, found, file);
    await page.locator("details").evaluateAll((all) => all.forEach((details) => (details.open = true)));
    await page.waitForTimeout(100);
    await page.evaluate(() => scrollTo(0, 0)); // where the bar that stays in sight covers nothing
    found.axe.push(...(await violations(page, `${colorScheme} ${width}`)));
    await checkWidth(page, `at ${width} pixels`);
    await page.context().close();
  }
  if (!emulates) return found;
  const bare = await open(browser, address, { javaScriptEnabled: false });
  found.summary.without = await bare.locator("#summary").isVisible();
  await bare.context().close();
  return found;
}

/** Opened, hovered, clicked, scrubbed. */
async function use(page, found, file) {
  found.summary["with scripts"] = (await page.locator("#summary").count()) > 0;
  const shown = async () =>
    Number((await page.locator(".place").first().textContent()).split(" ")[0].replace(",", ""));
  const fail = (words) => errors.push(words);
  found.tokens = await shown();
  const range = page.getByLabel("Step of the run");
  await range.focus();
  await page.keyboard.press("Home");
  found.first = await shown();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("button", { name: "One step forward" }).click();
  await page.keyboard.press("End");
  await page.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction(() => document.querySelector(".play").textContent.includes("Pause"));
  await range.focus();
  await page.keyboard.press("End");
  if ((await shown()) !== found.tokens) fail("the end of the scrubber is not that of the run");

  const token = page.locator(".stream:not(.small) [data-token]").first();
  await token.hover();
  await token.click();
  const number = await token.getAttribute("data-token");
  if (!(await page.locator(".second .note").first().textContent()).includes(`token ${number}`))
    fail("a click on a token does not show its alternatives");

  found.rows = await page.locator(".scroll tbody tr").count();
  const selected = page.locator('[aria-selected="true"]');
  await page.getByRole("grid").focus();
  for (const key of ["Home", "ArrowDown"]) await page.keyboard.press(key);
  if ((await selected.getAttribute("aria-rowindex")) !== "3")
    fail("the arrow keys do not choose the second token");
  await page.keyboard.press("End");
  if ((await selected.count()) !== 1) fail("the last token is not in sight");
  found.frames = await scrolled(page);

  found.printed = await page.evaluate(() => {
    dispatchEvent(new Event("beforeprint"));
    const rows = document.querySelectorAll(".tokens tbody tr[data-token]").length;
    const stages = document.querySelectorAll(".others > .card").length + 1;
    dispatchEvent(new Event("afterprint"));
    return { rows, stages, left: document.querySelectorAll(".others > *").length };
  });
  const chart = page.locator(".plot svg").first();
  found.chart = await chart.isVisible();
  if (found.chart) {
    const { width } = await chart.boundingBox();
    await chart.click({ position: { x: width / 2, y: 5 } });
    const row = Number(await page.locator('[aria-selected="true"]').getAttribute("aria-rowindex"));
    const rows = Number(await page.getByRole("grid").getAttribute("aria-rowcount")) - 1;
    if (Math.abs(row - 2 - Math.floor(rows / 2)) > 1 + rows / width)
      fail(`a click on the middle of the chart chooses row ${row} of ${rows}`);
  }

  const save = page.getByRole("button", { name: "Save the record" });
  if (emulates) {
    const saving = page.waitForEvent("download");
    await save.click();
    await (await saving).saveAs(`${file}.saved.jsonl`);
  } else {
    // this protocol reports no downloads: the text that would be saved
    const text = await save.evaluate((button) => {
      const made = URL.createObjectURL;
      return new Promise((resolve) => {
        URL.createObjectURL = (blob) => {
          resolve(blob.text());
          return made.call(URL, blob);
        };
        button.click();
      });
    });
    writeFileSync(`${file}.saved.jsonl`, text);
  }
  await page.getByLabel("Theme").selectOption("dark");
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  if (dark !== "rgb(18, 22, 27)") fail(`the dark theme's ground is ${dark}`);
  await page.getByLabel("Theme").selectOption("light");
  if (!emulates) return;
  await page.emulateMedia({ media: "print" });
  await page.pdf({ path: `${folder}/page.pdf` });
  await page.emulateMedia({ media: "screen" });
}

/** Scrolls the table of tokens from its beginning to its end; the milliseconds of the longest frame. */
function scrolled(page) {
  return page.evaluate(async () => {
    const table = document.querySelector(".scroll");
    const frame = () => new Promise(requestAnimationFrame);
    table.scrollTop = 0;
    let before = await frame();
    let longest = 0;
    for (let step = 0; step < 40; step++) {
      table.scrollTop += (table.scrollHeight - table.clientHeight) / 40;
      const now = await frame();
      longest = Math.max(longest, now - before);
      before = now;
    }
    return longest;
  });
}
