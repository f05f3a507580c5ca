/** Keys for the list of findings. Everything that a key does also works by click. */

import { byId } from "../editor/dom.js";
import { Listing } from "../editor/listing.js";
import { words } from "./words.js";

const listing = new Listing(byId("groups"), ".leak-item", ".leak-group");
const { groups, keys: what } = words;
const answer = (name) => listing.press(`[data-answer="${name}"]`);
/** Press a button for all findings of the string at hand. */
const all = (name) => {
  const button = listing.here?.closest(".leak-group").querySelector(`[data-all="${name}"]`);
  if (!(button instanceof HTMLElement)) return false;
  button.click();
  return true;
};
// An answer replaces all buttons of its string: a click on another one waits for it, so that it isn't lost.
byId("groups").addEventListener(
  "click",
  (event) => {
    const button = /** @type {Element} */ (event.target).closest("button");
    const place = button?.closest(".leak-item, .leak-group");
    if (!button || !listing.waits(place)) return;
    event.preventDefault();
    event.stopPropagation();
    const { answer: one, all: every } = button.dataset;
    listing.click(place, every ? `[data-all="${every}"]` : `[data-answer="${one}"]`);
  },
  true,
);
/** With Shift, a key answers for all findings of the string. */
const either = (name) => (event) => (event.shiftKey ? all(name) : answer(name));
listing.bind([
  { keys: ["j"], group: groups.move, what: what.next, run: () => listing.walk(1) },
  { keys: ["k"], group: groups.move, what: what.before, run: () => listing.walk(-1) },
  { keys: ["r"], group: groups.decide, what: what.replace, run: either("replace") },
  { keys: ["a"], group: groups.decide, what: what.allow, run: either("allow") },
  { keys: ["u"], group: groups.decide, what: what.undo, run: either("undo") },
  { keys: ["o"], group: groups.finding, what: what.open, run: () => listing.press('[data-act="open"]') },
  { keys: ["?"], group: groups.finding, what: what.sheet, run: () => listing.openSheet() },
]);
document.documentElement.dataset.findings = "ready";
