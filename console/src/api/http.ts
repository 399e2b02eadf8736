// SPDX-License-Identifier: MIT
// Requests to the server that served this page, whatever path it is mounted on, and the errors that they end in.

import { ShapeError } from "./check";

/** The path of the console, which ends with "/": the entry is one folder below it, in assets/ (in src/ while developing). */
export const ROOT_PATH = new URL("../", entryUrl()).pathname;

function entryUrl(): string {
  const entry = document.querySelector<HTMLScriptElement>('script[type="module"][src]');
  return entry?.src ?? document.baseURI;
}

/** The server responded with an error, or the response is not that of a tracker server. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
  }
}

/** No response: the server or the network is down. */
export class OfflineError extends Error {
  override name = "OfflineError";
}

/** The same request may succeed later. */
export const mayPass = (error: unknown): boolean =>
  error instanceof OfflineError || (error instanceof ApiError && error.status >= 500);

export function apiUrl(path: string, query: Record<string, string | number | undefined> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `${ROOT_PATH}api/v1/${path}${search && `?${search}`}`;
}

export async function getJson(url: string, signal?: AbortSignal): Promise<unknown> {
  return asJson(await send(url, { signal: signal ?? null }));
}

export async function postJson(path: string, body: unknown): Promise<unknown> {
  return asJson(await send(apiUrl(path), post(body)));
}

export async function postForBytes(path: string, body: unknown, signal: AbortSignal): Promise<ArrayBuffer> {
  const response = await send(apiUrl(path), { ...post(body), signal });
  return response.arrayBuffer();
}

function post(body: unknown): RequestInit {
  return {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "X-Tracker": "1" },
  };
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, credentials: "same-origin", redirect: "error" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new OfflineError("No answer from the server.");
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function asJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    throw new ShapeError("the whole answer", "JSON");
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const fallback = `The server answered with the status ${response.status}.`;
  const body: unknown = await response.json().catch(() => undefined);
  if (typeof body === "object" && body !== null && "error" in body) {
    const { error } = body;
    if (typeof error === "object" && error !== null) {
      const code = "code" in error && typeof error.code === "string" ? error.code : "unknown";
      const message = "message" in error && typeof error.message === "string" ? error.message : fallback;
      return new ApiError(response.status, code, message);
    }
  }
  return new ApiError(response.status, "unknown", fallback);
}
