// In a browser the page; elsewhere its reduction and figures, which the tests compare with the engine's.

import { App } from "./app";
import { recordedRuns } from "./data";
import { dump, type Event, reduceAll } from "./reduce";
import { bytes, milliseconds, percent, tokenText, visible } from "./words";

if (typeof document === "undefined") {
  Object.assign(globalThis, {
    glyphscope: {
      dump: (events: Event[], until?: number) => dump(reduceAll(events, until)),
      words: { bytes, milliseconds, percent, tokenText, visible },
    },
  });
} else {
  const summary = document.getElementById("summary")!;
  const root = document.createElement("div");
  root.id = "app";
  document.body.append(root);
  try {
    new App(root, recordedRuns());
    summary.remove();
  } catch (error) {
    // the summary stays readable
    root.remove();
    console.error(error);
  }
}
