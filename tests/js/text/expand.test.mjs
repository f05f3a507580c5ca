import assert from "node:assert/strict";
import { test } from "node:test";

import { candidates, candidatesIn } from "../../../static/js/text/candidates.js";
import { expand, expansions } from "../../../static/js/text/expand.js";
import { TextIndex } from "../../../static/js/text/offsets.js";
import { standing } from "../../../static/js/text/standing.js";
import { tokenize } from "../../../static/js/text/tokens.js";
import { hostileText, randomSource } from "../cases.mjs";

/** [text, what is clicked, what is taken] */
const CASES = [
  // Dates
  ["Paziente ricoverato il 12/03/2021 a Torino.", "03", "12/03/2021"],
  ["nato il 12 marzo 2021 a Roma", "marzo", "12 marzo 2021"],
  ["seen on March 3rd, 2021 at noon", "3", "March 3rd, 2021"],
  ["alta el 12-III-1998.", "III", "12-III-1998"],
  ["el 3 de mayo de 2015 acude", "mayo", "3 de mayo de 2015"],
  ["operada en Noviembre de 2003 de", "2003", "Noviembre de 2003"],
  ["intervenido el 26-julio-2004", "julio", "26-julio-2004"],
  ["dal marzo 2020.", "2020", "marzo 2020"],
  ["on 2021-03-12.", "12", "2021-03-12"],
  ["surgery in Feb '09 was", "09", "Feb '09"],
  ["since Sept ’98", "Sept", "Sept ’98"],
  // A date and the number after it are two.
  ["seen 07/04/2017 2318 by", "2318", "2318"],
  ["seen 07/04/2017 2318 by", "04", "07/04/2017"],
  ["il 12.03.2021 1430", "1430", "1430"],
  ["on 2017-04-07 2318", "07", "2017-04-07"],
  // Times
  ["alle ore 14:30 visita", "30", "14:30"],
  ["a las 10.30 h se", "10", "10.30 h"],
  // Internet addresses
  ["scrivere a m.rossi@aou.to.it.", "aou", "m.rossi@aou.to.it"],
  ["E-mail: nnavcu@hotmail.com", "hotmail", "nnavcu@hotmail.com"],
  ["vedi https://www.aou.it/a?b=1.", "aou", "https://www.aou.it/a?b=1"],
  ["write to o'brien@mercy.org today", "mercy", "o'brien@mercy.org"],
  ["write to d’amico.a@aou.it", "amico", "d’amico.a@aou.it"],
  // Numbers
  ["tel. +39 011 633 1234, fax", "633", "+39 011 633 1234"],
  ["Tfno: 915 86 75 76.", "86", "915 86 75 76"],
  ["CF RSSMRA67A01L219X nato", "67", "RSSMRA67A01L219X"],
  ["C.F.: RSS MRA 67A01 L219X", "MRA", "RSS MRA 67A01 L219X"],
  ["NASS: 26 63514095.", "63514095", "26 63514095"],
  ["NºCol: 28 28 70973.", "70973", "28 28 70973"],
  ["NHC: 2569870.", "2569870", "2569870"],
  // Streets, without the post code
  ["abita in Via Roma 12, 10121 Torino", "Roma", "Via Roma 12"],
  ["abita in via Giuseppe Verdi, 24/B, interno 3, Milano", "Verdi", "via Giuseppe Verdi, 24/B, interno 3"],
  ["Domicilio: C/ Mayor 3, 2º B.", "Mayor", "C/ Mayor 3, 2º B"],
  ["c/ del Abedul 5-7, 2º dcha 28036 Madrid", "Abedul", "c/ del Abedul 5-7, 2º dcha"],
  ["Domicilio:  Calle Miguel Benitez 90.", "90", "Calle Miguel Benitez 90"],
  ["lives at 12 Baker Street, London", "Baker", "12 Baker Street"],
  ["he moved to Oak St in May", "Oak", "Oak St"],
  ["at 14 Oak St. She", "St", "14 Oak St."],
  // Persons, without their titles
  ["visto dal dott. Carlo De Luca in", "Luca", "Carlo De Luca"],
  ["Dra. María del Carmen de la Fuente Sanz.", "Carmen", "María del Carmen de la Fuente Sanz"],
  ["Prof. J. L. García", "L", "J. L. García"],
  ["signed J. R. R. Tolkien.", "Tolkien", "J. R. R. Tolkien"],
  ["seen by Dr. Ludwig van Beethoven today", "van", "Ludwig van Beethoven"],
  ["seen by Dr. van den Berg today", "den", "van den Berg"],
  ["il dott. von Braun", "Braun", "von Braun"],
  ["D'Angelo Maria, nata", "Angelo", "D'Angelo Maria"],
  ["Maria Rossi-Bianchi e Carlo Verdi", "Bianchi", "Maria Rossi-Bianchi"],
  ["la prof.ssa Anna Ferrari della", "Ferrari", "Anna Ferrari"],
  ["Médico:  Ignacio Navarro Cuéllar NºCol: 28", "Navarro", "Ignacio Navarro Cuéllar"],
  ["il sig. ROSSI Mario", "ROSSI", "ROSSI Mario"],
  // Ages, with their unit, as the guidelines of MEDDOCAN have it
  ["Mario, 54 anni, ricoverato", "54", "54 anni"],
  ["hombre de 70 años de edad", "años", "70 años"],
  ["54-year-old man", "year", "54-year-old"],
  // Locations
  ["Ospedale San Giovanni Battista di Torino, reparto", "Giovanni", "Ospedale San Giovanni Battista di Torino"],
  ["Hospital Universitario 12 de Octubre, Madrid", "Octubre", "Hospital Universitario 12 de Octubre"],
  ["Localidad: Santiago de Compostela.", "Santiago", "Santiago de Compostela"],
  // A word is a word
  ["presenta un buen estado general", "buen", "buen"],
  ["Domicilio: Torino.", ".", "."],
];

