/**
 * What the review page shows as possible misses, as a server on stdin and stdout: {text, gold, covered, others} in JSON on a
 * line, the list of hints in JSON on a line. Started by tests/quality/reviewer.py.
 */

import { createInterface } from "node:readline";

import { TextIndex } from "../../static/js/text/offsets.js";
import { hintsOf } from "../../static/js/review/hints.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { text, ...parts } = JSON.parse(line);
  const hints = hintsOf({ index: new TextIndex(text), dropped: new Set(), ...parts });
  process.stdout.write(`${JSON.stringify(hints)}\n`);
}
