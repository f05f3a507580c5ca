/**
 * Expressions that people see as a unit in a clinical note: a date, an address, a person's name. Rules for Italian, Spanish and
 * English as regular expressions over one line, for expand.js and candidates.js. They only suggest bounds of a selection; nothing
 * is labeled automatically. Their words are in words.json, from which the rules backend takes those that both need.
 *
 * Ends were tuned on the training part of MEDDOCAN (fixtures/bench/doubleclick.mjs measures them): an age takes its unit, a
 * street takes number and floor but not the post code, a name leaves its title outside.
 *
 * The rules backend decides what is an identifier. Here a person has decided, and a key press can't wait for a server: running that
 * backend for each opened note would make opening slower by more than a tenth, and it marks fewer of the exact ends (94.3%
 * of MEDDOCAN's dev part; these expressions: 95.8%).
 */

import WORDS from "./words.json" with { type: "json" };

/** The words of these groups, as the file writes them. */
const listed = (...names) => names.flatMap((name) => WORDS[name].join(" ").split(" "));
const any = (words) => words.join("|").replaceAll(".", "\\.");
const capital = (...names) => any(listed(...names).map((word) => word[0].toUpperCase() + word.slice(1)));
/** The same words with a small or a capital first letter. */
const cased = (...names) => any(listed(...names).map((word) => `[${word[0]}${word[0].toUpperCase()}]${word.slice(1)}`));
const capitals = (...names) => any(listed(...names)).toUpperCase();

// No letter, mark or digit of the same word before or after.
const BEGIN = "(?<![\\p{L}\\p{M}\\p{Nd}])";
const END = "(?![\\p{L}\\p{M}\\p{Nd}])";
const SPACE = "[ \\t\\u00a0]";

// ── Dates, times, ages ───────────────────────────────────────────────────────────────────────────────────────────────

const MONTH_NAMES = ["months", "browser.months"];
const MONTH_SHORT = ["months_short", "browser.months_short"];
const MONTH = `(?:(?:${cased(...MONTH_NAMES)}|${capitals(...MONTH_NAMES)})|(?:${cased(...MONTH_SHORT)}|${capitals(...MONTH_SHORT)})(?:\\.(?!\\s*$))?)(?!\\p{L})`;
const ROMAN = "(?:X?I{1,3}|I?[VX]|V?I{1,3}|VIII)";
const DAY = "(?:0?[1-9]|[12]\\d|3[01])";
const YEAR = "(?:'?\\d{2}|(?:1[89]|20)\\d{2})";
const FULL_YEAR = "(?:1[89]|20)\\d{2}";
const OF = "(?:de|del|di|of|dell['’])";

const DATES = [
  `${DAY}${SPACE}?[./\\-–]${SPACE}?(?:\\d{1,2}|${ROMAN}|${MONTH})${SPACE}?[./\\-–]${SPACE}?${YEAR}`,
  `${FULL_YEAR}[./-]\\d{1,2}[./-]\\d{1,2}`,
  `\\d{1,2}[/]${DAY}[/]${YEAR}`,
  `${DAY}(?:st|nd|rd|th|[º°ª])?${SPACE}+(?:${OF}${SPACE}+)?${MONTH}(?:,?${SPACE}+(?:${OF}${SPACE}+)?(?:(?:año|anno)${SPACE}+)?${FULL_YEAR})?`,
  `${MONTH}${SPACE}+${DAY}(?:st|nd|rd|th)?(?:,${SPACE}*|${SPACE}+)${FULL_YEAR}`,
  `${MONTH}(?:${SPACE}+(?:${OF}${SPACE}+)?(?:(?:año|anno)${SPACE}+)?|[-/])${FULL_YEAR}`,
  `${MONTH}${SPACE}+${DAY}(?:st|nd|rd|th)`,
  `${MONTH}${SPACE}+['’]\\d{2}`,
  `(?:0?[1-9]|1[0-2])[/]${FULL_YEAR}`,
  `(?:[Aa]ño|[Aa]nno)${SPACE}${FULL_YEAR}`,
];
const DATE = `${BEGIN}(?:${DATES.join("|")})${END}`;

const TIME = `${BEGIN}(?:[01]?\\d|2[0-3])(?:[:.][0-5]\\d(?::[0-5]\\d)?(?:${SPACE}?(?:h|hs|hrs|horas|ore|am|pm|AM|PM|a\\.m\\.|p\\.m\\.))?|h[0-5]\\d|${SPACE}?(?:am|pm|AM|PM|a\\.m\\.|p\\.m\\.))${END}`;

