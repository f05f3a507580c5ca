/** Decisions on the strings of the runs, each on all of its open occurrences. */

import { AnsweredList } from "../editor/deciding/answering.js";
import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const { groups, stringKeys: what, saidString: said } = words;
const onward = () => document.querySelector(".pagination [rel=next]");
const list = new AnsweredList(byId("rows"), { items: ".rv-row", words: said, onward });
list.bind([
  ...list.keys(groups.move, what),
  { keys: ["a"], group: groups.decide, what: words.accept, run: list.key("accept") },
  { keys: ["x"], group: groups.decide, what: words.reject, run: list.key("reject") },
  { keys: ["u", "Ctrl+z"], group: groups.decide, what: what.undo, run: (event) => list.undo(event) },
]);
document.documentElement.dataset.stringList = "ready";
