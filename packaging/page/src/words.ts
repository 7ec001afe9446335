// Figures and tokens in the form that the program gives them (text/figures.py, visible.py).

import type { Alternative, Step } from "./reduce";

export const UNKNOWN = "–";

export function count(value: number | null | undefined): string {
  return value == null ? UNKNOWN : Math.round(value).toLocaleString("en-US");
}

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

export function percent(share: number | null | undefined): string {
  if (share == null) return UNKNOWN;
  if (share > 0 && share < 0.0005) return "<0.1%";
  if (share >= 0.9995 && share < 1 - 1e-6) return ">99.9%";
  return `${(share * 100).toFixed(1)}%`;
}

export function milliseconds(ms: number | null | undefined): string {
  if (ms == null || !Number.isFinite(ms)) return UNKNOWN;
  if (ms > 0 && ms < 0.005) return "<0.01 ms";
  if (ms < 999.5) return `${decimals(ms, ms < 0.995 ? 2 : ms < 9.95 ? 1 : 0)} ms`;
  const seconds = ms / 1000;
  if (seconds < 119.95) return `${decimals(seconds, 1)} s`;
  const whole = Math.round(seconds);
  return whole < 7200 ? sixties(whole, "min", "s") : sixties(Math.round(seconds / 60), "h", "min");
}

function sixties(value: number, unit: string, part: string): string {
  return `${count(Math.floor(value / 60))} ${unit}${value % 60 ? ` ${value % 60} ${part}` : ""}`;
}

export function plainMs(ms: number): string {
  return ms.toFixed(ms < 9.995 ? 2 : 1);
}

export function bytes(value: number): string {
  const sizes = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= (unit ? 999.5 : 1000) && unit < sizes.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${decimals(value, unit && value < 99.95 ? 1 : 0)} ${sizes[unit]}`;
}

/** A time of a record, to the minute: `2026-11-21 16:47 UTC`. */
export function time(iso: string): string {
  return iso.endsWith("+00:00") ? `${iso.slice(0, 16).replace("T", " ")} UTC` : iso;
}

function decimals(value: number, digits: number): string {
  return value.toLocaleString("en-US", {
    minimumFractionDigits: Number.isInteger(value) ? 0 : digits,
    maximumFractionDigits: digits,
  });
}

// As visible.py, but for scripts whose joining types a browser does not know: there, joiners stay between letters.
const JOINS = [
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}])\uFE0F`,
  String.raw`(?<=[0-9#*])\uFE0F(?=\u20E3)`,
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]\uFE0F?)\u200D(?=\p{Extended_Pictographic})`,
  String.raw`(?<=[\u094D\u09CD\u0A4D\u0ACD\u0B4D\u0BCD\u0C4D\u0CCD\u0D4D\u0DCA\u1039\u17D2])[\u200C\u200D](?=\p{L})`,
  String.raw`(?<=\p{Script=Arabic})\u200C(?=\p{Script=Arabic})`,
].join("|");
const MARKS = String.raw`[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2]`;
const UNSEEN = new RegExp(
  String.raw`(${JOINS}|${MARKS})|[\p{C}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2800\uFFFC]`,
  "gu",
);
const SPACES: Record<string, string> = { " ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽" };

function sign(character: string): string {
  const code = character.codePointAt(0)!;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The text with a sign for each character that cannot be seen; line ends and tabs stay. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (found, joins?: string) =>
    joins || found === "\n" || found === "\t" ? found : sign(found),
  );
}

export function oneLine(text: string): string {
  return visible(text.split(/\s+/).filter(Boolean).join(" "));
}

export function excerpt(text: string, most = 80): string {
  const line = Array.from(oneLine(text));
  return line.length > most ? `${line.slice(0, most - 1).join("")}…` : line.join("");
}

export function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function seen(text: string): string {
  return text
    .replace(/[ \n\t\r\u00a0]/g, (space) => SPACES[space]!)
    .replace(UNSEEN, (found, joins?: string) => joins ?? sign(found));
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The token's bytes made visible: `·search`, `⏎`, `⟨E2 80⟩` for a part of a character. */
export function tokenText(data: string, text: string): string {
  if (!data) return seen(text) || "⟨⟩";
  const raw = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  let out = "";
  let bad: string[] = [];
  const flush = () => {
    if (bad.length) out += `⟨${bad.join(" ")}⟩`;
    bad = [];
  };
  for (let place = 0; place < raw.length;) {
    const first = raw[place]!;
    const size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    try {
      const character = decoder.decode(raw.subarray(place, place + size));
      flush();
      out += seen(character);
      place += size;
    } catch {
      bad.push(first.toString(16).toUpperCase().padStart(2, "0"));
      place++;
    }
  }
  flush();
  return out;
}

/** The steps of a JSON Pointer, with or without its first slash: `filter/from`. */
export function pointerWords(pointer: string, between = "/"): string {
  const steps = pointer.replace(/^\//, "").split("/");
  return steps.map((step) => step.replace(/~1/g, "/").replace(/~0/g, "~")).join(between);
}

export function stepText(step: Step): string {
  return step.end && !step.text ? "⟨end⟩" : tokenText(step.data, step.text);
}

export function alternativeText(one: Alternative): string {
  return tokenText(one.data, one.text);
}

/** The model's own probability of the token, before mask and sampling. */
export function rawOf(step: Step): number | null {
  return step.logprob == null ? null : Math.exp(step.logprob);
}

/** The probability with which it was sampled, if it was; records leave 1 out. */
export function finalOf(step: Step): number | null {
  if (step.origin && step.origin !== "model") return null;
  return step.probability === undefined ? 1 : step.probability;
}

/** The length of a probability's bar: of the whole track, so that bars of different tokens can be compared. */
export function barWidth(probability: number): string {
  return `${Math.max(probability * 100, 0.6)}%`;
}

/** A token as it is announced. */
export function tokenWords(step: Step): string {
  const raw = rawOf(step);
  const how = step.forced ? ", forced" : raw === null ? "" : `, raw ${percent(raw)}`;
  return `Token ${step.index}, ${stepText(step)}${how}`;
}

export function entropy(step: Step): string {
  return step.entropy == null ? UNKNOWN : step.entropy.toFixed(2);
}
