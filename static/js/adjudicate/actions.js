/** Every key of the adjudication page: what it does and how the `?` sheet names it. Labels bring their own keys. */

import { byId } from "../workbench/dom.js";
import { words } from "./words.js";

const { move, decide, own, note, labels: onLabels } = words.groups;
const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

/** What a key does while words are selected: then it is a label's. @returns {import("../workbench/keys.js").Action[]} */
export function labelActions(work, labels) {
  return labels
    .filter(({ key }) => key)
    .map(({ key, id, name }) => ({ keys: [key], group: onLabels, what: name, run: () => work.applyLabel(id) }));
}

/** What a key does while a cause is asked for. @returns {import("../workbench/keys.js").Action[]} */
export function causeActions(work, causes) {
  const keys = { AB: "a", AM: "m", D: "d", S: "s" };
  return Object.keys(causes).map((kind) => ({ keys: [keys[kind]], group: decide, what: causes[kind], run: () => work.cause(kind) }));
}

/** @returns {import("../workbench/keys.js").Action[]} */
export function actions(work) {
  const leave = (id) => {
    const found = byId(id);
    if (found && found.offsetParent) work.saving.leaveFor(found.href);
    return Boolean(found && found.offsetParent);
  };
  return [
    { keys: ["j", "ArrowDown"], group: move, what: "Next place", run: () => void work.walk(1) },
    { keys: ["k", "ArrowUp"], group: move, what: "Place before", run: () => void work.walk(-1) },
    { keys: [" "], group: move, what: "Next open place", run: () => void work.walk(1, { open: true }) },
    { keys: ["Escape"], group: move, what: "Let go of what is selected; again, leave the text", run: () => work.escape() },
    { keys: DIGITS, group: decide, what: "Take the version of annotator 1, 2, …", run: (_, key) => work.reader(Number(key)) },
    { keys: ["a"], group: decide, what: "Accept the majority's version, or what all say", run: () => work.majority() },
    { keys: ["*"], group: decide, what: "Accept every place where all say the same", run: () => work.unanimous() },
    { keys: ["x"], group: decide, what: "Nothing personal here", run: () => work.nothing() },
    { keys: ["e"], group: decide, what: "Second look: keep what was decided before", run: () => work.keep() },
    { keys: ["w"], group: decide, what: "Why they differ: then A, M, D or S", run: () => work.askWhy() },
    { keys: ["u", "Ctrl+z"], group: decide, what: "Take back your last decision", run: () => work.undo() },
    { keys: ["Ctrl+Shift+z", "Ctrl+y"], group: decide, what: "Decide again what was taken back", run: () => work.redo() },
    { keys: ["m"], group: own, what: "Select the place's words; then a label's key", run: () => work.mark() },
    {
      keys: ["ArrowRight", "ArrowLeft"],
      group: own,
      what: "Next word, word before",
      run: (_, key) => (work.range ? work.moveCursor(key.endsWith("Right") ? 1 : -1, false) : false),
    },
    {
      keys: ["Shift+ArrowRight", "Shift+ArrowLeft"],
      group: own,
      what: "Select more or fewer words",
      run: (_, key) => (work.range ? work.moveCursor(key.endsWith("Right") ? 1 : -1, true) : false),
    },
    { keys: ["Backspace", "Delete"], group: own, what: "Take the decided span out", run: () => work.drop() },
    {
      keys: ["Enter"],
      group: note,
      what: "Close the note once nothing is open; with words selected, choose a label",
      run: () => (work.range ? work.openPalette(true) : void work.saving.close()),
    },
    { keys: ["n"], group: note, what: "Next note, once this one is closed", run: () => leave("next-note") },
    { keys: ["?"], group: note, what: "This list", run: () => work.sheet.open() },
  ];
}
