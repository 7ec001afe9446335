// The page: one run with its scrubber and cards, and above them the runs side by side where there are several.

import { type Child, fill, h, reachScrolled, unique } from "./dom";
import { StepChart } from "./chart";
import { firstDifference } from "./compare";
import type { Recorded } from "./data";
import { ending, legend, verdict } from "./endings";
import { list, showAlternatives, showCosts, showModel, showPrompt, showSettings, showSizes } from "./panels";
import { Player } from "./player";
import type { Run, Stage, Token } from "./reduce";
import { markToken, showStream } from "./stream";
import { showFields, showTimeline, stageTitle, TokenTable } from "./tables";
import { themeChoice } from "./theme";
import { count, milliseconds, plural, time, tokenWords, visible } from "./words";

/** Steps each second at the speed 1×. */
const PACE = 12;
const PACES = [0.25, 1, 4, 16].map((times) => ({ steps: times * PACE, words: `${times}×` }));

interface Card {
  element: HTMLElement;
  body: HTMLElement;
  note: HTMLElement;
}

interface Column {
  element: HTMLElement;
  stream: HTMLElement;
  note: HTMLElement;
  button: HTMLButtonElement;
  /** The stage of its run that is shown in it. */
  stage: number;
}

function card(title: string, ...extra: Child[]): Card {
  const id = unique("card");
  const body = h("div", { class: "body" });
  const note = h("span", { class: "note" });
  const element = h(
    "section",
    { class: "card", "aria-labelledby": id },
    h("div", { class: "title" }, h("h2", { id }, title), note, ...extra),
    body,
  );
  return { element, body, note };
}

export class App {
  private shown = 0;
  private stage: number | null = null;
  private chosen: number | null = null;
  private prompted: unknown = null;
  private readonly collapsed = new Set<number>();
  private readonly columns: Column[] = [];
  private readonly differences: ReturnType<typeof firstDifference>;

  private readonly prompt = card("Prompt");
  private readonly timeline = card("Timeline");
  private readonly stream = card("Stream", legend());
  private readonly fields = card("Fields");
  private readonly steps = card("Steps");
  private readonly tokens = card("Tokens");
  private readonly alternatives = card("Alternatives");
  private readonly costs = card("Turn");
  private readonly sizes = card("Size of the calls");
  private readonly settings = card("Settings");
  private readonly model = card("Model");
  private readonly ending = h("div", { class: "ending" });
  private readonly box = h("div", {
    class: "stream",
    tabindex: "0",
    role: "group",
    "aria-label": "Generated text; left and right arrow choose a token",
    keydown: (event: KeyboardEvent) => this.streamKey(event),
    click: (event: MouseEvent) => this.streamClick(event),
  });
  private readonly table = new TokenTable((token) => this.choose(token));
  private readonly chart = new StepChart((token) => this.choose(token));
  private readonly others = h("div", { class: "others", hidden: true });
  private readonly player = new Player({
    paces: PACES,
    pace: PACE,
    label: "Step of the run",
    landmark: true,
    moved: () => {
      this.stage = this.chosen = null;
      this.update();
    },
  });
  private readonly life = new AbortController();
  private readonly spoken = h("p", { class: "sr", role: "status" });
  private readonly heading = h("h1");
  private readonly about = h("p", { class: "muted" });

  constructor(
    private readonly root: HTMLElement,
    private readonly runs: Recorded[],
    /** The way back, inside of another page, which has the landmarks and the theme. */
    private readonly back: HTMLElement | null = null,
    /** Above the run. */
    private readonly notice: Child = null,
  ) {
    this.player.setRange(0, this.now.lastStep, this.now.lastStep);
    this.differences = firstDifference(runs.map((run) => run.whole));
    this.stream.body.append(this.box, this.ending);
    this.tokens.body.append(this.table.element);
    this.steps.body.append(this.chart.element);
    this.build();
    this.showRun();
    const { signal } = this.life;
    addEventListener("beforeprint", () => this.print(true), { signal });
    addEventListener("afterprint", () => this.print(false), { signal });
    addEventListener("resize", () => reachScrolled(this.root), { signal });
    root.addEventListener("toggle", () => requestAnimationFrame(() => reachScrolled(this.root)), true);
  }

  /** Ends the playback, and removes the listeners of the window. */
  close(): void {
    this.player.stop();
    this.life.abort();
  }

  /** Shows a stage with one of its tokens chosen, both by their places. */
  show(stage: number, token: number): void {
    this.player.seek(this.now.lastStep);
    this.stage = stage;
    this.update();
    const found = this.present()[2].tokens[token];
    if (found) this.choose(found.step.index);
  }

  private get now(): Recorded {
    return this.runs[this.shown]!;
  }

