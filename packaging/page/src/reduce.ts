// The state of a run at a step, reduced from its events: the part of the engine's (runs/state.py) that changes from
// step to step. `dump` gives a plain form of everything that it keeps: a test compares the two on all bundled records.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Status = "holds" | "impossible" | "open";
export type Kind = "reasoning" | "text" | "call";

export interface Alternative {
  id: number;
  data: string;
  text: string;
  raw: number;
  final: number | null;
  allowed: boolean | null;
  removed?: string;
}

export interface Step {
  index: number;
  id: number;
  data: string;
  text: string;
  logprob?: number | null;
  rank?: number | null;
  probability?: number | null;
  allowed?: number;
  feasible?: number | null;
  entropy?: number | null;
  forced?: boolean;
  end?: boolean;
  piece?: boolean;
  origin?: string;
  alternatives?: Alternative[];
  mask_ms?: number;
  sample_ms?: number;
  decode_ms?: number;
  narrowed?: string;
}

/** An event as it is in the record; members with their default are left out. */
export interface Event {
  type: string;
  t?: number;
  stage?: string;
  [member: string]: any;
}

export interface Token extends Event {
  step: Step;
  start: number;
  end: number;
}

export interface Field {
  path: string;
  start: number | null;
  end: number;
  status: Status;
  closed: boolean;
  value: Json;
}

export interface Segment {
  kind: Kind;
  start: number;
  end: number | null;
  call_index: number;
}

export class Call {
  fields = new Map<string, Field>();
  tool: Event | null = null;
  violations: Event[] = [];
  part: Segment | null = null;
  closed = false;
  ready: Event | null = null;

  get status(): Status {
    if (this.violations.length) return "impossible";
    return this.closed || this.ready ? "holds" : "open";
  }
}

export class Stage {
  name = "";
  title = "";
  kind = "call";
  began = 0;
  prompt: Event | null = null;
  evaluated: Event | null = null;
  tokens: Token[] = [];
  forced = 0;
  segments: Segment[] = [];
  written = new Map<number, Call>([[0, new Call()]]);
  violations: Event[] = [];
  aborted: Event | null = null;
  calls: Event[] = [];
  finished: Event | null = null;
  outline: Event[] = [];
  /** The stage's text by code points, as events count them. */
  characters: string[] = [];

  get text(): string {
    return this.characters.join("");
  }

  slice(start: number, end?: number | null): string {
    return this.characters.slice(start, end ?? undefined).join("");
  }

  callAt(index: number): Call {
    let call = this.written.get(index);
    if (!call) this.written.set(index, (call = new Call()));
    return call;
  }

  /** First and last (exclusive) place of the tokens that wrote any of these characters. */
  tokensBetween(start: number, end: number | null): [number, number] {
    let first = 0;
    while (first < this.tokens.length && this.tokens[first]!.end <= start) first++;
    let stop = first;
    while (stop < this.tokens.length && (end === null || this.tokens[stop]!.start < end)) stop++;
    return [first, stop];
  }
}

export class Run {
  started: Event | null = null;
  stages: Stage[] = [new Stage()];
  finished: Event | null = null;
  failed: Event | null = null;

  get present(): Stage {
    return this.stages[this.stages.length - 1]!;
  }

  /** The place of the last stage with a text, or of the first. */
  get latest(): number {
    for (let place = this.stages.length - 1; place > 0; place--)
      if (this.stages[place]!.tokens.length) return place;
    return 0;
  }

  get tokens(): number {
    return this.stages.reduce((sum, stage) => sum + stage.tokens.length, 0);
  }
}

const CONTINUATION = "continuation";

