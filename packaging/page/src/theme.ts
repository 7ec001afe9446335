// The theme of the page: the system's, or the reader's choice, kept in the browser where that is allowed.

import { h } from "./dom";
import { kept, keep } from "./storage";

const KEY = "glyphscope-theme";
const THEMES = { "": "System theme", light: "Light", dark: "Dark" };

export function themeChoice(): HTMLElement {
  const choose = (theme: string) => {
    document.documentElement.dataset.theme = theme;
  };
  const stored = kept(KEY);
  const shown = typeof stored === "string" && stored in THEMES ? stored : "";
  const choice = h(
    "select",
    {
      "aria-label": "Theme",
      change: () => {
        choose(choice.value);
        keep(KEY, choice.value);
      },
    },
    ...Object.entries(THEMES).map(([value, words]) =>
      h("option", { value, selected: value === shown }, words),
    ),
  );
  choose(shown);
  return choice;
}
