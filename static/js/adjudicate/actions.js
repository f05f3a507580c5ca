/** Every key of the adjudication page: what it does and how the `?` sheet names it. Labels bring their own keys. */

import { asking, ending, labelling, moving, selecting, takingBack } from "../decide/actions.js";
import { leaver } from "../decide/page.js";
import { words } from "./words.js";

const { move, decide, own, note, labels: onLabels } = words.groups;
const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/** What a key does while words are selected: then it is a label's. @returns {import("../workbench/keys.js").Action[]} */
export function labelActions(work, labels) {
  return labelling(work, onLabels, labels);
}

/** What a key does while a cause is asked for. @returns {import("../workbench/keys.js").Action[]} */
export function causeActions(work, causes) {
  const keys = { AB: "a", AM: "m", D: "d", S: "s" };
  return Object.keys(causes).map((kind) => ({ keys: [keys[kind]], group: decide, what: causes[kind], run: () => work.cause(kind) }));
}

/** @returns {import("../workbench/keys.js").Action[]} */
export function actions(work) {
  const leave = leaver(work);
  return [
    ...moving(work, move, { next: "Next place", before: "Place before", open: "Next open place" }),
    { keys: DIGITS, group: decide, what: "Take the version of annotator 1, 2, …", run: (_, key) => work.reader(Number(key)) },
    { keys: ["a"], group: decide, what: "Accept the majority's version, or what all say", run: () => work.majority() },
    { keys: ["*"], group: decide, what: "Accept every place where all say the same", run: () => work.unanimous() },
    { keys: ["x"], group: decide, what: "Nothing personal here", run: () => work.nothing() },
    { keys: ["e"], group: decide, what: "Second look: keep what was decided before", run: () => work.keep() },
    { keys: ["w"], group: decide, what: "Why they differ: then A, M, D or S", run: () => work.askWhy() },
    ...takingBack(work, decide),
    { keys: ["m"], group: own, what: "Select the place's words; then a label's key", run: () => work.mark() },
    ...selecting(work, own),
    {
      keys: ["Shift+ArrowRight", "Shift+ArrowLeft"],
      group: own,
      what: "Select more or fewer words",
      run: (_, key) => (work.range ? work.moveCursor(key.endsWith("Right") ? 1 : -1, true) : false),
    },
    { keys: ["Backspace", "Delete"], group: own, what: "Take the decided span out", run: () => work.drop() },
    ...ending(work, note),
    { keys: ["n"], group: note, what: "Next note, once this one is closed", run: () => leave("next-note") },
    ...asking(work, note),
  ];
}
