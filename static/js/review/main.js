/** The review page: ties the review, the note on the page, the keys and the mouse, and the outbox together. */

import { Api } from "../workbench/api.js";
import { Cursor } from "../workbench/cursor.js";
import { Keys } from "../workbench/keys.js";
import { KeySheet } from "../workbench/sheet.js";
import { Mouse } from "../workbench/mouse.js";
import { NoteView } from "../workbench/render.js";
import { Palette } from "../workbench/palette.js";
import { Places } from "../workbench/selection.js";
import { TextIndex } from "../text/offsets.js";
import { byId, el } from "../workbench/dom.js";
import { tokenize } from "../text/tokens.js";
import { Review } from "./model.js";
import { ReviewPanel } from "./panel.js";
import { ReviewSaving } from "./saving.js";
import { ReviewWork } from "./work.js";
import { actions } from "./actions.js";

const data = JSON.parse(byId("review-data").textContent);
const index = new TextIndex(data.text);
const labels = new Map(data.labels.map((label) => [label.id, label]));
const note = byId("note");
const review = new Review(data, data.name);
const panel = new ReviewPanel({
  labels,
  person: data.name,
  quote: ({ start, end }) => index.slice(start, end),
  acts: {
    choose: (id) => work.selectSpan(`p${id}`),
    walk: (step) => work.walk(step),
    accept: () => work.accept(),
    reject: () => work.reject(),
    remove: () => work.remove(),
    ends: () => work.takeEnds(),
    drop: () => work.dropText(),
  },
});
const work = new ReviewWork({
  review,
  view: new NoteView(note, index, labels),
  panel,
  labels,
  index,
  cursor: new Cursor(tokenize(data.text)),
  places: new Places(note, index),
});
const api = new Api({ token: document.querySelector("#close-form [name=csrfmiddlewaretoken]").value, person: data.person });
work.saving = new ReviewSaving({ api, urls: data.urls, review, panel, work, index });

// The palette also offers the selection as the ends of the chosen proposal: a button that is no label.
work.palette = new Palette(
  byId("palette"),
  data.labels,
  (label) => (Number.isNaN(label) ? work.takeEnds() : work.applyLabel(label)),
  () => work.focusNote(),
);
work.endsButton = el("button", { type: "button", class: "btn small", id: "palette-ends" }, " ", el("kbd", {}, "e"));

const keys = new Keys(actions(work, data.labels));
work.sheet = new KeySheet(byId("keys"), byId("keys-list"), keys);
const mouse = new Mouse(work, note);

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || work.sheet.isOpen || isWriting(event.target) || isElsewhere(event)) return;
  mouse.settle();
  keys.handle(event);
});

/** Keys that a field of the page needs for itself. */
function isWriting(target) {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

/** Arrows are for the note only while it has the focus, or nothing has; Enter and Space belong to a button that has it. */
function isElsewhere({ key, target }) {
  if (key === "Enter" || key === " ") return target instanceof Element && target.matches("a, button, summary");
  return key.startsWith("Arrow") && target !== note && target !== document.body;
}

byId("undo").addEventListener("click", () => work.undo());
byId("redo").addEventListener("click", () => work.redo());
byId("show-keys").addEventListener("click", () => work.sheet.open());

/** On a phone the lists are closed at first: the note and the chosen proposal need the room. */
if (window.matchMedia("(max-width: 760px)").matches) {
  for (const part of document.querySelectorAll("#side details")) part.open = false;
}

work.redraw();
if (!review.closed) work.walk(1, { open: true });
note.focus({ preventScroll: true });
// Tests wait for this.
document.documentElement.dataset.review = "ready";
