// SPDX-License-Identifier: MIT
// Colours of a terminal's line (SGR sequences) as spans with class names; other escape sequences are removed.

export interface Span {
  text: string;
  classes: string;
}

const SEQUENCE = /\u001b\[([0-9;:?]*)([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]/g;

interface Style {
  color: number | undefined;
  bold: boolean;
  dim: boolean;
}

export function ansiSpans(line: string): Span[] {
  if (!line.includes("\u001b")) return [{ text: line, classes: "" }];
  const spans: Span[] = [];
  let style: Style = { color: undefined, bold: false, dim: false };
  let end = 0;
  const push = (text: string): void => {
    if (text !== "") spans.push({ text, classes: classesOf(style) });
  };
  for (const match of line.matchAll(SEQUENCE)) {
    push(line.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[2] === "m") style = applied(style, match[1] ?? "");
  }
  push(line.slice(end));
  return spans;
}

function applied(before: Style, parameters: string): Style {
  const style = { ...before };
  const codes = parameters.split(/[;:]/).map(Number);
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) Object.assign(style, { color: undefined, bold: false, dim: false });
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 22) Object.assign(style, { bold: false, dim: false });
    else if (code >= 30 && code <= 37) style.color = code - 30;
    else if (code >= 90 && code <= 97) style.color = code - 90;
    else if (code === 39) style.color = undefined;
    else if (code === 38 || code === 48) {
      // A colour of 256 or of 24 bits: the first 16 have classes, the others keep the text's colour.
      const index = codes[i + 2] ?? 0;
      if (code === 38 && codes[i + 1] === 5) style.color = index < 16 ? index % 8 : undefined;
      i += codes[i + 1] === 5 ? 2 : 4;
    }
  }
  return style;
}

function classesOf(style: Style): string {
  const names: string[] = [];
  if (style.color !== undefined) names.push(`tk-ansi-${style.color}`);
  if (style.bold) names.push("tk-ansi-bold");
  if (style.dim) names.push("tk-ansi-dim");
  return names.join(" ");
}
