"""What the name of a column says: identifiers, households and survey weights, in several languages.

A name is taken apart into its words, which must be those of a list: `weights_2` is a name of
weights and `bodyweights` is not.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_PARTED = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "Ae", "ł": "l", "Ł": "L"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text with spaces between them."""
    return frozenset(text.split())


def phrases(text: str) -> tuple[frozenset[str], ...]:
    """Return sets of words, of which all must occur: those that a `+` joins.

    >>> sorted(phrases("weight size+household")[1])
    ['household', 'size']
    """
    return tuple(frozenset(one.split("+")) for one in text.split())


_NUMBER = word_set("id ids nr no num number nummer numero numer code key serial lfd idx index n")
_IDENTIFIERS = word_set(
    "id ids pid uid uuid guid ident identifier identifiant identificador identificativo identifikator"
    " hid hhid idno idnr idp personid idperson persid personnr persnr personennummer pnr pernum"
    " personnummer caseid caseno casenr casenumber recordid recordno recordnr recordnumber rowid"
    " rownr rownum respid respno respondentid subjectid patid patientid patientennummer studentid"
    " pupilid fallnummer fallnr laufnummer lfdnr matrikelnummer idpers identyfikator lopnr"
    " lopenummer loebenummer cprnr recno seqno serno seqn nin fnr fodselsnummer"
)
_NUMBERED = word_set(  # of these, with a number: "case no", "person key"
    "case record row person pers respondent resp subject patient student pupil individual interview"
    " serial fall lfd individu persona individuo caso persoon osoba pessoa"
)
_CONTACTS = word_set(
    "email mail phone telephone telefon telefono telefone telefoon tel mobile handy passport iban"
    " nino ssn nhs cpr svnr sozialversicherungsnummer nif dni nie codicefiscale bsn pesel cpf"
)
_NAMES = word_set(
    "name surname forename firstname lastname fullname familyname vorname nachname familienname nom"
    " prenom nombre apellido apellidos nome cognome sobrenome naam voornaam achternaam imie nazwisko"
    " namn fornamn efternamn navn fornavn etternavn efternavn address addr adresse anschrift"
    " direccion indirizzo endereco adres adress street strasse rue calle straat ulica gata latitude longitude lat lon lng gps coordinates"
)
_HOUSEHOLDS = word_set(
    "hh hid hhid hhnr hhnum hhno idhh hushid household householdid haushalt haushalts haushaltsid"
    " haushaltsnummer haushaltsnr menage idmenage nummenage foyer hogar idhogar vivienda famiglia"
    " nucleo huishouden huishoudnummer agregado agregadofamiliar domicilio gospodarstwo hushall"
    " hushallsid husholdning husstand family familyid famid"
)
_WEIGHTS = word_set(
    "weight weights weighting wgt wgts wght wt wts wtd w pw pwgt pweight pweights fweight fwgt"
    " fnlwgt finalwgt finlwgt perwt hhwt asecwt earnwt dweight pspwght pspwt anweight wtssall"
    " wtfinl gewicht gewichte gewichtung gewichtungsfaktor personengewicht haushaltsgewicht hrf phrf"
    " hhrf hochrechnung hochrechnungsfaktor poids ponderation pond pondera coeff ponderacion"
    " ponderador ponderadores peso pesos facexp fexp ponderatore ponderazione weging wegingsfactor"
    " weegfactor ponderacao waga wagi vikt vikter vekt vekter vaegt vagt"
)
_EXPANSION = phrases(
    "expansion+factor expansion+facteur expansion+fator grossing+factor raising+factor"
    " sampling+factor factor+elevacion fator+expansao coef+ponderation"
)
_OF_PEOPLE = word_set(
    "person persons pers per p individual ind indiv personen personengewicht phrf perwt pwgt pweight"
    " individu individuel persona personas individuo individuale persoon osoba pessoa adult final"
    " fnlwgt respondent"
)
_OF_OTHERS = word_set(
    "household hh hhwt hhrf haushalt haushaltsgewicht menage hogar famiglia family huishouden"
    " dwelling rep repl replicate brr jk jackknife bootstrap boot"
)
_BODY = word_set(
    "body kg kgs kilo lb lbs birthweight koerper korper bmi height tall stature taille groesse"
    " korpergrosse koerpergroesse grossesse altezza altura talla lengte wzrost langd hoyde waist"
    " baby newborn"
)


