// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { endOf } from "./name";
import { cutInMiddle } from "./visible_text";

const parts = (name: string): [string, string] => [name.slice(0, endOf(name)), name.slice(endOf(name))];

test("a long name keeps its beginning and its end", () => {
  expect(parts("gradients/encoder.layers.11.attention.output.dense.weight/norm")).toEqual([
    "gradients/encoder.layers.11.attention.output",
    ".dense.weight/norm",
  ]);
  expect(parts("x".repeat(100))).toEqual(["x".repeat(80), "x".repeat(20)]);
  expect(parts("train/loss")).toEqual(["train/loss", ""]);
});

test("no character is cut in two", () => {
  const [head, end] = parts("😀".repeat(30));
  expect([head, end]).toEqual(["😀".repeat(15), "😀".repeat(15)]);
  expect(cutInMiddle("😀".repeat(30), 5)).toBe("😀😀…😀😀");
});

test("where nothing can be hovered the middle is left out", () => {
  expect(cutInMiddle("gradients/encoder.layers.11.weight/norm", 21)).toBe("gradients/…eight/norm");
  expect(cutInMiddle("loss", 21)).toBe("loss");
});