export function reduce(run: Run, event: Event): void {
  const stage = run.present;
  switch (event.type) {
    case "token": {
      const token = event as Token;
      stage.tokens.push(token);
      for (const character of token.step.text) stage.characters.push(character);
      stage.forced += token.step.forced ? 1 : 0;
      break;
    }
    case "field_changed": {
      const fields = stage.callAt(event.call_index ?? 0).fields;
      const known: Field = fields.get(event.path) ?? open(event.path, null, event.end);
      fields.set(event.path, { ...known, end: event.end, status: event.status });
      break;
    }
    case "field_opened":
      stage.callAt(event.call_index ?? 0).fields.set(event.path, open(event.path, event.start, event.start));
      break;
    case "field_closed":
      stage.callAt(event.call_index ?? 0).fields.set(event.path, {
        path: event.path,
        start: event.start,
        end: event.end,
        status: event.status,
        closed: true,
        value: event.value ?? null,
      });
      break;
    case "tool_known":
      stage.callAt(event.call_index ?? 0).tool = event;
      break;
    case "violation":
      addViolation(stage.violations, event);
      addViolation(stage.callAt(event.call_index ?? 0).violations, event);
      break;
    case "segment_opened":
    case "segment_closed": {
      const part = reduceSegment(stage.segments, event);
      if (part.kind === "call") {
        const call = stage.callAt(part.call_index);
        call.part = part;
        call.closed = event.type === "segment_closed";
      }
      break;
    }
    case "prompt_evaluated":
      stage.evaluated = event;
      break;
    case "stage_started":
      begin(run, event);
      break;
    case "run_started":
      run.started = event;
      stage.aborted = run.finished = run.failed = null;
      break;
    case "run_finished":
      run.finished = event;
      break;
    case "run_failed":
      run.failed = event;
      break;
    case "prompt_rendered":
      stage.prompt = event;
      break;
    case "aborted":
      stage.aborted = event;
      break;
    case "stop_string_found":
      stage.characters.length = Math.min(stage.characters.length, event.char);
      break;
    case "call_ready":
      stage.calls.push(event);
      stage.callAt(event.call_index ?? 0).ready = event;
      break;
    case "stage_finished":
      stage.finished = event;
      break;
    case "constraint_ready":
      break;
    default:
      stage.outline.push(event);
  }
}

function open(path: string, start: number | null, end: number): Field {
  return { path, start, end, status: "open", closed: false, value: null };
}

function addViolation(found: Event[], violation: Event): void {
  const same = (one: Event) =>
    (one.call_index ?? 0) === (violation.call_index ?? 0) &&
    one.path === violation.path &&
    one.char === violation.char;
  const place = violation.corrects ? found.findIndex(same) : -1;
  if (place >= 0) found[place] = violation;
  else found.push(violation);
}

/** A new stage, except for the continuation, which continues in the aborted one. */
function begin(run: Run, event: Event): void {
  let stage = run.present;
  if (event.stage !== CONTINUATION) {
    if (stage.name || stage.tokens.length) run.stages.push((stage = new Stage()));
    stage.title = event.title ?? "";
    stage.kind = event.kind ?? "call";
    stage.began = event.t ?? 0;
  }
  stage.name = event.stage ?? "";
}

function reduceSegment(segments: Segment[], event: Event): Segment {
  const closes = event.type === "segment_closed";
  const last: Segment = segments[segments.length - 1] ?? {
    kind: event.kind,
    start: 0,
    end: 0,
    call_index: 0,
  };
  if (closes && last.end === null) {
    last.end = Math.max(event.end, last.start);
    if (last.kind !== "call" && event.kind !== "call") last.kind = event.kind; // text that turned out to be reasoning
    return last;
  }
  const start = Math.max(event.start, last.end ?? last.start);
  last.end ??= start;
  const end = closes ? Math.max(event.end, start) : null;
  const part = { kind: event.kind, start, end, call_index: event.call_index ?? 0 };
  segments.push(part);
  return part;
}

export function reduceAll(events: readonly Event[], until = events.length): Run {
  const run = new Run();
  for (let place = 0; place < until; place++) reduce(run, events[place]!);
  return run;
}

/** Everything that the state keeps, as JSON: events by themselves, tokens by their number. */
export function dump(run: Run): Json {
  const stages = run.stages.map(({ tokens, written, characters, ...stage }) => ({
    ...stage,
    tokens: tokens.map((token) => token.step.index),
    written: [...written].map(([index, call]) => [
      index,
      { ...call, fields: [...call.fields.values()], status: call.status },
    ]),
    text: characters.join(""),
  }));
  return { ...run, stages } as unknown as Json;
}
