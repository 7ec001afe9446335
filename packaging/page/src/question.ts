// A question of a lesson: answers to choose from, or a character of a text, and then the solution.

import { append, fill, h, unique } from "./dom";
import { visible } from "./words";

export type Form = "next" | "character" | "choice";

export interface Asked {
  question: number;
  form: Form;
  single: boolean;
  /** The numbers of the right answers; of a character, its place. */
  right: number[];
  choices: string[];
  text: string;
}

export interface Grade {
  right: boolean;
  words: string;
}

/** The chosen answers compared with the right ones, as `grade` in lessons/questions.py. */
export function grade(asked: Asked, chosen: number[]): Grade {
  const missed = asked.right.filter((number) => !chosen.includes(number));
  const wrong = chosen.filter((number) => !asked.right.includes(number));
  const right = !missed.length && !wrong.length;
  if (!chosen.length) return { right, words: "Nothing was chosen." };
  if (right) return { right, words: "Right." };
  if (asked.form === "character") {
    const [given, at] = [chosen[0]!, asked.right[0]!];
    return {
      right,
      words:
        given < at
          ? `Not yet at character ${given}: it is decided at character ${at}.`
          : `Earlier: it is decided at character ${at}, not only at ${given}.`,
    };
  }
  const named = (numbers: number[]) =>
    [...numbers]
      .sort((one, other) => one - other)
      .map((number) => `“${asked.choices[number]}”`)
      .join(", ");
  if (asked.single && chosen.length === 1)
    return { right, words: `Not quite: ${named(wrong)} is not right; ${named(missed)} is.` };
  const parts = [];
  if (wrong.length) parts.push(`${named(wrong)} ${wrong.length === 1 ? "is" : "are"} not right`);
  if (missed.length) parts.push(`${named(missed)} ${missed.length === 1 ? "was" : "were"} left out`);
  return { right, words: `Not quite: ${parts.join(", and ")}.` };
}

export class Question {
  revealed = false;
  private readonly inputs: HTMLInputElement[] = [];
  private readonly characters: HTMLElement[] = [];
  private line: HTMLElement | null = null;
  private at = -1;
  private readonly result = h("p", { class: "result", role: "status" });
  private readonly foot: HTMLElement;
  private readonly reasons: Node[];
  private readonly why: HTMLElement;

