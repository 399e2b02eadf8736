// SPDX-License-Identifier: MIT
// Checks of JSON at the edge: each turns an unknown value into a typed one, or throws a ShapeError that names the place.

export type Check<T> = (value: unknown, path: string) => T;
export type Checked<C> = C extends Check<infer T> ? T : never;

/** An integer of any size: beyond 2⁵³ the server sends decimal text. */
export type Whole = number | bigint;
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export class ShapeError extends Error {
  constructor(path: string, expected: string) {
    super(`The server's answer is not what this console expects: ${path} is no ${expected}.`);
    this.name = "ShapeError";
  }
}

export const text: Check<string> = (value, path) => {
  if (typeof value !== "string") throw new ShapeError(path, "text");
  return value;
};

export const flag: Check<boolean> = (value, path) => {
  if (typeof value !== "boolean") throw new ShapeError(path, "true or false");
  return value;
};

const NON_FINITE: Record<string, number> = { NaN, Infinity, "-Infinity": -Infinity };

/** A number, or NaN, Infinity, -Infinity and large integers, which are text in JSON. */
export const number: Check<Whole> = (value, path) => {
  if (typeof value === "number") return value;
  if (typeof value === "string") {
    const known = NON_FINITE[value];
    if (known !== undefined) return known;
    if (/^-?\d+$/.test(value)) return BigInt(value);
  }
  throw new ShapeError(path, "number");
};

/** The number of a JSON value, which is a text if it is not finite or very large. */
export function numberOf(value: Json | undefined): Whole | undefined {
  try {
    return number(value, "");
  } catch {
    return undefined;
  }
}

/** A number that fits a double; an integer beyond 2⁵³ is rounded. */
export const real: Check<number> = (value, path) => Number(number(value, path));

export const json: Check<Json> = (value) => value as Json;

/** null and a missing key are undefined. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, path) => (value === null || value === undefined ? undefined : check(value, path));
}

export function fallback<T>(check: Check<T>, missing: T): Check<T> {
  return (value, path) => (value === null || value === undefined ? missing : check(value, path));
}

export function list<T>(check: Check<T>): Check<T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw new ShapeError(path, "list");
    return value.map((item, index) => check(item, `${path}[${index}]`));
  };
}

export function map<T>(check: Check<T>): Check<Map<string, T>> {
  return (value, path) =>
    new Map(Object.entries(object(value, path)).map(([key, item]) => [key, check(item, `${path}.${key}`)]));
}

export function shape<S extends Record<string, Check<unknown>>>(
  checks: S,
): Check<{ [K in keyof S]: Checked<S[K]> }> {
  return (value, path) => {
    const source = object(value, path);
    const result: Record<string, unknown> = {};
    for (const [key, check] of Object.entries(checks)) result[key] = check(source[key], `${path}.${key}`);
    return result as { [K in keyof S]: Checked<S[K]> };
  };
}

function object(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ShapeError(path, "object");
  return value as Record<string, unknown>;
}
