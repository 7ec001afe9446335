// The cards beside the tables: a token's alternatives, the prompt, costs, sizes, settings.

import { type Child, fill, h } from "./dom";
import type { RunData, StageData } from "./data";
import type { Alternative, Event, Run, Stage, Step, Token } from "./reduce";
import { secondsOf } from "./stream";
import { partAt, table } from "./tables";
import {
  alternativeText,
  barWidth,
  bytes,
  count,
  entropy,
  finalOf,
  milliseconds,
  percent,
  plural,
  rawOf,
  stepText,
  time,
  UNKNOWN,
  visible,
} from "./words";

// alternatives

export function showAlternatives(
  parent: HTMLElement,
  token: Token | null,
  data: StageData | undefined,
): void {
  if (!token) {
    fill(
      parent,
      h("p", { class: "muted" }, "Choose a token in the stream or the table to see its alternatives."),
    );
    return;
  }
  const { step } = token;
  const times = [step.mask_ms, step.sample_ms, step.decode_ms];
  const facts: [string, string | false][] = [
    [
      "Token",
      step.piece
        ? "a chunk of the stream, possibly several tokens"
        : step.id >= 0
          ? `id ${step.id}`
          : UNKNOWN,
    ],
    ["Raw, final", `${percent(rawOf(step))}, ${percent(finalOf(step))}`],
    ["Rank, entropy", step.entropy != null && `${count(step.rank)}, ${entropy(step)} bits`],
    [
      "Allowed, feasible",
      step.feasible != null && `${count(step.allowed || null)}, ${percent(step.feasible)}`,
    ],
    [
      "Mask, sample, decode",
      times.some(Boolean) && times.map((ms) => milliseconds(ms ?? 0).replace(" ", "\u00a0")).join(", "),
    ],
  ];
  fill(
    parent,
    h(
      "p",
      null,
      h("span", { class: "box mono" }, stepText(step)),
      step.forced ? h("span", { class: "pill forced" }, "forced by grammar") : null,
      step.narrowed ? h("span", { class: "pill open" }, `narrowed by the budget of ${step.narrowed}`) : null,
    ),
    alternatives(step, data),
    list(facts.filter(([, words]) => words)),
  );
}

/** The most likely tokens, at most so many, the chosen one among them. */
export function alternatives(step: Step, data: StageData | undefined, limit = Infinity): HTMLElement {
  const all = step.alternatives ?? [];
  if (!all.length) return h("p", { class: "muted" }, "Probabilities were not recorded.");
  const isChosen = (one: Alternative) => (step.id >= 0 ? one.id === step.id : one.data === step.data);
  const given = data?.reasons?.[String(step.index)];
  const places = all.map((_, place) => place);
  const shown = places.slice(0, limit);
  const late = places.slice(limit).find((place) => isChosen(all[place]!));
  if (late !== undefined) shown[shown.length - 1] = late;
  const rows = shown.map((place) => {
    const one = all[place]!;
    const masked = one.allowed === false;
    const chosen = isChosen(one);
    const own = given?.alternatives?.[place] ?? null;
    const reason = own === "" ? given?.place : (own ?? (given && masked ? "reason unknown" : ""));
    const final = one.removed
      ? one.removed
      : one.final && one.allowed !== false
        ? percent(one.final)
        : UNKNOWN;
    const bar = h("span", {
      class: `bar ${masked ? "masked" : reason ? "impossible" : ""}`,
      "aria-hidden": "true",
    });
    bar.style.setProperty("inline-size", barWidth(one.raw));
    const text = alternativeText(one);
    return [
      h(
        "tr",
        { class: chosen ? "current" : null },
        h(
          "th",
          { scope: "row" },
          masked ? h("del", { class: "mono" }, text) : h("span", { class: "mono" }, text),
          masked ? h("span", { class: "sr" }, " masked") : null,
          chosen ? h("span", { class: "sr" }, " chosen") : null,
        ),
        h("td", { class: "track" }, h("span", { class: "rail" }, bar)),
        h("td", { class: "n" }, percent(one.raw)),
        h("td", { class: "n" }, final),
      ),
      reason
        ? h(
            "tr",
            { class: "why" },
            h(
              "td",
              { colspan: "4", class: masked ? "muted" : "fault" },
              masked ? `masked: ${visible(reason)}` : visible(reason),
            ),
          )
        : null,
    ];
  });
  return table("Alternatives", ["token", "", "raw", "final"], rows, [2, 3]);
}

