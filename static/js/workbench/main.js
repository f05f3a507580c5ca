/** The workbench: ties the reading, the note on the page, the keys and the mouse, and the outbox together. */

import { Api } from "./api.js";
import { Cursor } from "./cursor.js";
import { byId } from "./dom.js";
import { Gestures } from "./gestures.js";
import { Keys } from "./keys.js";
import { KeySheet } from "./sheet.js";
import { Reading } from "./model.js";
import { Mouse } from "./mouse.js";
import { Palette } from "./palette.js";
import { Panel } from "./panel.js";
import { Places } from "./selection.js";
import { Saving } from "./saving.js";
import { NoteView } from "./render.js";
import { TextIndex } from "../text/offsets.js";
import { actions } from "./actions.js";
import { tokenize } from "../text/tokens.js";

const data = JSON.parse(byId("reading").textContent);
const index = new TextIndex(data.text);
const labels = new Map(data.labels.map((label) => [label.id, label]));
const note = byId("note");
const view = new NoteView(note, index, labels);
const panel = new Panel(labels);
const reading = new Reading(data);
const api = new Api({ token: document.querySelector("#submit-form [name=csrfmiddlewaretoken]").value, person: data.person });

const work = new Gestures({
  reading,
  view,
  panel,
  labels,
  index,
  cursor: new Cursor(tokenize(data.text)),
  places: new Places(note, index),
});
const saving = new Saving({ api, urls: data.urls, reading, panel, index, redraw: () => work.redraw() });
work.saving = saving;
work.palette = new Palette(byId("palette"), data.labels, (label) => work.applyLabel(label), () => work.focusNote());

const keys = new Keys(actions(work, data.labels));
const sheet = new KeySheet(byId("keys"), byId("keys-list"), keys);
work.sheet = sheet;
const mouse = new Mouse(work, note);

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || sheet.isOpen || isWriting(event.target) || isElsewhere(event)) return;
  mouse.settle();
  keys.handle(event);
});

/** Keys that a field of the page needs for itself. */
function isWriting(target) {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

/** Tab and arrows are for the note only while it has the focus, or nothing has; Enter belongs to a button that has it. */
function isElsewhere({ key, target }) {
  if (key === "Enter") return target instanceof Element && target.matches("a, button, summary");
  return /^(Tab|Arrow)/.test(key) && target !== note && target !== document.body;
}

byId("undo").addEventListener("click", () => work.undo());
byId("redo").addEventListener("click", () => work.redo());
byId("show-keys").addEventListener("click", () => sheet.open());

/** The list of notes: closed where there is no room, else as it was left. */
function foldNotes() {
  const list = byId("notes-list");
  const narrow = window.matchMedia("(max-width: 1100px)").matches;
  list.open = !narrow && sessionStorage.getItem("deidreview.notes") !== "closed";
  list.addEventListener("toggle", () => {
    if (!narrow) sessionStorage.setItem("deidreview.notes", list.open ? "open" : "closed");
  });
  list.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
}

foldNotes();
view.adopt(reading.spans());
work.redraw();
note.focus({ preventScroll: true });
// Tests wait for this.
document.documentElement.dataset.workbench = "ready";
