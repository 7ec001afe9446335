// The controls of a run: play, one step back or forward, the place, and the speed.

import { fill, h } from "./dom";

export interface Pace {
  /** Steps each second. */
  steps: number;
  words: string;
}

interface Options {
  paces: Pace[];
  pace: number;
  /** Of the range, for screen readers. */
  label: string;
  /** The only player of its page is a landmark. */
  landmark?: boolean;
  moved: () => void;
}

export class Player {
  readonly element: HTMLElement;
  step = 0;
  private first = 0;
  private last = 0;
  private timer = 0;
  private pace: number;
  private readonly play = h("button", { type: "button", class: "play", click: () => this.toggle() });
  private readonly back = h(
    "button",
    { type: "button", "aria-label": "One step back", click: () => this.seek(this.step - 1) },
    "◀",
  );
  private readonly forward = h(
    "button",
    { type: "button", "aria-label": "One step forward", click: () => this.seek(this.step + 1) },
    "▶",
  );
  private readonly range = h("input", {
    type: "range",
    step: "1",
    input: () => this.seek(Number(this.range.value)),
  });
  private readonly place = h("output", { class: "place" });

  constructor(private readonly options: Options) {
    this.pace = options.pace;
    const speed = h(
      "select",
      { "aria-label": "Speed", change: () => (this.pace = Number(speed.value)) },
      ...options.paces.map((pace) =>
        h("option", { value: pace.steps, selected: pace.steps === options.pace }, pace.words),
      ),
    );
    this.range.setAttribute("aria-label", options.label);
    this.element = h(
      options.landmark ? "section" : "div",
      { class: "scrubber", role: options.landmark ? null : "group", "aria-label": "Playback" },
      this.play,
      this.back,
      this.forward,
      this.range,
      this.place,
      speed,
    );
    this.stop();
  }

  get atEnd(): boolean {
    return this.step >= this.last;
  }

  get playing(): boolean {
    return this.timer !== 0;
  }

  /** The first and the last step; the step stays within them. */
  setRange(first: number, last: number, step = this.step): void {
    this.first = first;
    this.last = Math.max(last, first);
    this.range.min = String(first);
    this.range.max = String(this.last);
    this.step = this.within(step);
  }

  /** Shows the step, which `words` describe. */
  show(words: string): void {
    this.range.value = String(this.step);
    this.place.textContent = words;
    this.range.setAttribute("aria-valuetext", words);
  }

  /** To that step, and pause. */
  seek(step: number): void {
    this.stop();
    this.moveTo(step);
  }

  toggle(): void {
    if (this.playing) this.stop();
    else this.start();
  }

  start(): void {
    if (this.playing || this.last <= this.first) return;
    if (this.atEnd) this.moveTo(this.first);
    fill(this.play, "❚❚ Pause");
    let before = performance.now();
    let due = 0;
    const frame = (time: number) => {
      due += ((time - before) / 1000) * this.pace;
      before = time;
      const by = Math.floor(due);
      due -= by;
      if (by) this.moveTo(this.step + by);
      if (this.atEnd) this.stop();
      else this.timer = requestAnimationFrame(frame);
    };
    this.timer = requestAnimationFrame(frame);
  }

  stop(): void {
    cancelAnimationFrame(this.timer);
    this.timer = 0;
    fill(this.play, "▶ Play");
  }

  private within(step: number): number {
    return Math.min(Math.max(step, this.first), this.last);
  }

  private moveTo(step: number): void {
    this.step = this.within(step);
    this.options.moved();
  }
}