for (const [text, clicked, taken] of CASES) {
  for (const before of ["", "👩‍👧‍👦 😀 e\u0301\r\n"]) {
    test(`a double click on "${clicked}" in ${JSON.stringify(before + text)}`, () => {
      const index = new TextIndex(before + text);
      const { start, end } = expand(index, index.toCodePoint(before.length + text.indexOf(clicked)));
      assert.equal(index.slice(start, end), taken);
    });
  }
}

test("further clicks go from the word to the line, each inside the next", () => {
  const index = new TextIndex("Visto. abita in via Giuseppe Verdi, 24, Milano");
  const { choices, best } = expansions(index, 21);
  assert.deepEqual(
    choices.map(({ start, end, kind }) => [kind, index.slice(start, end)]),
    [
      ["word", "Giuseppe"],
      ["name", "Giuseppe Verdi"],
      ["street", "via Giuseppe Verdi, 24"],
      ["line", index.text],
    ],
  );
  assert.equal(best, 2);
});

test("white space and the end of the note have no expression", () => {
  const index = new TextIndex("a  b");
  assert.equal(expansions(index, 1), null);
  assert.equal(expansions(index, 4), null);
  assert.equal(expansions(new TextIndex(""), 0), null);
});

test("candidates in text order", () => {
  const text = "Nombre:  Ernesto.\nEdad: 70 años Sexo: H.\nAcude por dolor. Hb 12 g/dl, 140/80. Tel 011 633 12 34, visto da Anna Ferrari il 3.5.2015.";
  const index = new TextIndex(text);
  const found = [...candidates(index)].map(({ start, end }) => index.slice(start, end));
  assert.deepEqual(found, ["Ernesto", "70 años", "H", "011 633 12 34", "Anna Ferrari", "3.5.2015"]);
  const later = [...candidates(index, text.indexOf("Anna"))].map(({ start, end }) => index.slice(start, end));
  assert.deepEqual(later, ["Anna Ferrari", "3.5.2015"]);
});

test("no selection leaves the text, whatever the text is", () => {
  const random = randomSource(5);
  for (let round = 0; round < 60; round += 1) {
    const index = new TextIndex(hostileText(random));
    for (let offset = 0; offset <= index.length; offset += 1) {
      for (const { start, end } of expansions(index, offset)?.choices ?? []) assert.ok(start >= 0 && start < end && end <= index.length);
    }
    let last = 0;
    for (const { start, end } of candidates(index)) {
      assert.ok(start >= last && start < end && end <= index.length);
      last = end;
    }
  }
});

test("lines that could make the patterns slow are fast", () => {
  const units = ["Maria ", "A", "1 ", "Hospital de la ", "C/ Mayor 1, 2, ", "a.b@", "de la ", "12/", "J.", "Via de ", "x-", "1a-", ", ", "(1) ", "Rossi y "];
  const begun = process.cpuUsage();
  for (const unit of units) {
    const line = unit.repeat(20_000 / unit.length);
    const index = new TextIndex(line);
    expansions(index, 10_001);
    candidatesIn(line.slice(0, 1500));
    candidates(index, 10_001).next();
  }
  assert.ok(process.cpuUsage(begun).user < 3e6);
});

test("a name at the start of a sentence is a candidate if the note has it elsewhere", () => {
  const stops = (text) => {
    const index = new TextIndex(text);
    return [...candidates(index)].map(({ start, end }) => index.slice(start, end));
  };
  assert.deepEqual(stops("Nome: Mario Rossi.\nRossi riferisce dolore. Stabile. Rossi dorme."), ["Mario Rossi", "Rossi", "Rossi"]);
  assert.deepEqual(stops("Visto dal dott. Bianchi. Bianchi consiglia riposo."), ["Bianchi", "Bianchi"]);
  assert.deepEqual(stops("Rossi riferisce dolore."), [], "nothing says that it is one");
  assert.deepEqual(stops("Il Sig. Paziente. Paziente stabile; il paziente dorme."), [], "written small elsewhere");
});

test("twice as much hostile text costs at most 2.6 times the time", () => {
  const seconds = (text) => {
    const began = process.cpuUsage();
    for (const _found of candidates(new TextIndex(text)));
    return process.cpuUsage(began).user / 1e6;
  };
  for (const token of ["1/", "1 ", "1.", ".", "a@", "A. ", "Aa ", "calle ", "-", "(", "1-1/"]) {
    const text = token.repeat(20_000 / token.length);
    let short = 0;
    let long = 0;
    for (let attempt = 0; attempt < 5; attempt += 1) {
      [short, long] = [seconds(text), seconds(text + text)];
      if (long <= Math.max(2.6 * short, 0.05)) break;
    }
    assert.ok(long <= Math.max(2.6 * short, 0.05), `${token}: ${short} and ${long} s`);
  }
});

test("a double click in a candidate selects the whole candidate", () => {
  const index = new TextIndex("👩 Seen by van den Berg today");
  const start = index.toCodePoint(index.text.indexOf("by"));
  const { choices, best } = expansions(index, start + 4, { start, end: start + 15 });
  assert.equal(index.slice(choices[best].start, choices[best].end), "by van den Berg");
});

test("strings stand where whole tokens are, the longest first", () => {
  const index = new TextIndex("👩 Rossi, Mario Rossi e Rossini; Mario, MARIO ROSSI");
  const found = standing(index, tokenize(index.text), new Set(["Rossi", "Mario Rossi", "Mario", "absent"]));
  assert.deepEqual(found.map(({ start, end }) => index.slice(start, end)), ["Rossi", "Mario Rossi", "Mario"]);
});
