// In a browser the page; elsewhere its reduction and figures, which the tests compare with the engine's.

import { App } from "./app";
import type { ReportData } from "./beside";
import { block, recordedRuns } from "./data";
import { printDialogs } from "./dom";
import { Lesson, type LessonData } from "./lesson";
import { showIndex } from "./lessons";
import type { Entry } from "./progress";
import { grade } from "./question";
import { dump, type Event, reduceAll } from "./reduce";
import { Report } from "./report";
import { barWidth, bytes, finalOf, milliseconds, percent, tokenText, visible } from "./words";

function showRuns(): void {
  const summary = document.getElementById("summary")!;
  const root = document.createElement("div");
  root.id = "app";
  document.body.append(root);
  try {
    const runs = recordedRuns();
    new App(
      root,
      Array.from({ length: runs.length }, (_, place) => runs.run(place)),
    );
    summary.remove();
  } catch (error) {
    // the summary stays readable
    root.remove();
    console.error(error);
  }
}

if (typeof document === "undefined") {
  Object.assign(globalThis, {
    glyphscope: {
      dump: (events: Event[], until?: number) => dump(reduceAll(events, until)),
      grade,
      words: { barWidth, bytes, finalOf, milliseconds, percent, tokenText, visible },
    },
  });
} else {
  const lesson = block<LessonData>("lesson");
  const lessons = block<Entry[]>("lessons");
  const report = block<ReportData>("report");
  printDialogs();
  if (lesson) new Lesson(lesson, recordedRuns().run);
  else if (lessons) showIndex(lessons);
  else if (report) new Report(report);
  else showRuns();
}
