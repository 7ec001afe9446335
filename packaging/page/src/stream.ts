// The generated text with the verdicts on its fields: tokens that can be chosen, reasoning, and a card for each call.

import { append, type Child, fill, h } from "./dom";
import type { Call, Field, Segment, Stage, Status, Token } from "./reduce";
import { milliseconds, plural, visible } from "./words";

export const SIGNS = { holds: "✓", open: "◌", differs: "≠", impossible: "✕" } as const;
export const VERDICTS = { holds: "valid", open: "open", impossible: "impossible" } as const;

export function pill(status: Status): HTMLElement {
  return h(
    "span",
    { class: `pill ${status}` },
    h("span", { "aria-hidden": "true" }, SIGNS[status], " "),
    VERDICTS[status],
  );
}

interface Options {
  /** The first character that is not in another run's text. */
  differs?: number | null;
  collapsed?: Set<number>;
}

export function showStream(parent: HTMLElement, stage: Stage, options: Options): void {
  if (!stage.tokens.length) {
    fill(
      parent,
      h(
        "p",
        { class: "muted" },
        stage.prompt ? "Nothing was written yet." : "This stage has no text of the model.",
      ),
    );
    return;
  }
  const painter = new Painter(stage, options);
  const children: Child[] = [];
  let at = 0;
  const end = stage.characters.length;
  const marker = (until: number) => {
    if (until > at) children.push(h("div", { class: "marker" }, painter.piece(at, until, true)));
  };
  for (const part of stage.segments) {
    const stop = part.end ?? end;
    if (stop <= part.start && part.kind !== "call") continue;
    marker(part.start);
    children.push(partOf(part, stage, painter, stop, options));
    at = stop;
  }
  if (stage.segments.length) marker(end);
  else children.push(h("div", { class: "whole" }, painter.piece(0, end, false)));
  fill(parent, children);
}

function partOf(part: Segment, stage: Stage, painter: Painter, stop: number, options: Options): HTMLElement {
  const body = painter.piece(part.start, stop, false);
  const [first, last] = stage.tokensBetween(part.start, part.end);
  if (part.kind === "reasoning") {
    const seconds = secondsOf(stage, first, last);
    const details = h(
      "details",
      { class: "reasoning", ...(options.collapsed?.has(part.start) ? {} : { open: true }) },
      h(
        "summary",
        null,
        h("b", null, "Reasoning"),
        ` ${plural(last - first, "token")} · ${milliseconds(seconds * 1000)}`,
      ),
      h("div", null, body),
    );
    details.addEventListener("toggle", () => {
      if (details.open) options.collapsed?.delete(part.start);
      else options.collapsed?.add(part.start);
    });
    return details;
  }
  if (part.kind === "text") return h("div", { class: "words" }, body);
  const call = stage.callAt(part.call_index);
  const fault = call.violations[0];
  return h(
    "div",
    { class: `card-call ${call.status}`, role: "group", "aria-label": `Call ${part.call_index + 1}` },
    h(
      "div",
      { class: "head" },
      h("b", null, `Call ${part.call_index + 1}`),
      call.tool ? ` ${visible(call.tool.name)}` : "",
      h("span", { class: "gap" }),
      fault ? h("span", { class: "fault" }, visible(fault.message)) : null,
      pill(call.status),
    ),
    h("div", { class: "whole" }, body),
  );
}

export function secondsOf(stage: Stage, first: number, last: number): number {
  if (last <= first) return 0;
  const begin = first ? stage.tokens[first - 1]!.t : (stage.evaluated?.t ?? stage.tokens[0]!.t);
  return Math.max((stage.tokens[last - 1]!.t ?? 0) - (begin ?? 0), 0);
}

/** The leaves of a call: fields that no other field is in. */
export function leaves(call: Call): Field[] {
  const containers = new Set([...call.fields.keys()].map((path) => path.slice(0, path.lastIndexOf("/"))));
  return [...call.fields.values()].filter((field) => !containers.has(field.path));
}

class Painter {
  private readonly fields: Field[];
  private readonly decided: Set<number>;
  private readonly cuts: number[];
  private readonly stopped: number;

  constructor(
    private readonly stage: Stage,
    private readonly options: Options,
  ) {
    this.fields = [...stage.written.values()]
      .flatMap(leaves)
      .filter((field) => field.start !== null)
      .sort((one, other) => one.start! - other.start!);
    this.decided = new Set(stage.violations.map((violation) => violation.char as number));
    this.stopped = stage.aborted ? (stage.aborted.token as number) : Infinity;
    const cuts = new Set<number>();
    for (const token of stage.tokens) cuts.add(token.start).add(token.end);
    for (const field of this.fields) cuts.add(field.start!).add(field.end);
    for (const char of this.decided) cuts.add(char).add(char + 1);
    if (typeof options.differs === "number") cuts.add(options.differs);
    this.cuts = [...cuts].sort((one, other) => one - other);
  }

  /** The characters as spans, cut where a token or a field begins or ends. */
  piece(start: number, end: number, signs: boolean): DocumentFragment {
    const out = document.createDocumentFragment();
    const { tokens } = this.stage;
    let token = lowest(tokens.length, (place) => tokens[place]!.end > start);
    let field = lowest(this.fields.length, (place) => this.fields[place]!.end > start);
    let cut = lowest(this.cuts.length, (place) => this.cuts[place]! > start);
    for (let at = start; at < end;) {
      const stop = Math.min(end, this.cuts[cut] ?? end);
      while (token < tokens.length && tokens[token]!.end <= at) token++;
      while (field < this.fields.length && this.fields[field]!.end <= at) field++;
      const inside = this.fields[field];
      const within = inside && inside.start! <= at && at < inside.end ? inside : null;
      const text = visible(this.stage.slice(at, stop));
      append(out, [this.span(tokens[token], within, at, signs ? text.replace(/\n/g, "⏎") : text)]);
      if (within && within.end === stop && (within.closed || within.status === "impossible"))
        append(out, [
          h("span", { class: `sign ${within.status}`, "aria-hidden": "true" }, SIGNS[within.status]),
        ]);
      at = stop;
      cut++;
    }
    return out;
  }

  private span(token: Token | undefined, field: Field | null, at: number, text: string): HTMLElement {
    const names = ["t"];
    if (token?.step.forced) names.push("forced");
    if (field) names.push(field.status);
    if (this.decided.has(at)) names.push("decided");
    if (token && token.step.index > this.stopped) names.push("after");
    if (token && token.step.origin && token.step.origin !== "model") names.push(token.step.origin);
    if (at === this.options.differs) names.push("differs");
    return h("span", { class: names.join(" "), "data-token": token?.step.index }, text);
  }
}

function lowest(length: number, holds: (place: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Frames the pieces of that token as one. */
export function markToken(parent: HTMLElement, index: number | null): void {
  for (const each of parent.querySelectorAll(".chosen")) each.classList.remove("chosen", "begins", "ends");
  if (index === null) return;
  const pieces = [...parent.querySelectorAll(`[data-token="${index}"]`)];
  for (const each of pieces) each.classList.add("chosen");
  pieces[0]?.classList.add("begins");
  pieces[pieces.length - 1]?.classList.add("ends");
}
