// SPDX-License-Identifier: MIT
// Prints what a browser downloads, gzipped, and fails above the budgets of the console: the JavaScript and CSS of the
// first page, and each chunk that is loaded later.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const FIRST_BYTES_MAX = 220 * 1024;
const LAZY_BYTES_MAX = 100 * 1024;
const OUTPUT = join(dirname(fileURLToPath(import.meta.url)), "../../python/tracker/server/console");

const manifest = JSON.parse(readFileSync(join(OUTPUT, ".vite/manifest.json"), "utf8"));
const bytes = (file) => gzipSync(readFileSync(join(OUTPUT, file)), { level: 9 }).length;
const first = new Set();

function addWithImports(name) {
  const chunk = manifest[name];
  if (first.has(chunk.file)) return;
  first.add(chunk.file);
  for (const file of chunk.css ?? []) first.add(file);
  for (const imported of chunk.imports ?? []) addWithImports(imported);
}

addWithImports("index.html");
const lazy = new Set();
for (const chunk of Object.values(manifest)) {
  for (const file of [chunk.file, ...(chunk.css ?? [])])
    if (!first.has(file) && /\.(js|css)$/.test(file)) lazy.add(file);
}

let failed = false;
let total = 0;
const kib = (count) => `${(count / 1024).toFixed(1).padStart(7)} KiB gz`;
for (const file of first) {
  total += bytes(file);
  console.log(`${kib(bytes(file))}  ${file}`);
}
console.log(`${kib(total)}  first page, of at most ${FIRST_BYTES_MAX / 1024}`);
if (total > FIRST_BYTES_MAX) failed = true;
for (const file of lazy) {
  console.log(`${kib(bytes(file))}  ${file}, later`);
  if (bytes(file) > LAZY_BYTES_MAX) failed = true;
}
if (failed) {
  console.error("console: larger than its budget");
  process.exit(1);
}
