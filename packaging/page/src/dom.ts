// Elements of plain data. Text only ever becomes a text node or an attribute's value: nothing here parses markup.

export type Child = Node | string | null | undefined | false | Child[];
type Listener = (event: any) => void;
export type Props = Record<
  string,
  string | number | boolean | null | undefined | Listener | Record<string, string>
>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props | null = null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (typeof value === "object")
      for (const [property, setting] of Object.entries(value)) element.style.setProperty(property, setting);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** An element of SVG; only its attributes are set. */
export function svg(
  tag: string,
  attributes: Record<string, string | number>,
  ...children: Node[]
): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

export function append(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
  }
}

/** Replaces everything in `parent`. */
export function fill(parent: Element, ...children: Child[]): void {
  const fragment = document.createDocumentFragment();
  append(fragment, children);
  parent.replaceChildren(fragment);
}

let made = 0;

/** An id that no other element of the page has. */
export function unique(name: string): string {
  return `${name}-${++made}`;
}

/** Boxes that scroll are reached with the keyboard; those that do not are no stop on the way. */
export function reachScrolled(root: ParentNode): void {
  for (const each of root.querySelectorAll<HTMLElement>(".wide, .prose pre, .prose table")) {
    if (each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}

/** On paper is what an open dialog shows: a dialog itself would be on each page, cut off. */
export function printDialogs(): void {
  const paper = h("div", { class: "paper" });
  const shown = () => document.querySelector("dialog[open]");
  let top = 0;
  addEventListener("beforeprint", () => {
    const dialog = shown();
    if (!dialog) return;
    top = dialog.scrollTop;
    paper.append(...dialog.childNodes);
    document.body.append(paper);
  });
  addEventListener("afterprint", () => {
    const dialog = shown();
    if (!paper.parentNode || !dialog) return;
    dialog.append(...paper.childNodes);
    paper.remove();
    dialog.scrollTop = top;
  });
}
