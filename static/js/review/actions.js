/** The keys of the review page: what each does, and its text in the list of keys. Labels add their own keys. */

import { asking, describing, ending, labeling, moving, selecting, undoing } from "../editor/deciding/actions.js";
import { leaver } from "../editor/deciding/page.js";
import { words } from "./words.js";

const { move, decide, missed, note, labels: onLabels } = words.groups;
const { keys: what } = words;

/** @returns {import("../editor/keys.js").Action[]} */
export function actions(work, labels) {
  const leave = leaver(work);
  return [
    ...moving(work, move, what),
    { keys: ["a"], group: decide, what: words.accept, run: () => work.accept() },
    { keys: ["x"], group: decide, what: words.reject, run: () => work.reject() },
    { keys: [], hand: what.pointedBy, group: decide, what: what.pointed, run: () => false },
    {
      keys: ["Shift+ArrowRight", "Shift+ArrowLeft"],
      group: decide,
      what: what.rightEnd,
      run: (_, key) => right(work, key.endsWith("Right") ? 1 : -1),
    },
    {
      keys: ["Alt+ArrowRight", "Alt+ArrowLeft"],
      group: decide,
      what: what.leftEnd,
      run: (_, key) => work.moveEnd("start", key.endsWith("Right") ? 1 : -1),
    },
    { keys: ["e"], group: decide, what: what.ends, run: () => work.useAsBounds() },
    { keys: ["="], group: decide, what: what.first, run: () => work.decideLikeFirst() },
    ...describing(work, decide),
    ...undoing(work, decide),
    { keys: ["v"], group: note, what: what.mask, run: () => work.views.next() },
    { keys: ["m"], group: missed, what: what.mark, run: () => work.mark() },
    ...selecting(work, missed),
    { keys: ["Backspace", "Delete"], group: missed, what: what.remove, run: () => work.remove() },
    ...ending(work, note, () => leave("next-open"), [
      { keys: ["Shift+Enter"], group: note, what: what.rest, run: () => (work.range ? work.openPalette(true) : work.finishWithRest()) },
    ]),
    { keys: ["n"], group: note, what: what.nextNote, run: () => leave("next-note") },
    { keys: ["p"], group: note, what: what.noteBefore, run: () => leave("previous-note") },
    ...asking(work, note),
    ...labeling(work, onLabels, labels),
  ];
}

function right(work, step) {
  if (work.range) work.moveCursor(step, true);
  else return work.moveEnd("end", step);
  return true;
}
