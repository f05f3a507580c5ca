/** The adjudication page: builds its parts and connects them. */

import { AttributeList } from "../../editor/attribute_list.js";
import { Keys } from "../../editor/keys.js";
import { KeySheet } from "../../editor/sheet.js";
import { NoteView } from "../../editor/render.js";
import { Palette } from "../../editor/palette.js";
import { begin, listen } from "../../editor/deciding/page.js";
import { byId } from "../../editor/dom.js";
import { Adjudication } from "./model.js";
import { AdjudicationPanel } from "./panel.js";
import { AdjudicationWork } from "./work.js";
import { Layers } from "./layers.js";
import { Names } from "./names.js";
import { actions, causeActions, labelActions } from "./actions.js";
import { adjudicationSaving } from "./saving.js";

const { data, index, tokens, root, labels, quote, cursor, layout, api } = begin("adjudicate-data");
const note = new Adjudication(data, data.name);
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
    annotator: (number) => work.annotator(number),
    nothing: () => work.nothing(),
    keep: () => work.keep(),
    drop: (span) => work.drop(span),
    let: () => work.dropText(),
    attributes: () => work.openAttributes(),
    cause: (kind) => work.cause(kind),
  },
});
const work = new AdjudicationWork({ note, view: new NoteView(root, index, names), panel, labels, index, cursor, layout, names });
work.saving = adjudicationSaving({ api, urls: data.urls, note, panel, work, quote });
work.attributes = new AttributeList({
  labels,
  targets: () => work.attributed(),
  set: (span, name, value) => work.setAttribute(span, name, value),
  back: () => work.focusNote(),
});
work.palette = new Palette(byId("palette"), data.labels, (label) => work.applyLabel(label), () => work.focusNote());

const ofPage = actions(work);
const ofLabels = labelActions(work, data.labels);
// While text is selected, labels' keys take precedence over the page's keys.
const withText = new Keys([...ofLabels, ...ofPage]);
const withoutText = new Keys([...ofPage, ...ofLabels]);
const forCause = new Keys(causeActions(work, data.causes));
work.sheet = new KeySheet(byId("keys"), byId("keys-list"), { sheet: () => [...new Keys(ofPage).sheet(), ...new Keys(ofLabels).sheet()] });
listen({
  work,
  root,
  handle: (event) => {
    if (!work.why || !forCause.handle(event)) (work.range ? withText : withoutText).handle(event);
  },
});
byId("unanimous").addEventListener("click", (event) => event.detail < 2 && work.unanimous());

work.redraw();
const offset = Number.parseInt(window.location.hash.slice(1), 10);
if (Number.isNaN(offset) || !work.selectAt(offset)) {
  if (!note.finished) work.walk(1, { open: true });
}
root.focus({ preventScroll: true });
// Tests wait for this.
document.documentElement.dataset.adjudicate = "ready";
