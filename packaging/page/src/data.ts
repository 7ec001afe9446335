// What is inside the page: the records, and the parts that the engine computed when it was exported.

import { type Event, reduce, reduceAll, Run } from "./reduce";
import { capitalised, excerpt } from "./words";

export interface Reasons {
  place?: string;
  /** Of each alternative; empty where it is that of the place, null where none is known. */
  alternatives?: (string | null)[];
}

/** An event of the strategy in words, as all surfaces show it (the engine's runs/event_rows.py). */
export interface Row {
  title: string;
  words: string;
  mark: "running" | "holds" | "impossible" | "waits" | "note";
  /** Rows of the same thing are shown as one: the later words in place of the earlier ones, or after them. */
  of?: string;
  adds?: boolean;
}

export interface StageData {
  reasons?: Record<string, Reasons>;
  sizes?: { style: string; characters: number; bytes: number }[];
  /** The result of the stage. */
  words?: string;
  /** The number of its tools, where it offers others than the run. */
  allowed?: number;
}

export interface RunData {
  name: string;
  /** The model's name, as the window shows it. */
  model?: string;
  words: string;
  hint: string;
  status: "holds" | "impossible" | "open" | "differs";
  sampling: string;
  /** The constraint of each argument by tool, in words. */
  tools: Record<string, Record<string, string>>;
  allowed: number;
  name_path: string;
  args_path: string;
  settings: [string, string][];
  differing: string[];
  /** The names of the parts of its prompts, where they are others. */
  parts?: Record<string, string>;
  stages: StageData[];
  /** Milliseconds from start to end, without those in which it waited for a person. */
  worked_ms?: number | null;
  /** Of each event that has one, by its place in the record. */
  rows?: Record<string, Row>;
}

export class Recorded {
  readonly events: Event[];
  readonly whole = new Run();
  /** How many events each step of the scrubber has applied: a step is a token, or a decision between stages. */
  readonly steps: number[] = [];
  private readonly rows: Map<Event, Row>;
  /** The step of each token, by its stage and place. */
  private readonly places: number[][] = [];
  /** The number of events before the first step. */
  private readonly before: number;
  private state = this.whole;
  private applied: number;

  /** `source` is the record, byte for byte. */
  constructor(
    readonly data: RunData,
    readonly source: string,
  ) {
    this.events = source
      .split("\n")
      .slice(1)
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Event);
    this.applied = this.events.length;
    const rows = Object.entries(data.rows ?? {});
    this.rows = new Map(rows.map(([place, row]) => [this.events[Number(place)]!, row]));
    const begins = new Set(["token", "tool_started", "tool_result", "approval_needed", "final_answer"]);
    this.before = this.events.findIndex((event) => begins.has(event.type));
    if (this.before < 0) this.before = this.events.length;
    this.events.forEach((event, place) => {
      if (begins.has(event.type) && place > this.before) this.steps.push(place);
      reduce(this.whole, event);
      if (event.type === "token") (this.places[this.whole.stages.length - 1] ??= []).push(this.steps.length);
    });
    this.steps.push(this.events.length);
  }

  /** The event in words; in its own where the engine did not prepare the run. */
  row(event: Event): Row | null {
    return this.rows.get(event) ?? (this.data.rows ? null : ownRow(event));
  }

  get lastStep(): number {
    return this.steps.length - 1;
  }

  /** The state after that step, counted from 0; the last one is the whole run, and that before 0 has no token. */
  at(step: number): Run {
    const until = step < 0 ? this.before : this.steps[Math.min(step, this.lastStep)]!;
    if (until === this.events.length) return this.whole;
    if (until !== this.applied || this.state === this.whole) {
      this.state = reduceAll(this.events, until);
      this.applied = until;
    }
    return this.state;
  }

  /** The steps that show the tokens of a stage, or of all of them. */
  stepsOf(stage: number | null): number[] {
    return stage === null ? this.places.flat() : (this.places[stage] ?? []);
  }
}

const HIDDEN = new Set(["type", "stage", "call", "by", "scope", "before", "after"]);

/** The name of the event, and the texts that it has. */
function ownRow(event: Event): Row {
  const said = Object.entries(event).filter(([name, value]) => typeof value === "string" && !HIDDEN.has(name));
  const words = said.map(([, value]) => excerpt(value)).filter(Boolean);
  const good = event.ok ?? event.valid ?? null;
  return {
    title: capitalised(event.type.replaceAll("_", " ")),
    words: words.join(" · "),
    mark: good === null ? "note" : good ? "holds" : "impossible",
  };
}

const ESCAPED = /\\(\\|u003c)/g;

/** The text of a data block, with the escape of `<` undone where it is no part of a longer one. */
function unescaped(text: string): string {
  return text.replace(ESCAPED, (found, kind: string) => (kind === "\\" ? found : "<"));
}

/** The JSON of the block with that id; null where the page has none. */
export function block<Data>(id: string): Data | null {
  const text = document.getElementById(id)?.textContent;
  return text ? (JSON.parse(text) as Data) : null;
}

/** The runs of the page, each read when it is first asked for. */
export function recordedRuns(): { length: number; run: (place: number) => Recorded } {
  const data = block<RunData[]>("runs") ?? [];
  const read: Recorded[] = [];
  const source = (place: number) => document.getElementById(`record-${place}`)?.textContent ?? "";
  return {
    length: data.length,
    run: (place) => (read[place] ??= new Recorded(data[place]!, unescaped(source(place)).trimStart())),
  };
}
