import assert from "node:assert/strict";
import { test } from "node:test";

import { lineAround } from "../../../static/js/text/steps.js";

test("a line ends before its break, or with the text", () => {
  assert.deepEqual(lineAround("un\r\ndue", 1), { start: 0, end: 2 });
  assert.deepEqual(lineAround("un\r\ndue", 5), { start: 4, end: 7 });
});
