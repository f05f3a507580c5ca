/** Select text of a released note by mouse or keys, and mark it as a leak. */

/* global htmx */
import { Answers } from "../../editor/deciding/answers.js";
import { Cursor } from "../../editor/cursor.js";
import { byId } from "../../editor/dom.js";
import { Keys } from "../../editor/keys.js";
import { TextLayout } from "../../editor/selection.js";
import { KeySheet } from "../../editor/sheet.js";
import { TextIndex } from "../../text/offsets.js";
import { sentenceAfter, sentenceBefore, stopsOf } from "../../text/steps.js";
import { tokenize } from "../../text/tokens.js";
import { words } from "./words.js";

// Where the parts of an answer are shown.
const PLACES = { text: "note", marks: "marks", finish: "finish-text" };
const note = byId("note");
const index = new TextIndex(JSON.parse(byId("audit-text").textContent));
const cursor = new Cursor(stopsOf(index, tokenize(index.text)));
const layout = new TextLayout(note, index);
const labels = /** @type {HTMLButtonElement[]} */ ([...document.querySelectorAll("#labels button")]);
let last = null; // the bounds of the last mark, for undo
let isRefused = false;

/** Show what is selected, and let the labels act on it. */
function show() {
  const range = cursor.range;
  if (range) layout.show(range.start, range.end);
  else layout.clear();
  byId("chosen").textContent = range ? index.slice(range.start, range.end) : words.nothing;
  for (const label of labels) label.disabled = !range;
}

function move(step, extend) {
  const found = cursor.move(step, extend);
  show();
  if (cursor.range) {
    const { top, bottom } = layout.box(cursor.head.start, cursor.head.end).first;
    if (top < 0 || bottom > window.innerHeight) window.scrollBy({ top: top - window.innerHeight / 2 });
  }
  return found || undefined;
}

function moveBySentence(forward) {
  const at = index.toUtf16(cursor.head?.start ?? 0);
  const unit = forward ? sentenceAfter(index.text, at) : sentenceBefore(index.text, at);
  cursor.moveTo(index.toCodePoint(unit), false);
  move(0, false);
}

const answers = new Answers({
  person: Number(note.dataset.person),
  url: note.dataset.mark,
  more: {},
  answered: ({ parts }) => {
    for (const [part, html] of Object.entries(parts)) htmx.swap(byId(PLACES[part]), html, { swapStyle: "innerHTML" });
    show();
  },
  refused: () => {
    isRefused = true;
  },
});
answers.undo = undo;

/** Send a change of a stretch, and say what was done. Without a label, its mark is removed. */
function put({ start, end }, label, said) {
  isRefused = false;
  const change = { change_id: crypto.randomUUID(), note: Number(note.dataset.note), start, end, label };
  answers.put(change, said(index.slice(start, end)), Boolean(label));
}

function mark(label) {
  last = cursor.range;
  put(last, label.value, words.marked);
  cursor.clear();
  show();
  note.focus({ preventScroll: true });
}

/** Remove the last mark. */
function undo() {
  const listed = /** @type {HTMLElement | undefined} */ ([...byId("marks").querySelectorAll("[data-start]")].at(-1));
  const bounds = last ?? (listed && boundsOf(listed));
  last = null;
  if (bounds) put(bounds, "", words.unmarked);
}

const boundsOf = ({ dataset }) => ({ start: Number(dataset.start), end: Number(dataset.end) });

for (const label of labels) label.addEventListener("click", () => mark(label));
byId("marks").addEventListener("click", ({ target }) => {
  const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest("[data-start]"));
  if (!button) return;
  last = null;
  put(boundsOf(button), "", words.unmarked);
});

// A mark that waits is sent before its note is finished.
const finish = /** @type {HTMLFormElement} */ (document.querySelector("#finish"));
finish.addEventListener("submit", async (event) => {
  if (!answers.waiting.length) return;
  event.preventDefault();
  event.stopPropagation();
  if ((await answers.drained()) && !isRefused) finish.submit();
});

note.addEventListener("pointerup", (event) => {
  // The browser sets its selection after this event.
  setTimeout(() => {
    const selected = layout.selected();
    if (selected && selected.start < selected.end) cursor.select(selected.start, selected.end, { exact: event.altKey });
    else cursor.clear(selected?.start ?? null);
    show();
  });
});

const { groups, keys: what } = words;
const press = (selector) => /** @type {HTMLElement | undefined} */ ([...document.querySelectorAll(selector)].at(-1))?.click();
const keys = new Keys([
  { keys: ["ArrowLeft", "ArrowRight"], group: groups.select, what: what.tokens, run: (_event, key) => void move(key === "ArrowLeft" ? -1 : 1, false) },
  {
    keys: ["Shift+ArrowLeft", "Shift+ArrowRight"],
    group: groups.select,
    what: what.extend,
    run: (_event, key) => void move(key.endsWith("Left") ? -1 : 1, true),
  },
  { keys: ["ArrowUp", "ArrowDown"], group: groups.select, what: what.sentences, run: (_event, key) => moveBySentence(key === "ArrowDown") },
  {
    keys: ["Escape"],
    group: groups.select,
    what: what.clear,
    run: () => {
      cursor.clear();
      show();
      note.focus({ preventScroll: true });
    },
  },
  {
    keys: labels.map((label) => label.dataset.key).filter(Boolean),
    group: groups.select,
    what: what.label,
    run: (_event, key) => (cursor.range ? labels.find((label) => label.dataset.key === key).click() : false),
  },
  {
    keys: ["Enter"],
    group: groups.note,
    what: what.labels,
    run: () => (cursor.range ? labels[0]?.focus() : press("#finish button")),
  },
  { keys: ["u", "Ctrl+z"], group: groups.note, what: what.undo, run: () => undo() },
  // No label can have this key (RESERVED_HOTKEYS in annotations/text/labels.py).
  { keys: ["p"], group: groups.note, what: what.reopen, run: () => press("#reopen button") },
  { keys: ["?"], group: groups.note, what: what.sheet, run: () => sheet.open() },
]);
const sheet = new KeySheet(byId("keys"), byId("keys-list"), keys);
byId("show-keys").addEventListener("click", () => sheet.open());

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || sheet.isOpen) return;
  // A focused button or link takes its own keys.
  const focused = /** @type {Element} */ (event.target).closest("a, button, input, select, textarea, summary");
  if (focused && (event.key === "Enter" || event.key === " ")) return;
  keys.handle(event);
});

show();
document.documentElement.dataset.audit = "ready";
