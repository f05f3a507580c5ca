// The import form: drop or choose files and folders, see the chosen files, upload them with a progress bar. Without
// this script, the same form uploads what the browser's own file field holds.

import "../core/managing.js";
import { words } from "./words.js";
import { MOST_ENTRIES, zip } from "./zip.js";

const form = document.getElementById("upload");
const zone = document.getElementById("dropzone");
const field = form.elements.files;
const chosenBox = document.getElementById("chosen");
const errorBox = document.getElementById("upload-errors");
const sending = document.getElementById("sending");
const bar = document.getElementById("sending-bar");
const barText = document.getElementById("sending-text");
const button = form.querySelector("button[type=submit]");
const limit = Number(form.dataset.limit);
const filesLimit = Number(form.dataset.filesLimit);
const NAMES_SHOWN = 6;

const chosen = new Map(); // relative path → File
let busy = false;

// Only a script can keep the names inside a chosen folder, so the script creates the field for folders.
const folder = Object.assign(document.createElement("input"), { type: "file", webkitdirectory: true });
const element = (name, text, attributes = {}) => Object.assign(document.createElement(name), { textContent: text }, attributes);
const files = () => [...chosen].map(([path, file]) => ({ path, file }));
const total = () => files().reduce((sum, { file }) => sum + file.size, 0);
const isZip = (path) => path.toLowerCase().endsWith(".zip");

// The problem with the chosen files as a sentence; empty if they can be uploaded.
const problem = () => {
  if (chosen.size === 0) return "optional" in form.dataset ? "" : words.none;
  if (total() > limit) return words.tooLarge(total(), form.dataset.limitText);
  if (chosen.size > 1 && [...chosen.keys()].some(isZip)) return words.zipAlone;
  if (chosen.size > MOST_ENTRIES) return words.tooMany;
  return "";
};

const sayErrors = (messages) => {
  errorBox.replaceChildren();
  if (!messages.length) return;
  const list = element("ul", "", { className: "errorlist nonfield" });
  list.append(...messages.map((message) => element("li", message)));
  errorBox.append(list);
};

const show = () => {
  chosenBox.replaceChildren();
  if (chosen.size) {
    const line = element("p", "");
    line.append(element("strong", words.chosen(chosen.size, total())), " ");
    const clear = element("button", words.clear, { type: "button", className: "link" });
    clear.addEventListener("click", () => {
      chosen.clear();
      show();
      document.getElementById("choose-files").focus();
    });
    line.append(clear);
    const names = [...chosen.keys()];
    const list = element("ul", "", { className: "name-list" });
    list.append(...names.slice(0, NAMES_SHOWN).map((name) => element("li", name)));
    if (names.length > NAMES_SHOWN) list.append(element("li", words.more(names.length - NAMES_SHOWN), { className: "mute" }));
    chosenBox.append(line, list);
  }
  sayErrors(chosen.size ? [problem()].filter(Boolean) : []);
};

const add = (found) => {
  for (const { path, file } of found) if (!path.split("/").some((part) => part.startsWith("."))) chosen.set(path, file);
  show();
};

const fromInput = (input) => {
  add([...input.files].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
  input.value = ""; // otherwise choosing the same file again fires no event
};

// ── Dropping ──────────────────────────────────────────────────────────────────────────────────────────────────────

const readAll = async (directory) => {
  const reader = directory.createReader();
  const found = [];
  for (;;) {
    // A reader returns its entries in batches; an empty batch ends the list.
    const some = await new Promise((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (!some.length) return found;
    found.push(...some);
  }
};

const walk = async (entry) => {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => {
      entry.file(resolve, reject);
    });
    return [{ path: entry.fullPath.replace(/^\//, ""), file }];
  }
  const found = [];
  for (const child of await readAll(entry)) found.push(...(await walk(child)));
  return found;
};

const dropped = async (transfer) => {
  // Read the entries before the first await: the browser empties the list after the event.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ path: file.name, file }));
  const found = [];
  for (const entry of entries) found.push(...(await walk(entry)));
  return found;
};

zone.addEventListener("dragover", (event) => {
  event.preventDefault();
  zone.classList.add("is-over");
});
zone.addEventListener("dragleave", () => zone.classList.remove("is-over"));
zone.addEventListener("drop", async (event) => {
  event.preventDefault();
  zone.classList.remove("is-over");
  try {
    add(await dropped(event.dataTransfer));
  } catch {
    sayErrors([words.unreadable]);
  }
});

// ── Sending ───────────────────────────────────────────────────────────────────────────────────────────────────────

const say = (text, share) => {
  sending.hidden = false;
  barText.textContent = text;
  if (share === undefined) bar.removeAttribute("value");
  else bar.value = Math.round(100 * share);
};

const body = async () => {
  const data = new FormData(form);
  data.delete("files");
  data.set("do", "files");
  let list = files();
  if (list.length > filesLimit) {
    const blob = await zip(list, (done, all) => say(words.packing(all), done / all));
    list = [{ path: "files.zip", file: blob }];
  }
  data.set("paths", JSON.stringify(list.map(({ path }) => path)));
  for (const { path, file } of list) data.append("files", file, path.split("/").pop());
  return data;
};

const send = (data) =>
  new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => {
      const sent = event.lengthComputable ? event.loaded / event.total : undefined;
      say(sent === 1 ? words.sent : words.sending(event.loaded, event.total), sent === 1 ? undefined : sent);
    });
    request.addEventListener("loadend", () => {
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // The answer is a page instead of JSON; the status is enough.
      }
      resolve({ status: request.status, answer });
    });
    request.send(data);
  });

const messagesOf = ({ status, answer }) => {
  if (answer.messages) return answer.messages;
  if (status === 429 && answer.message) return [answer.message];
  if (status === 0) return [words.lost];
  if (status === 401) return [words.signedOut];
  if (status === 403) return [words.outOfDate];
  if (status === 411 || status === 413) return [words.refusedAsTooLarge(form.dataset.limitText)];
  return [words.failed];
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (busy) return;
  const wrong = problem();
  if (wrong) {
    sayErrors([wrong]);
    return;
  }
  busy = true;
  button.setAttribute("aria-disabled", "true");
  sayErrors([]);
  let result = { status: 0, answer: {} };
  try {
    result = await send(await body());
  } catch {
    // A file can't be read any more; status 0 has the right message.
  }
  if (result.answer.location) {
    location.assign(result.answer.location);
    return;
  }
  busy = false;
  button.removeAttribute("aria-disabled");
  sending.hidden = true;
  sayErrors(messagesOf(result));
  errorBox.scrollIntoView({ block: "center" });
});

// ── Start ─────────────────────────────────────────────────────────────────────────────────────────────────────────

for (const part of form.querySelectorAll(".when-script")) part.hidden = false;
for (const part of form.querySelectorAll(".when-plain")) part.hidden = true;
field.hidden = true;
field.required = false;
field.addEventListener("change", () => fromInput(field));
folder.addEventListener("change", () => fromInput(folder));
document.getElementById("choose-files").addEventListener("click", () => field.click());
document.getElementById("choose-folder").addEventListener("click", () => folder.click());
addEventListener("pageshow", () => {
  busy = false;
  button.removeAttribute("aria-disabled");
  sending.hidden = true;
});
