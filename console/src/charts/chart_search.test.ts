// SPDX-License-Identifier: MIT
import { expect, test } from "vitest";
import { chartSearch } from "./chart_search";

test("x of an address is a known axis or a metric", () => {
  expect(chartSearch({ x: "relative" })).toEqual({ x: "relative" });
  expect(chartSearch({ x: "metric:val/loss" })).toEqual({ x: "metric:val/loss" });
  expect(chartSearch({ x: "loss" })).toEqual({});
});
