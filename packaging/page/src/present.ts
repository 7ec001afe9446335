// Presenter mode: the lesson alone and large, and one key that leads through it.

import { fill, h } from "./dom";

export interface Presented {
  /** Goes by so many slides; false at the first and the last. */
  turn: (by: number) => boolean;
  /** The next action of the slide's parts; false where all are over. */
  advance: () => boolean;
  /** Gives a key to the first part that has a function for it. */
  press: (key: string) => boolean;
  /** For the notes: the slide's notes, its right answers, and the title of the next one. */
  notes: () => { title: string; notes: Node[]; answers: string; next: string };
  changed: (on: boolean) => void;
}

const LINES = 45;
const MIN_PIXELS = 12;
const MAX_PIXELS = 64;
const FORWARD = ["ArrowRight", " ", "PageDown"];
const BACK = ["ArrowLeft", "PageUp", "Backspace"];
/** Keys of the run on the slide, and as it knows them itself. */
const IN_RUN: Record<string, string> = { ArrowDown: "ArrowRight", ArrowUp: "ArrowLeft", p: " ", P: " " };
const HINT = "→ forward · ← back · ↓ ↑ tokens · P plays · 1–9 answer · + − text size · N notes · Esc leaves";

export class Presenter {
  on = false;
  private size = 0;
  private began = 0;
  private notes: Window | null = null;
  private clock = 0;
  readonly hint = h("aside", { class: "hint", hidden: true, "aria-label": "Keys of the presenter" }, HINT);

  constructor(private readonly page: Presented) {
    addEventListener("keydown", (event) => this.key(event), true);
    matchMedia("(display-mode: fullscreen)").addEventListener("change", (query) => {
      if (!query.matches) this.end();
    });
    document.addEventListener("fullscreenchange", () => {
      if (!document.fullscreenElement) this.end();
    });
  }

  begin(): void {
    if (this.on) return;
    this.on = true;
    this.began = Date.now();
    document.documentElement.classList.add("presenting");
    this.setSize(Math.round((innerHeight / LINES) * (96 / 72)));
    this.hint.hidden = false;
    this.page.changed(true);
  }

  /** Begins, and fills the screen where the browser allows it. */
  fill(): void {
    this.begin();
    document.documentElement.requestFullscreen?.().catch(() => undefined);
  }

  end(): void {
    if (!this.on) return;
    this.on = false;
    document.documentElement.classList.remove("presenting");
    document.documentElement.style.removeProperty("font-size");
    this.hint.hidden = true;
    clearInterval(this.clock);
    this.notes?.close();
    this.notes = null;
    if (document.fullscreenElement) document.exitFullscreen().catch(() => undefined);
    this.page.changed(false);
  }

  /** Shows the notes of another slide. */
  update(): void {
    if (this.notes && !this.notes.closed) this.showNotes();
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "F11" && !event.repeat) {
      // the browser fills the screen with it, or stops doing so
      if (this.on) this.end();
      else this.begin();
      return;
    }
    if (!this.on || event.ctrlKey !== (event.ctrlKey && FORWARD.includes(event.key))) return;
    if (event.altKey || event.metaKey || (event.target as Element).closest?.("select, dialog")) return;
    if (this.pressed(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  private pressed(event: KeyboardEvent): boolean {
    const { key } = event;
    if (key === "Escape") this.end();
    else if (BACK.includes(key) || (key === " " && event.shiftKey)) this.page.turn(-1);
    else if (FORWARD.includes(key) && event.ctrlKey) this.page.turn(1);
    else if (FORWARD.includes(key)) this.forward();
    else if (key === "+" || key === "=") this.setSize(this.size + 2);
    else if (key === "-") this.setSize(this.size - 2);
    else if (key === "n" || key === "N") this.toggleNotes();
    else return this.page.press(IN_RUN[key] ?? key);
    return true;
  }

  private forward(): void {
    if (this.page.advance()) return;
    const before = scrollY;
    scrollBy({ top: innerHeight * 0.8, behavior: "instant" });
    if (scrollY <= before + 1) this.page.turn(1);
  }

  private setSize(pixels: number): void {
    this.size = Math.min(Math.max(pixels, MIN_PIXELS), MAX_PIXELS);
    document.documentElement.style.setProperty("font-size", `${this.size}px`);
  }

  private toggleNotes(): void {
    if (this.notes && !this.notes.closed) {
      this.notes.close();
      this.notes = null;
      return;
    }
    this.notes = open("", "glyphscope-notes", "popup,width=560,height=640");
    if (!this.notes) {
      fill(
        this.hint,
        "The browser blocked the window of the notes: allow it for this page, and press N again.",
      );
      return;
    }
    const { document: other } = this.notes;
    other.title = "Notes for the presenter";
    other.documentElement.lang = "en";
    other.head.replaceChildren(document.querySelector("style")!.cloneNode(true));
    other.documentElement.dataset.theme = document.documentElement.dataset.theme ?? "";
    this.notes.addEventListener("keydown", (event) => this.key(event));
    this.showNotes();
    clearInterval(this.clock);
    this.clock = window.setInterval(() => this.showNotes(), 1000);
  }

  private showNotes(): void {
    if (!this.notes || this.notes.closed) return;
    const { title, notes, answers, next } = this.page.notes();
    const seconds = Math.floor((Date.now() - this.began) / 1000);
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    fill(
      this.notes.document.body,
      h(
        "main",
        { class: "notes prose" },
        h("p", { class: "muted" }, `${time} since the beginning`),
        h("h1", null, title),
        notes.length ? notes.map((note) => note.cloneNode(true)) : h("p", { class: "muted" }, "No notes."),
        answers ? h("p", null, h("b", null, `Correct: ${answers}`)) : null,
        next ? h("p", { class: "muted" }, `Next: ${next}`) : null,
      ),
    );
  }
}
