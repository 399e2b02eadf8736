// SPDX-License-Identifier: MIT
// The queries of pages for TanStack Query. live.ts invalidates by the first parts of these keys.

import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import * as calls from "../api/calls";

export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: ({ signal }) => calls.readProjects(signal),
});

export const serverQuery = queryOptions({
  queryKey: ["server"],
  queryFn: ({ signal }) => calls.readServer(signal),
  staleTime: Infinity,
});

export const runsQuery = (query: calls.RunsQuery) =>
  queryOptions({
    queryKey: ["runs", query.project, query],
    queryFn: ({ signal }) => calls.readRuns(query, signal),
    placeholderData: keepPreviousData,
  });

export const runQuery = (uid: string) =>
  queryOptions({ queryKey: ["run", uid], queryFn: ({ signal }) => calls.readRun(uid, signal) });

export const seriesListQuery = (uid: string, prefix = "") =>
  queryOptions({
    queryKey: ["run", uid, "series", prefix],
    queryFn: ({ signal }) => calls.readSeriesList(uid, prefix, signal),
  });

export const consoleQuery = (uid: string, query: calls.ConsoleQuery) =>
  queryOptions({
    queryKey: ["run", uid, "console", query],
    queryFn: ({ signal }) => calls.readConsole(uid, query, signal),
    placeholderData: keepPreviousData,
  });

export const environmentQuery = (uid: string) =>
  queryOptions({
    queryKey: ["run", uid, "environment"],
    queryFn: ({ signal }) => calls.readEnvironment(uid, signal),
  });

export const mediaQuery = (uid: string) =>
  queryOptions({ queryKey: ["run", uid, "media"], queryFn: ({ signal }) => calls.readMedia(uid, signal) });

export const artifactsQuery = (project: string) =>
  queryOptions({
    queryKey: ["artifacts", project],
    queryFn: ({ signal }) => calls.readArtifacts(project, signal),
  });

export const artifactQuery = (project: string, name: string, version: string) =>
  queryOptions({
    queryKey: ["artifacts", project, name, version],
    queryFn: ({ signal }) => calls.readArtifact(project, name, version, signal),
  });
