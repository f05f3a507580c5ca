/** Every sentence that the review page's script shows or says. */

const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;

export const words = {
  states: { open: "proposed", accepted: "accepted", rejected: "rejected", added: "in gold" },
  stateTags: { open: "open", accepted: "accepted", rejected: "rejected" },
  left: (count) => (count === 0 ? "Nothing is open" : `${plural(count, "proposal", "proposals")} open`),
  none: "This run proposed nothing here. Read the note, mark what it missed, and close it.",
  nothing: "Choose a proposal with J and K, or click one.",
  confidence: (value) => (value === null ? "no confidence given" : `confidence ${Math.round(value * 100)} %`),
  source: (source) => (source ? `by ${source}` : ""),
  corrected: (label, quote) => `In gold as ${label}: ${quote}`,
  accepted: (label, quote) => `Accepted ${label}: ${quote}`,
  rejected: (label, quote) => `Rejected ${label}: ${quote}`,
  added: (label, quote) => `Added ${label}: ${quote}`,
  removed: (label, quote) => `Taken out of gold, ${label}: ${quote}`,
  undone: "Taken back",
  redone: "Decided again",
  marking: "Choose words with the arrow keys, Shift extends, a label's key adds the span. Esc stops.",
  selectFirst: "Select the right words first, then press E.",
  stillOpen: (count) => `${plural(count, "proposal is", "proposals are")} still open. Decide on them, then close the note.`,
  notClosed: "Not closed: some decisions are not saved yet. They are kept in this page.",
  closeLost: "The server can't be reached; the note was not closed. Try again.",
  closed: "This note's review is closed. Reopen it to change a decision.",
  changed: "Somebody else decided on this note meanwhile. What you see now is what is saved.",
  accept: "Accept",
  reject: "Reject",
  remove: "Take out of gold",
  groups: { move: "Move", decide: "Decide", note: "Note", labels: "Labels" },
};
