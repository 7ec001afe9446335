// Plain data that the browser keeps for this site. A browser that allows no storage keeps it while the page is open.

const memory = new Map<string, string>();

/** The value under that key; null where there is none, or a damaged one. */
export function kept(key: string): unknown {
  try {
    return JSON.parse(memory.get(key) ?? localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** Keeps the value; false where only this page has it. */
export function keep(key: string, value: unknown): boolean {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(key, text);
    memory.delete(key);
    return true;
  } catch {
    memory.set(key, text);
    return false;
  }
}
