// SPDX-License-Identifier: MIT
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Every URL in the output is relative to the file that names it, so the console works below any root path. The server
// (tracker ui, tracker server) answers index.html for each address of a page, with "./" replaced by as many "../" as
// the address is deep; main.tsx finds the root from its own URL.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../python/tracker/server/console",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    manifest: true,
  },
  server: { proxy: { "/api": process.env["TRACKER_HOST"] ?? "http://127.0.0.1:8787" } },
});
