// The steps of a stage as a chart: how many tokens were allowed, and which share of the probability they had.

import { fill, h, svg } from "./dom";
import type { Stage, Token } from "./reduce";
import { count, percent, plural } from "./words";

const HIGH = 56;
/** Pixels of a step at most, so that a short answer is not a few wide blocks. */
const WIDEST = 22;

export class StepChart {
  readonly element = h("div", { class: "chart" });
  private readonly mark = svg("rect", { class: "mark", y: 0, width: 1, height: HIGH });
  private readonly marks = [this.mark, this.mark.cloneNode() as SVGElement];
  private stage: Stage | null = null;
  private length = 0;

  constructor(private readonly choose: (token: number) => void) {
    this.element.addEventListener("click", (event) => {
      const plot = (event.target as Element).closest("svg");
      const token = plot && this.at(plot, event.clientX);
      if (token) this.choose(token.step.index);
    });
    this.element.addEventListener("mousemove", (event) => {
      const plot = (event.target as Element).closest("svg");
      const token = plot && this.at(plot, event.clientX);
      if (plot) plot.parentElement!.title = token ? stepWords(token) : "";
    });
  }

  /** Shows the steps; false where the record has neither figure, or nothing was ever masked. */
  show(stage: Stage): boolean {
    const { tokens } = stage;
    if (!tokens.some(({ step }) => step.forced || (step.feasible ?? 1) < 1)) return false;
    if (stage !== this.stage || tokens.length !== this.length) {
      this.stage = stage;
      this.length = tokens.length;
      this.draw(stage);
    }
    return true;
  }

  /** Marks the chosen token. */
  markToken(index: number | null): void {
    const place =
      index === null ? -1 : (this.stage?.tokens.findIndex((token) => token.step.index === index) ?? -1);
    for (const mark of this.marks) {
      mark.setAttribute("x", String(Math.max(place, 0)));
      mark.setAttribute("visibility", place < 0 ? "hidden" : "visible");
    }
  }

  private at(plot: Element, x: number): Token | undefined {
    const { left, width } = plot.getBoundingClientRect();
    return this.stage?.tokens[Math.floor(((x - left) / width) * this.length)];
  }

  private draw({ tokens }: Stage): void {
    const most = Math.max(...tokens.map((token) => token.step.allowed ?? 0), 1);
    const high = (token: Token) => {
      const allowed = token.step.allowed ?? 0;
      return allowed ? (1 + Math.log(allowed)) / (1 + Math.log(most)) : 0;
    };
    const share = (token: Token) => token.step.feasible ?? 0;
    const forced = tokens.filter((token) => token.step.forced).length;
    const least = tokens.reduce((found, token) => Math.min(found, token.step.feasible ?? 1), 1);
    fill(
      this.element,
      this.plot(
        "Allowed tokens (log)",
        `At most ${count(most)} tokens were allowed; ${count(forced)} of ${plural(tokens.length, "step")} were forced.`,
        [count(most), "1"],
        [
          bars(tokens, high, (token) => !token.step.forced, "bars"),
          bars(tokens, high, (token) => !!token.step.forced, "bars forced"),
        ],
        this.marks[0]!,
      ),
      this.plot(
        "Feasible mass",
        `The allowed tokens had at least ${percent(least)} of the probability.`,
        ["100%", "0%"],
        [bars(tokens, share, () => true, "bars")],
        this.marks[1]!,
      ),
    );
  }

  private plot(
    title: string,
    words: string,
    [top, bottom]: [string, string],
    parts: SVGElement[],
    mark: SVGElement,
  ): HTMLElement {
    const drawn = svg(
      "svg",
      {
        viewBox: `0 0 ${this.length} ${HIGH}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${title} by step. ${words} The table of tokens has the figures.`,
      },
      ...parts,
      mark,
    );
    drawn.style.setProperty("max-inline-size", `${this.length * WIDEST}px`);
    return h(
      "div",
      { class: "plot" },
      h("span", { class: "name" }, title),
      h("span", { class: "axis", "aria-hidden": "true" }, h("span", null, top), h("span", null, bottom)),
      h("div", null, drawn as unknown as HTMLElement),
    );
  }
}

function bars(
  tokens: Token[],
  value: (token: Token) => number,
  counts: (token: Token) => boolean,
  name: string,
): SVGElement {
  let path = "";
  tokens.forEach((token, place) => {
    const high = counts(token) ? value(token) * HIGH : 0;
    if (high > 0) path += `M${place} ${HIGH}v${(-high).toFixed(2)}h1v${high.toFixed(2)}z`;
  });
  return svg("path", { class: name, d: path });
}

function stepWords({ step }: Token): string {
  const allowed = step.forced ? "forced" : step.allowed ? `${plural(step.allowed, "token")} allowed` : "";
  const feasible = step.feasible == null ? "" : `${percent(step.feasible)} of the probability`;
  return [`Token ${step.index}`, allowed, feasible].filter(Boolean).join(", ");
}
