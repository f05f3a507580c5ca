/** A page that was opened at a place (`?at=START-END`, code points): the place is selected, and on the screen. */

import { byId } from "../editor/dom.js";
import { stayAt } from "./staying.js";

/** The place that an address names, inside a text of `length` code points; null if none. */
export function placeIn(search, length) {
  const found = /^(\d{1,9})-(\d{1,9})$/.exec(new URLSearchParams(search).get("at") ?? "");
  if (!found) return null;
  const [start, end] = [Number(found[1]), Number(found[2])];
  return start < end && end <= length ? { start, end } : null;
}

/** @param {import("./workbench.js").Workbench} workbench */
export function arrive(workbench) {
  const { note, work } = workbench;
  const place = placeIn(window.location.search, note.index.length);
  if (!place) return;
  const same = note.reading.spans().find(({ start, end }) => start === place.start && end === place.end);
  if (same) work.selectSpan(same.key);
  else work.selectText(place.start, place.end, { exact: true });
  stayAt(() => {
    const frame = byId("scroll").getBoundingClientRect();
    return note.places.range(place.start, place.end).getBoundingClientRect().top - frame.top - frame.height / 3;
  });
}
