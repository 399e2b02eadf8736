// SPDX-License-Identifier: MIT
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient, router } from "./app";
import { logInByCode, sendToLogin } from "./state/access";
import { applyTheme, watchSystemTheme } from "./state/theme";
import "uplot/dist/uPlot.min.css";
import "./styles/theme.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/pages.css";

// Relative to the address that was opened; a browser would resolve it again for each later address.
const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
icon?.setAttribute("href", icon.href);
applyTheme();
watchSystemTheme();
sendToLogin(queryClient, router);
await logInByCode(router);

const place = document.getElementById("root");
if (place) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
