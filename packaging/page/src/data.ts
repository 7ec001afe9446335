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
  warning: string;
}

export class Recorded {
  readonly events: Event[];
  readonly whole = new Run();
  /** How many events each step of the scrubber has applied: a step is a token, or a decision between stages. */
  readonly steps: number[] = [];
  /** The step of each token, by its stage and place. */
  private readonly places: number[][] = [];
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
    let first = true;
    this.events.forEach((event, place) => {
      if (begins.has(event.type)) {
        if (!first) this.steps.push(place);
        first = false;
      }
      reduce(this.whole, event);
      if (event.type === "token") (this.places[this.whole.stages.length - 1] ??= []).push(this.steps.length);
    });
    this.steps.push(this.events.length);
  }

  /** The state after that step, counted from 0; the last one is the whole run. */
  at(step: number): Run {
    const until = this.steps[Math.min(step, this.steps.length - 1)]!;
    if (until === this.events.length) return this.whole;
    if (until !== this.applied || this.state === this.whole) {
      this.state = reduceAll(this.events, until);
      this.applied = until;
    }
    return this.state;
  }

  /** The step that shows this token of a stage. */
  stepOf(stage: number, token: number): number {
    return this.places[stage]?.[token] ?? this.steps.length - 1;
  }
}

const ESCAPED = /\\(\\|u003c)/g;

/** The text of a data block, with the escape of `<` undone where it is no part of a longer one. */
function unescaped(text: string): string {
  return text.replace(ESCAPED, (found, kind: string) => (kind === "\\" ? found : "<"));
}

export function recordedRuns(): Recorded[] {
  const text = (id: string) => document.getElementById(id)?.textContent ?? "";
  const runs = JSON.parse(text("runs")) as RunData[];
  return runs.map((data, place) => new Recorded(data, unescaped(text(`record-${place}`)).trimStart()));
}
