/** The review page: proposals in the text, decided one by one with one key each. Paints at once, sends behind it. */

import { Api } from "../workbench/api.js";
import { Cursor } from "../workbench/cursor.js";
import { Keys, shown } from "../workbench/keys.js";
import { KeySheet } from "../workbench/sheet.js";
import { NoteView } from "../workbench/render.js";
import { Outbox } from "../workbench/outbox.js";
import { Places } from "../workbench/selection.js";
import { TextIndex } from "../text/offsets.js";
import { byId } from "../workbench/dom.js";
import { shorten } from "../workbench/panel.js";
import { words as saveWords } from "../workbench/words.js";
import { tokenize } from "../text/tokens.js";
import { Review, placeOf } from "./model.js";
import { ReviewPanel } from "./panel.js";
import { words } from "./words.js";

const data = JSON.parse(byId("review-data").textContent);
const index = new TextIndex(data.text);
const labels = new Map(data.labels.map((label) => [label.id, label]));
const note = byId("note");
const view = new NoteView(note, index, labels);
const places = new Places(note, index);
const cursor = new Cursor(tokenize(data.text));
const review = new Review(data);
const panel = new ReviewPanel({ labels, quote: ({ start, end }) => shorten(index.slice(start, end)), choose, act });
const token = document.querySelector("#close-form [name=csrfmiddlewaretoken]")?.value ?? "";
const api = new Api({ token, person: data.person });

let selected = null; // id of a proposal
let other = null; // a gold span that no proposal stands for
let troubled = false;

// ── Sending ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const outbox = new Outbox({
  queue: () => review.next,
  post: (change) => api.post(data.urls.decide, { ...change, ...quoteOf(change) }),
  renew: () => api.get(data.urls.state),
  accepted: (answer) => {
    review.accepted(answer);
    redraw();
  },
  refused: (answer) => {
    review.refused(answer);
    redraw();
    panel.tell(answer.message);
  },
  show: showSaving,
});

function quoteOf({ act, start, end }) {
  return act === "correct" || act === "add" ? { quote: index.slice(start, end) } : {};
}

function showSaving(state) {
  panel.save(state, review.waiting);
  const told = { offline: saveWords.toldOffline, "signed-out": saveWords.toldSignedOut, "other-person": saveWords.toldOtherPerson };
  if (told[state] && !troubled) {
    troubled = true;
    panel.tell(told[state]);
  } else if (state === "saved" && troubled) {
    troubled = false;
    panel.tell(saveWords.toldSavedAgain, "ok");
  }
}

/** Queue a change; paint; then send. Returns whether there was one. */
function made(change, said) {
  if (review.closed) {
    panel.tell(words.closed);
    return false;
  }
  if (change === null) return false;
  redraw();
  if (said) panel.say(said);
  showSaving(outbox.state === "saved" ? "saving" : outbox.state);
  setTimeout(() => outbox.poke(), 0);
  return true;
}

// ── Showing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function redraw() {
  view.draw(review.spans(words.states));
  if (selected !== null && !review.get(selected)) selected = null;
  view.select(selectedKey());
  panel.show(review, review.get(selected), other);
  if (cursor.range) places.show(cursor.range.start, cursor.range.end);
}

function selectedKey() {
  if (selected !== null) return `p${selected}`;
  return other === null ? null : `g${other.start}-${other.end}-${other.label}`;
}

function choose(id) {
  selected = id;
  other = null;
  cursor.clear();
  places.clear();
  const piece = view.select(id === null ? null : `p${id}`);
  piece?.scrollIntoView({ block: "center" });
  const proposal = review.get(id);
  panel.show(review, proposal, null);
  if (proposal) panel.say(`${nameOf(proposal.label)}, ${words.states[proposal.state]}: ${quote(proposal)}`);
}

const nameOf = (label) => labels.get(label)?.name ?? "?";
const quote = (span) => shorten(index.slice(span.start, span.end));

/** After a decision: the next open proposal, or nothing when all are decided. */
function onward() {
  const next = review.after(selected, 1, { open: true });
  if (next) choose(next.id);
}

// ── Deciding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function act(name) {
  if (name === "remove") {
    if (other === null) return;
    const span = other;
    other = null;
    made(review.remove(span), words.removed(nameOf(span.label), quote(span)));
    return;
  }
  const proposal = review.get(selected);
  if (!proposal) {
    panel.say(words.nothing);
    return;
  }
  const change = name === "accept" ? review.accept(proposal.id) : review.reject(proposal.id);
  if (made(change, words[`${name}ed`](nameOf(proposal.label), quote(proposal)))) onward();
}

