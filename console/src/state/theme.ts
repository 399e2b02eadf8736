// SPDX-License-Identifier: MIT
// The theme: the user's choice, else the system's. Colours are CSS variables (styles/theme.css), also for canvases.

import { Store } from "./store";

export type Theme = "system" | "light" | "dark";
export const THEMES: readonly Theme[] = ["system", "light", "dark"];
const KEY = "tracker.theme";

export const theme = new Store<Theme>(stored());
/** Counts changes of the colours that are shown, so that canvases draw again. */
export const themeVersion = new Store(0);

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return THEMES.find((known) => known === value) ?? "system";
  } catch {
    return "system"; // storage is blocked
  }
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.get();
  themeVersion.set(themeVersion.get() + 1);
}

export function chooseTheme(value: Theme): void {
  theme.set(value);
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // The choice holds until the page is closed.
  }
  applyTheme();
}

export function watchSystemTheme(): void {
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
}
