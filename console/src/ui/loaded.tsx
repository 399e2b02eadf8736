// SPDX-License-Identifier: MIT
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ErrorNote, Skeleton } from "./notes";

interface LoadedProps<T> {
  query: UseQueryResult<T>;
  /** What was being loaded, for the error message. */
  what: string;
  children: (data: T) => ReactNode;
}

/** The result of a query; before that a skeleton; after a failure the error. Old data stays until new data is there. */
export function Loaded<T>({ query, what, children }: LoadedProps<T>): ReactNode {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) return <ErrorNote what={what} error={query.error} retry={() => void query.refetch()} />;
  return <Skeleton />;
}
