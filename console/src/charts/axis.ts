// SPDX-License-Identifier: MIT
// The places and labels of ticks.

import type { XAxis } from "../api/x_axis";
import { formatDuration, formatTime } from "../ui/format";
import type { Range } from "./trace";

/** Steps of a time axis in seconds: 1 ms to 10 weeks. */
export const DURATION_STEPS_S = [
  1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
  7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 1_209_600, 6_048_000,
];

/** Ticks of a log axis: decades, and 2 and 5 of each where fewer than three decades are seen. */
export function logTicks(range: Range): number[] {
  const low = Math.floor(Math.log10(range.lo));
  const high = Math.ceil(Math.log10(range.hi));
  const decades = high - low;
  const every = Math.max(1, Math.ceil(decades / 8));
  const factors = decades <= 3 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let exponent = low; exponent <= high; exponent += every) {
    for (const factor of factors) {
      const tick = Number(`${factor}e${exponent}`);
      if (tick >= range.lo && tick <= range.hi) ticks.push(tick);
    }
  }
  return ticks.length > 1 ? ticks : [range.lo, range.hi];
}

/** Distances of ticks that are round in KiB, MiB and so on. */
export const BYTE_STEPS = Array.from({ length: 60 }, (_, power) => 2 ** power);

/** A tick of an axis of bytes; all of an axis are in the unit of the largest. */
export function byteTicks(ticks: readonly number[]): string[] {
  const largest = Math.max(...ticks.map(Math.abs));
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(largest || 1) / 10)));
  const unit = ["B", "KiB", "MiB", "GiB", "TiB"][power] ?? "";
  const distance = Math.abs((ticks[1] ?? 0) - (ticks[0] ?? 0)) / 1024 ** power;
  const digits = Math.min(6, decimals(distance));
  return ticks.map((tick) => `${trimmed((tick / 1024 ** power).toFixed(digits))} ${unit}`);
}

const UNITS = [
  ["T", 1e12],
  ["G", 1e9],
  ["M", 1e6],
] as const;

/** A tick with as many decimals as the distance of ticks needs. */
export function formatTick(value: number, increment: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e15 || size < 1e-4) return trimmed(value.toExponential(2));
  for (const [unit, scale] of UNITS) {
    if (size >= scale) return `${trimmed((value / scale).toFixed(decimals(increment / scale)))}${unit}`;
  }
  return value.toLocaleString("en", { maximumFractionDigits: decimals(increment) });
}

const decimals = (increment: number): number =>
  increment > 0
    ? Math.min(12, Math.max(0, Math.ceil(-Math.log10(increment) - 1e-9) + (isOdd(increment) ? 1 : 0)))
    : 4;

/** Increments such as 2.5 need one decimal more than their size says. */
function isOdd(increment: number): boolean {
  const lead = increment / 10 ** Math.floor(Math.log10(increment));
  return Math.abs(lead - Math.round(lead)) > 1e-6;
}

/** Without zeros at the end of a fraction. */
const trimmed = (text: string): string =>
  text
    .replace(/(\.\d*?)0+($|e)/, "$1$2")
    .replace(/\.($|e)/, "$1")
    .replaceAll("-", "−");

/** Ticks of a time axis in seconds since 1970: clocks of local time; the date below the first one of each day. */
export function timeTicks(ticks: readonly number[]): string[] {
  let day = "";
  const distance = Math.abs((ticks[1] ?? 0) - (ticks[0] ?? 0));
  return ticks.map((tick) => {
    const [date = "", clock = ""] = formatTime(Math.round(tick * 1e6)).split(" ");
    const part = distance > 0 && distance < 1 ? (tick % 1).toFixed(decimals(distance)).slice(1) : "";
    const shown = distance >= 60 && clock.endsWith(":00") ? clock.slice(0, 5) : clock + part;
    const isNew = date !== day;
    day = date;
    return isNew ? `${shown}\n${date}` : shown;
  });
}

export function formatX(value: number, axis: XAxis, origin: bigint, increment: number): string {
  if (axis === "relative")
    return value < 0 ? `−${formatDuration(-value)}` : value === 0 ? "0" : formatDuration(value);
  if (origin !== 0n) return (origin + BigInt(Math.round(value))).toLocaleString("en");
  return formatTick(value, increment);
}

/** A line that moves by less than this part of its value is drawn flat. */
const FLAT_PART = 0.01;

/**
 * The range of y with a margin of 5 %, so that no line lies on an edge. A flat line is in the middle, and so is what
 * moves by less than FLAT_PART, until one looks closer (`isZoomed`).
 */
export function padded({ lo, hi }: Range, isLog: boolean, isZoomed = false): Range {
  const size = Math.max(Math.abs(lo), Math.abs(hi));
  const isFlat = hi - lo <= (isZoomed ? 0 : FLAT_PART * size);
  if (isLog) {
    const factor = isFlat ? 2 : (hi / lo) ** 0.05;
    return { lo: lo / factor, hi: hi * factor };
  }
  const margin = isFlat ? size * 0.1 || 1 : (hi - lo) * 0.05;
  return { lo: lo - margin, hi: hi + margin };
}
