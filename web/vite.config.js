import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

import { defineConfig } from "vite";

// What the page is made of, in one digest: a check without node can tell whether it was built from what is here.
const sources = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.js"];

function digest() {
  const hash = createHash("sha256");
  for (const name of [...sources, ...readdirSync("src").map((file) => `src/${file}`)].sort()) {
    const content = readFileSync(name);
    hash.update(`${name} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

// One script and one style sheet, under names that do not change: what is built from the same source is the same bytes.
export default defineConfig({
  base: "./",
  plugins: [
    {
      name: "digest",
      generateBundle() {
        this.emitFile({ type: "asset", fileName: "source.sha256", source: `${digest()}\n` });
      },
    },
  ],
  build: {
    outDir: process.env.ACCORD_PAGE ?? "../src/accord/studio/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    chunkSizeWarningLimit: 1000,
    rollupOptions: {
      output: {
        entryFileNames: "studio.js",
        chunkFileNames: "[name].js",
        assetFileNames: "studio[extname]",
      },
    },
  },
});
