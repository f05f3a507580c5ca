/** Every sentence that the adjudication page's scripts show or say. */

import { words as disagreements } from "../agreement/words.js";
import { gettext, interpolate, listed, ngettext, pgettext } from "../core/translating.js";
import { whoWhen, words as shared } from "../editor/deciding/words.js";

const CHOICES = {
  majority: gettext("the majority's version"),
  unanimous: gettext("what all say"),
  rule: gettext("what all say, by the project's rule"),
  reader: gettext("one annotator's version"),
  own: gettext("marked by the adjudicator"),
  nothing: gettext("nothing personal"),
};
const CONSENSUS = {
  all: pgettext("the annotators", "all alike"),
  majority: pgettext("the annotators", "majority"),
  split: pgettext("the annotators", "split"),
  one: pgettext("the annotators", "only one"),
};
const STANDINGS = {
  open: pgettext("a place", "open"),
  agreed: pgettext("a place", "all alike"),
  decided: pgettext("a place", "decided"),
  changed: pgettext("a place", "second look"),
};

export const words = {
  ...shared,
  consensus: CONSENSUS,
  standings: STANDINGS,
  stateOf: ({ consensus, standing }) => listed([CONSENSUS[consensus], STANDINGS[standing]]),
  described: (quote, place) => interpolate(gettext("%(quote)s: %(state)s"), { quote, state: words.stateOf(place) }),
  chip: { nothing: pgettext("on a place", "nothing"), split: pgettext("the annotators", "split") },
  of: (count, total, label) => interpolate(gettext("%(count)s of %(total)s %(label)s"), { count, total, label }),
  mostOf: (total, label) => interpolate(gettext("most of %(total)s %(label)s"), { total, label }),
  all: (label) => interpolate(gettext("all %(label)s"), { label }),
  unanimous: (count) => interpolate(ngettext("Accept %(count)s place all alike", "Accept %(count)s places all alike", count), { count }),
  majority: pgettext("a row of spans", "Majority"),
  nothing: pgettext("a button", "Nothing"),
  outcome: pgettext("a row of spans", "Decided"),
  before: pgettext("a row of spans", "Decided before"),
  none: gettext("marks nothing"),
  keep: gettext("Keep it"),
  take: (name) => interpolate(gettext("Take the version of %(name)s"), { name }),
  decided: (choice, reader, by, at) => {
    const known = CHOICES[choice] ?? choice;
    const what = reader ? listed([known, reader]) : known;
    return by
      ? interpolate(gettext("Decided: %(what)s; %(who)s"), { what, who: whoWhen(by, at) })
      : interpolate(gettext("Decided: %(what)s"), { what });
  },
  changed: gettext(
    "An annotator says something else here than when this was decided. What was decided stands until you change it: E keeps it.",
  ),
  passes: gettext("All say the same here; by this project's rule it passes when you close the note."),
  agreed: gettext("All say the same. A accepts this one, * all such places at once."),
  tie: gettext("No version has a majority here. Take an annotator's version by its digit, or mark your own."),
  empty: gettext("No annotator marked anything in this note. Read it once, mark what is missing, then close it."),
  allDone: gettext("Nothing is open. Read the note once more for what all missed, then close it."),
  pick: gettext("No place is chosen. J goes to the next one; a click on one chooses it."),
  closedNote: gettext("This note is adjudicated. Reopen it to change a decision."),
  notReady: gettext("Fewer than two annotators have submitted this note now, so nothing can be decided. What was decided stands."),
  missing: (names) =>
    interpolate(
      ngettext(
        "%(names)s has this note open and not handed in: what they say is left out until then.",
        "%(names)s have this note open and not handed in: what they say is left out until then.",
        names.length,
      ),
      { names: listed(names) },
    ),
  text: gettext("Selected words"),
  hintText: gettext("A label's key or a click on a label marks them; every key is a label's while words are selected. Esc lets go."),
  said: {
    majority: (quote) => interpolate(gettext("Majority taken: %(quote)s"), { quote }),
    reader: (name, quote) => interpolate(gettext("Version of %(name)s taken: %(quote)s"), { name, quote }),
    nothing: (quote) => interpolate(gettext("Nothing personal: %(quote)s"), { quote }),
    keep: (quote) => interpolate(gettext("Kept: %(quote)s"), { quote }),
    own: (label, quote) => interpolate(gettext("%(label)s: %(quote)s"), { label, quote }),
    drop: (label, quote) => interpolate(gettext("Taken out, %(label)s: %(quote)s"), { label, quote }),
    unanimous: (count) => interpolate(ngettext("%(count)s place accepted", "%(count)s places accepted", count), { count }),
    cause: (kind) => (kind ? interpolate(gettext("Cause: %(kind)s"), { kind }) : gettext("Cause taken back")),
  },
  marking: gettext("Choose words with the arrow keys, Shift extends, a label's key marks them. Esc stops."),
  stillOpen: (count) =>
    interpolate(
      ngettext(
        "%(count)s place is still open. Decide first, then close the note.",
        "%(count)s places are still open. Decide first, then close the note.",
        count,
      ),
      { count },
    ),
  elsewhere: gettext("Another adjudicator decided on this note meanwhile, or you in another tab. What you see now is what is saved."),
  readings: gettext(
    "An annotator handed this note in or reopened it meanwhile. Decisions stand; places that they changed are marked for a second look.",
  ),
  closedElsewhere: gettext("This note's adjudication was closed meanwhile, by somebody else or in another tab."),
  reopenedElsewhere: gettext("This note's adjudication was reopened meanwhile."),
  remove: (label) => interpolate(gettext("Take %(label)s out"), { label }),
  why: gettext("Why do they differ? A abbreviation, M ambiguity, D debatable, S scarcity; Esc says nothing."),
  groups: {
    move: disagreements.groups.move,
    decide: pgettext("what keys are for", "Decide"),
    own: pgettext("what keys are for", "Your own span"),
    note: pgettext("what keys are for", "Note"),
    labels: pgettext("what keys are for", "Labels: with words selected, any of these keys"),
  },
  keys: {
    ...shared.keys,
    next: disagreements.keys.next,
    before: disagreements.keys.before,
    open: gettext("Next open place"),
    reader: gettext("Take the version of annotator 1, 2, …"),
    majority: gettext("Accept the majority's version, or what all say"),
    unanimous: gettext("Accept every place where all say the same"),
    nothing: gettext("Nothing personal here"),
    keep: gettext("Second look: keep what was decided before"),
    why: gettext("Why they differ: then A, M, D or S"),
    mark: gettext("Select the place's words; then a label's key"),
    extend: gettext("Select more or fewer words"),
    drop: gettext("Take the decided span out"),
    nextNote: gettext("Next note, once this one is closed"),
  },
};
