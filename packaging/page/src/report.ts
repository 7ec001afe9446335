// The report of an evaluation: its tables are sorted by a column, and a sample's run is opened at the token where it went
// wrong. Everything but the runs can be read without it.

import { App } from "./app";
import {
  Beside,
  isServed,
  type Listed,
  Missing,
  type Opened,
  type ReportData,
  type Row,
  type Verdict,
} from "./beside";
import { Recorded, type RunData } from "./data";
import { fill, h, reachScrolled, unique } from "./dom";
import { list } from "./panels";
import { Rest } from "./rest";
import { themeChoice } from "./theme";
import { count, pointerWords, visible } from "./words";

const RUN = /^#run-(\d+)(?:\.(\d+))?$/;
const OF_VALIDATOR = /^(PARSE|SCHEMA)$/;
const OF_TOOL = /^(WRONG|FORBIDDEN)_TOOL$|^(UNWANTED|EXTRA)_CALL$/;
const NO_REASONS =
  "This report has no reasons for the masked alternatives of this run. Open the run in Glyphscope to see them.";

export class Report {
  private readonly place = h("span", { class: "muted" });
  private readonly previous = h("button", { type: "button", click: () => this.turn(-1) }, "◀ Previous");
  private readonly next = h("button", { type: "button", click: () => this.turn(1) }, "Next ▶");
  private readonly ways = h(
    "div",
    { class: "tools" },
    this.previous,
    this.place,
    this.next,
    h("button", { type: "button", click: () => this.dialog.close() }, "Back to the report"),
  );
  private readonly dialog = h("dialog", { class: "whole-run", close: () => this.closed() });
  private readonly beside: Beside;
  /** The rest of each list, by the id of its cell. */
  private readonly rests = new Map<string, Rest>();
  private app: App | null = null;
  /** The link of the run that is shown. */
  private link: HTMLAnchorElement | null = null;
  /** The link of the run that was shown, until the browser is back at the report. */
  private left: HTMLAnchorElement | null = null;
  /** Whether the entry before this one of the browser's history is the report. */
  private followed = false;

  constructor(data: ReportData) {
    this.beside = new Beside(data);
    document.querySelector("header .tools")!.append(themeChoice());
    document.querySelectorAll<HTMLTableElement>("table.sortable").forEach(sortable);
    for (const note of document.querySelectorAll<HTMLElement>(".samples .more")) {
      const cell = note.closest("details")!;
      if (isServed()) this.rests.set(cell.id, new Rest(cell, note, this.beside));
    }
    document.body.append(this.dialog);
    document.addEventListener("click", (event) => this.click(event));
    document.addEventListener("toggle", () => requestAnimationFrame(() => reachScrolled(document)), true);
    addEventListener("resize", () => reachScrolled(document));
    addEventListener("hashchange", () => void this.goTo());
    reachScrolled(document);
    void this.goTo();
  }

  private click(event: MouseEvent): void {
    const link = (event.target as Element).closest("a");
    const address = link?.getAttribute("href") ?? "";
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (address.startsWith("#")) unfold(address);
    if (!address.startsWith("./")) return;
    event.preventDefault();
    this.link = link;
    if (link.dataset.run) {
      this.followed = true;
      location.hash = `run-${link.dataset.run}`;
    } else void this.show(link);
  }

  /** Shows the part of the page, or the run, that the address names. */
  private async goTo(): Promise<void> {
    const [address, cell, place] = RUN.exec(location.hash) ?? [];
    const run = address?.slice("#run-".length);
    if (!run) {
      if (this.dialog.open) this.dialog.close();
      unfold(location.hash);
      this.left?.focus(); // which the browser took away for the part of the page that the address names
      this.left = null;
      return;
    }
    if (this.link?.dataset.run !== run) {
      const listed = () => document.querySelector<HTMLAnchorElement>(`.samples a[data-run="${run}"]`);
      if (place && !listed()) await this.rests.get(`cell-${cell}`)?.showRow(Number(place));
      this.link = listed();
    } else if (this.dialog.open) return; // an event of an earlier address, which came late
    if (this.link) void this.show(this.link);
  }

  /** The next run of the same table, or one before. */
  private turn(by: number): void {
    const link = siblings(this.link!)[siblings(this.link!).indexOf(this.link!) + by];
    if (!link) return;
    this.link = link;
    if (link.dataset.run) history.replaceState(null, "", `#run-${link.dataset.run}`);
    void this.show(link);
  }

