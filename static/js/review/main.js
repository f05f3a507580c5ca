/** The review page: ties the review, the note on the page, the keys and the mouse, and the outbox together. */

import { Keys } from "../editor/keys.js";
import { KeySheet } from "../editor/sheet.js";
import { NoteView } from "../editor/render.js";
import { Palette } from "../editor/palette.js";
import { begin, listen } from "../editor/deciding/page.js";
import { byId, el } from "../editor/dom.js";
import { foldNotes } from "../editor/folding.js";
import { Filters } from "./filters.js";
import { Review } from "./model.js";
import { ReviewPanel } from "./panel.js";
import { ReviewWork } from "./work.js";
import { actions } from "./actions.js";
import { reviewSaving } from "./saving.js";
import { words } from "./words.js";

const { data, index, root, labels, quote, cursor, places, api } = begin("review-data");
const note = new Review(data, data.name);
const panel = new ReviewPanel({
  labels,
  person: data.name,
  quote,
  acts: {
    choose: (key) => work.selectSpan(key),
    walk: (step) => work.walk(step),
    accept: () => work.accept(),
    reject: () => work.reject(),
    remove: () => work.remove(),
    ends: () => work.takeEnds(),
    drop: () => work.dropText(),
    first: () => work.takeFirst(),
  },
});
const work = new ReviewWork({ note, view: new NoteView(root, index, labels), panel, labels, index, cursor, places });
// What was chosen in the address goes along to the next note.
const urls = { ...data.urls, get close() { return `${data.urls.close}${window.location.search}`; } };
const settle = () => {
  if (note.stage !== "settling") {
    work.toLeftOut();
    return;
  }
  filters.only("differs");
  work.mask(false);
  panel.tell(words.differ(note.between.first, work.differences));
  work.selectSpan(null); // from the first difference on
  work.walk(1) || work.walk(1, { open: true });
};
work.saving = reviewSaving({ api, urls, note, panel, work, quote, settle });
work.others = data.hints;
note.facts = {
  quote,
  rates: new Map(data.rates.map(([label, source, right, decided]) => [`${label} ${source}`, [right, decided]])),
  places: new Map(data.labels.map(({ id }, place) => [id, place])),
};

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
listen({ work, root, handle: (event) => keys.handle(event) });

foldNotes(byId("notes-list"));
byId("masked").addEventListener("click", () => work.mask());
byId("close-rest").addEventListener("click", () => work.closeWithRest());
const filters = new Filters(data.proposals, (filter, order) => work.look(filter, order));
note.filter = filters.filter;
note.order = filters.order;

work.redraw();
if (note.stage === "settling" || (!note.closed && note.rest().length < note.open)) settle();
else if (!note.closed) work.walk(1, { open: true }) || work.walk(1);
root.focus({ preventScroll: true });
// Tests wait for this.
document.documentElement.dataset.review = "ready";
