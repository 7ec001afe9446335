// A lesson: one step at a time, with its runs, questions and experiments, and the progress in it.

import { App } from "./app";
import { fill, h, reachScrolled } from "./dom";
import type { Recorded } from "./data";
import { Presenter } from "./present";
import { type Entry, isDone, keepProgress, type Progress, progressOf, progressWords } from "./progress";
import { type Asked, Question } from "./question";
import { themeChoice } from "./theme";
import { visible } from "./words";
import { type Surroundings, Watch, type Watched } from "./watch";

interface Run extends Watched {
  kind: "run";
}

interface Experimented extends Watched {
  kind: "experiment";
  vary: string[];
}

interface Questioned extends Asked {
  kind: "question";
}

export interface LessonData extends Entry {
  parts: (Run | Experimented | Questioned)[];
  next: Entry | null;
}

interface Part {
  element: HTMLElement;
  advance(): boolean;
  press(key: string): boolean;
  pause?(): void;
  fit?(): void;
  print?(all: boolean): void;
}

/** A recorded run that the reader plays after thinking about it. */
class Experiment implements Part {
  private readonly watch: Watch;
  private readonly button: HTMLButtonElement;

  constructor(
    readonly element: HTMLElement,
    recorded: Recorded,
    part: Experimented,
    around: Surroundings,
  ) {
    this.watch = new Watch(recorded, part, around);
    this.watch.element.hidden = true;
    const difference = element.querySelector<HTMLElement>(".difference");
    if (difference) difference.hidden = true;
    this.button = h(
      "button",
      { type: "button", class: "play", click: () => this.play() },
      "Play the recording",
    );
    const live = part.vary.length
      ? `With Glyphscope you can change ${part.vary.map((name) => visible(name)).join(", ")}, and run it with a model.`
      : "With Glyphscope you can run it with a model.";
    element
      .querySelector(".recorded")!
      .replaceWith(
        h("div", { class: "foot" }, this.button, h("span", { class: "muted" }, live)),
        this.watch.element,
      );
  }

  private play(): void {
    const focused = this.button === document.activeElement;
    this.button.remove();
    this.watch.element.hidden = false;
    const difference = this.element.querySelector<HTMLElement>(".difference");
    if (difference) difference.hidden = false;
    this.watch.fit();
    this.watch.play();
    if (focused) this.watch.element.querySelector<HTMLElement>("button")?.focus();
  }

  advance(): boolean {
    if (!this.watch.element.hidden) return this.watch.advance();
    this.play();
    return true;
  }

  press(key: string): boolean {
    return !this.watch.element.hidden && this.watch.press(key);
  }

  pause(): void {
    this.watch.pause();
  }

  fit(): void {
    if (!this.watch.element.hidden) this.watch.fit();
  }

  print(all: boolean): void {
    if (this.button.isConnected) this.watch.element.hidden = !all;
    this.watch.print(all);
  }
}

interface Step {
  section: HTMLElement;
  heading: HTMLElement;
  /** Text and parts in their order, without the notes. */
  blocks: HTMLElement[];
  notes: HTMLElement[];
}

interface Slide {
  step: number;
  blocks: HTMLElement[];
}

export class Lesson {
  private readonly progress: Progress;
  private readonly steps: Step[];
  private readonly parts = new Map<HTMLElement, Part>();
  private readonly dialogs = new Map<number, HTMLDialogElement>();
  private readonly presenter: Presenter;
  private slides: Slide[] = [];
  private at = 0;
  private readonly covered = h(
    "p",
    { class: "muted covered" },
    "Show the solution to see the rest of this step.",
  );
  private readonly spoken = h("p", { class: "sr", role: "status" });
  private readonly back = h("button", { type: "button", click: () => this.turn(-1) }, "‹ Back");
  private readonly next = h("button", { type: "button", class: "play", click: () => this.turn(1) }, "Next ›");
  private readonly dots: HTMLButtonElement[];
  private readonly state = h("p", { class: "muted state" });
  private readonly around: Surroundings;