  private closed(): void {
    if (this.dialog.open) return; // opened again meanwhile
    this.app?.close();
    this.app = null;
    fill(this.dialog);
    const link = this.link;
    this.link = null;
    for (let box = link?.closest("details"); box; box = box.parentElement?.closest("details"))
      box.open = true;
    link?.focus();
    if (RUN.test(location.hash)) {
      this.left = link;
      if (this.followed) history.back();
      else history.replaceState(null, "", location.pathname + location.search);
    }
    this.followed = false;
  }

  private async show(link: HTMLAnchorElement): Promise<void> {
    this.link = link;
    const all = siblings(link);
    const at = all.indexOf(link);
    const focused = document.activeElement as HTMLElement | null;
    this.place.textContent = `${count(at + 1)} of ${count(all.length)}`;
    this.previous.disabled = at === 0;
    this.next.disabled = at === all.length - 1;
    const title = titleOf(link);
    this.app?.close();
    this.app = null;
    const body = h("div");
    fill(this.dialog, body);
    this.dialog.setAttribute("aria-label", title);
    if (!this.dialog.open) this.dialog.showModal();
    try {
      const opened = await this.beside.open(link);
      if (this.link !== link || !this.dialog.open) return;
      const { listed, row, shared, source } = opened;
      const run = listed && shared ? new Recorded(whole(listed, shared), source) : unprepared(title, opened);
      const verdict = listed ?? (row && verdictOf(row, run));
      const reasons = listed?.explained || !hasMasked(run) ? null : h("p", { class: "muted" }, NO_REASONS);
      this.app = new App(body, [run], this.ways, [verdict ? this.notice(verdict, link) : null, reasons]);
      if (verdict?.place) this.app.show(...verdict.place);
    } catch (error) {
      if (this.link !== link || !this.dialog.open) return;
      this.explain(body, title, link, error);
    }
    this.dialog.scrollTop = 0;
    if (focused && this.ways.contains(focused) && !focused.matches(":disabled")) focused.focus();
    else this.ways.querySelector<HTMLElement>("button:last-child")!.focus();
  }

  /** The verdict on the sample, and where it went wrong. */
  private notice(
    { sign, kind, verdict, failures, keyword, place }: Verdict,
    link: HTMLAnchorElement,
  ): HTMLElement {
    const id = unique("verdict");
    const first = failures[0];
    return h(
      "section",
      { class: `card verdict ${kind}`, "aria-labelledby": id },
      h(
        "div",
        { class: "title" },
        h("h2", { id, class: kind }, `${sign} ${visible(verdict)}`),
        h("span", { class: "muted" }, sampleWords(link)),
        place
          ? h(
              "button",
              { type: "button", class: "note", click: () => this.app!.show(...place) },
              "Show the first difference",
            )
          : null,
      ),
      first
        ? h(
            "div",
            { class: "body" },
            list(
              [
                ["Argument", first.path ? h("code", null, visible(pointerWords(first.path))) : ""],
                ["Schema keyword", keyword ? h("code", null, visible(keyword)) : ""],
                ["Reason", visible(first.detail)],
              ].filter((fact): fact is [string, HTMLElement | string] => fact[1] !== ""),
            ),
            failures
              .slice(1)
              .map(({ words, path, detail }) =>
                h(
                  "p",
                  { class: "muted" },
                  visible([words, pointerWords(path), detail].filter(Boolean).join(": ")),
                ),
              ),
          )
        : null,
    );
  }

  private explain(body: HTMLElement, title: string, link: HTMLAnchorElement, error: unknown): void {
    const words =
      error instanceof Missing ? error.message : `The record cannot be shown: ${visible(String(error))}`;
    fill(
      body,
      h("div", { class: "top" }, h("div", { class: "names" }, h("h1", null, title)), this.ways),
      h(
        "div",
        { class: "main" },
        h("p", { class: "missing" }, words),
        h("p", null, h("a", { href: link.href, download: true }, "Open the file of the record")),
      ),
    );
  }
}

