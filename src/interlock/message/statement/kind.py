"""A kind: what a person is who does a certain work: whoever says "drummer" says "musician" too.

It matters where the kind is denied: "no musician" is against "drummer", while "no drummer" is not against "musician".
"""

from collections.abc import Iterable

from interlock.message.statement.word import stem_of

__all__ = ["kinds_of"]

LINES = """
musician músico musicians músicos: singer vocalist drummer guitarist pianist violinist bassist rapper composer \
songwriter cantor cantora baterista guitarrista pianista violinista baixista compositor compositora
artist artista: painter sculptor singer musician actor pintor pintora escultor escultora músico
performer entertainer: actor actress singer comedian dancer comediante humorista dançarino dançarina
writer escritor: novelist poet playwright screenwriter essayist journalist romancista poeta dramaturgo roteirista \
ensaísta jornalista
athlete sportsman atleta esportista: footballer swimmer boxer wrestler sprinter cyclist jogador nadador nadadora \
boxeador lutador ciclista
scientist cientista: physicist chemist biologist astronomer geologist mathematician físico química biólogo bióloga \
astrônomo geólogo matemático
politician político: senator congressman minister mayor governor deputy senador senadora ministro ministra prefeito \
prefeita governador governadora deputado deputada
soldier soldado militar: officer general colonel sergeant lieutenant oficial coronel sargento tenente
lawyer advogado: attorney solicitor barrister prosecutor promotor promotora
physician doctor: surgeon cardiologist neurologist paediatrician cirurgião cirurgiã cardiologista neurologista pediatra
"""


def _kinds() -> dict[str, tuple[str, ...]]:
    """Give for each stem of a work the stems of its kinds."""
    found: dict[str, tuple[str, ...]] = {}
    for line in LINES.strip().splitlines():
        kinds, _, works = line.partition(":")
        stems = dict.fromkeys(map(stem_of, kinds.split()))
        for work in map(stem_of, works.split()):
            found[work] = (*found.get(work, ()), *(stem for stem in stems if stem != work))
    return found


KINDS = _kinds()
"""The kinds of each work, by their stems."""


def kinds_of(stems: Iterable[str]) -> list[str]:
    """Give the kinds that the works among some stems are of."""
    return [kind for stem in stems for kind in KINDS.get(stem, ())]