  constructor(
    private readonly data: LessonData,
    private readonly recorded: (run: number) => Recorded,
  ) {
    this.progress = progressOf(data);
    this.steps = [...document.querySelectorAll<HTMLElement>(".step")].map((section) => ({
      section,
      heading: section.querySelector<HTMLElement>("h2")!,
      blocks: [...section.querySelectorAll<HTMLElement>(":scope > .prose, :scope > .part")],
      notes: [...section.querySelectorAll<HTMLElement>(":scope > .note")],
    }));
    this.around = { say: (words) => (this.spoken.textContent = words), open: (run) => this.open(run) };
    this.dots = this.steps.map((step, place) =>
      h("button", {
        type: "button",
        class: "dot",
        title: step.heading.textContent!,
        "aria-label": `Step ${place + 1}: ${step.heading.textContent}`,
        click: () => this.go(place),
      }),
    );
    this.presenter = new Presenter({
      turn: (by) => this.turn(by),
      advance: () => this.advance(),
      press: (key) => this.shown.some((part) => part.press(key)),
      notes: () => this.notes(),
      changed: () => this.arrange(this.slide.step),
    });
    this.build();
    const named = this.stepInAddress();
    this.arrange(named ?? this.progress.step);
    addEventListener("hashchange", () => {
      const step = this.stepInAddress();
      if (step !== null && step !== this.slide.step) this.arrange(step, true);
    });
    addEventListener("resize", () => this.fit());
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("beforeprint", () => this.showAll());
    addEventListener("afterprint", () => {
      for (const part of this.parts.values()) part.print?.(false);
      this.show();
    });
  }

  private build(): void {
    const restart = h("button", { type: "button", click: () => this.restart() }, "Restart");
    const present = h(
      "button",
      {
        type: "button",
        title: "Full screen with large text, one part at a time",
        click: () => this.presenter.fill(),
      },
      "Lecture (F11)",
    );
    document.querySelector("header .tools")!.append(present, restart, themeChoice());
    document.body.append(
      h(
        "nav",
        { class: "steps", "aria-label": "Steps of the lesson" },
        this.back,
        h("div", { class: "dots" }, ...this.dots),
        this.next,
        this.state,
      ),
      this.presenter.hint,
      this.spoken,
    );
  }

  private get slide(): Slide {
    return this.slides[this.at]!;
  }

  /** The parts on the slide that can be seen, in their order. */
  private get shown(): Part[] {
    return this.slide.blocks.flatMap((block) => {
      const part = this.parts.get(block);
      return part && !block.hidden ? [part] : [];
    });
  }

  private stepInAddress(): number | null {
    const found = /^#step-(\d+)$/.exec(location.hash);
    const step = found ? Number(found[1]) - 1 : -1;
    return step >= 0 && step < this.steps.length ? step : null;
  }

  // slides

  /** Shows the first slide of a step; `moved` by the reader, who then is at its heading. */
  private arrange(step: number, moved = false): void {
    this.slides = this.steps.flatMap((one, place) =>
      (this.presenter.on ? presented(one.blocks) : [one.blocks]).map((blocks) => ({ step: place, blocks })),
    );
    this.at = this.slides.findIndex((slide) => slide.step === step);
    this.show(moved);
  }

  private go(step: number): void {
    if (step === this.slide.step) return;
    this.arrange(step, true);
  }

  private turn(by: number): boolean {
    const at = this.at + by;
    if (at < 0 || at >= this.slides.length) {
      if (at > 0 && !this.presenter.on) location.href = this.data.next?.file ?? "index.html";
      return false;
    }
    this.at = at;
    this.show(true);
    return true;
  }

  private show(moved = false): void {
    const { slide } = this;
    this.steps.forEach((step, place) => {
      const current = place === slide.step;
      step.section.hidden = !current;
      if (!current) for (const block of step.blocks) this.parts.get(block)?.pause?.();
    });
    for (const block of slide.blocks) this.make(block);
    this.uncover();
    this.seen(slide.step);
    if (moved) {
      const address = `#step-${slide.step + 1}`;
      if (location.hash !== address) history.pushState(null, "", address);
      scrollTo(0, 0);
      this.steps[slide.step]!.heading.focus({ preventScroll: true });
    }
    this.showPlace();
    this.presenter.update();
    this.fit();
  }

  /** Everything up to the first open question: what follows may give the answer away. */
  private uncover(): void {
    const { step, blocks } = this.slide;
    const { section } = this.steps[step]!;
    let covered = false;
    for (const block of this.steps[step]!.blocks) {
      block.hidden = covered || !blocks.includes(block);
      const part = this.parts.get(block);
      if (!block.hidden && part instanceof Question && !part.revealed && this.guards(block)) covered = true;
    }
    if (covered && blocks[blocks.length - 1]!.hidden) section.append(this.covered);
    else this.covered.remove();
    this.fit();
  }

  private guards(block: HTMLElement): boolean {
    const data = this.dataOf(block);
    return data?.kind === "question" && !(data.question in this.progress.answers);
  }

  private showPlace(): void {
    const { step } = this.slide;
    const last = step === this.steps.length - 1;
    const { next } = this.data;
    this.back.disabled = this.at === 0;
    fill(this.next, !last ? "Next ›" : next ? "Next lesson ›" : "All lessons");
    this.next.title = last && next ? next.title : "";
    this.dots.forEach((dot, place) => {
      dot.classList.toggle("seen", this.progress.seen.includes(place));
      if (place === step) dot.setAttribute("aria-current", "step");
      else dot.removeAttribute("aria-current");
    });
    document.querySelector<HTMLElement>(".following")!.hidden = !last || this.presenter.on;
  }