function applyLabel(label) {
  if (cursor.range) {
    const { start, end } = cursor.range;
    cursor.clear(end);
    places.clear();
    made(review.add(start, end, label), words.added(nameOf(label), quote({ start, end })));
    return;
  }
  const proposal = review.get(selected);
  if (!proposal) {
    panel.say(words.nothing);
    return;
  }
  const place = proposal.state === "accepted" ? placeOf(proposal) : proposal;
  const change =
    place.label === label && proposal.state !== "accepted" && proposal.label === label
      ? review.accept(proposal.id)
      : review.correct(proposal.id, { start: place.start, end: place.end, label });
  if (made(change, words.corrected(nameOf(label), quote(place)))) onward();
}

/** The selected words become the ends of the chosen proposal. */
function takeEnds() {
  const proposal = review.get(selected);
  if (!proposal || !cursor.range) {
    panel.say(words.selectFirst);
    return;
  }
  const { start, end } = cursor.range;
  cursor.clear(end);
  places.clear();
  made(review.correct(proposal.id, { start, end, label: placeOf(proposal).label }), words.corrected(nameOf(proposal.label), quote({ start, end })));
}

function moveEnd(edge, step) {
  const proposal = review.get(selected);
  if (!proposal || cursor.range) return false;
  const place = proposal.state === "accepted" ? placeOf(proposal) : proposal;
  const moved = cursor.shift(place, edge, step);
  if (moved) made(review.correct(proposal.id, { ...moved, label: place.label }), words.corrected(nameOf(place.label), quote(moved)));
  return true;
}

// ── Marking what was missed ──────────────────────────────────────────────────────────────────────────────────────────

function mark() {
  const from = review.get(selected)?.end ?? 0;
  cursor.clear(from);
  cursor.move(1, false);
  showCursor();
  panel.say(words.marking);
}

function moveCursor(step, extend) {
  if (!cursor.range) return false;
  cursor.move(step, extend);
  showCursor();
  return true;
}

function showCursor() {
  if (!cursor.range) return;
  places.show(cursor.range.start, cursor.range.end);
  const { last } = places.box(cursor.range.start, cursor.range.end);
  const frame = byId("scroll").getBoundingClientRect();
  if (last.bottom > frame.bottom || last.top < frame.top) byId("scroll").scrollBy({ top: last.top - frame.top - frame.height / 2 });
  panel.say(index.slice(cursor.range.start, cursor.range.end));
}

function escape() {
  if (cursor.range) {
    cursor.clear();
    places.clear();
  } else choose(null);
}

let began = false;
note.addEventListener("pointerdown", (event) => {
  began = event.button === 0;
});
document.addEventListener("pointerup", (event) => {
  if (!began) return;
  began = false;
  const piece = event.target.closest?.(".span");
  const exact = event.altKey;
  setTimeout(() => settled(piece, exact), 0);
});

function settled(piece, exact) {
  const range = places.selected();
  if (range && range.start < range.end) {
    if (cursor.select(range.start, range.end, { exact })) places.show(cursor.range.start, cursor.range.end);
    return;
  }
  cursor.clear();
  if (!piece) return;
  const key = piece.dataset.span;
  if (key.startsWith("p")) {
    choose(Number(key.slice(1)));
    return;
  }
  const [start, end, label] = key.slice(1).split("-").map(Number);
  selected = null;
  other = { start, end, label };
  view.select(key);
  panel.show(review, null, other);
}

// ── Closing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

let closing = false;

async function close() {
  if (closing || review.closed) return;
  if (review.open) {
    panel.tell(words.stillOpen(review.open));
    onward();
    return;
  }
  closing = true;
  if (await outbox.drained()) {
    const { kind, data: answer } = await api.post(data.urls.close, {});
    if (kind === "ok") {
      window.location.assign(answer.next);
      return;
    }
    if (kind === "refused") {
      review.refreshed(answer);
      redraw();
    }
    panel.tell(kind === "refused" ? answer.message : words.closeLost);
  } else panel.tell(words.notClosed);
  closing = false;
}

async function leaveFor(url) {
  if (!url) return;
  await outbox.drained();
  window.location.assign(url);
}

// ── Keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