  private build(): void {
    fill(
      this.root,
      h(
        this.back ? "div" : "header",
        { class: "top" },
        h("div", { class: "names" }, this.heading, this.about),
        h(
          "div",
          { class: "tools" },
          h("button", { type: "button", click: () => this.save() }, "Save the record"),
          this.back ?? themeChoice(),
        ),
      ),
      this.player.element,
      h(
        this.back ? "div" : "main",
        { class: "main" },
        this.notice,
        this.runs.length > 1 ? this.sideBySide() : null,
        h(
          "div",
          { class: "columns" },
          h(
            "div",
            { class: "first" },
            this.prompt.element,
            this.timeline.element,
            this.stream.element,
            this.fields.element,
            this.steps.element,
            this.tokens.element,
            this.others,
            h("div", { class: "pair" }, this.settings.element, this.model.element),
          ),
          h("div", { class: "second" }, this.alternatives.element, this.costs.element, this.sizes.element),
        ),
      ),
      this.spoken,
    );
  }

  private sideBySide(): HTMLElement {
    const section = card("Side by side");
    const same = this.differences.words;
    section.note.textContent = same;
    this.runs.forEach((run, place) => {
      const { data } = run;
      const own = data.settings.filter(([name]) => data.differing.includes(name));
      const stream = h("div", {
        class: "stream small",
        tabindex: "0",
        role: "group",
        "aria-label": `Generated text of run ${place + 1}`,
      });
      stream.addEventListener("click", (event) => {
        const token = (event.target as Element).closest<HTMLElement>("[data-token]")?.dataset.token;
        if (this.shown !== place) this.showRun(place);
        this.stage = this.columns[place]!.stage;
        this.update();
        if (token !== undefined) this.choose(Number(token));
      });
      const note = h("p", { class: "muted" });
      const button = h("button", { type: "button", click: () => this.showRun(place) }, `Run ${place + 1}`);
      const element = h(
        "div",
        { class: "column" },
        h("div", { class: "head" }, button, h("span", { class: "gap" }), verdict(run)),
        own.length ? list(own.map(([name, value]) => [name, visible(value)])) : null,
        stream,
        note,
      );
      this.columns.push({ stream, note, button, element, stage: 0 });
      section.body.append(element);
    });
    section.body.classList.add("runs");
    return section.element;
  }

  private showRun(place = this.shown): void {
    const changed = place !== this.shown;
    const { atEnd } = this.player;
    this.shown = place;
    const { data, whole, lastStep } = this.now;
    this.player.setRange(0, lastStep, atEnd ? lastStep : this.player.step);
    if (changed) {
      this.stage = this.chosen = null;
      this.collapsed.clear();
    }
    const model = whole.started?.model ?? {};
    this.heading.textContent = visible(data.name);
    this.about.textContent = [data.model ?? model.name, model.quantisation, data.sampling, time(whole.started?.time ?? "")]
      .filter(Boolean)
      .map((words) => visible(String(words)))
      .join(" · ");
    showSettings(this.settings.body, data);
    showModel(this.model.body, whole, data);
    this.update();
  }

  /** The run at the present step, and which of its stages is shown. */
  private present(): [Run, number, Stage] {
    const run = this.now.at(this.player.step);
    const place = Math.min(this.stage ?? run.latest, run.stages.length - 1);
    return [run, place, run.stages[place]!];
  }

  private update(): void {
    const [run, place, stage] = this.present();
    const over = this.player.atEnd;
    const { data } = this.now;
    this.player.show(`${count(run.tokens)} of ${plural(this.now.whole.tokens, "token")}`);

    if (this.prompted !== (stage.prompt ?? run)) {
      this.prompted = stage.prompt ?? run;
      showPrompt(this.prompt.body, run, stage, data.parts);
    }
    this.timeline.element.hidden = this.now.whole.stages.length < 2;
    if (!this.timeline.element.hidden) {
      showTimeline(this.timeline.body, this.now, run, place, (chosen) => {
        this.stage = chosen;
        this.chosen = null;
        this.update();
        this.timeline.body.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
      });
    }
    this.stream.note.textContent = this.timeline.element.hidden ? "" : stageTitle(stage);
    showStream(this.box, stage, { collapsed: this.collapsed, differs: this.differs(this.shown, place) });
    fill(this.ending, ending(this.now, stage, over && place === run.latest));
    showFields(this.fields.body, stage, data, place, stage.finished !== null);
    this.fields.element.hidden = !this.fields.body.querySelector("table");
    this.steps.element.hidden = !this.chart.show(stage);
    this.tokens.element.hidden = !stage.tokens.length;
    this.tokens.note.textContent = stage.forced
      ? `${count(stage.forced)} of ${count(stage.tokens.length)} forced`
      : `${count(stage.tokens.length)} decoded`;
    this.costs.element.hidden = !stage.segments.length;
    if (stage.segments.length) showCosts(this.costs.body, stage);
    const sizes = data.stages[place]?.sizes;
    this.sizes.element.hidden = !sizes?.length || !stage.calls.length;
    if (sizes?.length) showSizes(this.sizes.body, sizes);
    this.updateColumns();
    this.showChosen();
  }