  /** Builds on the element that the page has without scripts. `answered` is called once, `changed` after the reveal. */
  constructor(
    readonly element: HTMLElement,
    private readonly asked: Asked,
    private readonly answered: (right: boolean) => void,
    private readonly changed: () => void,
  ) {
    const ask = element.querySelector<HTMLElement>(".ask")!;
    ask.id = unique("ask");
    element.setAttribute("role", "group");
    element.setAttribute("aria-labelledby", ask.id);
    this.why = element.querySelector<HTMLElement>(".why")!;
    this.reasons = [...element.querySelectorAll(".reason")];
    element.querySelector(".solution")!.remove();
    if (asked.form === "character") this.makeLine(element.querySelector<HTMLElement>(".text")!, ask.id);
    else this.makeChoices(element.querySelector<HTMLElement>(".choices")!, ask.id);
    this.foot = h(
      "div",
      { class: "foot" },
      h("button", { type: "button", class: "play", click: () => this.reveal() }, "Show the solution"),
      h("span", { class: "muted" }, this.hint()),
    );
    this.why.hidden = true;
    element.append(this.foot, this.result, this.why);
    element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || (event.target as Element).closest("button"))
        return;
      if (this.press(event.key)) event.preventDefault();
    });
  }

  get chosen(): number[] {
    if (this.asked.form === "character") return this.at < 0 ? [] : [this.at];
    return this.inputs.flatMap((input, number) => (input.checked ? [number] : []));
  }

  advance(): boolean {
    if (this.revealed) return false;
    this.reveal();
    return true;
  }

  /** A digit chooses, Enter shows the solution; of a text, arrows choose. False where the key has no function. */
  press(key: string): boolean {
    if (this.revealed) return false;
    if (key === "Enter") {
      this.reveal();
      return true;
    }
    const input = /^[1-9]$/.test(key) ? this.inputs[Number(key) - 1] : undefined;
    if (!input) return false;
    if (input.type === "radio") input.checked = true;
    else input.checked = !input.checked;
    input.focus();
    return true;
  }

  reveal(): void {
    if (this.revealed) return;
    this.revealed = true;
    const { chosen, asked } = this;
    const graded = grade(asked, chosen);
    const focused = this.element.contains(document.activeElement);
    this.inputs.forEach((input, number) => {
      const right = asked.right.includes(number);
      input.disabled = true;
      const row = input.closest("li")!;
      row.classList.add(right ? "right" : "wrong");
      append(row, [
        h(
          "p",
          { class: "given" },
          h("b", null, right ? "✓ correct " : "✕ incorrect "),
          this.reasons[number] ?? null,
        ),
      ]);
    });
    this.characters[asked.right[0]!]?.classList.add("decides");
    this.line?.setAttribute("aria-disabled", "true");
    const sign = !chosen.length ? "" : graded.right ? "✓ " : "✕ ";
    fill(this.result, `${sign}${graded.words}`);
    if (chosen.length) this.result.classList.add(graded.right ? "right" : "wrong");
    this.why.hidden = false;
    this.foot.remove();
    if (chosen.length) this.answered(graded.right);
    this.changed();
    if (focused) {
      this.result.tabIndex = -1;
      this.result.focus({ preventScroll: true });
    }
  }

  private hint(): string {
    if (this.asked.form === "character") return "Click a character, or move to it with the arrow keys.";
    const last = this.inputs.length;
    return this.asked.single
      ? `Choose one answer (keys 1 to ${last}).`
      : `Choose all correct answers (keys 1 to ${last}).`;
  }

  private makeChoices(list: HTMLElement, label: string): void {
    const name = unique("answer");
    list.setAttribute("role", this.asked.single ? "radiogroup" : "group");
    list.setAttribute("aria-labelledby", label);
    [...list.children].forEach((item, number) => {
      const input = h("input", { type: this.asked.single ? "radio" : "checkbox", name });
      this.inputs.push(input);
      item.setAttribute("role", "presentation");
      fill(
        item,
        h(
          "label",
          { class: "choice" },
          input,
          h("span", { class: "number", "aria-hidden": "true" }, String(number + 1)),
          item.firstElementChild,
        ),
      );
    });
  }

  private makeLine(text: HTMLElement, label: string): void {
    const all = Array.from(this.asked.text);
    const line = h("div", {
      class: "text mono",
      tabindex: "0",
      role: "slider",
      "aria-labelledby": label,
      "aria-valuemin": "0",
      "aria-valuemax": String(all.length - 1),
      click: (event: MouseEvent) => {
        const place = this.characters.indexOf((event.target as Element).closest<HTMLElement>(".ch")!);
        if (place >= 0) this.choose(place);
      },
      keydown: (event: KeyboardEvent) => {
        const moves: Record<string, number> = {
          ArrowRight: this.at + 1,
          ArrowLeft: this.at - 1,
          ArrowUp: this.at + 1,
          ArrowDown: this.at - 1,
          Home: 0,
          End: all.length - 1,
        };
        const to = moves[event.key];
        if (to === undefined || this.revealed) return;
        event.preventDefault();
        this.choose(Math.min(Math.max(to, 0), all.length - 1));
      },
    });
    for (const character of all) {
      const shown = h("span", { class: "ch" }, character === "\n" ? "⏎\n" : visible(character));
      this.characters.push(shown);
      line.append(shown);
    }
    this.line = line;
    text.replaceWith(line);
    this.showPlace();
  }

  private choose(place: number): void {
    if (this.revealed) return;
    this.at = place;
    this.showPlace();
  }

  private showPlace(): void {
    this.characters.forEach((each, place) => each.classList.toggle("picked", place === this.at));
    const { at } = this;
    this.line!.setAttribute("aria-valuenow", String(Math.max(at, 0)));
    this.line!.setAttribute(
      "aria-valuetext",
      at < 0
        ? `no character is chosen in ${visible(this.asked.text).slice(0, 300)}`
        : `character ${at}: ${this.characters[at]!.textContent}`,
    );
  }
}
