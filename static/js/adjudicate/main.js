/** The adjudication page: ties the note, the layers, the keys and the mouse, and the outbox together. */

import { Api } from "../workbench/api.js";
import { Cursor } from "../workbench/cursor.js";
import { Keys } from "../workbench/keys.js";
import { KeySheet } from "../workbench/sheet.js";
import { Mouse } from "../workbench/mouse.js";
import { NoteView } from "../workbench/render.js";
import { Palette } from "../workbench/palette.js";
import { Places } from "../workbench/selection.js";
import { TextIndex } from "../text/offsets.js";
import { byId } from "../workbench/dom.js";
import { tokenize } from "../text/tokens.js";
import { Adjudication } from "./model.js";
import { AdjudicationPanel } from "./panel.js";
import { AdjudicationSaving } from "./saving.js";
import { AdjudicationWork } from "./work.js";
import { Layers } from "./layers.js";
import { Names } from "./names.js";
import { actions, causeActions, labelActions } from "./actions.js";

const data = JSON.parse(byId("adjudicate-data").textContent);
const index = new TextIndex(data.text);
const tokens = tokenize(data.text);
const labels = new Map(data.labels.map((label) => [label.id, label]));
const root = byId("note");
const note = new Adjudication(data, data.name);
const quote = ({ start, end }) => index.slice(start, end);
const names = new Names();
const panel = new AdjudicationPanel({
  labels,
  person: data.name,
  quote,
  layers: new Layers({ labels, tokens, quote }),
  acts: {
    choose: (id) => work.selectSpan(id),
    walk: (step) => work.walk(step),
    majority: () => work.majority(),
    reader: (number) => work.reader(number),
    nothing: () => work.nothing(),
    keep: () => work.keep(),
    drop: (span) => work.drop(span),
    let: () => work.dropText(),
    cause: (kind) => work.cause(kind),
  },
});
const work = new AdjudicationWork({
  note,
  view: new NoteView(root, index, names),
  panel,
  labels,
  index,
  cursor: new Cursor(tokens),
  places: new Places(root, index),
  names,
});
const api = new Api({ token: document.querySelector("#close-form [name=csrfmiddlewaretoken]").value, person: data.person });
work.saving = new AdjudicationSaving({ api, urls: data.urls, note, panel, work, index });
work.palette = new Palette(byId("palette"), data.labels, (label) => work.applyLabel(label), () => work.focusNote());

const ofPage = actions(work);
const ofLabels = labelActions(work, data.labels);
// While words are selected a key is the label's, also where the page has a use for it otherwise.
const withWords = new Keys([...ofLabels, ...ofPage]);
const without = new Keys([...ofPage, ...ofLabels]);
const asked = new Keys(causeActions(work, data.causes));
work.sheet = new KeySheet(byId("keys"), byId("keys-list"), { sheet: () => [...new Keys(ofPage).sheet(), ...new Keys(ofLabels).sheet()] });
const mouse = new Mouse(work, root);

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || work.sheet.isOpen || isWriting(event.target) || isElsewhere(event)) return;
  mouse.settle();
  if (work.why && asked.handle(event)) return;
  (work.range ? withWords : without).handle(event);
});

/** Keys that a field of the page needs for itself. */
function isWriting(target) {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

/** Arrows are for the note only while it has the focus, or nothing has; Enter and Space belong to a button that has it. */
function isElsewhere({ key, target }) {
  if (key === "Enter" || key === " ") return target instanceof Element && target.matches("a, button, summary");
  return key.startsWith("Arrow") && target !== root && target !== document.body;
}

byId("undo").addEventListener("click", () => work.undo());
byId("redo").addEventListener("click", () => work.redo());
byId("unanimous").addEventListener("click", (event) => event.detail < 2 && work.unanimous());
byId("show-keys").addEventListener("click", () => work.sheet.open());

/** On a phone the lists are closed at first: the note and the chosen place need the room. */
if (window.matchMedia("(max-width: 760px)").matches) {
  for (const part of document.querySelectorAll("#side details")) part.open = false;
}

work.redraw();
const asksFor = Number.parseInt(window.location.hash.slice(1), 10);
if (Number.isNaN(asksFor) || !work.selectAt(asksFor)) {
  if (!note.closed) work.walk(1, { open: true });
}
root.focus({ preventScroll: true });
// Tests wait for this.
document.documentElement.dataset.adjudicate = "ready";