const { move, decide, note: onNote, labels: onLabels } = words.groups;
const step = (by, options) => () => {
  const found = review.after(selected, by, options);
  if (found) choose(found.id);
};
const keys = new Keys([
  { keys: ["j", "ArrowDown"], group: move, what: "Next proposal", run: step(1) },
  { keys: ["k", "ArrowUp"], group: move, what: "Proposal before", run: step(-1) },
  { keys: [" "], group: move, what: "Skip to the next open proposal", run: step(1, { open: true }) },
  { keys: ["Escape"], group: move, what: "Let go of what is selected", run: escape },
  { keys: ["a"], group: decide, what: "Accept", run: () => act("accept") },
  { keys: ["x"], group: decide, what: "Reject", run: () => act("reject") },
  { keys: ["e"], group: decide, what: "Give the proposal the selected words as its ends", run: takeEnds },
  { keys: ["Shift+ArrowRight"], group: decide, what: "Right end further, or more words while marking", run: () => moveCursor(1, true) || moveEnd("end", 1) },
  { keys: ["Shift+ArrowLeft"], group: decide, what: "Right end back, or fewer words while marking", run: () => moveCursor(-1, true) || moveEnd("end", -1) },
  { keys: ["Alt+ArrowRight"], group: decide, what: "Left end further", run: () => moveEnd("start", 1) },
  { keys: ["Alt+ArrowLeft"], group: decide, what: "Left end back", run: () => moveEnd("start", -1) },
  { keys: ["Backspace", "Delete"], group: decide, what: "Take a span that was added out of gold", run: () => (other ? act("remove") : false) },
  { keys: ["u", "Ctrl+z"], group: decide, what: "Take the last decision back", run: () => void made(review.undo(), words.undone) },
  { keys: ["Ctrl+Shift+z", "Ctrl+y"], group: decide, what: "Decide again what was taken back", run: () => void made(review.redo(), words.redone) },
  { keys: ["m"], group: onNote, what: "Mark what was missed: choose words", run: mark },
  { keys: ["ArrowRight"], group: onNote, what: "Next word, while marking", run: () => moveCursor(1, false) },
  { keys: ["ArrowLeft"], group: onNote, what: "Word before, while marking", run: () => moveCursor(-1, false) },
  { keys: ["Enter"], group: onNote, what: "Close the note once nothing is open", run: () => void close() },
  { keys: ["n"], group: onNote, what: "Next note", run: () => void leaveFor(byId("next-note")?.href) },
  { keys: ["p"], group: onNote, what: "Note before", run: () => void leaveFor(byId("previous-note")?.href) },
  { keys: ["?"], group: onNote, what: "Show the keys", run: () => sheet.open() },
  ...data.labels
    .filter(({ key }) => key)
    .map(({ key, id, name }) => ({ keys: [key], group: onLabels, what: `${name}: accept with it, or mark`, run: () => applyLabel(id) })),
]);
const sheet = new KeySheet(byId("keys"), byId("keys-list"), keys);

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || sheet.isOpen) return;
  const { target, key } = event;
  if (target instanceof HTMLElement && target.matches("input, textarea, select")) return;
  if ((key === "Enter" || key === " ") && target instanceof Element && target.matches("a, button, summary")) return;
  keys.handle(event);
});

for (const node of document.querySelectorAll("[data-key]")) node.textContent = shown(node.dataset.key);
byId("show-keys").addEventListener("click", () => sheet.open());
byId("undo").addEventListener("click", () => made(review.undo(), words.undone));
byId("side").addEventListener("mousedown", (event) => {
  if (event.target.closest("[data-label-id]")) event.preventDefault();
});
byId("side").addEventListener("click", (event) => {
  const button = event.target.closest("[data-label-id]");
  if (button && event.detail < 2) applyLabel(Number(button.dataset.labelId));
});
byId("close-form")?.addEventListener("submit", (event) => {
  event.preventDefault();
  close();
});
window.addEventListener("online", () => outbox.poke());
window.addEventListener("beforeunload", (event) => {
  if (review.waiting) event.preventDefault();
});
document.addEventListener("visibilitychange", refresh);
window.addEventListener("focus", refresh);

/** Another reviewer may have decided meanwhile. */
async function refresh() {
  if (document.visibilityState !== "visible" || review.waiting) return;
  const { kind, data: answer } = await api.get(data.urls.state);
  if (kind !== "ok" || review.waiting || answer.version === data.version) return;
  data.version = answer.version;
  const before = JSON.stringify(review.spans(words.states));
  review.refreshed(answer);
  redraw();
  if (JSON.stringify(review.spans(words.states)) !== before) panel.tell(words.changed);
}

redraw();
const first = review.after(null, 1, { open: true });
if (first && !review.closed) choose(first.id);
note.focus({ preventScroll: true });
// Tests wait for this.
document.documentElement.dataset.review = "ready";
