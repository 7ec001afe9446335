// The reader's progress in each lesson, kept in the browser.

import { keep, kept } from "./storage";
import { plural } from "./words";

const KEY = "glyphscope-lessons";

/** A lesson as the index lists it. */
export interface Entry {
  key: string;
  file: string;
  title: string;
  minutes: number;
  steps: number;
  questions: number;
}

export interface Progress {
  step: number;
  seen: number[];
  /** By question, whether the first answer was right. */
  answers: Record<string, boolean>;
}

function all(): Record<string, unknown> {
  const found = kept(KEY);
  return found && typeof found === "object" && !Array.isArray(found) ? { ...found } : {};
}

export function progressOf(lesson: Entry): Progress {
  const found = (all()[lesson.key] ?? {}) as Partial<Progress>;
  const within = (value: unknown, count: number) =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < count;
  const answers = Object.entries(found.answers ?? {}).filter(
    ([question, right]) => within(Number(question), lesson.questions) && typeof right === "boolean",
  );
  return {
    step: within(found.step, lesson.steps) ? found.step! : 0,
    seen: Array.isArray(found.seen)
      ? [...new Set(found.seen.filter((one) => within(one, lesson.steps)))]
      : [],
    answers: Object.fromEntries(answers),
  };
}

/** False where the browser keeps nothing: then the progress ends with the page. */
export function keepProgress(lesson: Entry, progress: Progress | null): boolean {
  const lessons = all();
  delete lessons[lesson.key];
  if (progress) lessons[lesson.key] = progress;
  return keep(KEY, lessons);
}

export function isDone(lesson: Entry, progress: Progress): boolean {
  return progress.seen.length >= lesson.steps && Object.keys(progress.answers).length >= lesson.questions;
}

/** The progress in words; empty where the lesson was not begun. */
export function progressWords(lesson: Entry, progress: Progress): string {
  const given = Object.values(progress.answers);
  if (!progress.seen.length) return "";
  const words = [
    isDone(lesson, progress)
      ? "✓ completed"
      : `${progress.seen.length} of ${plural(lesson.steps, "step")} seen`,
  ];
  if (given.length < lesson.questions)
    words.push(`${given.length} of ${plural(lesson.questions, "question")} answered`);
  else if (given.length)
    words.push(`${given.filter(Boolean).length} of ${plural(given.length, "answer")} correct`);
  return words.join(", ");
}
