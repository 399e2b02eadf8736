// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { progressOf, secondsLeft } from "./progress";

test("progress is found in the fields of job platforms", () => {
  const summary = new Map([
    ["trained_samples", 640],
    ["total_samples", 6400],
    ["iteration", 10],
  ]);
  expect(progressOf(summary, new Map())).toEqual({ key: "trained_samples", done: 640, total: 6400 });
  expect(progressOf(new Map([["epoch", 2]]), new Map([["epochs", 5]]))).toMatchObject({ done: 2, total: 5 });
  expect(progressOf(new Map([["loss", 2]]), new Map())).toBeUndefined();
});

test("the time left is unknown for 20 steps, then a range that a pause does not move", () => {
  const progress = { key: "iteration", done: 100, total: 200 };
  const steps = Array.from({ length: 101 }, (_, index) => index);
  expect(secondsLeft(steps.slice(0, 20), steps.slice(0, 20), progress)).toBeUndefined();
  const times = steps.map((step) => step * 0.5 + (step > 50 ? 3600 : 0));
  expect(secondsLeft(times, steps, progress)).toEqual([50, 50]);
});
