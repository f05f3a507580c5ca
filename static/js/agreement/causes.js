/** The keys that add and remove the causes of a disagreement or of an error. */

import { words } from "./words.js";

export const KEYS = { AB: "a", AM: "m", D: "d", S: "s" };

/** @param {import("../editor/listing.js").Listing} listing @returns {import("../editor/keys.js").Action[]} */
export function causeKeys(listing, group) {
  return Object.entries(KEYS).map(([kind, key]) => ({
    keys: [key],
    group,
    what: words.causes[kind],
    run: () => listing.press(`[data-cause="${kind}"]`),
  }));
}
