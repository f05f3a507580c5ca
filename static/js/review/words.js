/** All texts of the review page's scripts. */

import { percent } from "../core/percent.js";
import { gettext, interpolate, listed, ngettext, pgettext } from "../core/translating.js";
import { whoWhen, words as shared } from "../editor/deciding/words.js";

const WHY = {
  string: () => gettext("The same text is in gold elsewhere in this note."),
  run: (runs) => interpolate(gettext("Found by %(runs)s, but not by this run."), { runs }),
  first: (first) => interpolate(gettext("%(first)s added this span and you did not."), { first }),
  own: (first) => interpolate(gettext("You added this span and %(first)s did not."), { first }),
};
const WHY_TAGS = { string: gettext("same text"), own: gettext("only yours") };
const STATES = {
  open: gettext("suggested"),
  accepted: pgettext("a suggestion", "accepted"),
  rejected: pgettext("a suggestion", "rejected"),
  added: gettext("in gold"),
  hint: gettext("possible missed identifier"),
  removal: { open: gettext("proposed removal"), accepted: gettext("removed"), rejected: gettext("kept in gold") },
};

export const words = {
  ...shared,
  states: STATES,
  stateTags: {
    open: pgettext("a suggestion", "open"),
    accepted: STATES.accepted,
    rejected: STATES.rejected,
    differs: gettext("first reviewer differs"),
    planted: gettext("planted leak"),
    doubt: gettext("doubtful"),
    changed: gettext("changed by the refiner"),
  },
  stages: {
    second: (first) =>
      interpolate(gettext("%(first)s reviewed this note first. Decisions you don't change are kept. Finishing completes the review."), { first }),
    blind: (first) =>
      interpolate(
        gettext("%(first)s reviewed this note first. You decide without seeing %(first)s's decisions. Differences are shown when you finish."),
        { first },
      ),
    resolving: (first) =>
      interpolate(gettext("You and %(first)s both reviewed this note. Decisions you don't change are kept. Finishing completes the review."), { first }),
    waiting: () => gettext("You took part in the first review of this note. A different person must do the second review."),
  },
  // Planted leaks: a sentence for each outcome, then what to do.
  plantedLeft: ({ missed, partly, found }) =>
    [
      missed &&
        interpolate(
          ngettext(
            "%(count)s planted leak was hidden to measure missed identifiers. It is not marked.",
            "%(count)s planted leaks were hidden to measure missed identifiers. They are not marked.",
            missed,
          ),
          { count: missed },
        ),
      partly &&
        interpolate(
          ngettext(
            "%(count)s planted leak is only partly marked.",
            "%(count)s planted leaks are only partly marked.",
            partly,
          ),
          { count: partly },
        ),
      found &&
        interpolate(
          ngettext("You found %(count)s other planted leak.", "You found %(count)s other planted leaks.", found),
          { count: found },
        ),
      missed + partly === 1 ? gettext("Accept or reject it, then finish the review.") : gettext("Accept or reject each one, then finish the review."),
    ]
      .filter(Boolean)
      .join(" "),
  plantedOpen: (count) =>
    interpolate(
      ngettext(
        "%(count)s planted leak is not decided yet. Accept or reject it, then finish the review.",
        "%(count)s planted leaks are not decided yet. Accept or reject them, then finish the review.",
        count,
      ),
      { count },
    ),
  planted: {
    found: gettext("Planted leak: the reviewer found it."),
    partly: gettext(
      "Planted leak: only partly marked. Accept adds the suggested span; Reject keeps the marked span.",
    ),
    missed: gettext("Planted leak: not marked when the reviewer finished."),
    elsewhere: gettext("Planted leak: added to gold by other means, so it is not counted."),
  },
  differ: (first, count) =>
    interpolate(
      ngettext(
        "You and %(first)s differ in %(count)s location. Decisions you don't change are kept; = takes %(first)s's decision. Then Enter finishes the review.",
        "You and %(first)s differ in %(count)s locations. Decisions you don't change are kept; = takes %(first)s's decision. Then Enter finishes the review.",
        count,
      ),
      { first, count },
    ),
  firstDecided: (first, state) => interpolate(gettext("%(first)s: %(state)s"), { first, state }),
  decideLikeFirst: (first) => interpolate(gettext("Decide like %(first)s"), { first }),
  titles: { suggestion: gettext("Selected suggestion"), removal: gettext("Proposed removal"), gold: gettext("Selected gold span"), text: gettext("Selected text"), hint: gettext("Possible missed identifier") },
  none: gettext("This run has no suggestions in this note. Read the note, mark what the run missed, then finish the review."),
  noneForSurrogates: gettext("Nothing is accepted in this note yet, so there is no surrogate to show."),
  noSurrogates: gettext("Surrogates can't be shown now. The note is masked instead."),
  allDone: gettext("All suggestions are decided. Read the masked note once more for missed identifiers, then finish the review."),
  nothing: gettext("No suggestion is selected. Press J for the next one, or click one."),
  filteredOut: gettext("The filter matches no suggestion in this note."),
  finishedNote: gettext("This note is reviewed. Reopen it to change a decision."),
  confidence: (value) => (value === null ? "" : interpolate(gettext("confidence %(percent)s"), { percent: percent(value) })),
  agree: (count, total) => interpolate(ngettext("%(count)s of %(total)s runs:", "%(count)s of %(total)s runs:", total), { count, total }),
  agreeShort: (count, total) => interpolate(gettext("%(at)s of %(total)s"), { at: count, total }),
  backer: (run, confidence) =>
    confidence === null ? run : interpolate(gettext("%(run)s (%(percent)s)"), { run, percent: percent(confidence) }),
  differing: (names) => interpolate(gettext("The runs give different values to: %(names)s. The first run's are shown."), { names: listed(names) }),
  removedToo: gettext("Doubtful bounds. The model also removed these words:"),
  places: (count) =>
    count === 1
      ? gettext("Doubtful place. The model gave these words with a context that is not around them in the note.")
      : interpolate(
          ngettext(
            "Doubtful place. The model did not say which of %(count)s place with these words it means. All are suggested.",
            "Doubtful place. The model did not say which of %(count)s places with these words it means. All are suggested.",
            count,
          ),
          { count },
        ),
  unsupported: gettext("Doubtful bounds. Nothing confirms that these words belong to the identifier:"),
  conflicting: gettext("Conflicting suggestions"),
  rejectsConflicting: gettext("Conflicting suggestions. Accepting this suggestion rejects them."),
  source: (source) => (source ? interpolate(gettext("source: %(source)s"), { source }) : ""),
  facts: (facts) => listed(facts.filter(Boolean)),
  decided: {
    accepted: (by, at) => interpolate(gettext("Accepted by %(who)s"), { who: whoWhen(by, at) }),
    rejected: (by, at) => interpolate(gettext("Rejected by %(who)s"), { who: whoWhen(by, at) }),
  },
  removalDecided: {
    accepted: (by, at) => interpolate(gettext("Removal accepted by %(who)s"), { who: whoWhen(by, at) }),
    rejected: (by, at) => interpolate(gettext("Kept in gold by %(who)s"), { who: whoWhen(by, at) }),
  },
  actions: { keep: gettext("Kept by the refiner:"), update: gettext("Changed by the refiner:"), remove: gettext("The refiner proposes to remove this:") },
  before: gettext("Before:"),
  after: gettext("Now:"),
  acceptRemoval: gettext("Accept removal"),
  rejectRemoval: gettext("Reject removal"),
  hintRemoval: gettext("Rejecting keeps the annotation in gold. A label's key keeps it with that label."),
  withCount: (name, count) => interpolate(gettext("%(name)s (%(count)s)"), { name, count }),
  there: gettext("Already in gold: no decision needed"),
  thereInDraft: gettext("In a draft of a review: no decision needed"),
  thereInDraftSince: (history) => interpolate(gettext("In a draft of a review: no decision needed (%(history)s)"), { history }),
  thereSince: (history) => interpolate(gettext("Already in gold: no decision needed (%(history)s)"), { history }),
  history: (from, by, at) =>
    listed(
      [
        from && interpolate(gettext("from %(source)s"), { source: from }),
        by && interpolate(gettext("decided by %(who)s"), { who: whoWhen(by, at) }),
      ].filter(Boolean),
    ),
  added: (by, at) => interpolate(gettext("Added by %(who)s"), { who: whoWhen(by, at) }),
  as: gettext("In gold as"),
  hint: gettext("A label's key accepts with that label. Shift+← → moves the right end, Alt+← → the left end."),
  hintText: gettext("Choose a label to add a new span to gold."),
  hintRest: gettext("The correction left this text out. Choose a label to add it as a new span, or press Esc."),
  ends: (label) => interpolate(gettext("Use as bounds of %(label)s"), { label }),
  described: (label, state, quote) => interpolate(gettext("%(label)s, %(state)s: %(quote)s"), { label, state, quote }),
  describedHint: (label, quote, why) => interpolate(gettext("Possible missed identifier, %(label)s: %(quote)s. %(why)s"), { label, quote, why }),
  saidAccepted: (label, quote) => interpolate(gettext("Accepted %(label)s: %(quote)s"), { label, quote }),
  saidRemovalAccepted: (label, quote) => interpolate(gettext("Accepted the removal of %(label)s: %(quote)s"), { label, quote }),
  saidKept: (label, quote) => interpolate(gettext("Kept %(label)s: %(quote)s"), { label, quote }),
  saidKeptAs: (label, quote) => interpolate(gettext("Kept as %(label)s: %(quote)s"), { label, quote }),
  saidRejected: (label, quote) => interpolate(gettext("Rejected %(label)s: %(quote)s"), { label, quote }),
  saidCorrected: (label, quote) => interpolate(gettext("Accepted as %(label)s: %(quote)s"), { label, quote }),
  saidAdded: (label, quote) => interpolate(gettext("Added %(label)s: %(quote)s"), { label, quote }),
  labelRest: (quote) => interpolate(gettext("Label what was left out: %(quote)s"), { quote }),
  saidLeftOut: (quote) => interpolate(gettext("Left out: %(quote)s. E selects it, so that a label's key adds it as a new span."), { quote }),
  saidRest: (quote) => interpolate(gettext("Left out and selected: %(quote)s. A label's key adds it as a new span. Esc leaves it out."), { quote }),
  saidThere: (label) => interpolate(gettext("%(label)s is already in gold."), { label }),
  saidThereInDraft: (label) => interpolate(gettext("%(label)s is in a draft of a review."), { label }),
  saidRemoved: (label, quote) => interpolate(gettext("Removed from gold, %(label)s: %(quote)s"), { label, quote }),
  marking: gettext("Select text with the arrow keys; Shift extends. A label's key adds the span. Esc stops."),
  selectFirst: gettext("Select the correct text first, then press E."),
  stillOpen: (count) =>
    interpolate(
      ngettext(
        "%(count)s suggestion is still open. Decide on it, then finish the review.",
        "%(count)s suggestions are still open. Decide on them, then finish the review.",
        count,
      ),
      { count },
    ),
  chooseFirst: gettext("Suggestions conflict here. Accept one of them before you finish."),
  doubtfulFirst: gettext("This suggestion is doubtful. Decide on it, or select the box above the note that includes doubtful suggestions."),
  removalsFirst: gettext("This is a proposed removal. Decide on it, or select the box above the note that includes proposed removals."),
  restRemovals: (count) =>
    interpolate(
      ngettext(
        "%(count)s proposed removal is open. “Accept the rest” waits for your decision on it.",
        "%(count)s proposed removals are open. “Accept the rest” waits for your decisions on them.",
        count,
      ),
      { count },
    ),
  restDoubtful: (count) =>
    interpolate(
      ngettext(
        "%(count)s open suggestion is doubtful. “Accept the rest” waits for your decision on it.",
        "%(count)s open suggestions are doubtful. “Accept the rest” waits for your decisions on them.",
        count,
      ),
      { count },
    ),
  restSkipped: (count) =>
    interpolate(
      ngettext(
        "“Accept the rest” skips %(count)s open suggestion because this note already has gold.",
        "“Accept the rest” skips %(count)s open suggestions because this note already has gold.",
        count,
      ),
      { count },
    ),
  restThenMisses: (open, hints) =>
    [
      interpolate(ngettext("%(count)s identifier may have been missed.", "%(count)s identifiers may have been missed.", hints), { count: hints }),
      interpolate(
        ngettext(
          "Check it, then press Shift+Enter again to accept the %(count)s open suggestion and finish the review.",
          "Check them, then press Shift+Enter again to accept the %(count)s open suggestions and finish the review.",
          open,
        ),
        { count: open },
      ),
    ].join(" "),
  finished: gettext("The review of this note is finished. Reopen it to change a decision."),
  finishedElsewhere: gettext("The review of this note was finished by someone else or in another tab."),
  reopenedElsewhere: gettext("The review of this note was reopened."),
  elsewhere: gettext("This note was changed by someone else, or by you in another tab. You now see the saved state."),
  saidString: {
    accept: (quote) => interpolate(gettext("Accepted everywhere: %(quote)s"), { quote }),
    reject: (quote) => interpolate(gettext("Rejected everywhere: %(quote)s"), { quote }),
    undo: (quote) => interpolate(gettext("Undone: %(quote)s"), { quote }),
  },
  stringKeys: {
    ...shared.keys,
    next: gettext("Next string"),
    before: gettext("Previous string"),
    open: gettext("Show all occurrences of the string"),
  },
  occurrenceKeys: { sheet: shared.keys.sheet, next: gettext("Next occurrence"), before: gettext("Previous occurrence") },
  ticked: (count, total) =>
    interpolate(
      ngettext(
        "%(count)s of %(total)s open locations on this page selected. The others stay open.",
        "%(count)s of %(total)s open locations on this page selected. The others stay open.",
        total,
      ),
      { count, total },
    ),
  accept: gettext("Accept"),
  reject: gettext("Reject"),
  filtered: gettext("The filter hides some suggestions. You can finish when all suggestions are decided."),
  hintsLeft: (count) =>
    count ? interpolate(ngettext("%(count)s to check", "%(count)s to check", count), { count }) : pgettext("how many are open", "none"),
  why: ({ why, runs }) => WHY[why](listed(runs)),
  whyTag: ({ why, runs }) => WHY_TAGS[why] ?? listed(runs),
  addIt: gettext("Add"),
  notOne: gettext("Not an identifier"),
  hintOther: gettext("Press a label's key to add it with that label."),
  remove: gettext("Remove from gold"),
  groups: {
    move: pgettext("what keys are for", "Move"),
    decide: pgettext("what keys are for", "Decide"),
    missed: pgettext("what keys are for", "Missed identifiers"),
    note: pgettext("what keys are for", "Note"),
    labels: pgettext("what keys are for", "Labels: accept with this label, or add the selection"),
  },
  keys: {
    ...shared.keys,
    next: gettext("Next suggestion"),
    before: gettext("Previous suggestion"),
    open: gettext("Skip to the next open suggestion"),
    pointed: gettext("Reject the suggestion under the pointer"),
    pointedBy: gettext("Alt+click"),
    rightEnd: gettext("Move the right end of the suggestion by one word"),
    leftEnd: gettext("Move the left end of the suggestion by one word"),
    ends: gettext("Use the selected text as bounds of the suggestion; after a correction, select what it left out"),
    first: gettext("Decide like the first reviewer"),
    mask: gettext("Switch between original, masked and surrogate text"),
    mark: gettext("Select text: arrow keys move, Shift extends, a label's key adds"),
    remove: gettext("Remove an added span from gold"),
    rest: gettext("Accept all open suggestions in this note and finish"),
    nextNote: gettext("Next note"),
    noteBefore: gettext("Previous note"),
  },
};
