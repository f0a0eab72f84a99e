"""A glossary: words of reports that mean the same, in English and in Portuguese.

Each line holds words for one thing. Findings about one subject come from sources in both languages; without
it the frame of an English sentence could not be laid over that of a Portuguese one.
"""

import unicodedata

__all__ = ["MEANING"]

LINES = """
employee employees worker workers staff workforce personnel headcount employ employs employed empregado \
empregados funcionário funcionários trabalhador trabalhadores colaborador colaboradores equipe emprega empregava
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
project projects projeto projetos design designs designed projetada projetado
contract contrato contracts contratos
supplier suppliers vendor fornecedor fornecedora supply supplies supplied supplying fornece forneceu fornecidas \
fornecidos
contractor empreiteira construtora builder
owner owners own owns owned belongs belong belonged proprietário proprietária dono dona pertence pertencem pertencia
manager director diretor diretora head chefe gerente
president presidente chairman chairwoman
founder founded founding establish established created creation fundador fundada fundado fundação criada criado \
estabelecida
open opened opens opening inaugurated inauguration inaugurado inaugurada inauguração abriu aberta abertura
start started starts began begin begins begun commenced início iniciou iniciada iniciadas começou começaram começa
end ended ends finish finished completed completion complete fim terminou termina concluída concluído concluídas \
conclusão encerrou
close closed closes closing shutdown shut fechou fechada fechado fechamento paralisação parada
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
doctor doctors physician physicians médico médicos
patient patients paciente pacientes
student students aluno alunos estudante estudantes
teacher teachers professor professores
book books livro livros
film films movie movies filme filmes
song songs canção canções música
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
north northern norte
south southern sul
east eastern leste
west western oeste
people persons person pessoas pessoa
permanent permanently permanente permanentemente fixed fixo
temporary temporarily temporário temporária temporariamente
work worked working trabalha trabalham trabalhava trabalhou
district bairro distrito
located location stands situated lies localizada localizado situada situado fica
expire expires expired expiry vence venceu vencimento expira
valid validity validade válida válido vale
grant granted grants awarded concedida concedido concedeu outorgada
replace replaced replacement replaces trocadas trocada trocado troca substituída substituídas substituição
plan planned plans planning planejada planejado planejadas prevista previsto previstas plano scheduled
add adds added adding acrescenta acrescentará adiciona adicionará
expand expansion extension expansão ampliação expandir
phase stage fase etapa
site terreno canteiro
operate operates operated operation operations operating operator operação operada opera operadora operador
concession concessão
lead leads led headed liderada liderado lidera comandada dirigida
visit visits visitors visitor visitam visita visitas visitantes visitante
cover covers covered coverage cobre cobrem coberta cobertura
serve serves served serving atende atendem atendida
supply supplied supplies abastece abastecem abastecida abastecimento
connect connected connection ligada conectada conecta conexão
cause caused causes causou causada causado causa provocada provocou due
damage damaged damages dano danos danificou
support supports supported apoia apoiam apoio
oppose opposes opposed opposition opõe oposição contra against
agree agreed agreement acordo concordou
announce announced announcement anunciou anunciada anunciado anúncio
launch launched lançamento lançou lançada lançado
hire hired hiring contratou contratados contratação
dismiss dismissed layoff layoffs fired demitiu demissões demitidos
elect elected election eleito eleita eleição
vote votes voted voto votos votou
win won winner wins venceu ganhou vencedor
lose lost perdeu perderam
rent lease leased aluguel alugada alugado
lend lent emprestou
interest juros
insure coverage cobertura
measure measured measurement measures mede medida medido medição
record recorded registered registrado registrada registrou registro
recover recovered recovery recuperação recuperada
remove removed removal removeu remoção retirada
treat treated treatment tratamento tratada tratado trata
use used using usage uso usado usada utiliza utilizado
need needed needs require required requires precisa exige necessita
allow allowed permitted limit allows permitido permitida permite
limit limits limite limites
legal legally lei
safe safety segurança
danger dangerous perigo perigoso
quality qualidade
rain rainfall chuva chuvas
summer verão
winter inverno
night nightly noite noturno noturna
morning manhã
evening afternoon tarde
coast coastal costa litoral
beach praia
river rio
lake lago
island ilha
mountain montanha
forest floresta
road highway rodovia estrada
bridge ponte
railway rail train ferrovia trem
airport aeroporto
street rua avenue avenida
land terra terras
food comida alimento alimentos
oil petróleo óleo
gas gás
coal carvão
steel aço
iron ferro
gold ouro
paper papel
wood madeira
child children criança crianças filho filhos
woman women mulher mulheres
man men homem homens
family families família famílias
member members membro membros
leader líder
minister ministro ministra
mayor prefeito prefeita
governor governador governadora
government governo
union sindicato
agency agência
council conselho
office escritório
headquarters sede
branch filial
department departamento
bank banco
market mercado
industry indústria
trade comércio
import imports importação importações
export exports exportação exportações
half metade
double doubled dobrou dobro
deep profundidade
old velho velha
large largest big maior maiores grande
small smallest menor menores pequeno pequena
main principal
current currently atual atualmente
former antigo antiga ex
original originally originalmente
final finally
specific específico específica
installed installation instalada instalado instalação
adjacent next beside ao-lado adjacente vizinho
nearest near próximas próximos próximo perto
permanent
fresh doce
net líquido líquida
gross bruto bruta
direct direto direta
act acts acted acting actor actors actress appear appears appeared appearance appearances role roles star stars \
starred starring cast plays played atuou ator atriz atores estrelou estrela estrelado aparece apareceu elenco
television tv televised televisão
series sitcom série séries seriado
airs aired broadcast broadcasts broadcasting premiered transmitido transmitida exibido exibida exibiu
sing sings sang singer singers vocalist canta cantou cantor cantora vocalista
write writes wrote written writer writers author authors escreve escreveu escrito escrita escritor escritora \
autor autora
marry marries married marriage wife husband spouse casou casado casada casamento esposa marido
award awards prize prizes prêmio prêmios
album albums álbum álbuns
career carreira
dose doses dosed dosing dosagem dosado dosada
chlorine cloro chlorinated clorada
desalination dessalinização dessalinizadora
outfall emissário
outage outages interruption interrupção interrupções apagão
maintenance maintained manutenção
repair repairs repaired conserto consertado consertada reparo reparado reparada
valve valves válvula válvulas
storage stored stores armazenamento armazena armazenada
flow flows vazão fluxo
demand demanda
drinking potable potável
sewage wastewater esgoto
grid network rede
turbine turbines turbina turbinas
emission emissions emissão emissões
carbon carbono
waste resíduo resíduos
sample samples sampled amostra amostras
laboratory lab laboratório
engineer engineers engenheiro engenheira engenheiros
technician technicians técnico técnicos
training trained treinamento treinada treinado
shift shifts turno turnos
fleet frota
tower torre
floor floors andar andares piso
foundation foundations fundações
fish peixe peixes
tourist tourists turista turistas
passenger passengers passageiro passageiros
ticket tickets bilhete bilhetes ingresso ingressos
flight flights voo voos
truck trucks caminhão caminhões
password senha
backup backups cópia cópias
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
