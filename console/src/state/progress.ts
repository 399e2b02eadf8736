// SPDX-License-Identifier: MIT
// The progress of a run and its remaining time, from what it logs: progress/step and progress/total, or the fields of
// job platforms (trained_samples, iteration, epoch) with their totals.

import type { Json } from "../api/check";

const PAIRS: readonly (readonly [done: string, total: string])[] = [
  ["progress/step", "progress/total"],
  ["trained_samples", "total_samples"],
  ["iteration", "total_iterations"],
  ["epoch", "epochs"],
];
const STEPS_MIN = 20;

export interface Progress {
  key: string;
  done: number;
  total: number;
}

/** Values are looked up in the summary, totals also in the config. */
export function progressOf(
  summary: ReadonlyMap<string, Json>,
  config: ReadonlyMap<string, Json>,
): Progress | undefined {
  for (const [key, totalKey] of PAIRS) {
    const done = summary.get(key);
    const total = summary.get(totalKey) ?? config.get(totalKey);
    if (typeof done === "number" && typeof total === "number" && total > 0) return { key, done, total };
  }
  return undefined;
}

/**
 * The seconds left, as a range between the quartiles of the recent time per unit of progress; undefined for the first 20
 * rows. times are seconds, values the progress at these times.
 */
export function secondsLeft(
  times: ArrayLike<number>,
  values: ArrayLike<number>,
  progress: Progress,
): [low: number, high: number] | undefined {
  const rates: number[] = [];
  for (let i = Math.max(1, times.length - 200); i < times.length; i++) {
    const done = (values[i] ?? NaN) - (values[i - 1] ?? NaN);
    const seconds = (times[i] ?? NaN) - (times[i - 1] ?? NaN);
    if (done > 0 && seconds >= 0) rates.push(seconds / done);
  }
  if (rates.length < STEPS_MIN) return undefined;
  rates.sort((a, b) => a - b);
  const left = Math.max(0, progress.total - progress.done);
  const at = (part: number): number => rates[Math.round(part * (rates.length - 1))] ?? 0;
  return [left * at(0.25), left * at(0.75)];
}
