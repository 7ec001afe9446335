// Takes exported lessons in a browser from the first step to the last, for the tests, and prints what it found as JSON:
// node walk.mjs chromium|firefox EXECUTABLE FOLDER.
import { checkWidth, errors, launch, open, requests, violations } from "./browsers.mjs";

const [name, executable, folder] = process.argv.slice(2);
const browser = await launch(name, executable);
const emulates = name === "chromium";
const index = `file://${folder}/index.html`;
const found = { axe: [], lessons: {} };

const page = await open(browser, index, { viewport: { width: 1440, height: 900 } });
found.axe.push(...(await violations(page, "index")));
const entries = await page.evaluate(() => JSON.parse(document.getElementById("lessons").textContent));
await page.locator(".lessons a").first().click();
for (const [place, entry] of entries.entries()) {
  await page.waitForURL(`**/${entry.file}*`);
  await page.setViewportSize(place % 3 === 1 ? { width: 390, height: 844 } : { width: 1440, height: 900 });
  found.lessons[entry.key] = await take(entry, place);
}
await page.waitForURL("**/index.html");
found.index = await page.locator(".progress").allTextContents();
found.axe.push(...(await violations(page, "index afterwards")));

if (emulates) {
  found.presented = await present();
  found.bare = await bare();
  found.unkept = await unkept();
}
console.log(JSON.stringify({ ...found, errors, requests }));
await browser.close();

async function take(entry, place) {
  const data = await page.evaluate(() => JSON.parse(document.getElementById("lesson").textContent));
  for (let step = 0; step < entry.steps; step++) {
    if (!page.url().includes("#step-") && step) errors.push(`${entry.key}: the address names no step`);
    await page.getByLabel("Theme").selectOption(step % 2 ? "dark" : "light");
    const section = page.locator(".step:visible");
    // a question may cover what follows it
    for (let part; (part = await next(section));) {
      const shown = data.parts[Number(await part.getAttribute("data-part"))];
      await part.evaluate((element) => (element.dataset.taken = "yes"));
      if (shown.kind === "question") await answer(part, shown, step);
      else await watch(part, shown);
    }
    if (await section.locator(".covered").count()) errors.push(`${entry.key}: a part stays covered`);
    if (emulates || place === 0) found.axe.push(...(await violations(page, `${entry.key} ${step + 1}`)));
    await checkWidth(page, `${entry.key} ${step + 1}`);
    const steps = page.locator("nav.steps");
    if (step === entry.steps - 1) await wholeRun(entry);
    const state = step === entry.steps - 1 ? await steps.locator(".state").textContent() : "";
    await steps.locator("button.play").click();
    if (state) return state;
  }
}

function next(section) {
  return section
    .locator(".part:visible:not([data-taken])")
    .first()
    .elementHandle({ timeout: 300 })
    .then((found) => found && section.locator(".part:visible:not([data-taken])").first())
    .catch(() => null)
    .then(async (part) => part && section.locator(`[data-part="${await part.getAttribute("data-part")}"]`));
}

async function answer(part, asked, step) {
  if (asked.form === "character") {
    await part.getByRole("slider").focus();
    await page.keyboard.press("Home");
    for (let at = 0; at < asked.right[0]; at++) await page.keyboard.press("ArrowRight");
  } else {
    await part.locator("input").first().focus();
    for (const number of asked.right) await page.keyboard.press(String(number + 1));
  }
  if (step % 2) await part.getByRole("button", { name: "Show the solution" }).click();
  else await page.keyboard.press("Enter");
  const result = await part.locator(".result").textContent();
  if (result !== "✓ Right.") errors.push(`the right answer is graded “${result}”`);
}

async function watch(part, shown) {
  if (shown.kind === "experiment") await part.getByRole("button", { name: "Play the recording" }).click();
  const stream = part.locator(".stream");
  await stream.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("End");
  const [at, , last] = (await part.locator(".place").textContent()).split(" ");
  if (at !== last) errors.push(`the run ends at token ${at} of ${last}`);
  const token = stream.locator("[data-token]").first();
  await token.hover();
  await token.click();
  const number = await token.getAttribute("data-token");
  const title = await part.locator(".token .head").textContent();
  if (!title.startsWith(`Token ${number} `))
    errors.push(`token ${number} was chosen, and “${title}” is shown`);
}

/** Everything about a run of the step, where it has one. */
async function wholeRun(entry) {
  const button = page.getByRole("button", { name: "Everything about this run" }).first();
  if (!(await button.isVisible())) return;
  await button.click();
  await page.locator("dialog[open]").waitFor();
  if (emulates) found.axe.push(...(await violations(page, `${entry.key}, the whole run`)));
  await page.keyboard.press("Escape");
  await page.locator("dialog[open]").waitFor({ state: "hidden" });
}

/** A lesson with the presenter's keys alone. */
async function present() {
  const { file } = entries[entries.length > 2 ? 2 : 0];
  const page = await open(browser, `file://${folder}/${file}`, { viewport: { width: 1280, height: 720 } });
  await page.keyboard.press("F11");
  const popup = page.waitForEvent("popup");
  await page.keyboard.press("n");
  const notes = await popup;
  const seen = new Set();
  let presses = 0;
  for (let last = -1; presses < 400 && last !== seen.size;) {
    last = seen.size;
    for (let press = 0; press < 12; press++, presses++) {
      await page.keyboard.press("ArrowRight");
      seen.add(await page.evaluate(() => `${location.hash} ${scrollY} ${document.body.innerText.length}`));
    }
  }
  const open_ = await page.locator(".question .foot").count();
  const shown = {
    hint: await page.locator(".hint").textContent(),
    notes: await notes.locator("h1").textContent(),
  };
  const size = () => page.evaluate(() => parseFloat(getComputedStyle(document.documentElement).fontSize));
  const before = await size();
  await page.keyboard.press("+");
  const larger = (await size()) > before;
  const axe = await violations(page, "presenting");
  await page.keyboard.press("Escape");
  const left = !(await page.evaluate(() => document.documentElement.classList.contains("presenting")));
  const step = await page.locator(".step:visible").count();
  await page.context().close();
  return { ...shown, open: open_, larger, axe, left, step, last: seen.size > 4 };
}

/** Without scripts. */
async function bare() {
  const page = await open(browser, `file://${folder}/${entries[0].file}`, { javaScriptEnabled: false });
  const solutions = page.locator(".solution");
  await solutions.first().locator("summary").click();
  const read = {
    steps: await page.locator(".step:visible").count(),
    solution: await solutions.first().locator(".why").isVisible(),
    runs: await page.locator(".recorded pre:visible").count(),
    buttons: await page.locator("button").count(),
  };
  await page.context().close();
  return read;
}

/** In a browser that keeps nothing. */
async function unkept() {
  const context = await browser.newContext();
  await context.addInitScript(() => {
    Object.defineProperty(window, "localStorage", {
      get() {
        throw new DOMException("denied", "SecurityError");
      },
    });
  });
  const page = await context.newPage();
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`file://${folder}/${entries[0].file}`);
  await page.locator("nav.steps button.play").click();
  const words = await page.locator(".state").textContent();
  await context.close();
  return words;
}
