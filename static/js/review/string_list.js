/** Decisions on the strings of the runs, each on all of its open occurrences. */

import { AnsweredList } from "../editor/deciding/answering.js";
import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const { groups, stringKeys: what, saidString } = words;
const list = new AnsweredList(byId("rows"), { items: ".rv-row", said: ({ answer }, quote) => saidString[answer](quote) });
list.bind([
  { keys: ["a"], group: groups.decide, what: words.accept, run: list.key("accept") },
  { keys: ["x"], group: groups.decide, what: words.reject, run: list.key("reject") },
  ...list.keys(groups.move, what),
]);
document.documentElement.dataset.stringList = "ready";
