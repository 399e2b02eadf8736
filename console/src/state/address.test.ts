// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { fromSegment, toSegment } from "./address";
import { parseSearch, stringifySearch } from "./search";

test("a slash is ~2F, and every name comes back", () => {
  expect(toSegment("a/b")).toBe("a~2Fb");
  for (const name of [
    "mnist",
    "a/b/c",
    "~",
    "~2F",
    "a~b",
    "",
    ".",
    "..",
    "...",
    "über 100 %?#&",
    "x".repeat(300),
  ]) {
    const segment = toSegment(name);
    expect(segment).not.toContain("/");
    expect(segment).not.toMatch(/^\.+$/);
    expect(segment).not.toBe("");
    expect(fromSegment(segment)).toBe(name);
  }
});

test("a query is readable, and what is off is left out", () => {
  const text = stringifySearch({
    q: "state = failed",
    ylog: true,
    xlog: false,
    smooth: 250,
    keys: undefined,
  });
  expect(text).toBe("?q=state+%3D+failed&ylog=1&smooth=250");
  expect(parseSearch(text)).toEqual({ q: "state = failed", ylog: "1", smooth: "250" });
});