  private fit(): void {
    for (const part of this.shown) part.fit?.();
    reachScrolled(document);
  }

  private showAll(): void {
    for (const step of this.steps) {
      step.section.hidden = false;
      for (const block of step.blocks) {
        this.make(block);
        block.hidden = false;
        this.parts.get(block)?.print?.(true);
      }
    }
    this.covered.remove();
  }

  // parts

  private dataOf(block: HTMLElement) {
    return block.dataset.part === undefined ? null : this.data.parts[Number(block.dataset.part)]!;
  }

  /** The parts of a block are made when it is first shown. */
  private make(block: HTMLElement): void {
    const data = this.dataOf(block);
    if (!data || this.parts.has(block)) return;
    if (data.kind === "question") {
      const answered = (right: boolean) => {
        this.progress.answers[data.question] ??= right;
        this.keep();
      };
      this.parts.set(block, new Question(block, data, answered, () => this.revealed()));
    } else if (data.kind === "experiment")
      this.parts.set(block, new Experiment(block, this.recorded(data.run), data, this.around));
    else {
      const watch = new Watch(this.recorded(data.run), data, this.around, data.caption ? 4 : 3);
      block.querySelector(".recorded")!.replaceWith(watch.element);
      this.parts.set(block, watch);
    }
  }

  private revealed(): void {
    this.uncover();
    this.presenter.update();
  }

  /** The whole run on top of the lesson. */
  private open(run: number): void {
    let dialog = this.dialogs.get(run);
    if (!dialog) {
      const body = h("div");
      const made = h("dialog", { class: "whole-run", "aria-label": "Everything about this run" }, body);
      dialog = made;
      document.body.append(dialog);
      const back = h("button", { type: "button", click: () => made.close() }, "Back to the lesson");
      new App(body, [this.recorded(run)], back);
      this.dialogs.set(run, dialog);
    }
    dialog.showModal();
  }

  // progress

  private seen(step: number): void {
    this.progress.step = step;
    if (!this.progress.seen.includes(step)) this.progress.seen.push(step);
    this.keep();
  }

  private keep(): void {
    const kept = keepProgress(this.data, this.progress);
    const words = progressWords(this.data, this.progress);
    fill(
      this.state,
      `${isDone(this.data, this.progress) ? words.replace("✓ completed", "✓ Lesson completed") : words}${
        kept ? "" : ". This browser keeps no progress."
      }`,
    );
  }

  private restart(): void {
    keepProgress(this.data, null);
    history.replaceState(null, "", location.pathname);
    location.reload();
  }

  // presenting

  private advance(): boolean {
    for (const part of this.shown) {
      if (!part.advance()) continue;
      part.element.scrollIntoView({ block: "nearest", behavior: "instant" });
      return true;
    }
    return false;
  }

  private notes() {
    const { step, blocks } = this.slide;
    const following = this.slides[this.at + 1];
    const answers = blocks.flatMap((block) => {
      const data = this.dataOf(block);
      if (data?.kind !== "question") return [];
      return data.form === "character"
        ? `character ${data.right[0]}, ${visible(Array.from(data.text)[data.right[0]!] ?? "")}`
        : data.right.map((number) => `${number + 1} ${visible(data.choices[number]!)}`);
    });
    return {
      title: this.steps[step]!.heading.textContent!,
      notes: this.steps[step]!.notes.flatMap((note) => [...note.childNodes]),
      answers: answers.join(", "),
      next: !following
        ? ""
        : following.step === step
          ? "the step continues"
          : this.steps[following.step]!.heading.textContent!,
    };
  }

  // keys

  private key(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (document.querySelector("dialog[open]")) return;
    const { scrollTop, scrollHeight, clientHeight } = document.documentElement;
    if (event.key === "PageDown" && scrollTop + clientHeight >= scrollHeight - 1) this.turn(1);
    else if (event.key === "PageUp" && scrollTop <= 0) this.turn(-1);
    else return;
    event.preventDefault();
  }
}

/** Text with the part after it; text that ends a step is with the part before. */
function presented(blocks: HTMLElement[]): HTMLElement[][] {
  const slides: HTMLElement[][] = [];
  let open: HTMLElement[] = [];
  for (const block of blocks) {
    open.push(block);
    if (block.classList.contains("part")) {
      slides.push(open);
      open = [];
    }
  }
  if (!slides.length) slides.push(open);
  else slides[slides.length - 1]!.push(...open);
  return slides;
}
