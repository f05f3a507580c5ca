/** Answers to the findings of the gate. */

import { AnsweredList } from "../editor/deciding/answering.js";
import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const { groups, keys: what } = words;
const onward = () => document.querySelector(".pagination [rel=next]") ?? byId("onward");
const list = new AnsweredList(byId("groups"), { items: ".leak-item", cards: ".leak-group", words: words.said, onward });
list.bind([
  ...list.keys(groups.move, what),
  { keys: ["r"], group: groups.decide, what: what.replace, run: list.key("replace") },
  { keys: ["a", "x"], group: groups.decide, what: what.allow, run: list.key("allow") },
  { keys: ["u", "Ctrl+z"], group: groups.decide, what: what.undo, run: (event) => list.undo(event) },
]);
document.documentElement.dataset.findings = "ready";
