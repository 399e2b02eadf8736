// SPDX-License-Identifier: MIT
// Projects, ids and names of artifacts as one segment of an address each.

/**
 * A name as a path segment: "/" is ~2F, "~" is ~7E, and a name of dots only (which browsers resolve as a folder) has its
 * first dot as ~2E; an empty name is "~". All else is left to percent-encoding.
 */
export function toSegment(name: string): string {
  if (name === "") return "~";
  const plain = name.replaceAll("~", "~7E").replaceAll("/", "~2F");
  return /^\.+$/.test(plain) ? `~2E${plain.slice(1)}` : plain;
}

/** The name of a segment; anything that toSegment never writes is returned unchanged. */
export function fromSegment(segment: string): string {
  if (segment === "~") return "";
  return segment.replace(/~(2F|7E|2E)/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
