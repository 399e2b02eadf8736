// SPDX-License-Identifier: MIT
// Recomputes what the colours promise: contrasts by WCAG 2.2, and distances of the series in OKLab, also as people without
// red, green or blue cones see them (Machado, Oliveira and Fernandes 2009, severity 1).
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

type Rgb = readonly [number, number, number];
type Theme = Map<string, Rgb>;

const SOURCE = readFileSync(new URL("./theme.css", import.meta.url), "utf8");
const THEMES: Record<string, Theme> = { light: themeOf(1), dark: themeOf(2) };

function themeOf(place: 1 | 2): Theme {
  const found = SOURCE.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/gi);
  return new Map([...found].map((match) => [match[1] ?? "", rgbOf(match[1 + place] ?? "")]));
}

/** Linear light from 0 to 1. */
function rgbOf(hex: string): Rgb {
  const part = (start: number): number => {
    const value = parseInt(hex.slice(start, start + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(1), part(3), part(5)];
}

const times = (matrix: readonly Rgb[], [a, b, c]: Rgb): Rgb => {
  const row = (index: number): number => {
    const [x, y, z] = matrix[index] ?? [0, 0, 0];
    return x * a + y * b + z * c;
  };
  return [row(0), row(1), row(2)];
};

const luminance = ([r, g, b]: Rgb): number => 0.2126 * r + 0.7152 * g + 0.0722 * b;

function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05);
}

function okLab(color: Rgb): Rgb {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    color,
  );
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    [Math.cbrt(cones[0]), Math.cbrt(cones[1]), Math.cbrt(cones[2])],
  );
}

const VISIONS: Record<string, readonly Rgb[]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const clipped = ([r, g, b]: Rgb): Rgb => {
  const clip = (value: number): number => Math.min(1, Math.max(0, value));
  return [clip(r), clip(g), clip(b)];
};

const distance = (a: Rgb, b: Rgb): number => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

const SURFACES = ["bg", "sunk", "raised", "hover", "selected"];
const TEXTS = ["text", "second", "third", "accent", "ok", "warn", "error"];
const SERIES = Array.from({ length: 8 }, (_, index) => `series-${index + 1}`);

function color(theme: Theme, name: string): Rgb {
  const found = theme.get(name);
  if (!found) throw new Error(`theme.css has no --${name}`);
  return found;
}

describe.each(Object.entries(THEMES))("the %s theme", (_, theme) => {
  test.each(TEXTS)("%s is readable on all five surfaces", (name) => {
    for (const surface of SURFACES) {
      expect(contrast(color(theme, name), color(theme, surface)), surface).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("edges of controls are seen, and text on the accent is readable", () => {
    for (const surface of SURFACES) {
      expect(contrast(color(theme, "control"), color(theme, surface)), surface).toBeGreaterThanOrEqual(3.2);
    }
    expect(contrast(color(theme, "on-accent"), color(theme, "accent"))).toBeGreaterThanOrEqual(4.5);
  });

  test.each(SERIES)("%s is seen on the background", (name) => {
    expect(contrast(color(theme, name), color(theme, "bg"))).toBeGreaterThanOrEqual(3.1);
  });

  test.each(Object.entries(VISIONS))("the series can be distinguished, %s", (_vision, matrix) => {
    const seen = SERIES.map((name) => okLab(clipped(times(matrix, color(theme, name)))));
    seen.forEach((one, index) => {
      for (const other of seen.slice(index + 1)) expect(distance(one, other)).toBeGreaterThanOrEqual(0.09);
    });
  });
});