/** A run that the engine did not prepare: as far as its record, and what it has in common with others, show it. */
function unprepared(name: string, { source, shared }: Opened): Recorded {
  const data: RunData = {
    name,
    words: "",
    hint: "",
    status: "open",
    sampling: "",
    tools: {},
    allowed: 0,
    name_path: "",
    args_path: "",
    settings: [],
    differing: [],
    stages: [],
    ...shared,
  };
  const run = new Recorded(data, source);
  const { started, finished, failed } = run.whole;
  data.name = started?.request?.prompt || name;
  data.words = failed
    ? "failed"
    : !finished
      ? "the record ends before the run"
      : finished.valid
        ? "a valid answer"
        : `not a valid answer: ${finished.reason}`;
  data.status = failed || finished?.valid === false ? "impossible" : finished ? "holds" : "open";
  return run;
}

/** The verdict of a row, with the place where the run went wrong, as the engine finds it (results/bad_token.py). */
function verdictOf([, , sign, kind, verdict, , , failure]: Row, { data, whole }: Recorded): Verdict {
  const [reason = "", path = "", detail = ""] = failure ?? [];
  const name = OF_TOOL.test(reason) ? data.name_path : `${data.args_path}${path}`;
  let place: Verdict["place"] = null;
  whole.stages.forEach((stage, number) => {
    const char = OF_VALIDATOR.test(reason)
      ? (stage.aborted ?? stage.violations[0])?.char
      : stage.written.get(0)?.fields.get(name)?.start;
    const [token] = stage.tokensBetween(char ?? Infinity, null);
    if (failure && typeof char === "number" && stage.tokens.length)
      place = [number, Math.min(token, stage.tokens.length - 1)];
  });
  return {
    sign,
    kind,
    verdict,
    failures: failure ? [{ words: verdict, path, detail }] : [],
    keyword: "",
    place,
  };
}

function hasMasked(run: Recorded): boolean {
  return run.whole.stages.some((stage) =>
    stage.tokens.some((token) => token.step.alternatives?.some((one) => one.allowed === false)),
  );
}

function whole(listed: Listed, shared: NonNullable<Opened["shared"]>): RunData {
  return { ...listed, ...shared, settings: [...shared.settings, ...listed.settings] };
}

function siblings(link: HTMLAnchorElement): HTMLAnchorElement[] {
  const table = link.dataset.run ? link.closest("table") : null;
  return table ? [...table.querySelectorAll<HTMLAnchorElement>("a[data-run]")] : [link];
}

/** The scenario, and the words of the link if they are others. */
function titleOf(link: HTMLAnchorElement): string {
  const words = link.textContent!.trim();
  const row = link.closest("tr")?.querySelector("a")?.textContent?.trim() ?? "";
  return row && row !== words ? `${row}, ${words}` : words;
}

/** The sample in words: its scenario, arm and trial. */
function sampleWords(link: HTMLAnchorElement): string {
  const listed = document.querySelector(`.samples a[data-run="${link.dataset.run}"]`) ?? link;
  const arm = listed.closest("details")?.querySelector("summary b")?.textContent;
  const trial = listed.closest("tr")?.querySelector("td.n")?.textContent;
  return [listed.textContent!.trim(), arm, trial && `trial ${trial}`].filter(Boolean).join(", ");
}

/** Opens the folded list of that address. */
function unfold(address: string): void {
  const target = address.length > 1 ? document.getElementById(address.slice(1)) : null;
  if (target instanceof HTMLDetailsElement) target.open = true;
}

/** Sorts the table by the column whose head is pressed. */
function sortable(table: HTMLTableElement): void {
  const heads = [...table.querySelectorAll("thead th")];
  const body = table.tBodies[0]!;
  heads.forEach((head, column) => {
    const value = (row: HTMLTableRowElement) => {
      const cell = row.cells[column];
      return cell?.dataset.sort ?? cell?.textContent!.trim() ?? "";
    };
    const sort = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => [value(row), row] as const);
      rows.sort(([one], [other]) => compared(one, other) * (up ? 1 : -1));
      body.append(...rows.map(([, row]) => row));
    };
    const button = h("button", { type: "button", click: sort });
    button.append(...head.childNodes);
    head.append(button);
  });
}

function compared(one: string, other: string): number {
  const [first, second] = [Number(one), Number(other)];
  return one !== "" && other !== "" && !isNaN(first) && !isNaN(second)
    ? first - second
    : one.localeCompare(other);
}
