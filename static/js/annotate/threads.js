/** A thread of comments as elements. What people wrote becomes text, never markup. */

import { moment } from "../core/moments.js";
import { el } from "../editor/dom.js";
import { talk as words } from "./talk_words.js";

/** @param {object} thread as in annotations/notes/selectors/comments.py @param {{mayComment: boolean, title: string}} shown */
export function threadNode(thread, { mayComment, title }) {
  const about = thread.start === null ? el("span", { class: "thread-subject" }, title) : button("go", title, "thread-subject");
  return el(
    "li",
    { class: thread.resolved ? "thread is-resolved" : "thread", "data-thread": thread.id, "data-span": thread.span ?? "", "data-comment": thread.id },
    about,
    thread.annotation_set && el("span", { class: "tag" }, words.about(thread.annotation_set)),
    thread.resolved && el("span", { class: "tag ok" }, words.resolvedBy(thread.resolved)),
    ...commentNodes(thread, mayComment),
    thread.answers.length > 0 &&
      el("ol", { class: "answers" }, ...thread.answers.map((answer) => el("li", { "data-comment": answer.id }, ...commentNodes(answer, mayComment)))),
    mayComment &&
      el(
        "div",
        { class: "actions" },
        button("answer", words.answer),
        thread.resolved ? button("open", words.open) : button("resolve", words.resolve),
      ),
  );
}

function commentNodes(comment, mayComment) {
  const { text, title } = moment(comment.at);
  return [
    el(
      "p",
      { class: "said-by" },
      el("strong", {}, el("bdi", {}, comment.author)),
      " ",
      el("time", { datetime: comment.at, title }, text),
      comment.edited && ` · ${words.edited}`,
    ),
    comment.deleted ? el("p", { class: "mute" }, words.deleted) : el("p", { class: "said", dir: "auto" }, comment.text),
    mayComment &&
      comment.own &&
      !comment.deleted &&
      el("div", { class: "actions own" }, button("edit", words.edit), button("delete", words.remove)),
  ];
}

function button(act, text, classes = "") {
  return el("button", { type: "button", class: classes || "btn quiet small", "data-act": act }, text);
}
