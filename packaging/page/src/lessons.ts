// The index of lessons: the reader's progress beside each.

import { fill, h } from "./dom";
import { type Entry, isDone, keepProgress, progressOf, progressWords } from "./progress";
import { themeChoice } from "./theme";

export function showIndex(entries: Entry[]): void {
  const tools = document.querySelector("header .tools")!;
  const items = [...document.querySelectorAll<HTMLElement>(".lessons > li")];
  const reset = h(
    "button",
    {
      type: "button",
      click: () => {
        for (const entry of entries) keepProgress(entry, null);
        show();
      },
    },
    "Reset the progress",
  );
  const notes = items.map((item) => {
    const note = h("p", { class: "progress" });
    item.append(note);
    return note;
  });
  const show = () => {
    entries.forEach((entry, place) => {
      const progress = progressOf(entry);
      fill(notes[place]!, progressWords(entry, progress));
      items[place]!.classList.toggle("done", isDone(entry, progress) && progress.seen.length > 0);
    });
    reset.hidden = !notes.some((note) => note.textContent);
  };
  tools.append(reset, themeChoice());
  show();
  addEventListener("pageshow", show); // the browser's Back shows the page as it was
}
