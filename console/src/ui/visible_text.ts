// SPDX-License-Identifier: MIT
// Strings from runs as text that cannot mislead: control and bidirectional characters become visible marks, long text
// is cut.

const CUT_CHARACTERS = 200;
/** More than the name of a metric has. */
export const NAME_MAX = 2000;
// C0 and C1 controls except newline and tab; zero-width and bidirectional characters; the byte order mark.

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function visibleText(text: string, charactersMax = CUT_CHARACTERS): string {
  const cut = text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
  return cut.replace(HIDDEN, mark);
}

/** The same, with its middle cut out if it is too long: the end of a metric's name is more specific. */
export function cutInMiddle(text: string, charactersMax: number): string {
  const shown = Array.from(visibleText(text, NAME_MAX));
  if (shown.length <= charactersMax) return shown.join("");
  const kept = charactersMax - 1;
  return `${shown.slice(0, Math.floor(kept / 2)).join("")}…${shown.slice(-Math.ceil(kept / 2)).join("")}`;
}

function mark(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code); // the picture of the control character
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
