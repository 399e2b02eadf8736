// SPDX-License-Identifier: MIT
// A name in one line. The middle of a long name is cut out: the end of a metric's name is more specific.

import type { ReactNode } from "react";
import { NAME_MAX, visibleText } from "./visible_text";

const END_MAX = 20;

/** The start of the end that is always shown: at a "/", "." or "_" if there is one, and at most half of the name. */
export function endOf(name: string, endMax = END_MAX): number {
  const characters = Array.from(name);
  if (characters.length <= endMax) return name.length; // one piece: it finds room
  const least = Math.max(Math.ceil(characters.length / 2), characters.length - endMax);
  const parts = characters.findIndex((each, i) => i >= least && "/._".includes(each));
  const begin = parts > 0 && parts < characters.length - 1 ? parts : least;
  return characters.slice(0, begin).join("").length;
}

interface NameProps {
  value: string;
  /** The text of the title; default: the name. */
  full?: string;
  endMax?: number;
}

export function Name({ value, full = value, endMax }: NameProps): ReactNode {
  const shown = visibleText(value, NAME_MAX);
  const end = endOf(shown, endMax);
  return (
    <span className="tk-name" dir="auto" title={visibleText(full, NAME_MAX)}>
      <span>{shown.slice(0, end)}</span>
      {end < shown.length && <span>{shown.slice(end)}</span>}
    </span>
  );
}
