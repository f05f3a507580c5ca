/** Types of the members that the subclasses of review and adjudication add to the shared classes. */

import "./queue.js";
import "./work.js";

type News = { elsewhere?: boolean; [what: string]: unknown };

declare module "./queue.js" {
  interface Decisions {
    rebuild(queued?: object): void;
    difference(before: object): string | null;
    isState(state: object): boolean;
  }
}

declare module "./work.js" {
  interface NoteWork {
    readonly selected: { key: string } | null;
    painted(): object[];
    show(): void;
    described(chosen: object): string;
    walk(step: number, options?: { open?: boolean }): boolean;
    isOpen(): boolean;
  }
}
