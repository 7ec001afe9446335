// A run within a lesson: its text, the chosen token's alternatives, and the views that the lesson asks for.

import { append, fill, h, reachScrolled } from "./dom";
import type { Recorded } from "./data";
import { ending } from "./endings";
import { alternatives, choiceWords } from "./panels";
import { type Pace, Player } from "./player";
import type { Run, Stage, Token } from "./reduce";
import { markToken, showStream } from "./stream";
import { showFields, stageTitle, TokenTable } from "./tables";
import { count, plural, stepText, tokenWords, visible } from "./words";

export interface Watched {
  run: number;
  caption?: string;
  /** The place of the shown stage; null for all of them, one after the other. */
  stage: number | null;
  /** Tokens of the stage, or of the run; `stop` is exclusive, and null at the end. */
  start?: number;
  stop?: number | null;
  token?: number | null;
  pace?: number;
  show: string[];
}

export interface Surroundings {
  /** Announces words to a screen reader. */
  say: (words: string) => void;
  /** Shows everything of a run. */
  open: (run: number) => void;
}

const PACES: Pace[] = [0.5, 1, 2, 3, 5, 8, 12, 20, 50].map((steps) => ({
  steps,
  words: `${steps} ${steps === 1 ? "token" : "tokens"}/s`,
}));
const USUAL_PACE = 3;
const MAX_ALTERNATIVES = 7;

export class Watch {
  readonly element: HTMLElement;
  private readonly player: Player;
  private readonly first: number;
  private readonly last: number;
  private readonly total: number;
  private readonly constrained: boolean;
  private chosen: number | null = null;
  private fitted = 0;
  /** The step before the whole run was printed. */
  private before = 0;
  private readonly stageName = h("p", { class: "muted stage" });
  private readonly box = h("div", { class: "stream", tabindex: "0", role: "group" });
  private readonly ending = h("div", { class: "ending" });
  private readonly token = h("div", { class: "token" });
  private readonly fields = h("div");
  private readonly table = new TokenTable((token) => this.choose(token));
  private readonly note = h("p", { class: "muted source" });

