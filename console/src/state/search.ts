// SPDX-License-Identifier: MIT
// Queries of addresses as plain names and texts, which users can read and write.

export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

/** true is 1; undefined, false and empty values are omitted. */
export function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).flatMap(([key, value]): [string, string][] => {
    if (value === true) return [[key, "1"]];
    if (typeof value === "number") return [[key, String(value)]];
    return typeof value === "string" && value !== "" ? [[key, value]] : [];
  });
  const text = new URLSearchParams(given).toString();
  return text && `?${text}`;
}
