// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { ansiSpans } from "./ansi";
import { formatBytes, formatDuration, formatNumber } from "./format";
import { visibleText } from "./visible_text";

test("numbers have four significant digits, integers all", () => {
  const written = [0, 3, 199_999, 0.123456, 12.3456, 4.6263e-7, -0.5, 1.5e9 + 0.5, NaN, Infinity, -Infinity];
  expect(written.map(formatNumber)).toEqual([
    "0",
    "3",
    "199,999",
    "0.1235",
    "12.35",
    "4.626e−7",
    "−0.5",
    "1.500e+9",
    "NaN",
    "∞",
    "−∞",
  ]);
  expect(formatNumber(9223372036854775807n)).toBe("9,223,372,036,854,775,807");
});

test("durations and sizes", () => {
  expect([0.0123, 9.94, 75, 7200, 100_000].map(formatDuration)).toEqual([
    "12 ms",
    "9.9 s",
    "1 min 15 s",
    "2 h",
    "1 d 3 h",
  ]);
  expect([0, 1023, 1536, 300_008].map(formatBytes)).toEqual(["0 B", "1023 B", "1.50 KiB", "293 KiB"]);
});

test("control and bidirectional characters are marks, long text is cut", () => {
  expect(visibleText("a\u202eb\u0000c\u001b[31m")).toBe("a⟨U+202E⟩b␀c␛[31m");
  expect(visibleText("x".repeat(500))).toHaveLength(201);
  expect(visibleText("<script>alert(1)</script>")).toBe("<script>alert(1)</script>");
});

test("colours of a terminal are classes, other sequences are left out", () => {
  expect(ansiSpans("\u001b[1;31mred\u001b[0m plain\u001b[2K\u001b]0;title\u0007")).toEqual([
    { text: "red", classes: "tk-ansi-1 tk-ansi-bold" },
    { text: " plain", classes: "" },
  ]);
  expect(ansiSpans("\u001b[38;5;2mgreen\u001b[38;2;1;2;3mtrue colour")[0]).toEqual({
    text: "green",
    classes: "tk-ansi-2",
  });
});
