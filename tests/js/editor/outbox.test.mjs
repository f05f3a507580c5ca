import assert from "node:assert/strict";
import test from "node:test";

import { Api, outcomeOf } from "../../../static/js/editor/api.js";
import { Outbox, backOff } from "../../../static/js/editor/outbox.js";

/** An outbox whose server gives these outcomes in turn ("ok" after that); waiting takes no time. */
function outbox(changes, outcomes = []) {
  const it = { sent: [], states: [], waits: [], accepted: [], refused: [] };
  it.outbox = new Outbox({
    queue: () => changes[0] ?? null,
    post: async (change) => {
      it.sent.push(change);
      return { kind: "ok", data: { to: change }, ...outcomes.shift() };
    },
    accepted: (answer) => it.accepted.push([changes.shift(), answer.to]),
    refused: () => it.refused.push(changes.shift()),
    show: (state) => it.states.push(state),
    sleep: async (ms) => void it.waits.push(ms),
  });
  return it;
}

test("changes go one after another, in order", async () => {
  const it = outbox(["a", "b", "c"]);
  assert.equal(await it.outbox.drained(), true);
  assert.deepEqual(it.sent, ["a", "b", "c"]);
  assert.deepEqual(it.accepted, [["a", "a"], ["b", "b"], ["c", "c"]]);
  assert.equal(it.states.at(-1), "saved");
});

test("poking twice sends once", async () => {
  const it = outbox(["a"]);
  it.outbox.poke();
  it.outbox.poke();
  await it.outbox.drained();
  assert.deepEqual(it.sent, ["a"]);
});

test("a lost change is sent again after longer and longer waits, and no change overtakes it", async () => {
  const it = outbox(["a", "b"], [{ kind: "lost" }, { kind: "lost" }, { kind: "lost" }]);
  it.outbox.poke();
  while (it.accepted.length < 2) await new Promise((done) => setImmediate(done));
  assert.deepEqual(it.sent, ["a", "a", "a", "a", "b"]);
  assert.deepEqual(it.waits, [1000, 2000, 4000]);
  assert.equal(it.states.filter((state) => state === "offline").length, 3);
});

test("when the connection may be back, waits begin short again, even while a request fails", async () => {
  const waits = [];
  const changes = ["a"];
  const it = new Outbox({
    queue: () => changes[0] ?? null,
    post: async () => {
      if (waits.length === 3) it.poke();
      return waits.length < 5 ? { kind: "lost" } : { kind: "ok", data: {} };
    },
    accepted: () => changes.shift(),
    refused: () => {},
    show: () => {},
    sleep: async (ms) => void waits.push(ms),
  });
  it.poke();
  while (changes.length) await new Promise((done) => setImmediate(done));
  assert.deepEqual(waits, [1000, 2000, 4000, 1000, 2000]);
});

test("waits grow to 15 seconds at most", () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6, 50].map(backOff), [1000, 2000, 4000, 8000, 15000, 15000, 15000]);
});

test("the state is never saved while a change waits", async () => {
  const it = outbox(["a"], [{ kind: "lost" }, { kind: "signed-out" }, { kind: "other-person" }]);
  it.outbox.poke();
  while (!it.accepted.length) await new Promise((done) => setImmediate(done));
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(it.states, ["saving", "offline", "signed-out", "other-person", "saved", "saved"]);
});

test("the state is not saved between two changes", async () => {
  const it = outbox(["a", "b"]);
  await it.outbox.drained();
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(it.states, ["saving", "saving", "saving", "saved", "saved"]);
});

test("after an answer, the wait after the next failure is the first one again", async () => {
  const it = outbox(["a", "b"], [{ kind: "lost" }, { kind: "lost" }, {}, { kind: "lost" }]);
  it.outbox.poke();
  while (it.accepted.length < 2) await new Promise((done) => setImmediate(done));
  assert.deepEqual(it.waits, [1000, 2000, 1000]);
});

