"""A unit: what a number counts or measures, with the factor that brings it to the first unit of its dimension.

The table is our own: what people write in reports in English and Portuguese, currencies among them.
"""

from dataclasses import dataclass
from decimal import Decimal

from interlock.message.statement.word import plain

__all__ = ["CURRENCIES", "NO_UNIT", "SCALES", "SYMBOLS", "UNITS", "Unit", "unit_called"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its dimension, such as `length` or `money:BRL`, and how many of the dimension's first unit it is.

    `zero` is where its scale begins, in the first unit; only temperatures need it.
    """

    dimension: str
    factor: Decimal = Decimal(1)
    zero: Decimal = Decimal(0)

    @property
    def currency(self) -> str:
        """The code of the currency; empty for anything else."""
        return self.dimension.removeprefix("money:").partition("/")[0] if self.is_money else ""

    @property
    def is_money(self) -> bool:
        """Whether it is a currency, alone or for something."""
        return self.dimension.startswith("money:")

    def per(self, other: "Unit") -> "Unit":
        """Give the unit of so many of this for each one of the other."""
        return Unit(f"{self.dimension}/{other.dimension}", self.factor / other.factor)


NO_UNIT = Unit("count")

# dimension, factor, names; a name in capitals or with a sign is taken only as it is written here.
MEASURES = """
ratio 0.01 % percent per_cent pct por_cento
points 1 percentage_point percentage_points pp p.p. ponto_percentual pontos_percentuais
ratio 0.001 ‰
times 1 times x vezes
length 0.001 mm millimetre millimetres millimeter millimeters milímetro milímetros
length 0.01 cm centimetre centimetres centimeter centimeters centímetro centímetros
length 1 m metre metres meter meters metro metros
length 1000 km kms kilometre kilometres kilometer kilometers quilômetro quilômetros quilómetros
length 0.3048 ft foot feet pé pés
length 0.0254 inch inches in. polegada polegadas
length 0.9144 yard yards yd
length 1609.344 mile miles mi. milha milhas
length 1852 nmi nautical_mile nautical_miles milha_náutica milhas_náuticas
area 1 m² m2 sqm square_metre square_metres square_meter square_meters metro_quadrado metros_quadrados
area 1000000 km² km2 square_kilometre square_kilometres square_kilometer square_kilometers quilômetro_quadrado \
quilômetros_quadrados
area 10000 ha hectare hectares
area 4046.8564224 acre acres
area 0.09290304 ft² sq_ft square_foot square_feet
area 2589988.110336 square_mile square_miles
volume 1 m³ m3 cubic_metre cubic_metres cubic_meter cubic_meters metro_cúbico metros_cúbicos
volume 0.001 L l litre litres liter liters litro litros
volume 0.000001 mL ml millilitre millilitres milliliter milliliters mililitro mililitros
volume 1000 ML megalitre megalitres megaliter megaliters megalitro megalitros
volume 0.003785411784 gal gallon gallons galão galões
volume 0.158987294928 barrel barrels bbl barril barris
mass 0.000001 mg milligram milligrams miligrama miligramas
mass 0.001 g gram grams grama gramas
mass 1 kg kgs kilo kilos kilogram kilograms quilo quilos quilograma quilogramas
mass 1000 t ton tons tonne tonnes tonelada toneladas
mass 0.45359237 lb lbs pound pounds libra libras
mass 0.028349523125 oz ounce ounces onça onças
power 1 W watt watts
power 1000 kW kilowatt kilowatts quilowatt quilowatts
power 1000000 MW megawatt megawatts megawatts
power 1000000000 GW gigawatt gigawatts
power 745.69987158227 hp horsepower cv
energy 1 Wh
energy 1000 kWh kilowatt-hour kilowatt-hours kilowatt_hour kilowatt_hours quilowatt-hora quilowatts-hora
energy 1000000 MWh megawatt-hour megawatt-hours megawatt_hours megawatt-hora megawatts-hora
energy 1000000000 GWh gigawatt-hour gigawatt-hours gigawatt_hours gigawatt-hora gigawatts-hora
energy 1000000000000 TWh
pressure 1 bar bars
pressure 0.00001 Pa
pressure 0.01 kPa
pressure 10 MPa
pressure 0.0689475729 psi
time 0.001 ms millisecond milliseconds milissegundo milissegundos
time 1 s sec secs second seconds segundo segundos
time 60 min mins minute minutes minuto minutos
time 3600 h hr hrs hour hours hora horas
time 86400 d day days dia dias
time 604800 week weeks semana semanas
time 2629746 month months mês meses
time 31556952 year years yr yrs ano anos
time 315569520 decade decades década décadas
time 3155695200 century centuries século séculos
data 1 B byte bytes
data 1000 kB KB kilobyte kilobytes
data 1000000 MB megabyte megabytes
data 1000000000 GB gigabyte gigabytes
data 1000000000000 TB terabyte terabytes
data 1024 KiB
data 1048576 MiB
data 1073741824 GiB
speed 0.277777777777777778 km/h kph kmh kilometres_per_hour kilometers_per_hour quilômetros_por_hora
speed 0.44704 mph miles_per_hour
speed 0.514444444444444444 knot knots kn nó nós
frequency 1 Hz hertz
frequency 1000 kHz
frequency 1000000 MHz
frequency 1000000000 GHz
turning 1 rpm
sound 1 dB dBA decibel decibels decibéis
concentration 1 ppm
concentration 0.001 ppb
"""

TEMPERATURES = (
    (Unit("temperature"), ("°C", "ºC", "celsius", "degrees celsius", "graus celsius", "graus")),
    (
        Unit("temperature", Decimal(5) / 9, Decimal(-160) / 9),
        ("°F", "ºF", "fahrenheit", "degrees fahrenheit", "graus fahrenheit"),
    ),
)

MONEY = """
USD dollar dollars dólar dólares usd us_dollar us_dollars dólares_americanos
BRL real reais brl brazilian_reais brazilian_real
EUR euro euros eur
GBP gbp pounds_sterling pound_sterling libras_esterlinas
JPY yen jpy iene ienes
CNY yuan renminbi cny rmb yuans
CHF chf swiss_francs francos_suíços
ARS ars argentine_pesos pesos_argentinos
INR rupee rupees inr rúpia rúpias
CAD cad
AUD aud
MXN mxn mexican_pesos
"""

SYMBOLS = {
    "US$": "USD", "R$": "BRL", "C$": "CAD", "A$": "AUD", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY",
    "₹": "INR", "USD": "USD", "BRL": "BRL", "EUR": "EUR", "GBP": "GBP", "JPY": "JPY", "CHF": "CHF", "CNY": "CNY",
}  # fmt: skip
"""What stands before an amount, with the code of the currency."""

CURRENCIES = frozenset(SYMBOLS.values()) | {line.split()[0] for line in MONEY.strip().splitlines()}

SCALES = {
    word: Decimal(factor)
    for factor, words in (
        (100, "hundred hundreds centenas"),
        (1000, "thousand thousands k mil milhares"),
        (10**6, "million millions mn milhao milhoes mi mio"),
        (10**9, "billion billions bn bilhao bilhoes bi mrd"),
        (10**12, "trillion trillions tn trilhao trilhoes tri"),
        (12, "dozen dozens duzia duzias"),
    )
    for word in words.split()
}
"""What a number is multiplied by when the word follows it. A billion is a thousand million, as in Brazil."""


def _units() -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    for line in MEASURES.strip().splitlines():
        dimension, factor, *names = line.split()
        for name in names:
            found[name.replace("_", " ")] = Unit(dimension, Decimal(factor))
    for line in MONEY.strip().splitlines():
        code, *names = line.split()
        for name in names:
            found[name.replace("_", " ")] = Unit(f"money:{code}")
        found[code] = Unit(f"money:{code}")
    for unit, temperatures in TEMPERATURES:
        found |= dict.fromkeys(temperatures, unit)
    return found


UNITS = _units()
"""Every unit by each of its names."""

FOLDED = {plain(name): unit for name, unit in UNITS.items() if len(name) > 3}


def unit_called(name: str) -> Unit | None:
    """Give the unit of a name; short names as they are written (`MW`, `mW`), long ones in any case."""
    return UNITS.get(name) or FOLDED.get(plain(name))
