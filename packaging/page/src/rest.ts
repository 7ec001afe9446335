// The rest of a cell's list: pages of the samples that are not listed on the page itself.

import { type Beside, Missing, type Row } from "./beside";
import { fill, h, reachScrolled } from "./dom";
import { count, pointerWords, visible } from "./words";

const PAGE = 100;

export class Rest {
  private page = 0;
  private readonly body: HTMLTableSectionElement;
  /** The rows that are on the page itself. */
  private readonly first: HTMLTableRowElement[];
  private readonly total: number;
  private readonly trials: boolean;
  private readonly words = h("span", { role: "status" });
  private readonly previous = h(
    "button",
    { type: "button", click: () => this.show(this.page - 1) },
    "◀ Previous",
  );
  private readonly next = h("button", { type: "button", click: () => this.show(this.page + 1) }, "Next ▶");
  private readonly number: HTMLInputElement;

  constructor(
    private readonly cell: HTMLDetailsElement,
    note: HTMLElement,
    private readonly beside: Beside,
  ) {
    const table = cell.querySelector("table")!;
    this.body = table.tBodies[0]!;
    this.first = [...this.body.rows];
    this.total = Number(note.dataset.samples);
    this.trials = table.tHead!.rows[0]!.cells.length > 2;
    const pages = 1 + Math.ceil((this.total - this.first.length) / PAGE);
    this.number = h("input", {
      type: "number",
      min: 1,
      max: pages,
      "aria-label": `Page of the list, from 1 to ${pages}`,
      change: () => this.show(Math.min(Math.max(Math.round(Number(this.number.value)), 1), pages) - 1),
    });
    note.replaceWith(
      h(
        "div",
        { class: "pages" },
        this.previous,
        h("span", null, "Page ", this.number, ` of ${count(pages)}`),
        this.next,
        this.words,
      ),
    );
    this.describe();
  }

  /** Shows the page with that sample of the rest. */
  showRow(place: number): Promise<void> {
    return this.show(1 + Math.floor(place / PAGE));
  }

  private async show(page: number): Promise<void> {
    const start = (page - 1) * PAGE;
    if (!page) this.body.replaceChildren(...this.first);
    else {
      this.words.textContent = "Loading…";
      try {
        const rows = await this.beside.rows(this.cell.id, start, PAGE);
        fill(
          this.body,
          rows.map((row, place) => this.row(row, start + place)),
        );
      } catch (error) {
        this.words.textContent =
          error instanceof Missing ? error.message : `The list cannot be shown: ${String(error)}`;
        return;
      }
    }
    this.page = page;
    for (const head of this.cell.querySelectorAll("[aria-sort]")) head.removeAttribute("aria-sort");
    this.describe();
    reachScrolled(this.cell);
  }

  private describe(): void {
    const focused = document.activeElement;
    const shown = this.body.rows.length;
    const start = this.page ? this.first.length + (this.page - 1) * PAGE : 0;
    this.words.textContent = `Samples ${count(start + 1)} to ${count(start + shown)} of ${count(this.total)}`;
    this.number.value = String(this.page + 1);
    this.previous.disabled = !this.page;
    this.next.disabled = start + shown >= this.total;
    if (focused === this.next && this.next.disabled) this.previous.focus();
    if (focused === this.previous && this.previous.disabled) this.next.focus();
  }

  private row([scenario, trial, sign, kind, words, turn, links, failure]: Row, place: number): HTMLElement {
    const name = h("bdi", null, visible(scenario));
    const link = links[turn - 1];
    const run = `${this.cell.id.replace("cell-", "")}.${place}`;
    return h(
      "tr",
      null,
      h(
        "th",
        { scope: "row" },
        link ? h("a", { href: link, "data-run": run }, name) : name,
        links.length > 1
          ? h(
              "span",
              { class: "sub" },
              links.map((each, turn) => each && [h("a", { href: each }, `turn ${turn + 1}`), " "]),
            )
          : null,
      ),
      this.trials ? h("td", { class: "n" }, String(trial)) : null,
      h(
        "td",
        { class: "long" },
        h("span", { class: kind }, `${sign} ${visible(words)}`),
        failure
          ? h(
              "p",
              null,
              failure[1] ? [h("code", null, h("bdi", null, visible(pointerWords(failure[1])))), " "] : null,
              h("bdi", null, visible(failure[2])),
            )
          : null,
      ),
    );
  }
}
