/** Keys for the list of errors. */

import { causeKeys } from "../agreement/causes.js";
import { Listing } from "../editor/listing.js";
import { words } from "./words.js";

const list = document.querySelector(".entries");
if (list) {
  const listing = new Listing(list, ".entry");
  const { groups, keys: what } = words;
  listing.bind([
    { keys: ["j"], group: groups.move, what: what.next, run: () => listing.walk(1) },
    { keys: ["k"], group: groups.move, what: what.before, run: () => listing.walk(-1) },
    ...causeKeys(listing, groups.cause),
    { keys: ["o"], group: groups.error, what: what.open, run: () => listing.press(".entry-head a") },
    { keys: ["?"], group: groups.error, what: what.sheet, run: () => listing.openSheet() },
  ]);
  document.documentElement.dataset.errors = "ready";
}