/** How the token was chosen, in a sentence. */
export function choiceWords(step: Step, constrained: boolean): string {
  const raw = `Raw probability: ${percent(rawOf(step))}.`;
  const final = `Final probability: ${percent(finalOf(step))}.`;
  if (step.origin === "kept") return `Kept from the run that was branched, not sampled here. ${raw}`;
  if (step.origin === "written") return `Inserted by hand, not sampled. ${raw}`;
  if (step.forced) return `Forced: the only allowed token. ${raw}`;
  if (!constrained) return `No constraint: all ${count(step.allowed)} tokens allowed. ${final}`;
  return `The mask allowed ${plural(step.allowed ?? 0, "token")} with ${percent(step.feasible)} of the probability mass. ${final}`;
}

export function list(facts: [string, Child][]): HTMLElement {
  return h("dl", null, ...facts.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

// prompt

export function showPrompt(
  parent: HTMLElement,
  run: Run,
  stage: Stage,
  names: Record<string, string> = {},
): void {
  const asked = (run.started?.request.prompt as string | undefined) ?? "";
  const prompt = stage.prompt;
  if (!prompt) {
    fill(parent, h("p", { class: "asked" }, visible(asked)));
    return;
  }
  const parts = (prompt.parts ?? []) as Event[];
  const costs = new Map<string, number>();
  for (const part of parts) costs.set(part.name, (costs.get(part.name) ?? 0) + part.tokens);
  const cached = prompt.cached ? `, ${count(prompt.cached)} from the cache` : "";
  const words = [...costs].map(([name, tokens]) => `${names[name] ?? name} ${count(tokens)}`).join(", ");
  const body = h("div");
  const details = h("details", null, h("summary", null, "Rendered prompt with the cost of each part"), body);
  details.addEventListener("toggle", () => {
    if (details.open && !body.firstChild) fill(body, rendered(prompt, parts, names));
  });
  fill(
    parent,
    h("p", { class: "asked" }, visible(asked)),
    h("p", { class: "muted" }, `${plural(prompt.tokens, "token")}${cached}${words ? `: ${words}` : ""}`),
    prompt.note ? h("p", { class: "muted" }, visible(prompt.note)) : null,
    details,
  );
}

function rendered(prompt: Event, parts: Event[], names: Record<string, string>): Child[] {
  const characters = Array.from(prompt.text as string);
  const most = Math.max(...parts.map((part) => part.tokens), 1);
  const pieces: Child[] = [];
  let at = 0;
  const plain = (until: number) => {
    if (until > at) pieces.push(h("span", null, visible(characters.slice(at, until).join(""))));
    at = Math.max(at, until);
  };
  for (const part of [...parts].sort((one, other) => one.start - other.start)) {
    if (part.start < at) continue;
    plain(part.start);
    const name = visible(
      `${names[part.name] ?? part.name}${part.of ? ` ${part.of}` : ""}: ${plural(part.tokens, "token")}`,
    );
    pieces.push(
      h(
        "span",
        { class: `part ${/^[a-z]+$/.test(part.name) ? part.name : ""}`, title: name },
        visible(characters.slice(part.start, part.end).join("")),
      ),
    );
    at = part.end;
  }
  plain(characters.length);
  const rows = parts
    .filter((part) => part.tokens)
    .map((part) => {
      const bar = h("span", { class: "bar", "aria-hidden": "true" });
      bar.style.setProperty("inline-size", `${(part.tokens / most) * 100}%`);
      return h(
        "tr",
        null,
        h("th", { scope: "row" }, visible(names[part.name] ?? part.name)),
        h("td", null, visible(part.of ?? "")),
        h("td", { class: "track" }, h("span", { class: "rail" }, bar)),
        h("td", { class: "n" }, count(part.tokens)),
      );
    });
  return [
    rows.length
      ? h(
          "div",
          { class: "parts" },
          table("Cost of the prompt’s parts", ["part", "of", "", "tokens"], rows, [3]),
        )
      : null,
    h("pre", { class: "prompt", tabindex: "0", role: "group", "aria-label": "The rendered prompt" }, pieces),
  ];
}

// costs of the answer's parts

export function showCosts(parent: HTMLElement, stage: Stage): void {
  const sums = new Map<string, { tokens: number; forced: number; seconds: number }>();
  stage.tokens.forEach((token, place) => {
    const part = partAt(stage, token);
    const kind = part ? { call: "calls", reasoning: "reasoning", text: "text" }[part.kind] : "markers";
    const sum = sums.get(kind) ?? { tokens: 0, forced: 0, seconds: 0 };
    sum.tokens++;
    sum.forced += token.step.forced ? 1 : 0;
    sum.seconds += secondsOf(stage, place, place + 1);
    sums.set(kind, sum);
  });
  const rows = ["reasoning", "text", "calls", "markers"].flatMap((kind) => {
    const sum = sums.get(kind);
    if (!sum) return [];
    return h(
      "tr",
      null,
      h("th", { scope: "row" }, kind),
      h("td", { class: "n" }, count(sum.tokens)),
      h("td", { class: "n" }, count(sum.forced)),
      h("td", { class: "n" }, milliseconds(sum.seconds * 1000)),
    );
  });
  fill(parent, table("Cost of the answer’s parts", ["part", "tokens", "forced", "time"], rows, [1, 2, 3]));
}

// sizes

const STYLES: Record<string, string> = {
  openai: "OpenAI wrapper",
  "json-spaced": "JSON spaced",
  json: "JSON compact",
  glyph: "GLYPH",
  "glyph-canonical": "GLYPH canonical",
};

export function showSizes(parent: HTMLElement, sizes: NonNullable<StageData["sizes"]>): void {
  const most = Math.max(...sizes.map((size) => size.bytes), 1);
  const rows = sizes.map((size) => {
    const bar = h("span", {
      class: `bar ${size.style.startsWith("glyph") ? "" : "other"}`,
      "aria-hidden": "true",
    });
    bar.style.setProperty("inline-size", `${(size.bytes / most) * 100}%`);
    return h(
      "tr",
      null,
      h("th", { scope: "row" }, STYLES[size.style] ?? size.style),
      h("td", { class: "track" }, h("span", { class: "rail" }, bar)),
      h("td", { class: "n" }, count(size.characters)),
      h("td", { class: "n" }, count(size.bytes)),
    );
  });
  fill(parent, table("Size of the calls", ["style", "", "characters", "bytes"], rows, [2, 3]));
}

// settings

/** Named elsewhere on the page, unless the runs differ in it. */
const ELSEWHERE = new Set(["Prompt", "Model", "Model’s SHA-256"]);

export function showSettings(parent: HTMLElement, data: RunData): void {
  const shown = data.settings.filter(([name]) => !ELSEWHERE.has(name) || data.differing.includes(name));
  fill(
    parent,
    list(
      shown.map(([name, value]) => [
        name,
        data.differing.includes(name) ? h("mark", null, visible(value)) : visible(value),
      ]),
    ),
  );
}

export function showModel(parent: HTMLElement, run: Run, data: RunData): void {
  const model = run.started?.model ?? {};
  const versions = Object.entries((run.started?.versions ?? {}) as Record<string, string>);
  const facts: [string, Child][] = [
    ["Model", visible(data.model ?? model.name ?? UNKNOWN)],
    ["SHA-256", h("code", { class: "hash" }, visible(model.sha256 || UNKNOWN))],
  ];
  if (model.quantisation) facts.push(["Quantisation", visible(model.quantisation)]);
  if (model.architecture) facts.push(["Architecture", visible(model.architecture)]);
  if (model.parameters) facts.push(["Parameters", count(model.parameters)]);
  if (model.vocabulary) facts.push(["Vocabulary", count(model.vocabulary)]);
  if (model.context) facts.push(["Context", count(model.context)]);
  if (model.bytes) facts.push(["Size", bytes(model.bytes)]);
  if (model.server) facts.push(["Server", visible(model.server)]);
  facts.push(["Recorded", visible(time(run.started?.time ?? UNKNOWN))]);
  if (versions.length)
    facts.push(["Versions", visible(versions.map(([name, version]) => `${name} ${version}`).join(", "))]);
  fill(parent, list(facts));
}