const NUMBER_WORDS = cased("numbers_es", "numbers_it", "numbers_en", "browser.numbers");
const UNIT = cased("browser.age_units");
const AMOUNT = `(?:\\d{1,3}(?:[.,]\\d)?|(?:${NUMBER_WORDS}))`;
const AGE = `${BEGIN}${AMOUNT}(?:${SPACE}?[-–]${SPACE}?|${SPACE}+|(?<=\\d))(?:(?:${UNIT})(?:[- ]old)?|AÑOS|ANNI|A\\.?(?=[\\s.,;]|$)|a\\.(?=[\\s,;]|$)|y/o|yo|yrs?)(?:${SPACE}+(?:y|e|and|con)${SPACE}+(?:${AMOUNT}${SPACE}+(?:${UNIT})|medio|mezzo))?${END}`;

// ── Numbers and Internet addresses ───────────────────────────────────────────────────────────────────────────────────

const EMAIL = "(?:(?<=[Mm]ail[.:-])|(?<![\\p{L}\\p{Nd}._%+-])(?![Ee]-?mail[.-]))(?:[oOdD]['’])?[\\p{L}\\p{Nd}_%+-][\\p{L}\\p{Nd}._%+-]*@[\\p{L}\\p{Nd}-]+(?:\\.[\\p{L}\\p{Nd}-]+)*\\.\\p{L}{2,}";
const URL = "(?:https?://|www\\.)[^\\s<>\"()]+[^\\s<>\"().,;:!?]";

/** A date before a number, such as a time without a colon: two identifiers, not one number. */
const DATE_FIRST = `(?!${DAY}(?:[/]${DAY}[/](?:${FULL_YEAR}|\\d{2})|[.-]${DAY}[.-]${FULL_YEAR})${SPACE}|${FULL_YEAR}[./-]\\d{1,2}[./-]\\d{1,2}${SPACE})`;
/** Digits in groups: telephone numbers, insurance numbers, physicians' register numbers. */
const NUMBERS = `(?<![\\p{L}\\p{Nd}])${DATE_FIRST}(?!\\d{1,3}${SPACE}\\d{5}(?!${SPACE}?\\d))(?<![\\p{Nd}][.,/-])(?:\\+${SPACE}?\\d{1,3}[ .-]?)?(?:\\(\\+?\\d{1,4}\\)${SPACE}?)?\\d+(?:(?:${SPACE}{1,2}|[-/.])\\d+)+(?![\\p{L}\\p{Nd}])`;
/** Letters and digits together: tax codes, record numbers. */
const TAX_CODE = `${BEGIN}[A-Z]{3}${SPACE}?[A-Z]{3}${SPACE}?\\d{2}[A-Z]\\d{2}${SPACE}?[A-Z]\\d{3}[A-Z]${END}`;
const CODE = "(?<![\\p{L}\\p{Nd}])(?=[\\p{L}\\p{Nd}/_-]*\\p{Nd})(?=[\\p{Nd}/_-]*\\p{L})[\\p{L}\\p{Nd}]+(?:[-/_][\\p{L}\\p{Nd}]+)*(?![\\p{L}\\p{Nd}])";

// ── Names ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const CAPITAL = "(?:\\p{Lu}[\\p{L}\\p{M}]*(?:['’]\\p{Lu}[\\p{L}\\p{M}]*)?(?:-\\p{L}[\\p{L}\\p{M}]*)*(?![\\p{L}\\p{M}/@]))";
const INITIAL = "(?:\\p{Lu}\\.(?:-\\p{Lu}\\.)?|M\\.?[ªa]\\.?(?![\\p{L}]))";
// Without "d": D'Angelo.
export const TITLES = capital("name_titles", "name.title.person", "name.title.staff", "browser.titles").replace("|D|", "|");
const OPENERS = capital("sentence_starts", "browser.openers");
const STREET_TYPES = ["street_types_es", "street_types_it"];
const STREET_WORDS = capital(...STREET_TYPES, "browser.street_words");
const ORGANIZATION_WORDS = capital("browser.organization_heads", "browser.organizations");
const COUNTRIES = capital("countries");
/** Towns that often stand right after a name or a hospital, with no comma between. */
const TOWNS = capital("cities_es", "cities_it", "cities_en", "browser.towns");
const PARTICLES = "(?:de(?:l|lla|llo|lle|i|gli)?|De(?:l|lla)?|d[aeio]|D[ai]|dal(?:la)?|dos|das|van|Van|von|der|den|ter|l[aeo]s?|L[aeo]s?|el|El|[yie](?=[ \\t]\\p{Lu}[\\p{L}\\p{M}-]*(?![ \\t]+\\p{Lu})(?![\\p{L}\\p{M}-]))|d['’])";

