"""Names of persons in Italian text."""

from typing import Final

from models_runtime.backends.rules.bare import Age, NameCues, given_names
from models_runtime.backends.rules.rule import DIGITS, words

WORDS: Final = NameCues(
    does=words(
        "riferisce nega lamenta accusa dorme mangia piange dice racconta chiede vuole vive cammina spiega domanda "
        "accetta rifiuta sorride beve fuma lavora studia convive ricorda riconosce descrive desidera preferisce decide "
        "pensa sente sa viene torna arriva esce entra deambula riposa collabora parla telefona firma giunge accede "
        "assume prende capisce comprende teme spera ringrazia aspetta si_lamenta si_rifiuta si_sente si_mostra si_alza "
        "si_addormenta si_sveglia ci_dice mi_dice mi_chiede può poteva sta appare appariva tollera vomita tossisce "
        "esegue pratica segue ha_riferito ha_dormito ha_mangiato ha_camminato ha_chiesto ha_detto ha_accettato "
        "ha_rifiutato ha_fatto ha_avuto ha_iniziato si_presenta si_reca compie soffre riceve guarda "
        "gioca viveva dormiva"
    ),
    has=words("è era ha aveva presenta presentava deve rimane resta risulta continua necessita e"),
    between=words("non si le gli lo la mi ci ne oggi ieri ancora già sempre mai anche che però"),
    leads=words(
        "a ad con per da di che oggi ieri stamattina stanotte stasera e ed secondo quando mentre dove perché se chiama "
        "visito incontro valuto trovo rivedo sento vedo paziente anche accompagna affianca tra fra su verso domani "
        "lunedì martedì mercoledì giovedì venerdì sabato domenica né"
    ),
)

RULES: Final = given_names(
    "it",
    WORDS,
    pronouns=("ella",),
    described=Age(
        words("è"),
        r"è[ ](?:una?[ ]|un['’])(?:donna|uomo|paziente|bambin[oa]|ragazz[oa]|signora?|lattante|"
        r"anzian[oa]|neonat[oa])(?:[ ][a-zà-ÿ]+)?"
        r"[ ](?:di|che)(?![a-z])",
        0.9,
    ),
    figures=Age(
        frozenset((*DIGITS[1:4], "anni", "di")),
        r"(?:(?:di[ ])?anni[ ][0-9]{1,3}|(?:di[ ])?[0-9]{1,3}[ ](?:anni|aa|mesi))(?=[,.;: )\n]|"
        r"\Z)(?![ ](?:fa|di[ ](?!età)|dopo|prima|dal))",
        0.88,
    ),
)
