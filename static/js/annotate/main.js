/** The annotate page: builds the workbench from the page's data, and adds its parts. */

import { Workbench } from "./workbench.js";
import { Comments } from "./comments.js";
import { Find } from "./find.js";
import { Flags } from "./flags.js";
import { Guide } from "./guide.js";
import { NotesList } from "./notes.js";
import { Talk } from "./talk.js";
import { arrive } from "./arrive.js";
import { byId } from "../editor/dom.js";

const workbench = new Workbench(JSON.parse(byId("annotation-set").textContent));
const talk = new Talk(workbench);

workbench
  .add(new NotesList(workbench))
  .add(new Comments(workbench, talk))
  .add(new Flags(workbench, talk))
  .add(new Guide(workbench))
  .add(new Find(workbench))
  .start();

arrive(workbench);