const APART = `${TITLES}|${OPENERS}|${STREET_WORDS}|${ORGANIZATION_WORDS}`;
const NOT_NAMED = `(?!(?:${APART}|${COUNTRIES})(?![\\p{L}\\p{M}]))`;
const LINK = `(?:${SPACE}${PARTICLES}(?=${SPACE}|['’])){0,3}${SPACE}{1,2}(?:[dl]['’])?`;
const NAMED = `(?:${INITIAL}|${NOT_NAMED}${CAPITAL})`;
// Not at the start of a sentence: there it is an article.
const ARTICLE = `(?<=[\\p{Ll}\\p{Nd},:(]${SPACE}{1,2})(?:La|Las|Los|El|A|O|Le|Lo|De|Del|Di|Da|Dal|Della)${SPACE}`;
// Belongs to the name even where no given name precedes it: "Dr. van den Berg".
const LEADING = `(?:[Vv][ao]n(?:${SPACE}(?:de[rnm]?|het|['’]t))?|ter)${SPACE}`;
const MORE = `(?:(?:${LINK}|(?<=\\.))${NAMED})`;
const PERSON = `${BEGIN}(?:${ARTICLE}|${LEADING})?(?:${INITIAL}(?=(?:${SPACE}?${INITIAL}){0,4}(?:${LINK}${NOT_NAMED}\\p{Lu}\\p{L}|(?<=\\.)\\p{Lu}\\p{Ll}))|${NOT_NAMED}${CAPITAL})${MORE}*(?:,${SPACE}\\p{Lu}\\.(?!\\p{L}))?${END}`;

const COUNTRY = `${BEGIN}(?:${COUNTRIES}|EE\\.?${SPACE}?UU\\.?|USA|U\\.S\\.A\\.|UK)${END}`;

const QUOTED = "[\"“«'][^\"”»'\\n]{2,40}[\"”»']";
const HEADS = capital("browser.organization_heads");
const ORGANIZATION_LINK = `(?:${SPACE}(?:de|del|di|della|dello|dell['’]|da|do|la|las|los|el|y|e|per|of|for|the|and|i)(?=${SPACE}|['’])){0,3}${SPACE}(?:[dl]['’])?`;
const ORGANIZATION_PART = `(?:(?<!${SPACE}(?:[Dd]el?|di)${SPACE})(?!(?:${TOWNS})(?!\\p{L}))|(?<=${SPACE}(?:[Dd]el?|di)${SPACE}))(?!(?:${HEADS}|${STREET_WORDS}|${COUNTRIES}|E-?mail|Correo|Correos|Tel|Tfno)(?![\\p{L}\\p{M}]))(?:${CAPITAL}|${INITIAL})`;
const ORGANIZATION = `${BEGIN}(?:${ORGANIZATION_WORDS})(?![\\p{L}\\p{M}])(?:${ORGANIZATION_LINK}(?:${ORGANIZATION_PART}|\\d{1,2}(?=${SPACE}de${SPACE}\\p{Lu})))*(?:${SPACE}${QUOTED})?`;

