/** Every text that the scripts of the annotate page show or announce. */

import { gettext, interpolate, listed, ngettext, pgettext } from "../core/translating.js";

const SAVE = {
  saved: () => gettext("Saved"),
  saving: (count) => (count > 9 ? interpolate(ngettext("Saving, %(count)s left", "Saving, %(count)s left", count), { count }) : gettext("Saving…")),
  offline: (count) => interpolate(ngettext("Offline, %(count)s waiting", "Offline, %(count)s waiting", count), { count }),
  later: (count) => interpolate(ngettext("Saving shortly, %(count)s waiting", "Saving shortly, %(count)s waiting", count), { count }),
  "signed-out": (count) => interpolate(ngettext("Signed out, %(count)s waiting", "Signed out, %(count)s waiting", count), { count }),
  "other-person": (count) =>
    interpolate(ngettext("Another person is signed in, %(count)s waiting", "Another person is signed in, %(count)s waiting", count), { count }),
  "no-access": (count) => interpolate(ngettext("No access, %(count)s waiting", "No access, %(count)s waiting", count), { count }),
  submitted: (count) =>
    interpolate(ngettext("Submitted elsewhere, %(count)s waiting", "Submitted elsewhere, %(count)s waiting", count), { count }),
};

/** The text for a state of saving. @param {number} waiting the number of unsaved changes */
export const saveWords = (state, waiting) => SAVE[state]?.(waiting);

/** Notices for the outcomes that keep changes waiting. */
export const STATE_MESSAGES = {
  offline: gettext("The server can't be reached. Your work is kept on this page and saved when the server is back. Leave this page open."),
  later: gettext("The server is busy with your other requests. Your work is kept on this page and saved automatically. Leave this page open."),
  "signed-out": gettext("You are signed out. Your work is kept on this page. Sign in again in another tab to save it."),
  "other-person": gettext(
    "Another person is signed in on this browser. Your work is kept on this page. Sign in as yourself in another tab to save it.",
  ),
  "no-access": gettext(
    "You can't change this note now: it was unassigned, the project was archived, or you left it. Unsaved work is kept on this page. Ask a manager to give you access again.",
  ),
  submitted: gettext(
    "This note was submitted in another tab. Unsaved work is kept on this page. Reopen the note to save it.",
  ),
};

const spans = (count) => interpolate(ngettext("%(count)s span", "%(count)s spans", count), { count });

/** The attributes of a span, each as its name, or as its name and value. @param {import("./shown.js").Attributes} [attributes] */
export const attributeWords = (attributes = {}) =>
  Object.entries(attributes).map(([name, value]) => (value === true ? name : interpolate(pgettext("an attribute of a span", "%(name)s: %(value)s"), { name, value })));

