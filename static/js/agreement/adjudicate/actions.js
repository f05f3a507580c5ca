/** Every key of the adjudication page: what it does and how the `?` sheet names it. Labels bring their own keys. */

import { KEYS } from "../../agreement/causes.js";
import { asking, describing, ending, labeling, moving, selecting, undoing } from "../../editor/deciding/actions.js";
import { leaver } from "../../editor/deciding/page.js";
import { words } from "./words.js";

const { move, decide, own, note, labels: onLabels } = words.groups;
const { keys: what } = words;
const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/** The keys while text is selected: every key chooses a label. @returns {import("../../editor/keys.js").Action[]} */
export function labelActions(work, labels) {
  return labeling(work, onLabels, labels);
}

/** The keys while the page asks for a cause. @returns {import("../../editor/keys.js").Action[]} */
export function causeActions(work, causes) {
  return Object.keys(causes).map((kind) => ({ keys: [KEYS[kind]], group: decide, what: causes[kind], run: () => work.cause(kind) }));
}

/** @returns {import("../../editor/keys.js").Action[]} */
export function actions(work) {
  const leave = leaver(work);
  return [
    ...moving(work, move, what),
    { keys: DIGITS, group: decide, what: what.annotator, run: (_, key) => work.annotator(Number(key)) },
    { keys: ["a"], group: decide, what: what.majority, run: () => work.majority() },
    { keys: ["*"], group: decide, what: what.unanimous, run: () => work.unanimous() },
    { keys: ["x"], group: decide, what: what.nothing, run: () => work.nothing() },
    { keys: ["e"], group: decide, what: what.keep, run: () => work.keep() },
    { keys: ["w"], group: decide, what: what.why, run: () => work.askWhy() },
    ...describing(work, decide),
    ...undoing(work, decide),
    { keys: ["m"], group: own, what: what.mark, run: () => work.mark() },
    ...selecting(work, own),
    {
      keys: ["Shift+ArrowRight", "Shift+ArrowLeft"],
      group: own,
      what: what.extend,
      run: (_, key) => (work.range ? work.moveCursor(key.endsWith("Right") ? 1 : -1, true) : false),
    },
    { keys: ["Backspace", "Delete"], group: own, what: what.drop, run: () => work.drop() },
    ...ending(work, note, () => leave("next-note")),
    { keys: ["n"], group: note, what: what.nextNote, run: () => leave("next-note") },
    ...asking(work, note),
  ];
}
