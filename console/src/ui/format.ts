// SPDX-License-Identifier: MIT
// Numbers, times and sizes as text.

import type { Json, Whole } from "../api/check";

/** Four significant digits; integers below a million and everything beyond 2⁵³ in full. */
export function formatNumber(value: Whole): string {
  if (typeof value === "bigint") return value.toLocaleString("en");
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return minus(value.toLocaleString("en"));
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return minus(value.toExponential(3));
  return minus(String(Number(value.toPrecision(4))));
}

/** Every digit of a double or integer. */
export const fullNumber = (value: Whole): string => minus(String(value));

const minus = (text: string): string => text.replaceAll("-", "−");

export function formatJson(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return formatNumber(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || size >= 1000 ? String(Math.round(size)) : size.toPrecision(3);
  return `${digits} ${units[unit] ?? ""}`;
}

/** 340 ms, 12.4 s, 14 min 3 s, 2 h 5 min, 3 d 4 h */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const pick = (big: number, bigUnit: string, small: number, smallUnit: string): string => {
    const rest = Math.floor((whole % big) / small);
    return `${Math.floor(whole / big)} ${bigUnit}${rest > 0 ? ` ${rest} ${smallUnit}` : ""}`;
  };
  if (whole < 3600) return pick(60, "min", 1, "s");
  if (whole < 86_400) return pick(3600, "h", 60, "min");
  return pick(86_400, "d", 3600, "h");
}

export function formatAge(us: number, nowMs: number): string {
  const seconds = Math.max(0, nowMs / 1000 - us / 1e6);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${Math.round(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

const two = (value: number): string => String(value).padStart(2, "0");

/** 2026-11-28 11:04:05, local time. */
export function formatTime(us: number): string {
  const date = new Date(us / 1000);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${formatClock(us)}`;
}

/** 11:04:05, local time. */
export function formatClock(us: number): string {
  const date = new Date(us / 1000);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
