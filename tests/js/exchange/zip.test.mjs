import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { crc32, zip } from "../../../static/js/exchange/zip.js";

const file = (text) => new Blob([text]);
const READ = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    assert archive.testzip() is None
    print(json.dumps([[e.filename, archive.read(e).hex(), e.date_time[0], e.compress_type] for e in archive.infolist()]))
`;

// Python's zipfile is what the server reads uploads with.
const readBack = async (blob) => {
  const path = join(mkdtempSync(join(tmpdir(), "zip-")), "a.zip");
  writeFileSync(path, Buffer.from(await blob.arrayBuffer()));
  const done = spawnSync("python3", ["-c", READ, path], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  return JSON.parse(done.stdout);
};

test("crc32 as in ITU-T V.42", () => {
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
  assert.equal(crc32(new Uint8Array()), 0);
});

test("names and bytes come back", async () => {
  const given = [
    ["a.txt", "uno\r\n"],
    ["reparto/è 姓 🩺.txt", "\ufeffÀ\t🩺"],
    ["vuoto.txt", ""],
  ];
  const steps = [];
  const blob = await zip(given.map(([path, text]) => ({ path, file: file(text) })), (done, all) => steps.push([done, all]));
  const found = await readBack(blob);
  assert.deepEqual(found, given.map(([path, text]) => [path, Buffer.from(text).toString("hex"), 1980, 0]));
  assert.deepEqual(steps, [[1, 3], [2, 3], [3, 3]]);
});

test("thousands of files", async () => {
  const blob = await zip(Array.from({ length: 7000 }, (_, n) => ({ path: `d/${n}.txt`, file: file(String(n)) })));
  const found = await readBack(blob);
  assert.equal(found.length, 7000);
  assert.equal(Buffer.from(found[6999][1], "hex").toString(), "6999");
});
