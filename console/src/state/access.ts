// SPDX-License-Identifier: MIT
// Access: one-use codes of `tracker ui`, and the login when the server requests one.

import type { QueryClient } from "@tanstack/react-query";
import { login } from "../api/calls";
import { ApiError, ROOT_PATH } from "../api/http";
import { Store } from "./store";

/** The part of a router that is needed here; its own type depends on this file. */
interface Navigator {
  history: { replace: (path: string) => void };
  state: { location: { pathname: string; href: string } };
  navigate: (to: { to: "/login"; search: { next?: string }; replace: boolean }) => Promise<void>;
}

/** True if the page was opened with a code that the server did not accept. */
export const codeRefused = new Store(false);

const CODE = /^#code=([\w-]+)$/;

/** Takes a one-use code out of the fragment at once, and exchanges it for the cookie. */
export async function logInByCode(router: Navigator): Promise<void> {
  const code = CODE.exec(location.hash)?.[1];
  if (code === undefined) return;
  router.history.replace(location.pathname + location.search);
  try {
    await login({ code });
  } catch {
    codeRefused.set(true);
    await router.navigate({ to: "/login", search: {}, replace: true });
  }
}

/** A 401 of any query leads to the login page, which leads back. */
export function sendToLogin(client: QueryClient, router: Navigator): void {
  client.getQueryCache().subscribe((event) => {
    if (event.type !== "updated" || event.action.type !== "error") return;
    const error: unknown = event.action.error;
    if (!(error instanceof ApiError) || error.status !== 401) return;
    const { pathname, href } = router.state.location;
    if (pathname.endsWith("/login")) return;
    void router.navigate({ to: "/login", search: { next: href }, replace: true });
  });
}

/** Where to go after a login. `next` is a path below the root path: never another site, nor outside of the root path. */
export function safeNext(next: string | undefined): string {
  if (!next?.startsWith("/")) return ROOT_PATH;
  const url = new URL(`.${next}`, location.origin + ROOT_PATH);
  const isHere = url.origin === location.origin && url.pathname.startsWith(ROOT_PATH);
  return isHere ? url.pathname + url.search : ROOT_PATH;
}