  constructor(
    private readonly recorded: Recorded,
    private readonly part: Watched,
    around: Surroundings,
    /** Of the headings, by which is above them. */
    private readonly level: 3 | 4 = 4,
  ) {
    const steps = recorded.stepsOf(part.stage);
    const start = part.start ?? 0;
    const stop = Math.min(part.stop ?? steps.length, steps.length);
    this.total = stop;
    const whole = part.stage === null && stop === steps.length;
    this.first = (steps[start] ?? 0) - 1;
    this.last = whole || !steps.length ? recorded.lastStep : steps[stop - 1]!;
    this.constrained = recorded.whole.started?.request.constraint !== "off";
    const pace = PACES.reduce((best, one) =>
      Math.abs(one.steps - (part.pace ?? USUAL_PACE)) < Math.abs(best.steps - (part.pace ?? USUAL_PACE))
        ? one
        : best,
    );
    this.player = new Player({
      paces: PACES,
      pace: pace.steps,
      label: "Token of the run",
      moved: () => {
        this.chosen = null;
        this.update();
      },
    });
    this.player.setRange(
      this.first,
      this.last,
      typeof part.token === "number" ? (steps[part.token] ?? this.first) : this.first,
    );
    this.box.setAttribute("aria-label", "Generated text; Space plays, left and right arrow go by one token");
    this.box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || !this.press(event.key)) return;
      event.preventDefault();
      const found = this.chosenToken();
      if (found && !this.player.playing) around.say(tokenWords(found.step));
    });
    this.box.addEventListener("click", (event) => {
      const token = (event.target as Element).closest<HTMLElement>("[data-token]")?.dataset.token;
      if (token !== undefined) this.choose(Number(token));
    });
    const { whole: run, data } = recorded;
    const model = run.started?.model ?? {};
    append(this.note, [
      `Recorded: ${[data.model ?? model.name, data.sampling]
        .filter(Boolean)
        .map((words) => visible(String(words)))
        .join(", ")} · `,
      h(
        "button",
        { type: "button", class: "link", click: () => around.open(part.run) },
        "Everything about this run",
      ),
    ]);
    this.element = h(
      "div",
      { class: "watch", role: "group", "aria-label": part.caption || "A recorded run" },
      this.player.element,
      h(
        "div",
        { class: "sides" },
        h(
          "div",
          { class: "text" },
          this.stageName,
          this.box,
          this.ending,
          part.show.includes("fields") ? this.fields : null,
        ),
        this.token,
      ),
      part.show.includes("tokens") ? this.table.element : null,
      this.note,
    );
    this.update();
  }

  get atEnd(): boolean {
    return this.player.atEnd;
  }

  pause(): void {
    this.player.stop();
  }

  play(): void {
    this.player.start();
  }

  /** The next action of a presentation's key: play, then the end. False where it is over. */
  advance(): boolean {
    if (this.player.playing) this.player.seek(this.last);
    else if (this.last > this.first && !this.atEnd) this.player.start();
    else return false;
    return true;
  }

  /** Handles a key; false where it has no function here. */
  press(key: string): boolean {
    const moves: Record<string, number> = {
      ArrowRight: 1,
      ArrowLeft: -1,
      Home: -Infinity,
      End: Infinity,
    };
    if (key === " ") this.player.toggle();
    else if (key in moves) this.player.seek(this.player.step + moves[key]!);
    else return false;
    return true;
  }

  /** Makes room for the whole text, so that nothing below it moves while it is played. */
  fit(): void {
    const width = this.box.clientWidth;
    if (!width || width === this.fitted) return;
    this.fitted = width;
    const { style } = this.box;
    style.removeProperty("min-block-size");
    this.token.style.removeProperty("min-block-size");
    showStream(this.box, this.stageOf(this.recorded.at(this.last)), {});
    const height = this.box.offsetHeight;
    this.update();
    style.setProperty("min-block-size", `${height}px`);
  }

  /** On paper is the whole run. */
  print(all: boolean): void {
    if (all) this.before = this.player.step;
    this.player.seek(all ? this.last : this.before);
    if (this.part.show.includes("tokens")) this.table.print(all);
  }

  private stageOf(run: Run): Stage {
    return run.stages[Math.min(this.part.stage ?? run.latest, run.stages.length - 1)]!;
  }

  private get stage(): Stage {
    return this.stageOf(this.recorded.at(this.player.step));
  }

  private chosenToken(): Token | null {
    const { tokens } = this.stage;
    return tokens.find((token) => token.step.index === this.chosen) ?? tokens[tokens.length - 1] ?? null;
  }

  private choose(token: number): void {
    this.chosen = token;
    this.showChosen();
  }

  private update(): void {
    const run = this.recorded.at(this.player.step);
    const stage = this.stageOf(run);
    const shown = this.part.stage === null ? run.tokens : stage.tokens.length;
    const from = this.part.start ? `, from token ${count(this.part.start)} on` : "";
    this.player.show(`${count(shown)} of ${plural(this.total, "token")}${from}`);
    const several = this.recorded.whole.stages.filter((one) => one.name || one.tokens.length).length > 1;
    this.stageName.hidden = !several;
    this.stageName.textContent = several ? stageTitle(stage) : "";
    showStream(this.box, stage, {});
    fill(this.ending, ending(this.recorded, stage, this.player.step >= this.recorded.lastStep));
    if (this.part.show.includes("fields"))
      showFields(this.fields, stage, this.recorded.data, run.stages.indexOf(stage), stage.finished !== null);
    this.showChosen();
    reachScrolled(this.element);
  }

  private showChosen(): void {
    const stage = this.stage;
    const token = this.chosenToken();
    const index = token?.step.index ?? null;
    markToken(this.box, index);
    if (this.part.show.includes("tokens")) this.table.show(stage, index);
    const place = this.recorded.at(this.player.step).stages.indexOf(stage);
    fill(
      this.token,
      token
        ? [
            h(
              `h${this.level}`,
              { class: "head" },
              `Token ${token.step.index} `,
              h("span", { class: "box mono" }, stepText(token.step)),
            ),
            h("p", { class: "muted" }, choiceWords(token.step, this.constrained)),
            this.part.show.includes("alternatives")
              ? alternatives(token.step, this.recorded.data.stages[place], MAX_ALTERNATIVES)
              : null,
          ]
        : [
            h(`h${this.level}`, { class: "head" }, "No token yet"),
            h("p", { class: "muted" }, "Play the run or step through it: the alternatives appear here."),
          ],
    );
    // it only grows, so that what is below does not jump with each token
    const grown = Math.max(this.token.offsetHeight, parseFloat(this.token.style.minBlockSize) || 0);
    if (grown && this.fitted) this.token.style.setProperty("min-block-size", `${grown}px`);
  }
}