// ── Streets ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const STREET_BEGIN = `(?:(?:${STREET_WORDS}|${any(listed(...STREET_TYPES))}|avda\\.|av\\.|pza\\.|ctra\\.)(?![\\p{L}\\p{M}])|[Cc]/\\.?)`;
const STREET_NAME = `(?:${SPACE}*(?:\\p{Lu}[\\p{L}'’]{0,4}\\.(?=${SPACE}?\\p{Lu})|(?!(?:Calle|Avenida|Avda|Av|Carretera|Ctra|C/|E-?mail)(?!\\p{L}))(?!N\\s?[º°.]|No\\.)\\p{Lu}[\\p{L}\\p{M}'’ºª-]*(?![\\p{L}@/])|(?:de|del|della|dei|degli|delle|di|do|da|dos|das|la|las|los|el|lo|y|e|i|d['’]|dell['’]|l['’]|\\p{Nd}+(?=${SPACE}(?:de|di|d['’])))(?![\\p{L}])))`;
const NUMBERED = "(?:[Nn]\\s?[º°ªo.]{1,2}|[Nn]úm(?:ero)?\\.?|[Nn]um(?:ero)?\\.?|[Kk]m\\.?|#)";
const HOUSE = `(?:s/n|S/N|s\\.n\\.|sn|${NUMBERED}?${SPACE}*\\d{1,4}(?:[.,]\\d{1,3}(?!\\d))?(?:${SPACE}?[-/]${SPACE}?\\d{1,3})?(?:${SPACE}?(?:bis|[-/]?[A-Za-z](?![\\p{L}/@-])))?)`;
const ORDINAL = `(?:\\.?${SPACE}?[º°ªᵃᵒ]|[oa](?!\\p{L})|(?<=\\d)\\.(?= ?[A-Z](?!\\p{L})))`;
const SIDE = `(?:[Ii]zda|[Ii]zq|[Ii]zquierda|[Dd]cha|[Dd]rcha|[Dd]erecha|[Dd]er|[Dd]ch|[Ii]z|pta|Piso|piso|[A-Za-z](?!\\p{L}|-|/|@|\\.\\p{L}))`;
const STAIRS = "(?:[Pp]iso|[Pp]uerta|[Pp]ta\\.?|[Pp]lanta|[Ee]scalera|[Ee]sc\\.?|[Pp]ortal|[Bb]loque|[Bb]l\\.|[Bb]q\\.|[Ii]nterno|[Ii]nt\\.|[Ss]cala|[Pp]iano|[Aa]pt\\.?|[Ff]lat|[Ss]ótano|P)";
const FLOOR = `(?:(?:[,.]${SPACE}*|${SPACE}*[-–]${SPACE}*|${SPACE}+)(?:${STAIRS}${SPACE}*(?:[\\p{Lu}]|\\p{Nd}{1,3})[º°ªA-Z]?|(?!\\d{4,5}(?!\\d))\\d{1,3}(?!\\d)${ORDINAL}?(?:[${" "}-]?${SIDE})?|[Bb]ajo|[Áá]tico|${SIDE})(?![\\p{L}\\p{Nd}@]))`;
const STREET_HEAD = "(?:Calle|Paseo|Avenida|Avda\\.?|Av\\.?|Plaza|Ronda|C/\\.?|Piazza|Viale)(?!\\p{L})";
const STREETS = [
  `${STREET_BEGIN}${STREET_NAME}+(?:(?:,?${SPACE}*)${HOUSE}(?![\\p{L}\\p{Nd}])${FLOOR}*)`,
  // In lower case, but with a number: "Paseo de los pinos 16".
  `${STREET_HEAD}${SPACE}*[\\p{L}\\p{M}'’.]+(?:${SPACE}+[\\p{L}\\p{M}'’.]+){0,4}?,?${SPACE}${HOUSE}(?![\\p{L}\\p{Nd}])${FLOOR}*`,
  `${STREET_BEGIN}${STREET_NAME}+`,
  `\\d{1,5}[A-Za-z]?${SPACE}(?:${CAPITAL}${SPACE}){1,3}(?:Street|St\\.?|Road|Rd\\.?|Avenue|Ave\\.?|Lane|Ln\\.?|Drive|Square|Place|Court|Way|Boulevard|Blvd\\.?)(?:,${SPACE}(?:[Aa]pt\\.?|[Ff]lat)${SPACE}\\w{1,4})?`,
];
const STREET = `${BEGIN}(?:${STREETS.join("|")})`;

/**
 * The rules in order of preference: where the matches of two rules contain an offset, the earlier rule applies. A pattern is made
 * on first use: the browser takes 25 ms to read them all. @type {Array<{kind: string, pattern: () => RegExp}>}
 */
export const EXPRESSIONS = [
  ["email", EMAIL],
  ["url", URL],
  ["street", STREET],
  ["organization", ORGANIZATION],
  ["date", DATE],
  ["age", AGE],
  ["time", TIME],
  ["code", `${TAX_CODE}|${CODE}`],
  ["number", NUMBERS],
  ["country", COUNTRY],
  ["name", PERSON],
].map(([kind, source]) => {
  let made;
  return { kind, pattern: () => (made ??= new RegExp(source, "gu")) };
});

/** Wards, specialties, and words that headings of clinical notes write in capitals. */
export const CLINICAL = new RegExp(`^(?:${any(listed("browser.clinical"))})`, "u");
/** A line of a form: "Domicilio: Calle Mayor 3." The value is group 1. */
export const FIELD = /(?:^|[ \t]{1,}|[.;,] )(?:\p{Lu}|N[º°])[\p{L}\p{M}º°./ ]{1,30}?:[ \t\u00a0]*([^:\n]{1,80}?)(?=\.?[ \t]*$|\.?[ \t]+(?:\p{Lu}|N[º°])[\p{L}\p{M}º°./]{1,20}(?: [\p{L}º°/]{1,12}){0,3}:|\. )/gu;
/** A short sentence or clause between punctuation marks. */
export const CLAUSE = /(?:[^,;:()[\]\n.]|\.(?=\S))+/gu;
