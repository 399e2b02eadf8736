// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { byteTicks, formatTick, formatX, logTicks, padded, timeTicks } from "./axis";

test("ticks have the digits that their distance needs", () => {
  expect([0, 0.5, 1].map((tick) => formatTick(tick, 0.5))).toEqual(["0", "0.5", "1"]);
  expect([0.25, 0.275].map((tick) => formatTick(tick, 0.025))).toEqual(["0.25", "0.275"]);
  expect([50_000, 200_000].map((tick) => formatTick(tick, 50_000))).toEqual(["50,000", "200,000"]);
  expect([1e6, 1.5e6, 20e6].map((tick) => formatTick(tick, 0.5e6))).toEqual(["1M", "1.5M", "20M"]);
  expect([44.5e9, 44.75e9].map((tick) => formatTick(tick, 0.25e9))).toEqual(["44.5G", "44.75G"]);
  expect([1e-5, -2.5e-6, 1e20].map((tick) => formatTick(tick, 1e-6))).toEqual(["1e−5", "−2.5e−6", "1e+20"]);
});

test("steps beyond 2⁵³ are written exactly", () => {
  expect(formatX(7, "step", 9223372036854775800n, 1)).toBe("9,223,372,036,854,775,807");
  expect(formatX(90, "relative", 0n, 30)).toBe("1 min 30 s");
});

test("ticks of bytes are in one unit", () => {
  expect(byteTicks([0, 2 ** 29, 2 ** 30])).toEqual(["0 GiB", "0.5 GiB", "1 GiB"]);
  expect(byteTicks([0])).toEqual(["0 B"]);
});

test("a log axis has decades, and 2 and 5 where few are seen", () => {
  expect(logTicks({ lo: 0.1, hi: 2 })).toEqual([0.1, 0.2, 0.5, 1, 2]);
  expect(logTicks({ lo: 1e-6, hi: 1 })).toEqual([1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1]);
});

test("a time axis has the date once a day", () => {
  const midnight = new Date(2026, 10, 28).getTime() / 1000;
  expect(timeTicks([midnight - 3600, midnight, midnight + 3600])).toEqual([
    "23:00\n2026-11-27",
    "00:00\n2026-11-28",
    "01:00",
  ]);
  expect(timeTicks([midnight + 0.5, midnight + 1])).toEqual(["00:00:00.5\n2026-11-28", "00:00:01.0"]);
});

test("no line lies on an edge", () => {
  expect(padded({ lo: 0, hi: 100 }, false)).toEqual({ lo: -5, hi: 105 });
  expect(padded({ lo: 2, hi: 2 }, false)).toEqual({ lo: 1.8, hi: 2.2 });
  expect(padded({ lo: 1, hi: 1 }, true)).toEqual({ lo: 0.5, hi: 2 });
});

test("a line that moves by less than 1 % of its value is drawn flat", () => {
  const part = (lo: number, hi: number, ...more: boolean[]): number => {
    const range = padded({ lo, hi }, more[0] ?? false, more[1]);
    return (hi - lo) / (range.hi - range.lo);
  };
  expect(part(64e9, 64.5e9)).toBeLessThan(0.05);
  expect(part(-0.5, -0.4996)).toBeLessThan(0.05);
  expect(part(99.1, 100)).toBeLessThan(0.05);
  expect(part(98.9, 100)).toBeGreaterThan(0.9);
  expect(part(-0.001, 0.001)).toBeGreaterThan(0.9);
  expect(part(64e9, 64.5e9, false, true)).toBeGreaterThan(0.9); // a zoom shows it
  expect(padded({ lo: 1, hi: 1.009 }, true)).toEqual({ lo: 0.5, hi: 2.018 });
});