test("waiting for a connection ends when somebody pokes", async () => {
  const it = outbox(["a"], [{ kind: "lost" }]);
  let asleep;
  const slept = new Promise((done) => (asleep = done));
  const patient = new Outbox({
    queue: () => (it.done ? null : "a"),
    post: async () => (it.sent.push("a"), it.sent.length === 1 ? { kind: "lost" } : { kind: "ok", data: {} }),
    accepted: () => (it.done = true),
    refused: () => {},
    show: () => {},
    sleep: () => (asleep(), new Promise(() => {})),
  });
  patient.poke();
  await slept;
  await new Promise((done) => setImmediate(done));
  patient.poke();
  while (!it.done) await new Promise((done) => setImmediate(done));
  assert.deepEqual(it.sent, ["a", "a"]);
});

test("drained says false as soon as it has to wait", async () => {
  const it = outbox(["a"], [{ kind: "lost" }]);
  assert.equal(await it.outbox.drained(), false);
});

test("a state that only a person can end keeps the changes waiting", async () => {
  const it = outbox(["a", "b"], [{ kind: "no-access" }, { kind: "signed-out" }, { kind: "submitted" }]);
  it.outbox.poke();
  while (it.accepted.length < 2) await new Promise((done) => setImmediate(done));
  assert.deepEqual([it.sent, it.refused], [["a", "a", "a", "a", "b"], []]);
  assert.deepEqual(it.waits, [5000, 5000, 5000]);
});

test("a refused change is dropped, and the next ones are sent", async () => {
  const it = outbox(["a", "b"], [{ kind: "refused" }]);
  assert.equal(await it.outbox.drained(), true);
  assert.deepEqual([it.refused, it.accepted], [["a"], [["b", "b"]]]);
});

const response = (status, body, type = "basic") => ({
  status,
  type,
  ok: status >= 200 && status < 300,
  json: async () => {
    if (body === undefined) throw new SyntaxError("no JSON");
    return body;
  },
});

test("after a 429 a change is sent again in order after the given time, and not earlier", async () => {
  const it = outbox(["a", "b"], [{ kind: "later", wait: 7000 }, { kind: "later", wait: 1000 }]);
  assert.equal(await it.outbox.drained(), false, "handing in has to wait");
  while (it.accepted.length < 2) await new Promise((done) => setImmediate(done));
  assert.deepEqual([it.sent, it.refused, it.waits], [["a", "a", "a", "b"], [], [7000, 1000]]);
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(it.states, ["saving", "later", "later", "saving", "saving", "saved", "saved"]);
  // Another change, or a return to the page, doesn't send it earlier.
  const sent = [];
  const busy = new Outbox({
    queue: () => "a",
    post: async (change) => (sent.push(change), { kind: "later", wait: 7000 }),
    accepted: () => {},
    refused: () => {},
    show: () => {},
    sleep: () => new Promise(() => {}),
  });
  for (let turn = 0; turn < 5; turn += 1) {
    busy.poke();
    await new Promise((done) => setImmediate(done));
  }
  assert.deepEqual([sent, busy.state], [["a"], "later"]);
});

test("the wait is the one of the answer, at most a minute", async () => {
  const wait = async (after) => (await outcomeOf({ ...response(429, {}), headers: new Headers(after === null ? {} : { "Retry-After": after }) })).wait;
  assert.deepEqual(await Promise.all(["7", "3600", null, "Wed, 21 Oct 2026 07:28:00 GMT"].map(wait)), [7000, 60_000, 1000, 1000]);
});

test("a GET waits after a 429, and after some tries counts as lost", async () => {
  const waits = [];
  const answers = [response(429), response(429), response(200, { person: 5 })];
  const api = new Api({ token: "t", person: 5 }, async () => answers.shift() ?? response(429), async (ms) => void waits.push(ms));
  assert.equal((await api.get("/spans")).kind, "ok");
  assert.equal((await api.get("/spans")).kind, "lost");
  assert.equal((await api.post("/changes", {})).kind, "later");
  assert.deepEqual(waits, [1000, 1000, 1000, 1000]);
});

