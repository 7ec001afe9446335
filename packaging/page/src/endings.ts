// Verdicts in words: how a run ended, why it was stopped, and the signs' meaning.

import { type Child, h } from "./dom";
import type { Recorded } from "./data";
import type { Event, Stage } from "./reduce";
import { SIGNS } from "./stream";
import { count, visible } from "./words";

export function legend(): HTMLElement {
  return h(
    "span",
    { class: "legend" },
    h("span", { class: "t holds" }, "✓ valid"),
    h("span", { class: "t open" }, "◌ open"),
    h("span", { class: "t impossible" }, "✕ impossible"),
    h("span", { class: "t forced" }, "forced by grammar"),
  );
}

export function verdict(run: Recorded): HTMLElement {
  const { data } = run;
  return h(
    "span",
    { class: `pill ${data.status}` },
    h("span", { "aria-hidden": "true" }, SIGNS[data.status], " "),
    visible(data.words),
  );
}

export function ending(run: Recorded, stage: Stage, over: boolean): Child {
  const { aborted } = stage;
  if (aborted) {
    return h(
      "div",
      { class: "banner impossible" },
      h(
        "b",
        null,
        `Stopped at character ${count(aborted.char)}, token ${count(aborted.token)}: ${aborted.code}`,
      ),
      h("p", null, explained(aborted)),
    );
  }
  const first = stage.violations[0];
  return [
    first
      ? h(
          "div",
          { class: "banner impossible" },
          h("b", null, `${first.code} at character ${count(first.char)}`),
          h("p", null, explained(first)),
        )
      : null,
    over ? h("p", { class: "end" }, verdict(run), run.data.hint ? ` ${visible(run.data.hint)}` : "") : null,
  ];
}

/** The message of a violation or an abort as sentences, with what was still possible. */
function explained(event: Event): string {
  const viable = event.viable ? ` Still possible: ${visible(event.viable).replace(/\.$/, "")}.` : "";
  return `${visible(event.message).replace(/\.$/, "")}.${viable}`;
}
