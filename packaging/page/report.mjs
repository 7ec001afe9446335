// Opens the report of an evaluation in a browser for the tests, and prints what it found as JSON:
// node report.mjs chromium|firefox EXECUTABLE FOLDER BARE SEGMENTS. FOLDER has a result whose report has its runs inside,
// BARE one whose report has them beside it, and SEGMENTS one with its records in segments.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { checkWidth, errors, launch, open, requests, violations } from "./browsers.mjs";

const [name, executable, folder, bare, segments] = process.argv.slice(2);
const browser = await launch(name, executable);
const emulates = name === "chromium";
const folders = { bare, segments };
const server = createServer(async (request, response) => {
  const [, from, ...path] = decodeURIComponent(request.url).split("/");
  try {
    const data = await readFile(join(folders[from], ...path));
    // one of the browsers meets a server that knows ranges, the other one that ignores them
    const range = emulates && /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    if (range) response.writeHead(206).end(data.subarray(Number(range[1]), Number(range[2]) + 1));
    else response.end(data);
  } catch {
    response.writeHead(404).end();
  }
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.on("listening", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
const address = `file://${folder}/report.html`;
const laptop = { width: 1366, height: 768 };
const found = { axe: [], widths: [] };

for (const [scheme, width] of [
  ["light", 1366],
  ["dark", 390],
]) {
  const page = await open(browser, address, { viewport: { width, height: 844 } });
  await page.getByLabel("Theme").selectOption(scheme);
  await page.locator("details").evaluateAll((all) => all.forEach((details) => (details.open = true)));
  await page.waitForTimeout(100);
  found.axe.push(...(await violations(page, `report, ${scheme} ${width}`)));
  await checkWidth(page, `the report at ${width}`);
  await wrong(page);
  found.axe.push(...(await violations(page, `run, ${scheme} ${width}`)));
  await checkWidth(page, `the run at ${width}`);
  await page.context().close();
}

const page = await open(browser, address, { viewport: laptop });
found.inside = await wrong(page);
found.named = new URL(page.url()).hash;
// back, by keyboard, to the link of the run
await page.keyboard.press("Escape");
await page.locator("dialog[open]").waitFor({ state: "hidden" });
await page.waitForFunction(() => location.hash.startsWith("#cell") && document.activeElement.dataset.run);
found.focused = await page.evaluate(() => document.activeElement.dataset.run);
// from one run to the next, and the browser's way back
const shown = () => page.locator("dialog[open] h2").first().textContent();
await page.locator("details[open].samples a[data-run]").first().click();
await page.locator("dialog[open] .stream").first().waitFor();
found.list = [await shown()];
const next = page.getByRole("button", { name: "Next ▶" });
while (await next.isEnabled()) {
  const before = page.url();
  await next.focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction((url) => location.href !== url, before);
  await page.locator("dialog[open] .stream").first().waitFor();
  found.list.push(await shown());
}
await page.goBack();
await page.locator("dialog[open]").waitFor({ state: "hidden" });
await page.context().close();
// the address of a run, and what is on paper while it is open
const shared = await open(browser, `${address}${found.named}`, { viewport: laptop });
await shared.locator("dialog[open] .stream .chosen").first().waitFor();
found.printed = await shared.evaluate(() => {
  const seen = () =>
    [...document.querySelectorAll("body > *")]
      .filter((each) => each.checkVisibility())
      .map((each) => each.className);
  dispatchEvent(new Event("beforeprint"));
  const paper = seen();
  dispatchEvent(new Event("afterprint"));
  return [paper, document.querySelectorAll("dialog[open] .stream .chosen").length > 0];
});
await shared.getByRole("button", { name: "Back to the report" }).click();
await shared.waitForFunction(() => !location.hash);
await shared.locator("table.sortable th button").first().click();
found.sorted = await shared.locator('th[aria-sort="ascending"]').count();
await shared.context().close();

// a page from the disk reads no other file
const alone = await open(browser, `file://${bare}/report.html`, { viewport: laptop });
await cell(alone);
await alone.locator("details[open].samples a[data-run]").first().click();
found.alone = await alone.locator("dialog[open] .missing").textContent();
found.axe.push(...(await violations(alone, "without the record")));
await alone.context().close();

for (const kind of ["bare", "segments"]) {
  requests.splice(0);
  const served = await open(browser, `${origin}/${kind}/report.html`, { viewport: laptop });
  found[kind] = await wrong(served);
  found[kind].requests = requests
    .map((each) => each.replace(origin, ""))
    .filter((path) => path !== "/favicon.ico");
  found[kind].rest = await rest(served, kind);
  await served.context().close();
}

if (emulates) {
  const plain = await open(browser, address, { javaScriptEnabled: false, viewport: laptop });
  await plain.locator(".matrix td a").last().click();
  const list = plain.locator(`details${new URL(plain.url()).hash}`);
  await list.locator("summary").click();
  found.plain = {
    row: (await list.locator("tbody tr").first().innerText()).replace(/\s+/g, " "),
    link: await list.locator("tbody a").first().getAttribute("href"),
    buttons: await plain.locator("button").count(),
  };
}
await browser.close();
server.close();
console.log(JSON.stringify({ ...found, errors: errors.filter((each) => !each.includes("favicon")) }));

/** From the last cell of the matrix to the list of its samples. */
async function cell(page) {
  await page.locator(".matrix td a").last().focus();
  await page.keyboard.press("Enter");
  await page.locator("details[open].samples a[data-run]").first().waitFor();
}

/** The second page of the cell's list, and its first run, also by its address in a new window. */
async function rest(page, kind) {
  await page.keyboard.press("Escape");
  await page.locator("dialog[open]").waitFor({ state: "hidden" });
  const list = page.locator("details[open].samples");
  await list.getByRole("button", { name: "Next ▶" }).click();
  const links = list.locator("tbody a[data-run]");
  await links.nth(2).waitFor();
  found.axe.push(...(await violations(page, `the rest of a list, ${kind}`)));
  const rest = { rows: await links.allTextContents(), words: await list.getByRole("status").textContent() };
  await links.first().click();
  const chosen = page.locator("dialog[open] .stream .chosen").first();
  rest.chosen = await chosen.getAttribute("data-token");
  rest.run = await page.locator("dialog[open]").getAttribute("aria-label");
  rest.verdict = await page.locator("dialog[open] .verdict").innerText();
  const shared = await open(browser, page.url(), { viewport: laptop });
  await shared.locator("dialog[open] .stream .chosen").first().waitFor();
  rest.shared = await shared.locator("dialog[open]").getAttribute("aria-label");
  await shared.context().close();
  return rest;
}

/** And from there to its first run, at the token that is chosen. */
async function wrong(page) {
  await cell(page);
  const hash = new URL(page.url()).hash;
  const link = page.locator(`details${hash} a[data-run]`).first();
  await link.focus();
  await page.keyboard.press("Enter");
  await page.locator("dialog[open] .stream .chosen").first().waitFor();
  return {
    run: await link.getAttribute("data-run"),
    chosen: await page.locator("dialog[open] .stream .chosen").first().getAttribute("data-token"),
    verdict: await page.locator("dialog[open] .verdict").innerText(),
    title: await page.locator("dialog[open]").getAttribute("aria-label"),
  };
}