@lru_cache(maxsize=4096)
def words_in(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case without accents, parted also as in `birthYear2`.

    >>> words_in("Geburts-Jahr_2"), words_in("birthYear"), words_in("Köpfe im HH")
    (('geburts', 'jahr', '2'), ('birth', 'year'), ('kopfe', 'im', 'hh'))
    """
    plain = unicodedata.normalize("NFKD", name.translate(_PARTED))
    kept = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return tuple(word.lower() for word in _WORD.findall(kept))


def _letters(name: str) -> list[str]:
    return [word for word in words_in(name) if not word.isdigit()]


def names_identifier(name: str) -> bool:
    """Return True for a name of identifiers or of what tells whose record it is, such as an address.

    >>> [names_identifier(name) for name in ("person_id", "caseNo", "e-mail", "idea", "width")]
    [True, True, True, False, False]
    """
    words = _letters(name)
    numbered = not _NUMBERED.isdisjoint(words) and not _NUMBER.isdisjoint(words)
    known = not (_IDENTIFIERS | _CONTACTS).isdisjoint(words)
    return known or (numbered and set(words) <= _NUMBERED | _NUMBER)


def names_person(name: str) -> bool:
    """Return True for a name that only numbers of people, households or records have.

    >>> [names_person(name) for name in ("pid", "person_id", "hhid", "region_id", "id_kind")]
    [True, True, True, False, False]
    """
    words = set(_letters(name))
    numbered = not words.isdisjoint(_NUMBERED | _HOUSEHOLDS) and not words.isdisjoint(_NUMBER)
    known = not words.isdisjoint(_IDENTIFIERS - _NUMBER)
    return words <= _IDENTIFIERS | _NUMBERED | _HOUSEHOLDS | _NUMBER and (known or numbered)


def names_somebody(name: str) -> bool:
    """Return True for a name under which people are written out: names, addresses, phone numbers.

    >>> [names_somebody(name) for name in ("last_name", "Strasse", "phone", "rename")]
    [True, True, True, False]
    """
    return not (_NAMES | _CONTACTS).isdisjoint(words_in(name))


def names_household(name: str) -> bool:
    """Return True for a name of household numbers, and of nothing else about households.

    >>> [names_household(name) for name in ("hhid", "HH_ID", "Haushaltsnummer", "hh_size")]
    [True, True, True, False]
    """
    words = set(_letters(name))
    return not words.isdisjoint(_HOUSEHOLDS) and words <= _HOUSEHOLDS | _NUMBER


def names_weights(name: str) -> bool:
    """Return True for a name of survey weights; it may also be that of what a scale shows.

    >>> [names_weights(name) for name in ("wgt_final", "PHRF", "factor_expansion", "weightless")]
    [True, True, True, False]
    """
    words = set(words_in(name))
    return not words.isdisjoint(_WEIGHTS) or any(pair <= words for pair in _EXPANSION)


def weights_of_people(name: str) -> int:
    """Return 1 for a name of weights of people, -1 of households or replicates, 0 where it is silent.

    >>> [weights_of_people(name) for name in ("w_person", "wgt", "hh_weight", "repwt_12")]
    [1, 0, -1, 0]
    """
    words = words_in(name)
    if not _OF_OTHERS.isdisjoint(words):
        return -1
    return int(not _OF_PEOPLE.isdisjoint(words))


def names_body(name: str) -> bool:
    """Return True for a name of a measure of the body, beside which a weight is one of kilograms.

    >>> [names_body(name) for name in ("body_weight", "height_cm", "wgt")]
    [True, True, False]
    """
    return not _BODY.isdisjoint(words_in(name))
