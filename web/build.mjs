// node build.mjs OUTPUT.js: bundle src/main.ts with its libraries, and their licences, into one classic script; OUTPUT.css beside it.
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const [outfile] = process.argv.slice(2);
const made = await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "explorer",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  write: false,
  outfile,
});
const packageOf = (path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1];
const packages = new Set(Object.keys(made.metafile.inputs).map(packageOf).filter(Boolean));
let notice = "";
for (const name of [...packages].sort()) {
  const about = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
  notice += `${name} ${about.version} (${about.license})\n${await readFile(`node_modules/${name}/LICENSE`, "utf8")}\n`;
}
const text = `/*!\n${notice.replaceAll("*/", "* /")}*/\n${made.outputFiles[0].text}`;
if (/<\/script|<!--/i.test(text)) throw new Error("the bundle would end the script element it is put in");
await writeFile(outfile, text);
const sheets = ["node_modules/uplot/dist/uPlot.min.css", "src/style.css"];
const style = await build({
  stdin: { contents: sheets.map((x) => `@import "./${x}";`).join("\n"), resolveDir: ".", loader: "css" },
  bundle: true,
  minify: true,
  write: false,
});
await writeFile(outfile.replace(/\.js$/, ".css"), style.outputFiles[0].text);
