// What is inside the page: the records, and the parts that the engine computed when it was exported.

import { type Event, reduce, reduceAll, Run } from "./reduce";

export interface Reasons {
  place?: string;
  /** Of each alternative; empty where it is that of the place, null where none is known. */
  alternatives?: (string | null)[];
}

export interface StageData {
  reasons?: Record<string, Reasons>;
  sizes?: { style: string; characters: number; bytes: number }[];
}

export interface RunData {
  name: string;
  /** The model's name, as the window shows it. */
  model?: string;
  words: string;
  hint: string;
  status: "holds" | "impossible" | "open";
  sampling: string;
  /** The constraint of each argument by tool, in words. */
  tools: Record<string, Record<string, string>>;
  allowed: number;
  name_path: string;
  args_path: string;
  settings: [string, string][];
  differing: string[];
  stages: StageData[];
}

export class Recorded {
  readonly events: Event[];
  readonly whole = new Run();
  /** How many events each step of the scrubber has applied: a step is a token, or a decision between stages. */
  readonly steps: number[] = [];
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
