// SPDX-License-Identifier: MIT
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ErrorNote, Skeleton } from "./notes";

interface LoadedProps<T> {
  query: UseQueryResult<T>;
  /** What an error says could not be loaded. */
  what: string;
  children: (data: T) => ReactNode;
}

/** What a query found; before that a skeleton; where it failed the error. Old data stays while new is on its way. */
export function Loaded<T>({ query, what, children }: LoadedProps<T>): ReactNode {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) return <ErrorNote what={what} error={query.error} retry={() => void query.refetch()} />;
  return <Skeleton />;
}