  /** Marks the chosen token, and shows its alternatives. */
  private showChosen(): void {
    const [, place, stage] = this.present();
    const token = this.chosenToken(stage);
    const index = token?.step.index ?? null;
    markToken(this.box, index);
    this.columns.forEach((column, run) => {
      markToken(column.stream, run === this.shown && column.stage === place ? index : null);
    });
    this.keepInSight();
    this.table.show(stage, index);
    this.chart.markToken(index);
    this.alternatives.note.textContent = token ? `of token ${token.step.index}` : "";
    showAlternatives(this.alternatives.body, token, this.now.data.stages[place]);
    reachScrolled(this.root);
  }

  private updateColumns(): void {
    this.columns.forEach((column, place) => {
      const recorded = this.runs[place]!;
      const run = recorded.at(this.player.step);
      const stages = this.differences.stage;
      const stage = Math.min(stages ?? run.latest, run.stages.length - 1);
      column.stage = stage;
      showStream(column.stream, run.stages[stage]!, { differs: this.differs(place, stage) });
      const forced = run.stages.reduce((sum, one) => sum + one.forced, 0);
      const worked = recorded.data.worked_ms;
      const facts = [plural(run.tokens, "token"), `${count(forced)} forced`];
      if (worked != null) facts.push(milliseconds(worked));
      column.note.textContent = facts.join(", ");
      column.button.setAttribute("aria-pressed", String(place === this.shown));
      column.element.classList.toggle("current", place === this.shown);
    });
  }

  /** On paper are all stages, with all tokens. */
  private print(all: boolean): void {
    this.table.print(all);
    this.others.hidden = !all;
    const [run, shown] = this.present();
    const stages = all ? run.stages.filter((stage, place) => place !== shown && stage.tokens.length) : [];
    fill(
      this.others,
      stages.map((stage) => {
        const part = card(stageTitle(stage));
        const [stream, fields] = [h("div", { class: "stream" }), h("div")];
        showStream(stream, stage, {});
        showFields(fields, stage, this.now.data, run.stages.indexOf(stage), stage.finished !== null);
        const table = new TokenTable(() => undefined);
        part.body.append(
          stream,
          h("div", { class: "ending" }, ending(this.now, stage, false)),
          fields,
          table.element,
        );
        table.show(stage, null);
        table.print(true);
        return part.element;
      }),
    );
  }

  private differs(run: number, stage: number): number | null {
    return this.runs.length > 1 && this.differences.stage === stage
      ? (this.differences.characters[run] ?? null)
      : null;
  }

  private chosenToken(stage: Stage): Token | null {
    const found = stage.tokens.find((token) => token.step.index === this.chosen);
    return (
      found ?? (!this.player.atEnd || stage.aborted ? (stage.tokens[stage.tokens.length - 1] ?? null) : null)
    );
  }

  /** Choose a token of the stage that is shown. */
  private choose(token: number): void {
    this.chosen = token;
    this.showChosen();
    const found = this.chosenToken(this.present()[2]);
    if (found) this.spoken.textContent = tokenWords(found.step);
  }

  private keepInSight(): void {
    const chosen = this.box.querySelector<HTMLElement>(".chosen");
    if (!chosen) return;
    const top = chosen.offsetTop - this.box.offsetTop;
    if (top < this.box.scrollTop || top + chosen.offsetHeight > this.box.scrollTop + this.box.clientHeight)
      this.box.scrollTop = Math.max(top - this.box.clientHeight / 2, 0);
  }

  private streamClick(event: MouseEvent): void {
    const token = (event.target as Element).closest<HTMLElement>("[data-token]")?.dataset.token;
    if (token !== undefined) this.choose(Number(token));
  }

  private streamKey(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined || event.target !== this.box) return;
    const stage = this.present()[2];
    if (!stage.tokens.length) return;
    event.preventDefault();
    const at = stage.tokens.findIndex((token) => token.step.index === this.chosenToken(stage)?.step.index);
    this.choose(stage.tokens[Math.min(Math.max(at + by, 0), stage.tokens.length - 1)]!.step.index);
  }

  private save(): void {
    const words = this.now.data.name.toLowerCase().match(/[a-z0-9]+/g) ?? [];
    const name = words.slice(0, 5).join("-").slice(0, 40) || "run";
    const link = h("a", {
      href: URL.createObjectURL(new Blob([this.now.source], { type: "application/jsonl" })),
      download: `${name}.jsonl`,
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
}
