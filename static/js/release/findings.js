/** Answers to the findings of the gate. */

import { AnsweredList } from "../editor/deciding/answering.js";
import { byId } from "../editor/dom.js";
import { words } from "./words.js";

const { groups, keys: what } = words;
const onward = () => document.querySelector(".pagination [rel=next]") ?? byId("onward");
const said = ({ answer }, quote) => words.said[answer](quote);
const list = new AnsweredList(byId("groups"), { items: ".leak-item", cards: ".leak-group", said, onward });
list.bind([
  { keys: ["r"], group: groups.decide, what: what.replace, run: list.key("replace") },
  { keys: ["a", "x"], group: groups.decide, what: what.allow, run: list.key("allow") },
  ...list.keys(groups.move, what),
]);
document.documentElement.dataset.findings = "ready";
