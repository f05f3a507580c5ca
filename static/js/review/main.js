/** The entry point of the review page: connects the model, the note, the panel, keys, mouse and outbox. */

import { AttributeList } from "../editor/attribute_list.js";
import { Keys } from "../editor/keys.js";
import { KeySheet } from "../editor/sheet.js";
import { NoteView } from "../editor/render.js";
import { Palette } from "../editor/palette.js";
import { SourcePage } from "../editor/source_page.js";
import { begin, listen } from "../editor/deciding/page.js";
import { byId, el } from "../editor/dom.js";
import { foldNotes } from "../editor/folding.js";
import { Filters } from "./filters.js";
import { Review } from "./model.js";
import { Views } from "./views.js";
import { ReviewPanel } from "./panel.js";
import { ReviewWork } from "./work.js";
import { actions } from "./actions.js";
import { reviewSaving } from "./saving.js";
import { words } from "./words.js";

const { data, index, root, labels, quote, cursor, layout, api } = begin("review-data");
const note = new Review(data, data.name);
const panel = new ReviewPanel({
  source: data.source,
  labels,
  person: data.name,
  quote,
  acts: {
    choose: (key) => work.selectSpan(key),
    walk: (step) => work.walk(step),
    accept: () => work.accept(),
    reject: () => work.reject(),
    remove: () => work.remove(),
    ends: () => work.useAsBounds(),
    drop: () => work.dropText(),
    attributes: () => work.openAttributes(),
    first: () => work.decideLikeFirst(),
  },
});
const work = new ReviewWork({ note, view: new NoteView(root, index, labels), panel, labels, index, cursor, layout });
// The filters in the URL are carried to the next note. Its parameter `chosen` says how this note was chosen.
const urls = { ...data.urls, get finish() { return `${data.urls.finish}${window.location.search}`; } };
const showUndecided = () => {
  if (note.stage !== "resolving") {
    work.toPlantedLeaks();
    return;
  }
  filters.only("differs");
  work.views.show("original");
  panel.tell(words.differ(note.between.first, work.differences));
  work.selectSpan(null); // so that walking starts at the first difference
  work.walk(1) || work.walk(1, { open: true });
};
work.saving = reviewSaving({ api, urls, note, panel, work, quote, showUndecided });
work.others = data.hints;
work.views = new Views({ work, api, address: data.urls.surrogates, placeholders: new Map(data.placeholders) });
panel.instead = (span) => work.views.instead(span);
note.facts = {
  quote,
  rates: new Map(data.rates.map(([label, source, right, decided]) => [`${label} ${source}`, [right, decided]])),
  positions: new Map(data.labels.map(({ id }, position) => [id, position])),
};

work.attributes = new AttributeList({
  labels,
  targets: () => work.attributed(),
  set: (span, name, value) => work.setAttribute(span, name, value),
  back: () => work.focusNote(),
});
// Besides the labels, the palette has a button that uses the selected text as bounds of the selected suggestion.
work.palette = new Palette(
  byId("palette"),
  data.labels,
  (label) => (Number.isNaN(label) ? work.useAsBounds() : work.applyLabel(label)),
  () => work.focusNote(),
);
work.endsButton = el("button", { type: "button", class: "btn small", id: "palette-ends" }, " ", el("kbd", {}, "e"));

const page = new SourcePage({ back: () => work.focusNote(), tell: (message) => panel.tell(message) });
const keys = new Keys([...actions(work, data.labels), page.action(words.groups.note, () => work.places(data.source))]);
work.sheet = new KeySheet(byId("keys"), byId("keys-list"), keys);
listen({ work, root, handle: (event) => keys.handle(event) });

foldNotes(byId("notes-list"));
byId("finish-rest").addEventListener("click", () => work.finishWithRest());
byId("with-gold")?.addEventListener("change", () => panel.restSkipped(note.rest().length));
const filters = new Filters(note.suggestions(), (filter, order) => work.look(filter, order));
note.filter = filters.filter;
note.order = filters.order;

work.redraw();
work.views.begin();
if (note.stage === "resolving" || (!note.finished && note.plantedOpen)) showUndecided();
else if (!note.finished) work.walk(1, { open: true }) || work.walk(1);
root.focus({ preventScroll: true });
// Browser tests wait for this attribute.
document.documentElement.dataset.review = "ready";
