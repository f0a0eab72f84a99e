"""An opposite: a word of a small closed list that cannot be true of a thing together with its counterpart.

Only words are listed that are opposed whatever they are said of. Those that also pick out one of two things, as "first"
and "last" or "north" and "south" do, oppose only sentences that are known to be about one thing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from interlock.message.statement.word import Word

__all__ = ["Opposite", "opposites_in"]

STATES = """
before antes prior / after depois apos
above acima / below beneath abaixo
inside dentro / outside fora
alive vivo viva vivos vivas / dead deceased morto morta mortos mortas
open aberto aberta abertos abertas / closed fechado fechada fechados fechadas
enabled ativado ativada habilitado habilitada / disabled desativado desativada desabilitado desabilitada
active ativo ativa ativos ativas / inactive inativo inativa inativos inativas
online / offline
legal lawful licito licita / illegal unlawful ilegal ilegais ilicito ilicita
possible possivel / impossible impossivel
safe seguro segura / unsafe dangerous inseguro insegura perigoso perigosa
true verdadeiro verdadeira / false falso falsa
accepted aceito aceita aceitou / rejected rejeitado rejeitada rejeitou
approved aprovado aprovada aprovou / rejected rejeitado rejeitada rejeitou reprovado reprovada
allowed permitted permitido permitida / forbidden prohibited banned proibido proibida
included includes incluido incluida inclui / excluded excludes excluido excluida exclui
present presente presentes / absent ausente ausentes
increased rose rises grew aumentou aumentaram subiu subiram cresceu cresceram / decreased fell falls dropped \
declined diminuiu diminuiram caiu cairam reduziu reduziram
won wins venceu ganhou / lost loses perdeu
succeeded successful sucedido sucedida / failed unsuccessful fracassou fracassado fracassada
majority maioria / minority minoria
always sempre / never nunca jamais seldom rarely raramente
empty vazio vazia / full cheio cheia
public publico publica / private privado privada
temporary temporario temporaria / permanent permanente
positive positivo positiva / negative negativo negativa
guilty culpado culpada / innocent acquitted inocente absolvido absolvida
married casado casada / unmarried divorced solteiro solteira divorciado divorciada
fictional fictitious fiction ficticio ficticia ficcao / nonfiction factual documentary documentario
"""
"""What is or is not so of one thing at one time."""

CHOICES = """
first primeiro primeira / last final ultimo ultima
largest biggest greatest maior / smallest least menor
highest tallest / lowest shortest
longest / shortest
most / least fewest
best melhor / worst pior
oldest / youngest newest
north northern norte / south southern sul
east eastern leste / west western oeste
upper superior / lower inferior
left esquerdo esquerda / right direito direita
winter inverno / summer verao
morning manha / evening night noite
man men male boy boys homem homens menino meninos masculino / woman women female girl girls mulher mulheres menina \
meninas feminino feminina
actor ator / actress atriz
father pai / mother mae
son sons filho / daughter daughters filha
brother brothers irmao irmaos / sister sisters irma irmas
husband marido / wife esposa
king rei / queen rainha
protagonist hero heroi / antagonist villain vilao
import imports importacao importacoes / export exports exportacao exportacoes
major grande / minor pequeno pequena
early cedo / late tarde
"""
"""What may also tell one of two things from the other."""


@dataclass(frozen=True, slots=True)
class Opposite:
    """A word with a counterpart, from `start` to `end` in the text. number, side: the line of the list that it stands
    on and on which side of it. state: whether it says something of a thing, and never picks one out."""

    text: str
    number: int
    side: int
    start: int
    end: int
    state: bool


def _sides() -> dict[str, list[tuple[int, int, bool]]]:
    found: dict[str, list[tuple[int, int, bool]]] = {}
    lines = [
        (line, state)
        for text, state in ((STATES, True), (CHOICES, False))
        for line in text.strip().split("\n")
    ]
    for number, (line, state) in enumerate(lines):
        for side, words in enumerate(line.split("/")):
            for word in words.split():
                found.setdefault(word, []).append((number, side, state))
    return found


SIDES = _sides()


def opposites_in(words: Sequence[Word]) -> list[Opposite]:
    """Give the words of a text that have a counterpart, without those whose counterpart the text has too: what
    happened "before and after" is not opposed to what happened after."""
    found = [
        Opposite(word.text, number, side, word.start, word.end, state)
        for word in words
        for number, side, state in SIDES.get(word.plain, ())
    ]
    both = {(item.number, item.side) for item in found}
    return [item for item in found if (item.number, 1 - item.side) not in both]
