// SPDX-License-Identifier: MIT
// The bar above every page: the place of the page, whether it is live, theme, log out.

import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";
import { logout } from "../api/calls";
import { useNow } from "../state/clock";
import { live, startPolling } from "../state/live";
import { useStore } from "../state/store";
import { chooseTheme, theme, THEMES } from "../state/theme";
import { texts } from "../texts";
import { visibleText } from "./visible_text";

export interface Crumb {
  label: string;
  link: ReactNode;
}

interface ShellProps {
  title: string;
  crumbs?: ReactNode[];
  children: ReactNode;
}

export function Shell({ title, crumbs = [], children }: ShellProps): ReactNode {
  const client = useQueryClient();
  useEffect(() => startPolling(client), [client]);
  useEffect(() => {
    document.title = `${visibleText(title, 80)} · ${texts.product}`;
  }, [title]);
  return (
    <div className="tk-shell">
      <header className="tk-bar">
        <nav aria-label="Breadcrumb" className="tk-crumbs">
          <Link to="/" className="tk-brand">
            <Mark />
            {texts.product}
          </Link>
          {crumbs.map((crumb, index) => (
            <span key={index} className="tk-crumb">
              {crumb}
            </span>
          ))}
        </nav>
        <LiveSign />
        <ThemeChoice />
        <LogOut />
      </header>
      {children}
    </div>
  );
}

function Mark(): ReactNode {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" className="tk-mark">
      <rect width="16" height="16" rx="3" />
      <path d="M2.5 4.5C5 4.5 5 11.5 8 11.5S11 8 13.5 8" />
    </svg>
  );
}

function LiveSign(): ReactNode {
  const { state, updatedMs } = useStore(live);
  const now = useNow();
  if (state === "off") return null;
  if (state === "ok") {
    return (
      <span className="tk-live tk-tone-ok" data-live="ok">
        <span aria-hidden="true">●</span> {texts.live.ok}
      </span>
    );
  }
  const seconds = Math.max(0, Math.round((now - updatedMs) / 1000));
  return (
    <span className="tk-live tk-tone-warn" role="status" data-live="stale">
      {state === "no_access" ? (
        <>
          {texts.accessEnded} <Link to="/login">{texts.logIn}</Link>
        </>
      ) : updatedMs === 0 ? (
        texts.live.never
      ) : (
        texts.live.stale(seconds)
      )}
    </span>
  );
}

function ThemeChoice(): ReactNode {
  const chosen = useStore(theme);
  return (
    <select
      className="tk-theme"
      aria-label={texts.theme.label}
      value={chosen}
      onChange={(event) => {
        const next = THEMES.find((known) => known === event.target.value);
        if (next) chooseTheme(next);
      }}
    >
      {THEMES.map((name) => (
        <option key={name} value={name}>
          {texts.theme[name]}
        </option>
      ))}
    </select>
  );
}

function LogOut(): ReactNode {
  const navigate = useNavigate();
  const client = useQueryClient();
  const leave = async (): Promise<void> => {
    await logout().catch(() => undefined); // the page shows nothing any more, whether the server heard it or not
    client.clear();
    await navigate({ to: "/login", search: {} });
  };
  return (
    <button type="button" className="tk-quiet" onClick={() => void leave()}>
      {texts.logOut}
    </button>
  );
}
