/**
 * How often a double click anywhere inside a gold span selects exactly that span: the word alone, against expand.js. By label.
 * And where the key for the next stretch worth a look stops (candidates.js).
 *
 *   node tests/bench/doubleclick.mjs FOLDER [--errors LABEL]     FOLDER: brat files (.txt beside .ann)
 *
 * A span counts by the share of its tokens on which the double click takes it exactly. "steps" counts those too that one more
 * widening or narrowing takes.
 */

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { candidates } from "../../static/js/text/candidates.js";
import { expansions } from "../../static/js/text/expand.js";
import { TextIndex } from "../../static/js/text/offsets.js";
import { tokenize } from "../../static/js/text/tokens.js";

const [folder, option, wanted] = process.argv.slice(2);
const isErrors = option === "--errors";
const byLabel = new Map();
const stops = { notes: 0, all: 0, touching: 0, exact: 0 };

function spansOf(annotations) {
  return annotations
    .split("\n")
    .map((line) => /^T\d+\t(\S+) (\d+) (\d+)\t(.*)/.exec(line))
    .filter(Boolean)
    .map(([, label, start, end]) => ({ label, start: Number(start), end: Number(end) }));
}

const same = (a, b) => a && a.start === b.start && a.end === b.end;

let slowest = 0;
for (const name of readdirSync(folder).filter((file) => file.endsWith(".ann")).sort()) {
  const text = readFileSync(join(folder, name.replace(/ann$/, "txt")), "utf8");
  const index = new TextIndex(text);
  const tokens = tokenize(text);
  const gold = spansOf(readFileSync(join(folder, name), "utf8"));
  stops.notes += 1;
  for (const stop of candidates(index)) {
    stops.all += 1;
    stops.touching += gold.some((span) => span.start < stop.end && stop.start < span.end);
    stops.exact += gold.some((span) => same(span, stop));
  }
  for (const span of gold) {
    const inside = tokens.filter((token) => token.start >= span.start && token.end <= span.end);
    if (!inside.length) continue;
    const counts = byLabel.get(span.label) ?? { spans: 0, word: 0, best: 0, steps: 0 };
    byLabel.set(span.label, counts);
    counts.spans += 1;
    for (const token of inside) {
      const begun = performance.now();
      const found = expansions(index, token.start);
      slowest = Math.max(slowest, performance.now() - begun);
      const { choices, best } = found;
      counts.word += same(token, span) / inside.length;
      const isExact = same(choices[best], span);
      counts.best += isExact / inside.length;
      counts.steps += choices.slice(Math.max(0, best - 1), best + 2).some((choice) => same(choice, span)) / inside.length;
      if (isErrors && !isExact && (!wanted || wanted === span.label)) {
        const got = choices[best];
        console.log(`${span.label}\t${index.slice(span.start, span.end)}\t@${index.slice(token.start, token.end)}\t${got.kind}: ${index.slice(got.start, got.end)}`);
      }
    }
  }
}

if (!isErrors) {
  const all = { spans: 0, word: 0, best: 0, steps: 0 };
  const share = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`.padStart(9);
  const line = (label, { spans, word, best, steps }) =>
    console.log(label.padEnd(36), String(spans).padStart(6), share(word, spans), share(best, spans), share(steps, spans));
  console.log("label".padEnd(36), "spans".padStart(6), "word".padStart(9), "expanded".padStart(9), "±1 step".padStart(9));
  for (const [label, counts] of [...byLabel].sort((a, b) => b[1].spans - a[1].spans)) {
    line(label, counts);
    for (const key of Object.keys(all)) all[key] += counts[key];
  }
  line("all", all);
  console.log(
    `stops: ${(stops.all / stops.notes).toFixed(1)} a note; ${share(stops.touching, stops.all).trim()} touch a gold span, ` +
      `${share(stops.exact, stops.all).trim()} are one; ${share(stops.exact, all.spans).trim()} of all gold spans are stopped at exactly`,
  );
  console.log(`slowest expansion ${slowest.toFixed(2)} ms`);
}
