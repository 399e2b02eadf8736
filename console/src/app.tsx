// SPDX-License-Identifier: MIT
// The addresses of the console and which page each shows.

import { noop, QueryClient } from "@tanstack/react-query";
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { mayPass, ROOT_PATH } from "./api/http";
import { chartSearch } from "./charts/chart_search";
import { LoginPage } from "./pages/login";
import { ProjectsPage } from "./pages/projects";
import { RunsPage } from "./pages/runs/runs_page";
import { runsSearch } from "./pages/runs/runs_search";
import { runQuery, seriesListQuery } from "./state/queries";
import { parseSearch, stringifySearch } from "./state/search";
import { PageNotFound } from "./pages/page_not_found";

const RETRIES_MAX = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Infinity, // live.ts says what has changed
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < RETRIES_MAX && mayPass(error),
    },
  },
});

const root = createRootRoute({ component: Outlet, notFoundComponent: PageNotFound });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  component: LoginPage,
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search["next"] === "string" ? { next: search["next"] } : {},
});

const projects = createRoute({ getParentRoute: () => root, path: "/", component: ProjectsPage });

const runs = createRoute({
  getParentRoute: () => root,
  path: "/p/$project",
  component: RunsPage,
  validateSearch: runsSearch,
});

const artifacts = createRoute({
  getParentRoute: () => root,
  path: "/p/$project/artifacts",
  component: lazyRouteComponent(() => import("./pages/artifact/artifacts_page"), "ArtifactsPage"),
});

const artifact = createRoute({
  getParentRoute: () => root,
  path: "/p/$project/a/$name/$version/$tab",
  component: lazyRouteComponent(() => import("./pages/artifact/artifact_page"), "ArtifactPage"),
});

const artifactStart = createRoute({
  getParentRoute: () => root,
  path: "/p/$project/a/$name/$version",
  beforeLoad: ({ params }) => {
    throw redirect({
      to: "/p/$project/a/$name/$version/$tab",
      params: { ...params, tab: "files" },
      replace: true,
    });
  },
});

const run = createRoute({
  getParentRoute: () => root,
  path: "/p/$project/r/$run/$tab",
  component: lazyRouteComponent(() => import("./pages/run/run_page"), "RunPage"),
  validateSearch: chartSearch,
  // Requested while the code of the page is on its way, not one after the other.
  loader: ({ params: { run, tab } }) => {
    queryClient.query(runQuery(run)).catch(noop); // the page reports the error
    if (tab === "charts") queryClient.query(seriesListQuery(run)).catch(noop);
  },
});

const runStart = createRoute({
  getParentRoute: () => root,
  path: "/p/$project/r/$run",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/p/$project/r/$run/$tab", params: { ...params, tab: "overview" }, replace: true });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([login, projects, runs, artifacts, artifact, artifactStart, run, runStart]),
  basepath: ROOT_PATH,
  parseSearch,
  stringifySearch,
  defaultNotFoundComponent: PageNotFound,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
