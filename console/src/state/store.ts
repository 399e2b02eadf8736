// SPDX-License-Identifier: MIT
// A value outside of React that components can subscribe to.

import { useSyncExternalStore } from "react";

export class Store<T> {
  private readonly listeners = new Set<() => void>();
  private value: T;
  constructor(initial: T) {
    this.value = initial;
  }

  readonly get = (): T => this.value;

  readonly set = (value: T): void => {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of this.listeners) listener();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get);
}
