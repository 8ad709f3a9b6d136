"""What a column is about, by the words of its name and label: things an intruder may know, or not.

The words are whole words in English, German, French, Spanish, Italian, Dutch, Portuguese, Polish,
Swedish, Danish and Norwegian, without accents; `a+b` needs both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from maskmeter.data.column_roles import phrases, word_set, words_in


@dataclass(frozen=True)
class Topic:
    """A topic of columns: how identifying and how well known it is from 0 to 10, and why.

    Columns of a topic with `known` 0 are never keys.
    """

    name: str
    known: float
    why: str
    words: str

    @cached_property
    def phrases(self) -> tuple[frozenset[str], ...]:
        """The words, or pairs of words, that tell it."""
        return phrases(self.words)


@dataclass(frozen=True)
class TopicMatch:
    """The topic of a column, and how well its words fit, as a number up to that of the topic."""

    topic: Topic
    fit: float


PLACE, INSTITUTION, AGE, BIRTH_YEAR, BIRTH_DATE, SEX = (
    Topic(
        "place", 10, "neighbours and registers know it",
        "region regio regiao regione districts district county state province municipality"
        " municipio municipalidad commune communes city town borough ward lad lsoa msoa parish canton"
        " department postcode postal zip zipcode plz ort wohnort gemeinde gemeindenummer bezirk"
        " landkreis kreis bundesland bula nuts kanton provinz departement ville comuna comunidad"
        " provincia ciudad distrito localidad comune citta gemeente provincie woonplaats stad"
        " concelho freguesia wojewodztwo powiat gmina miasto kommun kommune lan fylke gkz ags metro"
        " msa puma fips gor neighbourhood neighborhood tract residence voivodeship statefip regierungsbezirk"
        " area zone bydel amt gewest wijk quartier estado+federal comarca constituency wahlkreis country cntry"
    ),
    Topic(
        "institution", 6, "staff and families know it",
        "school schule ecole escuela scuola colegio escola szkola skola skole university"
        " hochschule hospital krankenhaus spital hopital ospedale ziekenhuis clinic klinik schoolid"
        " schulnummer"
    ),
    Topic(
        "age", 9, "anybody can tell roughly",
        "age ages agegroup agegrp agecat ageband ageclass agea alter altersgruppe altersklasse edad"
        " eta leeftijd idade wiek alder aldersgruppe agegr grupoedad trancheage age+group"
    ),
    Topic(
        "year of birth", 8.5, "anybody can tell roughly",
        "birthyear yob birthyr yrbirth yrbrn gebjahr geburtsjahr birth+year birth+yr naissance+annee"
        " anais nacimiento+ano nascita+anno geboortejaar nascimento+ano urodzenia+rok fodelsear"
        " fodselsar fodselsaar fodt+ar naissance+an"
    ),
    Topic(
        "date of birth", 0, "with it nearly every record is one of a kind",
        "dob birthdate birthday dateofbirth birth+date birth+day geburtsdatum geburtstag gebdat"
        " naissance+date nacimiento+fecha nascita+data geboortedatum nascimento+data urodzenia+data"
        " fodelsedatum fodselsdato fodselsdag datenaissance"
    ),
    Topic(
        "sex", 9.5, "anybody can tell",
        "sex gender gndr geschlecht sexe sexo genero sesso genere geslacht plec kon kjonn koen"
    ),
)  # fmt: skip

_OTHERS = (
    Topic(
        "marital status", 7, "neighbours and registers know it",
        "marital marstat maritalstatus marst mstatus civilstatus civil+status familienstand"
        " etat+civil etatcivil matrimonial matrimoniale estado+civil stato+civile"
        " burgerlijke+staat stan+cywilny civilstand sivilstand sivilstatus married partnership"
    ),
    Topic(
        "ethnic group", 7.5, "it can be seen or is talked about",
        "ethnic ethnicity ethnie ethnique race indigenous raza etnia etnico raca razza"
        " etnisk etnicitet etniciteit migrationshintergrund migration+background herkunft"
    ),
    Topic(
        "Hispanic origin", 4.8, "it can be seen or is talked about",
        "hispan hispanic latino latina"
    ),
    Topic(
        "citizenship", 6.5, "registers hold it",
        "citizen citizenship citizens nationality nationalitat staatsangehorigkeit staatsburgerschaft"
        " nationalite nacionalidad cittadinanza nationaliteit nacionalidade obywatelstwo"
        " medborgarskap statsborgerskap statsborger ctzcntr citizenship+status"
    ),
    Topic(
        "country of birth", 6.5, "registers hold it",
        "country+birth native+country birthplace birthcountry cob bpl geburtsland geburtsort"
        " pays+naissance pais+nacimiento paese+nascita geboorteland pais+nascimento kraj+urodzenia"
        " fodelseland fodeland fodselsland cntbrth brncntr place+birth country+origin herkunftsland"
        " born+country"
    ),
    Topic(
        "religion", 5, "friends and neighbours know it",
        "religion relig denomination konfession confession religione godsdienst religiao wyznanie"
        " rlgdnm"
    ),
    Topic(
        "language", 4, "anybody can hear it",
        "language sprache muttersprache langue idioma lingua taal jezyk sprak tongue"
    ),
    Topic(
        "occupation", 6, "colleagues and the web know it",
        "occupation occup occ occupations job profession beruf berufsgruppe isco kldb profesion"
        " ocupacion professione occupazione beroep profissao ocupacao zawod yrke yrkesgruppe erhverv"
        " stilling csp pcs"
    ),
    Topic(
        "industry", 4.5, "colleagues and friends know it",
        "industry indus nace nacer branche wirtschaftszweig sic naics sector secteur sektor ramo rama"
        " setor settore bransch naeringe"
    ),
    Topic(
        "economic activity", 4.5, "neighbours know it",
        "employment empstat emp activity econact erwerbsstatus erwerbstatigkeit erwerbstaetigkeit"
        " labor+force labour+force lfstatus lfs labforce workclass class+worker classwkr"
        " stellung+beruf activite actividad emploi empleo emprego zatrudnienie sysselsattning"
        " beskaeftigelse arbeidsstatus economic+status employed mnactic condizione+professionale"
    ),
    Topic(
        "education", 5, "friends and colleagues know it",
        "education educ edu educlevel edlevel edlev schooling schulabschluss schulbildung bildung"
        " bildungsabschluss bildungsstand ausbildung isced eisced edulvlb diplome scolarite"
        " educacion estudios istruzione titolo+studio opleiding opleidingsniveau escolaridade"
        " educacao instrucao wyksztalcenie utbildning utdanning uddannelse degree qualification"
        " hiqual"
    ),
    Topic(
        "size of the household", 5, "neighbours can count it",
        "hhsize hsize hhmmb hhgr nhh famsize householdsize household+size hh+size family+size"
        " household+members household+persons hh+persons persons+household family+members"
        " haushaltsgrosse haushaltsgroesse taille+menage tamano+hogar famiglia+dimensione"
        " huishoudgrootte huishoudensgrootte hushallsstorlek haushalt+personen"
    ),
    Topic(
        "kind of household", 4.5, "neighbours know it",
        "hhtype hhtyp haushaltstyp household+type household+stat household+status"
        " household+composition family+type family+stat famtype relationship relation relate"
        " menage+type hogar+tipo famiglia+tipo"
    ),
    Topic(
        "children", 4.5, "friends and neighbours know it",
        "children child kids nchild kinder kinderzahl kinderanzahl enfants hijos figli kinderen"
        " filhos dzieci barn"
    ),
    Topic(
        "housing", 3.5, "neighbours can see it",
        "tenure dwelling housing homeowner ownershp wohnform wohnverhaltnis logement vivienda+tenencia"
        " abitazione woning"
    ),
    Topic(
        "visible condition", 3.5, "it can be seen or is talked about",
        "disability disabled veteran behinderung schwerbehinderung handicap discapacidad disabilita"
        " vetstat pregnant"
    ),
)  # fmt: skip

AMOUNT, SCORE, TIME = (
    Topic(
        "amount", 0, "an amount, which an intruder seldom knows",
        "income inc incomes wage wages salary earnings pay einkommen lohn gehalt verdienst revenu"
        " nettoeinkommen bruttoeinkommen haushaltseinkommen revenus salaire ingreso ingresos salario reddito retribuzione inkomen loon rendimento renda"
        " dochod inkomst inntekt loen indkomst gain gains loss losses dividend dividends interest"
        " capital tax taxes rent miete price cost costs kosten expenditure expenses spending"
        " turnover umsatz wealth assets debt amount betrag montant importe euro eur usd dollars"
        " profit savings premium reimbursement hours weeks minutes stunden heures horas ore uren timmar"
    ),
    Topic(
        "score", 0, "a score, a measurement or an answer, which an intruder seldom knows",
        "score scores scale index indice thermometer thermo therm ft feeling rating ratings points punkte"
        " punteggio puntaje puntos mark marks gpa percentile pct percent ratio zscore bmi"
        " pressure blood cholesterol glucose hba opinion attitude attitudes trust vertrauen"
        " satisfaction satisfied zufriedenheit agree approve approval importance likert"
        " diagnosis diagnose icd lab mean log ln sqrt logpop vote voted wahl wahlabsicht yrs+married years+married marriage+duration"
        " health gesundheit sante salud salute gezondheid helse halsa"
    ),
    Topic(
        "time", 0, "when the record was made or something happened",
        "year jahr annee wave welle month monat quarter date datum fecha interview syear timestamp"
        " time zeit erhebungsjahr"
    ),
)  # fmt: skip

TOPICS = (PLACE, INSTITUTION, AGE, BIRTH_YEAR, BIRTH_DATE, SEX, *_OTHERS, AMOUNT, SCORE, TIME)

# Words that change nothing: "age of respondent in years" is about age alone.
_NEUTRAL = word_set(
    "a an the of in at on to for r d de der des du die das den dem la le les el il lo da do e et y und"
    " and or code codes coded recode recoded rec group grp gruppe groupe grupo gruppo class cat category"
    " categories band bands respondent respondents befragter befragte befragten person persons"
    " persona personne self own eigen eigene years yrs yr jahren ans anos anni lat jahre status stat"
    " level niveau highest hochster hochste current currently usual main major detailed general legal"
    " type typ kind number num nr no n id name label text variable interview survey is was lives"
    " wohnt home residence permanent harmonised harmonized derived total single digits digit full"
    " attained completed obtained reached administrative origin household hh proxy int respondi geo"
    " entrevistado enquete intervistato sampled sample last birthday s summary pre post"
)
# Words that make it somebody else's, or of another time: an intruder seldom knows it.
_REMOTE = word_set(
    "father mother parent parents spouse partner husband husb wife vater mutter eltern ehepartner"
    " pere mere conjoint padre madre conyuge previous prev former past ago first ideal expected when"
    " before since other second work workplace arbeitsort vorher fruher frueher change move moved"
    " wechsel diagnosis death onset marriage youngest oldest lived"
)
# Words of questions, which ask what nobody else knows.
_ASKED = word_set(
    "should would think feel important trust agree much how why believe satisfied opinion support"
    " favor favour better best worse prefer like likely often wie wichtig meinung sollte finden"
    " pensez combien debe piensa thermometer feeling rating spending"
)
_SHORT = 3  # letters
_ENDS = ("code", "num", "no", "nr", "cd")  # of names that are written together
_LEAST_FIT = 2.5
_LEAST_OF_LABEL = 0.34  # share of the words of a label that must be about the topic
_FROM_LABEL = 0.9
_REMOTE_FIT = 0.4


def topic_of(name: str, label: str = "") -> TopicMatch | None:
    """Return what a column is about by its name, or else by its label; None where neither tells.

    >>> [topic_of(name).topic.name for name in ("Altersgruppe", "native-country", "CapitalGain")]
    ['age', 'country of birth', 'amount']
    >>> topic_of("v12", "Sex of respondent").topic.name, topic_of("passage"), topic_of("v3", "Savage")
    ('sex', None, None)
    """
    named = _matched(words_in(name))
    if named is not None and named.topic is not TIME:
        return named
    told = _matched(words_in(label), question=True) if label and label != name else None
    return named if told is None else TopicMatch(told.topic, _FROM_LABEL * told.fit)


def _matched(words: tuple[str, ...], *, question: bool = False) -> TopicMatch | None:
    """Return the topic that most of some words are about."""
    kept = [word for word in words if not word.isdigit()]
    forms = {form for word in kept for form in _forms(word)}
    found = [
        (len(phrase), topic in (AMOUNT, SCORE), topic.known, topic)
        for topic in TOPICS
        for phrase in topic.phrases
        if phrase <= forms
    ]
    if not found:
        return None
    topic = max(found, key=lambda one: one[:3])[-1]
    told = frozenset().union(*(one for one in topic.phrases if one <= forms))
    others = [word for word in kept if word not in _NEUTRAL or told.intersection(_forms(word))]
    share = sum(bool(told.intersection(_forms(word))) for word in others) / len(others)
    asked = not _ASKED.isdisjoint(kept)
    if question and (share < _LEAST_OF_LABEL or (topic.known and asked)):
        return None
    fit = topic.known * (0.3 + 0.7 * share) * (1 if _REMOTE.isdisjoint(kept) else _REMOTE_FIT)
    return TopicMatch(topic, fit) if fit >= _LEAST_FIT or not topic.known else None


def _forms(word: str) -> set[str]:
    """Return a word, in the singular too, without the e of German dots and without a "code" or "no".

    >>> sorted(_forms("wardno"))
    ['ward', 'wardno']
    """
    plain = word.replace("ae", "a").replace("oe", "o").replace("ue", "u")
    bare = next((word.removesuffix(end) for end in _ENDS if word.endswith(end)), word)
    forms = {word, plain, word.removesuffix("s") if len(word) > _SHORT else word}
    return forms | ({bare} if len(bare) > _SHORT else set())
