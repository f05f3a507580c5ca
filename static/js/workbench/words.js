/** Every sentence that the workbench's script shows or says. */

const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;

export const words = {
  saved: "Saved",
  saving: "Saving…",
  offline: (waiting) => `Offline, ${waiting} waiting`,
  signedOut: (waiting) => `Signed out, ${waiting} waiting`,
  otherPerson: (waiting) => `Another person is signed in, ${waiting} waiting`,
  toldOffline: "The server can't be reached. Your work is kept in this page and is sent when it is back; leave the page open.",
  toldSignedOut: "You are signed out. Your work is kept in this page: sign in again in another tab and it will be saved.",
  toldOtherPerson:
    "Somebody else is signed in now in this browser. Your work is kept in this page: sign in as yourself in another tab and it will be saved.",
  toldSavedAgain: "Everything is saved again.",
  elsewhere: ({ added, removed, changed }) => {
    const parts = [
      added && `${plural(added, "span", "spans")} added`,
      removed && `${plural(removed, "span", "spans")} deleted`,
      changed && `${plural(changed, "span", "spans")} changed`,
    ].filter(Boolean);
    return `This note was changed in another tab: ${parts.join(", ")}. What you see now is what is saved.`;
  },
  dropped: (count) => (count > 1 ? ` ${count - 1} later ${count === 2 ? "change" : "changes"} to it went with it.` : ""),
  closed: "This note is submitted. Reopen it to change it.",
  submittedElsewhere: "This note was submitted in another tab.",
  reopenedElsewhere: "This note was reopened in another tab.",
  notSubmitted: "Not submitted: some changes are not saved yet. They are kept in this page.",
  submitLost: "The server can't be reached; the note was not submitted. Try again.",
  refused: (status) => `The server refused it (${status}).`,
  submitting: "Submitting…",
  labelled: (label, quote) => `${label}: ${quote}`,
  relabelled: (label, quote) => `Now ${label}: ${quote}`,
  deleted: (label, quote) => `Deleted ${label}: ${quote}`,
  resized: (label, quote) => `${label} is now: ${quote}`,
  undone: "Undone",
  redone: "Done again",
  there: (label) => `${label} is there already.`,
  onlySpace: "Only white space is selected.",
  armed: (label) => `Every selection becomes ${label}. Esc stops.`,
  disarmed: "No label is ready any more.",
  span: (label, quote, at, count) => `${label}: ${quote}, ${at} of ${count}`,
  noSpans: "There are no spans in this note yet.",
  nothing: "Nothing selected. Select text, or click a span.",
  remove: "Delete",
  removeKey: "Del",
  offsets: (start, end) => `Characters ${start}–${end}`,
  count: (count) => (count === 0 ? "No spans" : plural(count, "span", "spans")),
  close: "Close",
  continued: (label) => `${label}, continued`,
  groups: { move: "Move", change: "Label and change", note: "Note", labels: "Labels" },
};
