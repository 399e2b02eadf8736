// SPDX-License-Identifier: MIT
// The settings of the table of runs in an address: q sort cols.

export interface RunsSearch {
  /** The filter (docs/filter.md). */
  q?: string | undefined;
  /** A field, with "-" before it descending. */
  sort?: string | undefined;
  /** The columns of config and metrics that are shown, separated by commas. */
  cols?: string | undefined;
}

export function runsSearch(search: Record<string, unknown>): RunsSearch {
  const text = (key: string): string | undefined => {
    const value = search[key];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const q = text("q");
  const sort = text("sort");
  const cols = typeof search["cols"] === "string" ? search["cols"] : undefined;
  return { ...(q ? { q } : {}), ...(sort ? { sort } : {}), ...(cols !== undefined ? { cols } : {}) };
}

const PLAIN_KEY = /^[A-Za-z0-9_/\-.]+$/;
const STATS = new Set(["last", "first", "min", "max", "mean", "count", "nan"]);

/** A field of a filter: keys of unusual characters, and those that end like a statistic, are in quotes. */
export function fieldOf(kind: "config" | "metrics", key: string): string {
  const isPlain = PLAIN_KEY.test(key) && !STATS.has(key.slice(key.lastIndexOf(".") + 1));
  return `${kind}.${isPlain ? key : `"${key.replace(/[\\"]/g, "\\$&")}"`}`;
}

/** Splits at commas that are not in quotes. */
export function splitFields(fields: string): string[] {
  return fields.match(/(?:"(?:\\.|[^"\\])*"|[^,"])+/g) ?? [];
}

/** The next order by a field: ascending, descending, none. */
export function nextSort(sort: string | undefined, field: string): string | undefined {
  if (sort === field) return `-${field}`;
  return sort === `-${field}` ? undefined : field;
}
