"""A glossary: words of reports that mean the same, in English and in Portuguese.

Each line holds words for one thing. Findings about one subject come from sources in both languages; without
it the frame of an English sentence could not be laid over that of a Portuguese one.
"""

import unicodedata

__all__ = ["MEANING"]

LINES = """
employee employees worker workers staff workforce personnel headcount employ employs employed empregado empregados
funcionário funcionários trabalhador trabalhadores colaborador colaboradores equipe emprega empregava
cost costs price priced custo custos custou custa preço preços
spend spent spending gasto gastos gastou despesa despesas expenditure expenses
revenue revenues turnover receita receitas faturamento faturou
profit profits lucro lucros
loss losses perda perdas prejuízo prejuízos
debt dívida dívidas
loan loans empréstimo empréstimos financiamento financing financed
investment investments invest invested investimento investimentos investiu investido
budget budgets orçamento orçado
capacity capacidade
output production produce produces produced producing produção produz produziu produzir produzida produzido
consumption consume consumes consumed uses consumo consome consumiu consumido
power potência
energy energia electricity eletricidade elétrica electric
water água águas
area área areas áreas
length long comprimento extensão
height high tall altura alto alta
width wide largura
depth deep profundidade profundo
weight weigh weighs peso pesa
distance distância
speed velocidade
temperature temperatura
pressure pressão
population inhabitants inhabitant residents habitantes população moradores
customer customers client clients cliente clientes
user users usuário usuários
household households home homes domicílio domicílios residências casas
city town municipality cidade município
country país nation nação
state estado
region região
company firm companhia empresa enterprise
plant planta factory fábrica facility usina
building edifício prédio
project projeto
contract contrato contracts contratos
supplier suppliers vendor fornecedor fornecedora supply supplies supplied supplying fornece forneceu fornecidas
fornecidos contractor empreiteira construtora builder
owner owners own owns owned proprietário proprietária dono dona
manager director diretor diretora head chefe gerente
president presidente chairman chairwoman
founder founded founding establish established created creation fundador fundada fundado fundação criada criado
estabelecida
open opened opens opening inaugurated inauguration inaugurado inaugurada inauguração abriu aberta abertura
start started starts began begin begins begun commenced início iniciou iniciada iniciadas começou começaram começa
end ended ends finish finished completed completion complete fim terminou termina concluída concluído concluídas
conclusão encerrou close closed closes closing shutdown shut fechou fechada fechado fechamento paralisação parada
build built construction constructed construct construído construída construção obra obras
sign signed signature signing assinado assinada assinatura assinou
approve approved approval aprovado aprovada aprovou aprovação
license licence licensed permit licença licenciada licenciado autorização
buy bought purchase purchased acquire acquired acquisition comprou compra adquiriu aquisição comprada
sell sold sale sales vendeu venda vendas vendida
pay paid payment payments pagou pagamento pagamentos pago paga
receive received recebeu recebe recebida
deliver delivered delivery deliver entrega entregue entregou entregar
increase increased rose rise grew growth aumentou aumento cresceu crescimento subiu alta
decrease decreased fell fall dropped drop decline declined caiu queda diminuiu reduziu redução reduced reduction
average mean média médio
maximum max peak máximo máxima pico
minimum min mínimo mínima
total totals
year years annual annually yearly ano anos anual anualmente
month months monthly mês meses mensal mensais mensalmente
week weeks weekly semana semanas semanal semanalmente
day days daily dia dias diário diária diariamente
hour hours hourly hora horas
minute minutes minuto minutos
accident accidents acidente acidentes
incident incidents incidente incidentes
failure failures fail failed falha falhas falhou
injury injuries injured ferido feridos ferida feridas
death deaths die died dead killed morte mortes morreu morreram morto mortos
birth born nasceu nascido nascida nascimento
test tests tested testing teste testes testado testada testados
audit audits audited auditoria auditorias
inspection inspections inspected inspect inspeção inspeções vistoria vistorias
report reports relatório
survey research study pesquisa estudo
law statute lei
court judge tribunal juiz
fine fined penalty multa multas multada
tax taxes imposto impostos
tariff tarifa rate rates
fee fees taxa taxas
share shares stake participação ação ações
equity shareholding acionária
quality qualidade
quantity amount quantidade volume volumes
number número
size tamanho
age idade
time tempo
date data
term duration deadline lasts lasted prazo duração dura durou vigência
version versão
level nível
percentage porcentagem percentual
pump pumps bomba bombas
pipe pipes pipeline tubo tubulação adutora duto
tank tanks reservoir tanque tanques reservatório
engine engines motor motores
filter filters filtro filtros
membrane membranes membrana membranas
brine salmoura
discharge discharged discharges descarga descartada descarte despejo
salinity salinidade salt sal
sea seawater mar marinha
intake captação
warranty guarantee guaranteed garantia
insurance insured seguro segurada segurado
leak leaks leaked leakage vazamento vazamentos vazou
noise ruído
solar fotovoltaica
wind eólica
battery batteries bateria baterias
vehicle vehicles veículo veículos
ship vessel navio embarcação
port porto harbour harbor
school schools escola escolas
hospital hospitals hospitais
doctor doctors médico médicos
patient patients paciente pacientes
student students aluno alunos estudante estudantes
teacher teachers professor professores
book books livro livros
film movie filme
song canção música
server servers servidor servidores
database banco
request requests pedido pedidos requisição requisições
error errors erro erros
complaint complaints reclamação reclamações queixas
order orders encomenda encomendas
available availability disponível disponibilidade
responsible responsável
public público pública
private privado privada
new novo nova
first primeiro primeira
second segunda
third terceiro terceira
north northern norte
south southern sul
east eastern leste
west western oeste
"""


def _plain(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _meanings() -> dict[str, str]:
    """Give for each word, without accents, the first of its line; the first line that has a word counts."""
    found: dict[str, str] = {}
    for line in LINES.strip().splitlines():
        first, *others = map(_plain, line.split())
        for word in (first, *others):
            found.setdefault(word, first)
    return found


MEANING = _meanings()
"""The word that stands for each word of the glossary, both without accents."""
