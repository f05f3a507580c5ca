/** Every text on comments, flags, guidelines and the find bar that the scripts show or announce. */

import { gettext, interpolate, ngettext, pgettext } from "../core/translating.js";

export const talk = {
  onNote: gettext("On the note"),
  onText: (quote) => interpolate(gettext("On the text “%(quote)s”"), { quote }),
  onSpan: (label, quote) => interpolate(gettext("On %(label)s: “%(quote)s”"), { label, quote }),
  wasAt: (start, end) => interpolate(gettext("On a deleted span, characters %(start)s–%(end)s"), { start, end }),
  write: gettext("Your comment:"),
  save: gettext("Save comment"),
  saveAnswer: pgettext("a button", "Answer"),
  saveEdit: gettext("Save"),
  cancel: gettext("Cancel"),
  answer: pgettext("a button", "Answer"),
  answerTo: (title) => interpolate(gettext("Answer: %(title)s"), { title }),
  edit: gettext("Edit"),
  remove: gettext("Delete"),
  removeSure: gettext("Delete permanently?"),
  resolve: gettext("Resolve"),
  open: pgettext("a button", "Reopen"),
  edited: gettext("edited"),
  deleted: gettext("This comment was deleted."),
  resolvedBy: (name) => interpolate(gettext("resolved by %(name)s"), { name }),
  resolvedOnes: (count) => interpolate(ngettext("%(count)s resolved thread", "%(count)s resolved threads", count), { count }),
  unsaved: gettext("Save or cancel this comment first."),
  about: (name) => interpolate(gettext("annotations of %(name)s"), { name }),
  none: gettext("No comments on this note yet."),
  saved: gettext("Comment saved"),
  removed: gettext("Comment deleted"),
  resolved: pgettext("what became of a thread", "Resolved"),
  opened: pgettext("what became of a thread", "Reopen"),
  hasComment: gettext("has a comment"),
  action: gettext("Comment on the selection, or on the note"),
  troubles: {
    lost: gettext("The server can't be reached. Your text is still here. Try again."),
    later: gettext("You sent too many requests. Your text is still here. Try again in a moment."),
    "signed-out": gettext("You are signed out. Your text is still here. Sign in again in another tab, then try again."),
    "other-person": gettext("Another person is signed in on this browser. Sign in as yourself in another tab, then try again."),
  },
  unread: gettext("The comments could not be loaded. They are loaded again when you return to this page."),
};

const flagOf = ({ by, why }) => interpolate(gettext("%(by)s (%(why)s)"), { by, why });

export const flagWords = {
  action: gettext("Flag this note, with a reason"),
  flag: pgettext("a button", "Flag"),
  flagged: gettext("Flagged"),
  change: gettext("Change flag"),
  raise: gettext("Flag note"),
  done: gettext("The note is flagged."),
  cleared: gettext("The flag is cleared."),
  others: (flags) => interpolate(gettext("Also flagged: %(flags)s"), { flags: flags.map(flagOf).join("; ") }),
};

export const guideWords = {
  action: gettext("Show guidelines beside the text"),
  loading: gettext("Loading…"),
  failed: gettext("The guidelines could not be loaded. Reopen this panel, or open the guidelines page."),
  undescribed: gettext("This label has no description."),
  opened: gettext("Guidelines opened"),
  closed: gettext("Guidelines closed"),
  news: pgettext("the guidelines", "changed"),
};

export const findWords = {
  action: gettext("Find in this note"),
  next: gettext("Next match"),
  count: (at, total) => interpolate(gettext("%(at)s of %(total)s"), { at, total }),
  none: gettext("No matches"),
  found: (at, total, around) => interpolate(gettext("Match %(at)s of %(total)s: %(around)s"), { at, total, around }),
};
