// The report of an evaluation: its tables are sorted by a column, and a sample's run is opened at the token where it went
// wrong. Everything but the runs can be read without it.

import { App } from "./app";
import { Recorded, type RunData } from "./data";
import { fill, h, reachScrolled, unique } from "./dom";
import { list } from "./panels";
import type { Outcome } from "./reduce";
import { themeChoice } from "./theme";
import { count, visible } from "./words";

/** A listed run; what it has in common with others is in `shared`. */
interface Listed extends Omit<RunData, "tools"> {
  shared: number;
  sign: string;
  kind: "right" | "wrong" | "silent";
  verdict: string;
  failures: { words: string; path: string; detail: string }[];
  keyword: string;
  /** The stage and the token where it went wrong, by their places. */
  place: [number, number] | null;
}

export interface ReportData {
  shared: Pick<RunData, "tools" | "settings">[];
  runs: Record<string, Listed>;
}

const ENDINGS: Partial<Record<Outcome, string>> = {
  valid: "a valid answer",
  invalid: "not a valid answer",
  running: "the record ends before the run",
};
const RUN = /^#run-(\d+)$/;
/** The place of a record in a file of compressed ones, as the fragment of its link. */
const PLACE = /^#(\d+)\+(\d+)$/;

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
  private app: App | null = null;
  /** The link of the run that is shown. */
  private link: HTMLAnchorElement | null = null;
  /** The link of the run that was shown, until the browser is back at the report. */
  private left: HTMLAnchorElement | null = null;
  /** Whether the entry before this one of the browser's history is the report. */
  private followed = false;

  constructor(private readonly data: ReportData) {
    document.querySelector("header .tools")!.append(themeChoice());
    document.querySelectorAll<HTMLTableElement>("table.sortable").forEach(sortable);
    document.body.append(this.dialog);
    document.addEventListener("click", (event) => this.click(event));
    document.addEventListener("toggle", () => requestAnimationFrame(() => reachScrolled(document)), true);
    addEventListener("resize", () => reachScrolled(document));
    addEventListener("hashchange", () => this.goTo());
    reachScrolled(document);
    this.goTo();
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
  private goTo(): void {
    const run = RUN.exec(location.hash)?.[1];
    if (!run) {
      if (this.dialog.open) this.dialog.close();
      unfold(location.hash);
      this.left?.focus(); // which the browser took away for the part of the page that the address names
      this.left = null;
      return;
    }
    const listed = document.querySelector<HTMLAnchorElement>(`.samples a[data-run="${run}"]`);
    if (this.link?.dataset.run !== run) this.link = listed;
    else if (this.dialog.open) return; // an event of an earlier address, which came late
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
      const source = await sourceOf(link);
      if (this.link !== link || !this.dialog.open) return;
      const listed = this.data.runs[link.dataset.run ?? ""];
      const run = listed ? new Recorded(this.whole(listed), source) : unlisted(title, source);
      const app = new App(body, [run], this.ways, listed ? this.notice(listed) : null);
      this.app = app;
      if (listed?.place) app.show(...listed.place);
    } catch (error) {
      if (this.link !== link || !this.dialog.open) return;
      this.explain(body, title, link, error);
    }
    this.dialog.scrollTop = 0;
    if (focused && this.ways.contains(focused) && !focused.matches(":disabled")) focused.focus();
    else this.ways.querySelector<HTMLElement>("button:last-child")!.focus();
  }

  private whole({ shared, ...listed }: Listed): RunData {
    const { tools, settings } = this.data.shared[shared]!;
    return { ...listed, tools, settings: [...settings, ...listed.settings] };
  }

  /** The verdict on the sample, and where it went wrong. */
  private notice(listed: Listed): HTMLElement {
    const id = unique("verdict");
    const { place } = listed;
    const first = listed.failures[0];
    return h(
      "section",
      { class: `card verdict ${listed.kind}`, "aria-labelledby": id },
      h(
        "div",
        { class: "title" },
        h("h2", { id, class: listed.kind }, `${listed.sign} ${visible(listed.verdict)}`),
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
                ["Argument", first.path ? h("code", null, visible(pathWords(first.path))) : ""],
                ["Schema keyword", listed.keyword ? h("code", null, visible(listed.keyword)) : ""],
                ["Reason", visible(first.detail)],
              ].filter((fact): fact is [string, HTMLElement | string] => fact[1] !== ""),
            ),
            listed.failures
              .slice(1)
              .map(({ words, path, detail }) =>
                h(
                  "p",
                  { class: "muted" },
                  visible([words, pathWords(path), detail].filter(Boolean).join(": ")),
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

class Missing extends Error {}

/** The record, from inside the page or from beside it. */
async function sourceOf(link: HTMLAnchorElement): Promise<string> {
  const inside = document.getElementById(`gzip-${link.dataset.run}`)?.textContent;
  if (inside) return unzipped(Uint8Array.from(atob(inside), (character) => character.charCodeAt(0)));
  if (location.protocol === "file:")
    throw new Missing(
      "This record is not inside the page, and a page that was opened from the disk may not read other files. Run “python -m http.server” in the folder of the result and open the page there, or open the result in Glyphscope.",
    );
  const [, start, length] = PLACE.exec(link.hash)?.map(Number) ?? [];
  const headers = length ? { Range: `bytes=${start!}-${start! + length - 1}` } : undefined;
  let response: Response;
  try {
    response = await fetch(link.href, { headers });
  } catch {
    throw new Missing("The record could not be loaded. Check that the server still runs.");
  }
  if (!response.ok)
    throw new Missing(
      `The server has no such record (${response.status}). Check that the records are beside the report.`,
    );
  if (!length) return response.text();
  return unzipped(await bytesOf(response, response.status === 206 ? 0 : start!, length));
}

function unzipped(data: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** So many bytes of what a server sends, from `start` on; it is stopped there. */
async function bytesOf(response: Response, start: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const found = new Uint8Array(length);
  const reader = response.body!.getReader();
  for (let at = 0; at < start + length;) {
    const { done, value } = await reader.read();
    if (done) throw new Missing("The file of the records is truncated. Copy it again.");
    const piece = value.subarray(Math.max(start - at, 0), start + length - at);
    if (piece.length) found.set(piece, Math.max(at - start, 0));
    at += value.length;
  }
  void reader.cancel();
  return found;
}

/** A record that is not among the listed runs: a judge's, or that of another turn. */
function unlisted(title: string, source: string): Recorded {
  const data: RunData = {
    name: title,
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
  };
  const run = new Recorded(data, source);
  const { outcome } = run.whole;
  data.words = ENDINGS[outcome] ?? outcome;
  data.status = outcome === "valid" ? "holds" : outcome === "running" ? "open" : "impossible";
  return run;
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

function pathWords(path: string): string {
  return path
    .replace(/^\//, "")
    .split("/")
    .map((step) => step.replace(/~1/g, "/").replace(/~0/g, "~"))
    .join("/");
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
