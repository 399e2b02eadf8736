// SPDX-License-Identifier: MIT
// The kinds of x axis of a chart.

/** What x is: steps, times, or the values of a metric of the same run at the same step. */
export type XAxis = "step" | "relative" | "time" | MetricAxis;
export type MetricAxis = `metric:${string}`;

const METRIC_AXIS = "metric:";
export const metricAxis = (key: string): MetricAxis => `${METRIC_AXIS}${key}`;
export const isTimeAxis = (axis: XAxis): boolean => axis === "relative" || axis === "time";
/** The metric that is x; undefined for steps and times. */
export const metricOfAxis = (axis: XAxis): string | undefined =>
  axis.startsWith(METRIC_AXIS) ? axis.slice(METRIC_AXIS.length) : undefined;
