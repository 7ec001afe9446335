// Builds the page's script and style: one file each, beside the template that the engine fills.
// With a folder as its argument, it writes there instead: a test compares that with what is committed.
import { build } from "esbuild";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../../assets/glyphscope_assets/page");
const common = { bundle: true, minify: true, charset: "utf8", legalComments: "none", logLevel: "warning" };

await build({
  ...common,
  entryPoints: [join(here, "src/main.ts")],
  outfile: join(out, "page.js"),
  format: "iife",
  target: "es2022",
});
await build({ ...common, entryPoints: [join(here, "src/page.css")], outfile: join(out, "page.css") });