export const words = {
  refusedMore: (count) =>
    interpolate(ngettext("%(count)s other change was refused, too.", "%(count)s other changes were refused, too.", count), { count }),
  savedAgain: gettext("All changes are saved."),
  elsewhere: ({ added, removed, changed }) => {
    const changes = [
      added && interpolate(ngettext("%(count)s span added", "%(count)s spans added", added), { count: added }),
      removed && interpolate(ngettext("%(count)s span deleted", "%(count)s spans deleted", removed), { count: removed }),
      changed && interpolate(ngettext("%(count)s span changed", "%(count)s spans changed", changed), { count: changed }),
    ].filter(Boolean);
    return interpolate(gettext("This note was changed in another tab: %(changes)s. You now see the saved state."), { changes: listed(changes) });
  },
  refusedMany: (message, count) =>
    count > 1
      ? interpolate(ngettext("%(message)s %(count)s change was not saved.", "%(message)s %(count)s changes were not saved.", count), { message, count })
      : message,
  closed: gettext("This note is submitted. Reopen it to change it."),
  unstarted: gettext("Your annotations of this note are not started yet. Choose “Start annotations” at the bottom of the page."),
  startLost: gettext("The server can't be reached. Your annotations were not started. Choose “Start annotations” to try again."),
  keysChanged: gettext("The keys of your labels have changed."),
  labelsChanged: gettext("The labels of this project have changed. Reload the page to see them."),
  submittedElsewhere: gettext("This note was submitted in another tab."),
  reopenedElsewhere: gettext("This note was reopened in another tab."),
  notSubmitted: gettext("Not submitted: some changes are not saved yet. They are kept on this page."),
  submitLost: gettext("The server can't be reached. The note was not submitted. Try again."),
  reopenLost: gettext("The server can't be reached. The note was not reopened. Try again."),
  submitted: (name) => interpolate(gettext("%(name)s submitted"), { name }),
  submittedUndo: (name) => interpolate(gettext("%(name)s submitted. U undoes the submission."), { name }),
  reopened: gettext("Reopened. You can change this note again."),
  opened: (name, count) =>
    count === 0
      ? interpolate(gettext("%(name)s is open, no spans"), { name })
      : interpolate(ngettext("%(name)s is open, %(count)s span", "%(name)s is open, %(count)s spans", count), { name, count }),
  textOf: (name) => interpolate(gettext("Text of %(name)s"), { name }),
  inNote: (name, message) => interpolate(gettext("In %(name)s: %(message)s"), { name, message }),
  notesDone: (done, total) => interpolate(ngettext("%(done)s of %(total)s done", "%(done)s of %(total)s done", total), { done, total }),
  notesLeft: (count) => interpolate(ngettext("%(count)s left", "%(count)s left", count), { count }),
  moreNotes: (count) => interpolate(ngettext("More than %(count)s note", "More than %(count)s notes", count), { count }),
  refused: (status) => interpolate(gettext("The server refused the change (status %(status)s)."), { status }),
  submitting: gettext("Submitting…"),
  labeled: (label, quote) => interpolate(gettext("%(label)s: %(quote)s"), { label, quote }),
  relabeled: (label, quote) => interpolate(gettext("Now %(label)s: %(quote)s"), { label, quote }),
  deleted: (label, quote) => interpolate(gettext("Deleted %(label)s: %(quote)s"), { label, quote }),
  resized: (label, quote) => interpolate(gettext("%(label)s now covers: %(quote)s"), { label, quote }),
  undone: gettext("Undone"),
  redone: gettext("Redone"),
  there: (label) => interpolate(gettext("This span already has the label %(label)s."), { label }),
  onlySpace: gettext("The selection contains only white space."),
  armed: (label) => interpolate(gettext("Every selection is labeled %(label)s. Esc stops."), { label }),
  stops: gettext("Esc stops"),
  disarmed: gettext("Selections are no longer labeled automatically."),
  span: (label, quote, at, total) => interpolate(gettext("%(label)s: %(quote)s, %(at)s of %(total)s"), { label, quote, at, total }),
  noFurther: gettext("No more notes in this direction."),
  noSpans: gettext("This note has no spans yet."),
  nothing: gettext("Select text or choose a span."),
  remove: gettext("Delete"),
  removeKey: pgettext("a key", "Del"),
  offsets: (start, end) => interpolate(gettext("Characters %(start)s–%(end)s"), { start, end }),
  count: (count) => (count === 0 ? gettext("No spans") : spans(count)),
  close: pgettext("a notice", "Close"),
  continued: (label) => interpolate(gettext("%(label)s, continued"), { label }),
  pick: gettext("Spans here"),
  pickHere: gettext("Choose one of the spans here"),
  pickHint: (count) => interpolate(ngettext("%(count)s span here", "%(count)s spans here", count), { count }),
  noSpanHere: gettext("No span here."),
  noWider: gettext("The selection can't be widened further."),
  noNarrower: gettext("The selection can't be narrowed further."),
  noLast: gettext("You have not used a label yet. Choose one."),
  nothingUntouched: gettext("All candidate dates, numbers and names are labeled. Keep reading: there may be others."),
  nothingFurther: gettext("No more candidates. Keep reading: there may be others. Ctrl+Enter submits."),
  untouched: gettext("Next candidate"),
  candidatesLeft: (count) =>
    count === 0 ? gettext("No candidates left.") : interpolate(ngettext("%(count)s candidate left.", "%(count)s candidates left.", count), { count }),
  candidateKeys: gettext("A label's key labels this one, Delete dismisses it."),
  dismissed: gettext("Dismissed"),
  empty: gettext("Submit as containing no personal data?"),
  goesOn: gettext("After you label a span, the next candidate is now selected."),
  staysThere: gettext("The next candidate is no longer selected by itself."),
  chosen: gettext("Press a label's key or choose a label."),
  othersOfLast: (count) => interpolate(ngettext("Press * to label %(count)s other mention.", "Press * to label %(count)s other mentions.", count), { count }),
  fromTheOtherEnd: gettext("Continued from the other end of the note."),
  relabel: gettext("Relabel"),
  attributes: gettext("Attributes"),
  attributesOf: (label) => interpolate(gettext("Attributes of %(label)s"), { label }),
  noAttributes: (label) => interpolate(gettext("Spans with the label %(label)s have no attributes."), { label }),
  attributesNow: (label, all) =>
    all.length ? interpolate(gettext("%(label)s, %(attributes)s"), { label, attributes: all.join(", ") }) : interpolate(gettext("%(label)s, no attributes"), { label }),
  mentions: gettext("Label other mentions"),
  mentionsKey: gettext("Label other mentions of the same text"),
  allOthers: (count) =>
    count === 1 ? gettext("Label the other mention") : interpolate(ngettext("Label all %(count)s other mentions", "Label all %(count)s other mentions", count), { count }),
  noMentions: gettext("This text has no other mentions without this label."),
  anyCase: gettext("Ignore case"),
  applyTo: (count) => (count === 0 ? gettext("None selected") : interpolate(ngettext("Label %(count)s", "Label %(count)s", count), { count })),
  cancel: gettext("Cancel"),
  labeledMany: (label, count) =>
    interpolate(
      ngettext("%(count)s span labeled %(label)s. One undo removes it.", "%(count)s spans labeled %(label)s. One undo removes them all.", count),
      { label, count },
    ),
  filter: (typed) => interpolate(gettext("Labels matching “%(typed)s”"), { typed }),
  noLabelLike: (typed) => interpolate(gettext("No label matches “%(typed)s”. Press Backspace."), { typed }),
  source: gettext("In the document:"),
  closePage: gettext("Close page"),
  pageOf: (name) => interpolate(gettext("Picture of the document: %(name)s"), { name }),
  noPlace: gettext("No page to show. Select a span that comes from a page of a document."),
  noPage: gettext("The page can't be shown. Reviewers and managers can download the document from the page of the note."),
  wider: gettext("Wider"),
  narrower: gettext("Narrower"),
  more: gettext("More keys"),
  keys: {
    word: gettext("Next word, previous word (in visual order)"),
    line: gettext("Down one line, up one line"),
    extendLine: gettext("Extend the selection by one line"),
    sentence: gettext("Next sentence or line, previous one"),
    lineEdge: gettext("Start and end of the line; with Shift, extend"),
    noteEdge: gettext("Start and end of the note; with Shift, extend"),
    page: gettext("Down one screen, up one screen"),
    untouched: gettext("Next unlabeled candidate; previous one"),
    nextSpan: gettext("Next span; after the last span, the buttons"),
    previousSpan: gettext("Previous span"),
    widen: gettext("Widen: word, expression, line"),
    narrow: gettext("Narrower"),
    escape: gettext("Clear the selection; again: leave the text"),
    rightEnd: gettext("Extend the selection; move the right end of a selected span"),
    leftEnd: gettext("Move the left end of the selected text or span"),
    rightCharacter: gettext("Move the right end by one character"),
    leftCharacter: gettext("Move the left end by one character"),
    ranked: gettext("Apply one of the three likeliest labels"),
    repeat: gettext("Use the last label again"),
    goOn: gettext("Turn “Move on” on or off: select the next candidate after labeling"),
    palette: gettext("Choose a label for the selected text or span"),
    attributes: gettext("Set attributes of the selected span: then press a number"),
    sourcePage: gettext("Show or close the page of the document from which the selected span comes"),
    remove: gettext("Delete the selected span, or dismiss the selected candidate"),
    undo: gettext("Undo"),
    redo: gettext("Redo"),
    enter: gettext("Choose a label for the selected text; without a selection: submit the note"),
    submit: gettext("Submit the note, even with a selection"),
    reopen: gettext("Reopen the submitted note; right after submitting: undo the submission"),
    next: gettext("Next note"),
    previous: gettext("Previous note"),
    sheet: gettext("This list"),
  },
  mouse: [
    [gettext("Drag"), gettext("Select text by words; with Alt: by characters")],
    [gettext("Double click"), gettext("Select the whole date, name or address; again: widen")],
    [gettext("Click"), gettext("Select a span; if several overlap, choose one")],
    [gettext("Drag an end"), gettext("Resize the selected span; Alt: by characters; Esc cancels")],
    [gettext("Click a label"), gettext("Apply the label; without a selection: apply it to every following selection")],
  ],
  touch: [
    [gettext("Tap"), gettext("Select a word or a span; if several overlap, choose one")],
    [gettext("Tap twice"), gettext("Select the whole date, name or address")],
    [gettext("Drag along a line"), gettext("Select text; a drag across the lines scrolls")],
    [gettext("Drag an end"), gettext("Resize the selected text or span")],
    [gettext("Tap a label"), gettext("Apply the label; without a selection: apply it to every following selection")],
  ],
  groups: {
    touch: pgettext("what keys are for", "Gestures"),
    move: pgettext("what keys are for", "Move"),
    change: pgettext("what keys are for", "Label and change"),
    mouse: pgettext("what keys are for", "Mouse"),
    note: pgettext("what keys are for", "Note"),
    labels: pgettext("what keys are for", "Labels"),
  },
};
