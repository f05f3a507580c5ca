/** The keys of the workbench, as they are bound and listed on the `?` sheet. Labels and parts add their own keys. */

import { byId } from "../editor/dom.js";
import { placesOf } from "../editor/source_page.js";
import { words } from "../editor/words.js";

const { change, note, labels: labelsGroup } = words.groups;
const { keys: what } = words;

/** @returns {import("../editor/keys.js").Action[]} */
export function actions(workbench) {
  const { work } = workbench;
  const { labeling } = work;
  const link = (id) => {
    const { href } = /** @type {HTMLAnchorElement} */ (byId(id));
    if (href) workbench.go(href);
    else workbench.say(words.noFurther);
  };
  return [
    ...work.moving.actions(),
    ...work.resizing.actions(),
    ...work.growing.actions(),
    ...work.picker.actions(),
    ...workbench.ranking.actions(),
    { keys: ["Escape"], group: words.groups.move, what: what.escape, run: () => workbench.submitting.cancel() || work.escape() },
    { keys: [".", " "], group: change, what: what.repeat, run: () => labeling.repeat() },
    { keys: ["F2"], group: change, what: what.palette, run: () => work.openPalette(true) },
    ...work.attributes.actions(),
    workbench.page.action(change, () => (work.selected ? placesOf(workbench.note.source, work.selected) : [])),
    ...work.mentions.actions(),
    ...labeling.autoNext.actions(),
    { keys: ["Delete", "Backspace"], group: change, what: what.remove, run: () => labeling.remove() || workbench.candidates.dismiss() },
    { keys: ["Ctrl+z"], group: change, what: what.undo, run: () => labeling.undo() },
    { keys: ["Ctrl+Shift+z", "Ctrl+y"], group: change, what: what.redo, run: () => labeling.redo() },
    {
      keys: ["Enter"],
      group: note,
      what: what.enter,
      run: () => (work.range ? work.openPalette(true) : void workbench.submitting.submit()),
    },
    ...byHand("mouse"),
    ...byHand("touch"),
    { keys: ["Ctrl+Enter"], group: note, what: what.submit, run: () => void workbench.submitting.submit() },
    { keys: ["u"], group: note, what: what.reopen, run: () => workbench.submitting.reopenOrUndo() },
    { keys: ["n"], group: note, what: what.next, run: () => link("next-note") },
    { keys: ["p"], group: note, what: what.previous, run: () => link("previous-note") },
    { keys: ["?"], group: note, what: what.sheet, run: () => workbench.sheet.open() },
  ];
}

/** What the mouse or a finger does, for the sheet. @returns {import("../editor/keys.js").Action[]} */
function byHand(how) {
  return words[how].map(([hand, what]) => ({ keys: [], hand, group: words.groups[how], what, run: () => false }));
}

/** The keys of the labels. @returns {import("../editor/keys.js").Action[]} */
export function labelActions(workbench) {
  return [...workbench.labels.values()]
    .filter((label) => label.key)
    .map((label) => ({
      keys: [label.key],
      group: labelsGroup,
      what: label.name,
      run: () => workbench.work.applyLabel(label.id),
    }));
}
