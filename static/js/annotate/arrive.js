/** Select the location that the page's address names (`?at=START-END`, code points), and scroll to it. */

import { byId } from "../editor/dom.js";
import { locationIn } from "../text/location.js";
import { stayAt } from "./staying.js";

/** @param {import("./workbench.js").Workbench} workbench */
export function arrive(workbench) {
  const { note, work } = workbench;
  const location = locationIn(window.location.search, note.index.length);
  if (!location) return;
  const same = note.annotationSet.spans().find(({ start, end }) => start === location.start && end === location.end);
  if (same) work.selectSpan(same.key);
  else work.selectText(location.start, location.end, { exact: true });
  stayAt(() => {
    const frame = byId("scroll").getBoundingClientRect();
    return note.layout.range(location.start, location.end).getBoundingClientRect().top - frame.top - frame.height / 3;
  });
}
