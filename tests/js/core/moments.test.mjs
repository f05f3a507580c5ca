import assert from "node:assert/strict";
import { test } from "node:test";
import { percent } from "../../../static/js/core/percent.js";
import { cases } from "../cases.mjs";

const { zone, moments, percents } = cases("formats.json");

/** The module, loaded by a page in this zone. */
async function inZone(timeZone) {
  globalThis.document = { documentElement: { lang: "en", dataset: { timeZone } } };
  return import(`../../../static/js/core/moments.js?${timeZone}`);
}

test("a point in time has the same format as on the server", async () => {
  const { moment } = await inZone(zone);
  for (const [at, text, title] of moments) assert.deepEqual(moment(at), { text, title });
});

test("a zone that the browser doesn't know is replaced by the browser's own", async () => {
  const { moment } = await inZone("Mars/Olympus");
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  assert.ok(moment(moments[0][0]).title.endsWith(`(${own})`));
});

test("a share in percent has the same format as on the server", () => {
  for (const [share, text] of percents) assert.equal(percent(share), text);
});
