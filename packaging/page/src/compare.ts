// Where the texts of several runs first differ.

import type { Run } from "./reduce";
import { count } from "./words";

export interface Difference {
  /** The stage of the first difference, or null where there is none. */
  stage: number | null;
  /** Of each run the first character of that stage that differs from another run's. */
  characters: number[];
  words: string;
}

export function firstDifference(runs: Run[]): Difference {
  const none = { stage: null, characters: [], words: "" };
  if (runs.length < 2) return none;
  const stages = Math.max(...runs.map((run) => run.stages.length));
  for (let stage = 0; stage < stages; stage++) {
    const texts = runs.map((run) => run.stages[stage]?.characters ?? []);
    const most = Math.max(...texts.map((text) => text.length));
    for (let at = 0; at < most; at++) {
      if (texts.every((text) => text[at] === texts[0]![at])) continue;
      const tokens = runs.map((run) => run.stages[stage]?.tokens.find((token) => token.end > at)?.step.index);
      const where = tokens
        .map((token) => (token === undefined ? "its end" : `token ${count(token)}`))
        .join(", ");
      const within = stages > 1 ? ` of stage ${stage + 1}` : "";
      return {
        stage,
        characters: texts.map(() => at),
        words: `First difference at character ${count(at)}${within}: ${where}`,
      };
    }
  }
  return { ...none, words: "The runs wrote the same text." };
}