test("the meaning of answers", async () => {
  const kind = async (...args) => (await outcomeOf(response(...args))).kind;
  assert.equal(await kind(200, {}), "ok");
  assert.equal(await kind(200), "lost", "a page where JSON was due");
  assert.equal(await kind(0, undefined, "opaqueredirect"), "lost");
  assert.equal(await kind(429, { error: "requests" }), "later");
  for (const status of [500, 502, 503, 408]) assert.equal(await kind(status, { error: "x" }), "lost");
  assert.equal(await kind(401), "signed-out");
  assert.equal(await kind(403), "token");
  assert.equal(await kind(403, { error: "stale-page" }), "token");
  assert.equal(await kind(403, { error: "forbidden", message: "no" }), "no-access");
  assert.equal(await kind(404, { error: "not-found", message: "no" }), "no-access");
  assert.equal(await kind(404), "refused", "an address that is none");
  assert.equal(await kind(409, { error: "person" }), "other-person");
  assert.equal(await kind(409, { error: "changed" }), "refused");
  const { data } = await outcomeOf(response(400));
  assert.match(data.message, /400/);
});

test("requests carry token and person, and never put a body into the address", async () => {
  const calls = [];
  const api = new Api({ token: "t1", person: 5 }, async (url, options) => {
    calls.push([url, options]);
    return response(200, { person: 5, csrf: "t2" });
  });
  await api.post("/changes", { quote: "Mario" });
  await api.get("/spans?version=1");
  await api.post("/changes", {});
  assert.deepEqual(JSON.parse(calls[0][1].body), { quote: "Mario", person: 5 });
  assert.deepEqual(calls.map(([, { headers }]) => headers["X-CSRFToken"]), ["t1", undefined, "t2"]);
  assert.ok(calls.every(([url, options]) => !url.includes("Mario") && options.redirect === "manual"));
});

test("an out-of-date CSRF token is renewed once; after that the answer counts as lost", async () => {
  const asked = [];
  const api = (good, renewed) =>
    new Api({ token: "t1", person: 5, renewal: () => "/fresh" }, async (url, { headers }) => {
      asked.push([url, headers["X-CSRFToken"]]);
      if (url === "/fresh") return renewed;
      return headers["X-CSRFToken"] === good ? response(200, {}) : response(403, { error: "stale-page" });
    });
  const fresh = response(200, { person: 5, csrf: "t2" });
  assert.equal((await api("t2", fresh).post("/changes", {})).kind, "ok");
  assert.deepEqual(asked, [["/changes", "t1"], ["/fresh", undefined], ["/changes", "t2"]]);
  assert.equal((await api("t3", fresh).post("/changes", {})).kind, "lost");
  assert.equal((await api("t2", response(401)).post("/changes", {})).kind, "signed-out");
  assert.equal((await api("t2", response(200, { person: 6, csrf: "t2" })).post("/changes", {})).kind, "other-person");
  assert.equal((await api("t2", response(403, { error: "stale-page" })).post("/changes", {})).kind, "lost");
});

test("another person's token is not used", async () => {
  const api = new Api({ token: "t1", person: 5 }, async () => response(200, { person: 6, csrf: "t2" }));
  assert.equal((await api.get("/spans")).kind, "other-person");
  assert.equal(api.token, "t1");
});

test("requests have a timeout, are not cached, and follow no redirect", async () => {
  const seen = [];
  const api = new Api({ token: "t", person: 5 }, async (_url, options) => (seen.push(options), response(200, { person: 5 })));
  await api.post("/changes", {});
  await api.get("/spans");
  for (const { signal, cache, redirect } of seen) {
    assert.ok(signal instanceof AbortSignal);
    assert.deepEqual([cache, redirect], ["no-store", "manual"]);
  }
  assert.equal(seen.length, 2);
});

test("a network error is a lost answer", async () => {
  const api = new Api({ token: "t", person: 5 }, async () => {
    throw new TypeError("failed");
  });
  assert.equal((await api.post("/x", {})).kind, "lost");
});
