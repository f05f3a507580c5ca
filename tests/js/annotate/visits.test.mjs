import assert from "node:assert/strict";
import test from "node:test";

import { Visits, dataUrl } from "../../../static/js/annotate/visits.js";
import { noteAddress } from "../../../static/js/annotate/visiting.js";
import { worst } from "../../../static/js/annotate/saving.js";

const HOST = "https://host/";
const page = (id) => `${HOST}projects/covid/notes/${id}/annotate/`;
const answer = (id) => ({ note: { id, name: `n${id}`, language: "" }, text: "abc", spans: [], version: 0, state: "draft", labels_stamp: "s", urls: {} });

function visits(respond = (id) => ({ kind: "ok", data: answer(id) })) {
  const asked = [];
  const api = {
    get: async (url) => {
      asked.push(url.slice(HOST.length));
      return respond(Number(/notes\/(\d+)/.exec(url)[1]));
    },
  };
  const made = [];
  return { it: new Visits(api, () => "s", (visit) => made.push(visit.id)), asked, made };
}

test("a note is fetched once, whether ahead or now", async () => {
  const { it, asked, made } = visits();
  const [ahead, now] = await Promise.all([it.ahead(page(2)), it.get(page(2))]);
  assert.equal(ahead, now);
  assert.equal(await it.get(page(2)), now);
  assert.deepEqual(asked, ["projects/covid/notes/2/data?ahead=1"]);
  assert.deepEqual(made, [2]);
  assert.equal(now.confirmed, false, "nobody has seen it yet");
  assert.equal((await it.get(page(3))).confirmed, true);
  assert.equal(asked[1], "projects/covid/notes/3/data");
});

test("a refused note and a note with other labels give null", async () => {
  const bad = { 1: { kind: "lost" }, 2: { kind: "signed-out" }, 3: { kind: "ok", data: { ...answer(3), labels_stamp: "other" } }, 4: { kind: "ok", data: {} } };
  const { it, asked } = visits((id) => bad[id]);
  for (const id of [1, 2, 3, 4]) assert.equal(await it.ahead(page(id)), null);
  assert.equal(await it.get(page(1)), null);
  assert.equal(asked.length, 5, "it is asked for again");
});

test("a few notes are kept, and all with unsaved changes", async () => {
  const { it } = visits();
  const first = await it.get(page(1));
  first.annotationSet.create(0, 1, 5);
  for (let id = 2; id < 30; id += 1) await it.get(page(id));
  assert.ok(it.has(page(1)));
  assert.ok(it.has(page(29)));
  assert.ok(!it.has(page(2)));
  assert.ok(it.all().length < 12);
});

test("only annotate pages of the same project are opened without loading", () => {
  const here = page(1);
  assert.equal(noteAddress(page(2), here), page(2));
  assert.equal(noteAddress("/projects/covid/notes/2/annotate/#L4", here), page(2));
  for (const other of ["/projects/covid/notes/2/", "/projects/other/notes/2/annotate/", "/projects/covid/notes/next/?after=1", "https://else/projects/covid/notes/2/annotate/", "/projects/covid/notes/2/annotate/?at=1-2"]) {
    assert.equal(noteAddress(other, here), null, other);
  }
  assert.equal(dataUrl(page(7)), `${HOST}projects/covid/notes/7/data`);
});

test("the page shows the worst state of all notes", () => {
  assert.equal(worst([]), "saved");
  assert.equal(worst(["saved", "saving", "saved"]), "saving");
  assert.equal(worst(["saving", "offline"]), "offline");
  assert.equal(worst(["offline", "other-person", "signed-out"]), "other-person");
});
