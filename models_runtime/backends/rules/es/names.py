"""Names of persons in Spanish text."""

from typing import Final

from models_runtime.backends.rules.bare import Age, NameCues, given_names
from models_runtime.backends.rules.rule import DIGITS, words

WORDS: Final = NameCues(
    does=words(
        "refiere niega acude duerme come llora dice comenta cuenta pide quiere vive camina explica consulta pregunta "
        "agradece entiende comprende acepta rechaza sonríe bebe toma fuma trabaja estudia convive recuerda reconoce "
        "describe relata manifiesta expresa solicita prefiere decide desea cree piensa siente sabe necesita viene "
        "vino vuelve regresa regresó llega llegó ingresa ingresó sale salió deambula desayuna desayunó cena ceno cenó "
        "descansa despierta despertó participa colabora cumple habla habló llama llamó avisa firma firmó se_queja "
        "se_niega se_encuentra se_siente se_muestra se_levanta se_desorienta se_cae se_cayó se_despide caminó durmió "
        "comió lloró dijo comentó pidió quiso contó refirió negó acudió aceptó rechazó explicó consultó preguntó ve "
        "oye mejora empeora vomitó tosió tose tolera toleró realiza entra entró permanece continúa sufre sufrió "
        "padece recibe recibió precisa termina terminó empieza empezó tuvo lleva llevaba vivía puede podía está"
    ),
    has=words("es era fue ha había tiene tenía presenta presentaba presentó sigue estaba estuvo será debe y como"),
    between=words("no se le la lo les me nos ya hoy ayer también todavía aún nunca apenas siempre solo sólo que quien"),
    leads=words(
        "a con para de por que hoy ayer y e según encuentro visito veo exploro atiendo valoro ingresa acompaña "
        "acompañan paciente cuando mientras donde porque si llama avisa desde tanto sobre contra sin entre hacia "
        "anoche mañana lunes martes miércoles jueves viernes sábado domingo ni"
    ),
)

RULES: Final = given_names(
    "es",
    WORDS,
    pronouns=("ella",),
    described=Age(
        words("es de"),
        r"(?:es[ ](?:un|una)[ ](?:varón|mujer|hombre|niñ[oa]|paciente|chic[oa]|joven|señora?|lactante|"
        r"ancian[oa])(?:[ ][a-z]+)?"
        r"[ ]de|de)[ ](?:[0-9]{1,3}|[a-z]{4,12})[ ](?:años|meses)(?![a-z])(?!/|[ ](?:de[ ](?:evol|segui|antig|durac|"
        r"trat|uso)|después))",
        0.85,
    ),
    figures=Age(
        frozenset(DIGITS[1:4]),
        r"[0-9]{1,3}[ ](?:años|meses)(?=[,.;: )\n]|\Z)(?![ ](?:de[ ](?!edad)|después|antes|tras))",
        0.85,
    ),
)
