// The runs of a report and the rest of its lists: inside the page, or in files beside it where a server sends them.

import type { RunData } from "./data";
import { count } from "./words";

/** The parts of runs that most runs of one arm have in common. */
type Common = Pick<RunData, "sampling" | "tools" | "allowed" | "name_path" | "args_path" | "settings">;

export interface ReportData {
  shared: Common[];
  /** The folder of the files beside the page. */
  beside: string;
  /** Samples in one of them. */
  portion: number;
}

/** The verdict on a sample, and where its run went wrong. */
export interface Verdict {
  sign: string;
  kind: "right" | "wrong" | "silent";
  verdict: string;
  failures: { words: string; path: string; detail: string }[];
  keyword: string;
  /** The stage and the token where it went wrong, by their places. */
  place: [number, number] | null;
}

/** A run as the engine prepared it; what it has in common with others is in `shared`. */
export interface Listed extends Omit<RunData, keyof Common>, Pick<RunData, "settings">, Verdict {
  shared: number;
  explained: boolean;
}

/** A sample beside the page: the scenario, its trial, the verdict, the turn that is opened, and the links to all turns. */
export type Row = [
  scenario: string,
  trial: number,
  sign: string,
  kind: Verdict["kind"],
  words: string,
  turn: number,
  links: string[],
  failure: [reason: string, path: string, detail: string] | null,
];

interface Portion {
  /** The common parts of the runs of this cell, if they are the same. */
  shared: number | null;
  runs: Record<string, Listed>;
  rows: Row[];
}

export interface Opened {
  source: string;
  listed?: Listed;
  row?: Row;
  shared?: Common;
}

/** The place of a record in a file of compressed ones, as the fragment of its link. */
const PLACE = /^#(\d+)\+(\d+)$/;
/** A sample beside the page: the number of its cell, and its place in the rest of the list. */
const BESIDE = /^(\d+)\.(\d+)$/;

export class Missing extends Error {}

/** Whether a server sends the page: one from the disk may not read other files. */
export function isServed(): boolean {
  return location.protocol !== "file:";
}

export class Beside {
  private readonly portions = new Map<string, Promise<Portion>>();

  constructor(private readonly data: ReportData) {}

  /** So many samples of a cell, from a place in the rest of its list on; they are in one file. */
  async rows(cell: string, start: number, length: number): Promise<Row[]> {
    const { rows } = await this.portion(cell, start);
    return rows.slice(start % this.data.portion, (start % this.data.portion) + length);
  }

  /** The run with that number, and its record. */
  async open(link: HTMLAnchorElement): Promise<Opened> {
    const number = link.dataset.run ?? "";
    const inside = document.getElementById(`gzip-${number}`)?.textContent;
    if (inside) {
      const text = await unzipped(Uint8Array.from(atob(inside), (character) => character.charCodeAt(0)));
      const end = text.indexOf("\n");
      return this.opened(text.slice(end + 1), JSON.parse(text.slice(0, end)) as Listed);
    }
    if (!isServed())
      throw new Missing(
        "This record is not inside the page, and a page that was opened from the disk may not read other files. Run “python -m http.server” in the folder of the result and open the page there, or open the result in Glyphscope.",
      );
    const [, cell, place] = BESIDE.exec(number) ?? [];
    if (cell !== undefined) {
      const portion = await this.portion(`cell-${cell}`, Number(place));
      const row = portion.rows[Number(place) % this.data.portion];
      const shared = portion.shared === null ? undefined : this.data.shared[portion.shared];
      return { source: await recordOf(link), row, shared };
    }
    const list = document.querySelector(`.samples a[data-run="${number}"]`)?.closest("details");
    const [source, portion] = await Promise.all([recordOf(link), list ? this.portion(list.id, 0) : null]);
    return this.opened(source, portion?.runs[number]);
  }

  private opened(source: string, listed?: Listed): Opened {
    return { source, listed, shared: listed && this.data.shared[listed.shared] };
  }

  private portion(cell: string, place: number): Promise<Portion> {
    const name = `./${this.data.beside}/${cell}-${Math.floor(place / this.data.portion) + 1}.json.gz`;
    const known = this.portions.get(name);
    if (known) return known;
    const read = fetched(name)
      .then((response) => response.arrayBuffer())
      .then((data) => unzipped(new Uint8Array(data)))
      .then((text) => JSON.parse(text) as Portion);
    read.catch(() => this.portions.delete(name));
    this.portions.set(name, read);
    return read;
  }
}

async function recordOf(link: HTMLAnchorElement): Promise<string> {
  const [, start, length] = PLACE.exec(link.hash)?.map(Number) ?? [];
  const headers = length ? { Range: `bytes=${start!}-${start! + length - 1}` } : undefined;
  const response = await fetched(link.href, headers);
  if (!length) return response.text();
  return unzipped(await bytesOf(response, response.status === 206 ? 0 : start!, length));
}

async function fetched(address: string, headers?: Record<string, string>): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, { headers });
  } catch {
    throw new Missing("The files beside the page could not be loaded. Check that the server still runs.");
  }
  if (response.ok) return response;
  const name = decodeURIComponent(new URL(address, location.href).pathname.split("/").slice(-2).join("/"));
  throw new Missing(
    `The server has no file “${name}” (${response.status}). Copy the whole folder of the result, with the files beside the report.`,
  );
}

function unzipped(data: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** So many bytes of what a server sends, from `start` on; it is stopped there. */
async function bytesOf(response: Response, start: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const found = new Uint8Array(length);
  const reader = response.body!.getReader();
  for (let at = 0; at < start + length;) {
    const { done, value } = await reader.read();
    if (done)
      throw new Missing(
        `The file of the records ends after ${count(at)} bytes, before this one. Copy it again.`,
      );
    const piece = value.subarray(Math.max(start - at, 0), start + length - at);
    if (piece.length) found.set(piece, Math.max(at - start, 0));
    at += value.length;
  }
  void reader.cancel();
  return found;
}
