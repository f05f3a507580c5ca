/** A page that was opened at a place (`?at=START-END`, code points): the place is selected, and on the screen. */

import { byId } from "../editor/dom.js";
import { placeIn } from "../text/place.js";
import { stayAt } from "./staying.js";

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
