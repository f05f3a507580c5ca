/** Keys for the list of errors. */

import { causeKeys } from "../agreement/causes.js";
import { Listing } from "../editor/listing.js";
import { words } from "./words.js";

const list = document.querySelector(".entries");
if (list) {
  const listing = new Listing(list, ".entry");
  const { groups, keys: what } = words;
  listing.bind([
    ...listing.keys(groups.move, what),
    ...causeKeys(listing, groups.cause),
  ]);
  document.documentElement.dataset.errors = "ready";
}
