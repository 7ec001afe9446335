// The tables of a run: fields, timeline, and tokens, of which only the rows in sight are made.

import { type Child, fill, h, unique } from "./dom";
import type { Recorded, Row, RunData } from "./data";
import type { Event, Run, Segment, Stage, Step, Token } from "./reduce";
import { pill, SIGNS } from "./stream";
import {
  capitalised,
  count,
  entropy,
  excerpt,
  finalOf,
  milliseconds,
  percent,
  plainMs,
  pointerWords,
  rawOf,
  stepText,
  visible,
} from "./words";

export function table(label: string, heads: string[], rows: Child[], figures: number[] = []): HTMLElement {
  return h(
    "div",
    { class: "wide", role: "group", "aria-label": label },
    h(
      "table",
      null,
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          ...heads.map((head, place) =>
            h(
              "th",
              { scope: "col", class: figures.includes(place) ? "n" : null },
              head || h("span", { class: "sr" }, "as a bar"),
            ),
          ),
        ),
      ),
      h("tbody", null, ...rows),
    ),
  );
}

// fields

export function showFields(parent: HTMLElement, stage: Stage, data: RunData, place: number, over: boolean): void {
  const allowed = data.stages[place]?.allowed ?? data.allowed;
  const rows: Child[] = [];
  const several = stage.written.size > 1 || stage.segments.some((part) => part.kind === "call");
  for (const [index, call] of [...stage.written].sort(([one], [other]) => one - other)) {
    if (!call.fields.size && !call.tool && !call.violations.length) continue;
    const fault = call.violations[0];
    if (several) {
      const tokens = call.part ? stage.tokensBetween(call.part.start, call.part.end) : null;
      rows.push(
        h(
          "tr",
          { class: "strong" },
          h("th", { scope: "row" }, `Call ${index + 1}`),
          h("td", null, call.tool ? visible(call.tool.name) : ""),
          h("td", null, pill(call.status)),
          h("td", null, fault ? visible(fault.message) : ""),
          h("td", null, fault ? `character ${count(fault.char)}` : ""),
          h("td", { class: "n" }, tokens ? count(tokens[1] - tokens[0]) : ""),
        ),
      );
    }
    const constraints = data.tools[call.tool?.name ?? ""] ?? {};
    const seen = new Set<string>();
    for (const field of call.fields.values()) {
      const start = field.start ?? 0;
      const [first, last] = stage.tokensBetween(start, field.end);
      const name = field.path.startsWith(`${data.args_path}/`)
        ? field.path.slice(data.args_path.length + 1)
        : field.path;
      const argument = field.path === data.name_path ? null : pointerWords(name, " ");
      if (argument !== null) seen.add(argument);
      const constraint =
        argument === null
          ? allowed === 1
            ? "one tool allowed"
            : `allow list of ${allowed}`
          : (constraints[argument] ?? "");
      const wrong = call.violations.find((violation) => violation.path === field.path);
      const ends = /["'}\]]/.test(stage.characters[field.end - 1] ?? "");
      const decided = wrong ? wrong.char : field.closed ? field.end - (ends ? 1 : 0) : null;
      const value =
        stage.slice(start, Math.min(field.end, start + 300)) + (field.end - start > 300 ? "…" : "");
      rows.push(
        h(
          "tr",
          null,
          h("th", { scope: "row" }, visible(pointerWords(name, " "))),
          h("td", { class: "mono" }, visible(value)),
          h("td", null, pill(field.status)),
          h("td", null, visible(constraint)),
          h("td", null, decided === null ? "still open" : `character ${count(decided)}`),
          h("td", { class: "n" }, count(Math.max(last - first, 0))),
        ),
      );
    }
    if (over && call.tool)
      for (const [argument, words] of Object.entries(constraints))
        if (!seen.has(argument) && ![...seen].some((path) => path.startsWith(`${argument} `)))
          rows.push(
            h(
              "tr",
              { class: "faint" },
              h("th", { scope: "row" }, visible(argument)),
              h("td", null, "not set"),
              h("td"),
              h("td", null, visible(words)),
              h("td"),
              h("td"),
            ),
          );
  }
  if (rows.length)
    fill(
      parent,
      table("Fields", ["Field", "Value", "Verdict", "Constraint", "Decided at", "Tokens"], rows, [5]),
    );
  else fill(parent, h("p", { class: "muted" }, "No field so far."));
}

// timeline

export function stageTitle(stage: Stage): string {
  return excerpt(stage.title || capitalised(stage.kind));
}

/** The stage's result in the engine's words once it has ended, before that what it has written. */
function stageWords(stage: Stage, ended: string | undefined): string {
  if (stage.finished && ended) return ended;
  return stage.tokens.length ? excerpt(stage.text) : stage.prompt ? "reading the prompt" : "";
}

/** The rows of a stage's events, in which a later event of the same thing continues its row. */
function rowsOf(stage: Stage, recorded: Recorded): [Row, Event][] {
  const rows = new Map<unknown, [Row, Event]>();
  for (const event of stage.outline) {
    const row = recorded.row(event);
    if (!row) continue;
    const known = row.of && rows.get(row.of);
    rows.set(row.of || event, [
      known && row.adds ? { ...row, words: `${known[0].words} ${row.words}` } : row,
      event,
    ]);
  }
  return [...rows.values()];
}

const MARKS: Record<Row["mark"], [string, string]> = {
  holds: [SIGNS.holds, "succeeded: "],
  impossible: [SIGNS.impossible, "failed: "],
  running: ["•", "running: "],
  waits: ["?", "waiting: "],
  note: ["•", ""],
};

export function showTimeline(
  parent: HTMLElement,
  recorded: Recorded,
  run: Run,
  shown: number,
  choose: (stage: number) => void,
): void {
  const rows: Child[] = [];
  run.stages.forEach((stage, place) => {
    const next = run.stages[place + 1];
    const ends = next
      ? next.began
      : (run.finished?.t ?? stage.tokens[stage.tokens.length - 1]?.t ?? stage.began);
    const total = stage.finished?.prompt_tokens || stage.prompt?.tokens || 0;
    const cached = stage.finished?.prompt_tokens ? stage.finished.cached : stage.prompt?.cached;
    const good = !stage.finished ? "note" : stage.finished.valid ? "holds" : "impossible";
    rows.push(
      h(
        "tr",
        { class: place === shown ? "strong current" : "strong" },
        h(
          "th",
          { scope: "row" },
          h(
            "div",
            { class: "named" },
            mark(good),
            h(
              "button",
              {
                class: "link",
                type: "button",
                "aria-pressed": String(place === shown),
                click: () => choose(place),
              },
              stageTitle(stage),
            ),
          ),
        ),
        h("td", null, visible(stageWords(stage, recorded.data.stages[place]?.words))),
        h("td", { class: "n" }, total ? `${count(cached ?? 0)} of ${count(total)}` : ""),
        h("td", { class: "n" }, stage.tokens.length ? count(stage.tokens.length) : ""),
        h(
          "td",
          { class: "n" },
          milliseconds((stage.finished?.ms || Math.max(ends - stage.began, 0) * 1000) as number),
        ),
      ),
    );
    for (const [row, event] of rowsOf(stage, recorded)) {
      const result = visible(row.words);
      const whole: string = event.told ?? "";
      rows.push(
        h(
          "tr",
          { class: "inner" },
          h("th", { scope: "row" }, mark(row.mark), visible(row.title)),
          h(
            "td",
            null,
            whole && excerpt(whole) !== whole
              ? h(
                  "details",
                  null,
                  h("summary", null, result),
                  h(
                    "pre",
                    { tabindex: "0", role: "group", "aria-label": "The whole result" },
                    visible(whole),
                  ),
                )
              : result,
          ),
          h("td"),
          h("td"),
          h("td", { class: "n" }, event.ms == null ? "" : milliseconds(event.ms)),
        ),
      );
    }
  });
  fill(parent, table("Timeline", ["Stage", "Result", "Cached", "Tokens", "Time"], rows, [2, 3, 4]));
}

function mark(state: Row["mark"]): HTMLElement {
  const [sign, spoken] = MARKS[state];
  return h(
    "span",
    { class: `mark ${state === "holds" || state === "impossible" ? state : ""}` },
    h("span", { "aria-hidden": "true" }, sign, " "),
    h("span", { class: "sr" }, spoken),
  );
}

// tokens

export function partAt(stage: Stage, token: Token): Segment | null {
  for (let place = stage.segments.length - 1; place >= 0; place--) {
    const part = stage.segments[place]!;
    if (part.start < token.end) return part.end === null || token.start < part.end ? part : null;
  }
  return null;
}

function partWords(stage: Stage, token: Token): string {
  const part = partAt(stage, token);
  return part === null ? "marker" : part.kind === "call" ? `call ${part.call_index + 1}` : part.kind;
}

interface Column {
  head: string;
  tip: string;
  show: (step: Step) => string;
}

const COLUMNS: Column[] = [
  {
    head: "raw p",
    tip: "The model’s own probability, before mask and sampling parameters",
    show: (step) => percent(rawOf(step)),
  },
  {
    head: "final p",
    tip: "The probability with which the token was sampled; – for one that was kept or inserted",
    show: (step) => percent(finalOf(step)),
  },
  {
    head: "rank",
    tip: "The position in the model’s own order; 0 is the most likely token",
    show: (step) => count(step.rank),
  },
  {
    head: "allowed",
    tip: "Number of tokens that the constraint allows",
    show: (step) => count(step.allowed || null),
  },
  {
    head: "feasible",
    tip: "The share of the raw probability that the allowed tokens have",
    show: (step) => percent(step.feasible),
  },
  {
    head: "entropy",
    tip: "The uncertainty of the model’s own distribution, in bits",
    show: entropy,
  },
  {
    head: "ms",
    tip: "Time of mask, sampling and decoding, in milliseconds",
    show: (step) => plainMs((step.mask_ms ?? 0) + (step.sample_ms ?? 0) + (step.decode_ms ?? 0)),
  },
];

const AROUND = 12;

/** The table of tokens. Rows out of sight are two empty rows of their height. */
export class TokenTable {
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private readonly grid: HTMLTableElement;
  private readonly scroll: HTMLElement;
  private readonly partHead = h("th", { scope: "col" }, "part");
  private stage: Stage | null = null;
  private chosen: number | null = null;
  private height = 26;
  private from = -1;
  /** Begins the ids of the rows. */
  private readonly id = unique("token");

  constructor(private readonly choose: (token: number) => void) {
    this.grid = h(
      "table",
      {
        role: "grid",
        tabindex: "0",
        "aria-label": "Tokens; arrow keys choose one",
        class: "tokens",
        keydown: (event: KeyboardEvent) => this.key(event),
      },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col", class: "n" }, "#"),
          h("th", { scope: "col" }, "token"),
          this.partHead,
          ...COLUMNS.map((column) => h("th", { scope: "col", class: "n", title: column.tip }, column.head)),
        ),
      ),
      this.body,
    );
    this.scroll = this.element = h("div", { class: "scroll", scroll: () => this.draw() }, this.grid);
    this.body.addEventListener("click", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("tr[data-token]");
      if (row) this.choose(Number(row.dataset.token));
    });
  }

  show(stage: Stage, chosen: number | null): void {
    this.stage = stage;
    this.chosen = chosen;
    this.grid.setAttribute("aria-rowcount", String(stage.tokens.length + 1));
    this.partHead.hidden = !stage.segments.length;
    this.from = -1;
    const place = this.placeOf(chosen);
    if (place >= 0) this.reveal(place);
    this.draw();
  }

  /** All rows, for the printer, or those in sight again. */
  print(all: boolean): void {
    this.from = -1;
    this.draw(all);
  }

  private placeOf(index: number | null): number {
    return index === null || !this.stage
      ? -1
      : this.stage.tokens.findIndex((token) => token.step.index === index);
  }

  private reveal(place: number): void {
    const top = place * this.height;
    const room = this.scroll.clientHeight - this.height;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (top + this.height > this.scroll.scrollTop + room) {
      // room for all rows, so that the place to scroll to is there
      this.body.replaceChildren(space(this.stage!.tokens.length * this.height));
      this.scroll.scrollTop = top + this.height - room;
      this.from = -1;
    }
  }

  private draw(all = false): void {
    const stage = this.stage;
    if (!stage) return;
    const total = stage.tokens.length;
    const from = all ? 0 : Math.max(Math.floor(this.scroll.scrollTop / this.height) - AROUND, 0);
    const to = all
      ? total
      : Math.min(from + Math.ceil((this.scroll.clientHeight || 400) / this.height) + 2 * AROUND, total);
    if (!all && this.from >= 0 && Math.abs(from - this.from) < AROUND / 2) return;
    this.from = all ? -1 : from;
    const rows = stage.tokens.slice(from, to).map((token, place) => this.row(stage, token, from + place));
    this.body.replaceChildren(
      ...(from ? [space(from * this.height)] : []),
      ...rows,
      ...(to < total ? [space((total - to) * this.height)] : []),
    );
    const first = rows[0];
    if (first?.offsetHeight && Math.abs(first.getBoundingClientRect().height - this.height) > 0.2) {
      this.height = first.getBoundingClientRect().height;
    }
    if (this.placeOf(this.chosen) >= 0 && this.body.querySelector(`#${this.id}-${this.chosen}`))
      this.grid.setAttribute("aria-activedescendant", `${this.id}-${this.chosen}`);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  private row(stage: Stage, token: Token, place: number): HTMLTableRowElement {
    const { step } = token;
    return h(
      "tr",
      {
        "data-token": step.index,
        id: `${this.id}-${step.index}`,
        "aria-rowindex": place + 2,
        "aria-selected": String(step.index === this.chosen),
        class: step.forced ? "forced" : null,
      },
      h("td", { class: "n" }, String(step.index)),
      h(
        "td",
        null,
        h("span", { class: "box mono" }, stepText(step)),
        step.forced ? h("span", { class: "sr" }, " forced") : null,
      ),
      stage.segments.length ? h("td", { class: "muted" }, partWords(stage, token)) : null,
      ...COLUMNS.map((column) => h("td", { class: "n" }, column.show(step))),
    );
  }

  private key(event: KeyboardEvent): void {
    const stage = this.stage;
    const page = Math.max(Math.floor(this.scroll.clientHeight / this.height) - 2, 1);
    const moves: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const by = moves[event.key];
    if (!stage || by === undefined || !stage.tokens.length) return;
    event.preventDefault();
    const place = Math.min(Math.max(this.placeOf(this.chosen) + by, 0), stage.tokens.length - 1);
    this.choose(stage.tokens[place]!.step.index);
  }
}

function space(height: number): HTMLElement {
  return h(
    "tr",
    { "aria-hidden": "true", class: "space" },
    h("td", { colspan: "10", style: { height: `${height}px` } }),
  );
}
