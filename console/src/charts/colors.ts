// SPDX-License-Identifier: MIT
// The theme's colours for canvases, which have no CSS variables.

const NAMES = ["bg", "line", "third", "second", "text", "error", "accent"] as const;
export type Colors = Record<(typeof NAMES)[number], string> & { series: string[] };
export const SERIES_COUNT = 8;

/** The colours that apply to an element now. */
export function readColors(element: HTMLElement): Colors {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const named = Object.fromEntries(NAMES.map((name) => [name, read(name)])) as Record<
    (typeof NAMES)[number],
    string
  >;
  const series = Array.from({ length: SERIES_COUNT }, (_, index) => read(`series-${index + 1}`));
  probe.remove();
  return { ...named, series };
}

/** A metric keeps its colour whatever else is shown: FNV-1a of its name. */
export function colorIndex(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % SERIES_COUNT;
}
