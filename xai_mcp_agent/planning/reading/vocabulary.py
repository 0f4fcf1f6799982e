"""Words of general English in which requests are read. Data only; nothing about any tool.

The lists are lower-case base forms; `words.py` brings words of a text to that form.
"""

from __future__ import annotations


def word_set(listed: str) -> frozenset[str]:
    """The words of a text: a page of words reads better than a page of quotes."""
    return frozenset(listed.split())


def word_pairs(listed: str) -> dict[str, str]:
    """The pairs of a text of `word=other`."""
    pairs = [pair.partition("=") for pair in listed.split()]
    return {word: other for word, _, other in pairs}


# Say nothing about which tool is meant, beside what no search looks for.
SMALL_WORDS = word_set(
    """
    able above actually after again already always anything because before below best better between
    both cannot certain come down during each either else etc ever every exactly exist few first
    further great happen hello hers herself hey hi him himself idea instead itself kind last lets
    lot maybe mean mine myself near never next nice nor now off ok okay once only onto ours
    ourselves particular per perhaps possible previous quickly quite really right see shall simply
    since something somewhat soon specific specified still sure tell theirs themselves thing
    think though thus today together tomorrow toward towards upon way well went whatever whether
    whose wonder yes yesterday yet yours yourself
    """
)

# Carry a little meaning: almost every tool gets, shows or finds something.
GENERIC_WORDS = word_set(
    """
    access allow base call check current data detail display fetch find get give help include
    information input item list look make name new obtain offer output perform provide request
    result retrieve run search seek set show tool use user value view
    """
)

# A tool whose name says so changes something: it is not called unless that was said, and what
# comes after it waits for it.
CHANGING_WORDS = word_set(
    """
    add append archive borrow buy cancel checkout clear commit create delete drop edit insert kill
    lend merge move pay publish purchase push put register remove rename reserve reset return
    revert save send submit uninstall update upload write
    """
)
# Names that begin so only read, whatever else they speak of: `list_returns`.
READING_WORDS = word_set("get list show read search find count fetch is check view")
# These take any words at all.
SEARCHING_WORDS = word_set("search find look lookup")

# What a request often begins with; a part of a sentence that does so stands for itself.
ACTION_WORDS = word_set(
    """
    add append archive ask assign average book borrow browse buy calculate call cancel change check
    choose clear close commit compare compute convert copy count create cut decrease delete
    describe display divide download draw edit email estimate evaluate explain export extract fetch
    fill filter find format generate get give go import increase insert install join lend list load
    locate look make merge modify move multiply open order pause pay pick place plan play post
    predict print publish push put read recommend record register remind remove rename rent reply
    report reserve reset resolve restart return reverse roll round run save say schedule search
    select send set share show shuffle shut sort split start stop store subtract suggest sum
    summarise summarize switch take tell test track transfer translate turn update upload use
    validate verify view visit watch write
    """
)

QUESTION_WORDS = word_set(
    "what whats which who whos whom whose when where why how hows is are does do did can was were"
)

# Names of the same thing or of what goes with it. A word may be in several groups.
SAME_THINGS = """
time clock hour; date day calendar; weekday day week; timezone zone; datetime date time;
weather forecast temperature rain climate; price cost expensive cheap fee;
buy purchase order; buy purchase shop sell product goods;
save write store; reserve book booking reservation;
meeting event appointment calendar schedule; movie film cinema; song music track artist;
picture photo; flight plane airline; hotel accommodation lodging; restaurant meal cuisine;
recipe dish; job career work; news headline article; stock share ticker;
route direction distance map; summary brief digest; borrow lend rent loan;
reader member borrower; author writer write; file document path; folder directory; log history;
commit revision; diff compare comparison; open load read; person people;
city place location address position; currency money exchange; remind reminder alarm;
note memo; task todo; calculate expression arithmetic calculator math; average mean;
count number many amount quantity statistics; explain describe define definition meaning;
text content body; word dictionary; website page url link
"""

# Which field a superlative looks at, and whether it wants the greatest.
SUPERLATIVES: dict[str, tuple[str, bool]] = {
    "oldest": ("year date published created age", False),
    "earliest": ("date time year start due", False),
    "newest": ("year date published created", True),
    "latest": ("date time year published created", True),
    "cheapest": ("price cost amount fare", False),
    "dearest": ("price cost amount fare", True),
    "expensive": ("price cost amount fare", True),
    "largest": ("size length count total population area", True),
    "biggest": ("size length count total population area", True),
    "longest": ("length duration pages distance", True),
    "shortest": ("length duration pages distance", False),
    "smallest": ("size length count total population area", False),
    "highest": ("score rating height price value temperature", True),
    "lowest": ("score rating height price value temperature", False),
    "best": ("score rating rank", True),
    "nearest": ("distance", False),
    "closest": ("distance", False),
}

# Names of units and their signs, for parameters that list the units they take.
UNITS = """
millimetre millimeter mm; centimetre centimeter cm; metre meter m; kilometre kilometer km;
inch in; foot feet ft; yard yd; mile mi; milligram mg; gram gramme g;
kilogram kilogramme kilo kg; tonne ton t; ounce oz; pound lb lbs; stone st;
millilitre milliliter ml; litre liter l; gallon gal; pint pt; celsius centigrade c degc;
fahrenheit f degf; kelvin k; second sec s; minute min; hour hr h; day d; week wk; month;
year yr; byte b; kilobyte kb; megabyte mb; gigabyte gb; joule j; calorie cal; kilocalorie kcal;
watt w; kilowatt kw; kmh kph km/h; mph mi/h; dollar usd; euro eur; pound gbp sterling; yen jpy;
franc chf; percent percentage %
"""

# Several words that together are another verb: what was meant, and how it is said.
PHRASES = (
    ("return", r"\b(?:give|bring|take|send)\b.{1,40}\bback\b|\b(?:bring|give|take) back\b"),
    ("borrow", r"\b(?:take|check)(?:s|ing)? (?:\S+ ){0,4}out\b"),
    ("search", r"\blook(?:s|ing)? (?:\S+ ){0,4}up\b|\b(?:do you have|have you got|is there) any"),
    ("remember", r"\b(?:keep in mind|make a note|note (?:that|down))\b"),
    ("delete", r"\bget rid of\b|\bthrow (?:\S+ ){0,4}away\b"),
    ("distance", r"\bhow far\b"),
    ("duration", r"\bhow long\b"),
    ("age", r"\bhow old\b"),
    ("temperature", r"\bhow (?:hot|cold|warm)\b"),
    ("price", r"\bhow much (?:does|do|is|are)\b"),
    ("add", r"\bplus\b"),
    ("subtract", r"\bminus\b"),
    ("multiply", r"\btimes (?:-?\d|(?:one|two|three|four|five|six|seven|eight|nine|ten)\b)"),
)

# What means, where nothing else is meant, that a thing is to be put on a list of such things.
WANTING = r"\b(?:(?:we|i)(?: still)? need|don't forget|(?:we are|we're|i am|i'm) out of|buy)\b"

# Orders by another name, and words of what is put in order so.
ORDERS = {
    "alphabetical": "name title alphabet",
    "alphabetically": "name title alphabet",
    "chronological": "date time created",
    "chronologically": "date time created",
}

CURRENCIES = word_set(
    """
    usd eur gbp jpy chf cny inr aud cad nzd sek nok dkk pln czk huf ron brl mxn krw sgd hkd zar try
    dollar euro yen yuan franc rupee krona krone peso won rand zloty
    """
)

# Past forms and plurals that no rule reaches.
IRREGULAR = word_pairs(
    """
    found=find lent=lend took=take taken=take bought=buy sent=send wrote=write written=write
    people=person children=child men=man women=woman mice=mouse feet=foot gave=give given=give
    made=make said=say told=tell ran=run sold=sell paid=pay saw=see seen=see gone=go began=begin
    begun=begin drew=draw drawn=draw chose=choose chosen=choose drove=drive ate=eat eaten=eat
    flew=fly flown=fly built=build spent=spend kept=keep held=hold heard=hear met=meet spoke=speak
    shown=show data=data news=news media=media series=series indices=index analyses=analysis
    criteria=criterion leaves=leaf lives=life knives=knife inches=inch movies=movie
    cookies=cookie calories=calorie status=status bus=bus gas=gas
    """
)

_TO_TWENTY = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty
"""
NUMBER_WORDS: dict[str, int] = {word: value for value, word in enumerate(_TO_TWENTY.split())}
NUMBER_WORDS.update(thirty=30, forty=40, fifty=50, sixty=60, seventy=70, eighty=80, ninety=90)
NUMBER_WORDS.update(dozen=12, hundred=100, thousand=1000, million=1_000_000)

# Signs of money and the codes they stand for.
MONEY_SIGNS = {"$": "USD", "\u20ac": "EUR", "\u00a3": "GBP", "\u00a5": "JPY", "\u20b9": "INR"}

# Countries and large cities that no time zone is named after, and the zone they keep.
PLACES = word_pairs(
    """
    argentina=America/Argentina/Buenos_Aires atlanta=America/New_York austria=Europe/Vienna
    bangalore=Asia/Kolkata barcelona=Europe/Madrid beijing=Asia/Shanghai belgium=Europe/Brussels
    boston=America/New_York britain=Europe/London cologne=Europe/Berlin delhi=Asia/Kolkata
    denmark=Europe/Copenhagen edinburgh=Europe/London england=Europe/London
    finland=Europe/Helsinki france=Europe/Paris frankfurt=Europe/Berlin geneva=Europe/Zurich
    germany=Europe/Berlin greece=Europe/Athens hamburg=Europe/Berlin houston=America/Chicago
    hungary=Europe/Budapest india=Asia/Kolkata ireland=Europe/Dublin italy=Europe/Rome
    japan=Asia/Tokyo kenya=Africa/Nairobi korea=Asia/Seoul kyoto=Asia/Tokyo miami=America/New_York
    milan=Europe/Rome montreal=America/Toronto mumbai=Asia/Kolkata munich=Europe/Berlin
    netherlands=Europe/Amsterdam new_delhi=Asia/Kolkata nigeria=Africa/Lagos norway=Europe/Oslo
    osaka=Asia/Tokyo pakistan=Asia/Karachi peru=America/Lima philadelphia=America/New_York
    philippines=Asia/Manila poland=Europe/Warsaw portugal=Europe/Lisbon romania=Europe/Bucharest
    san_francisco=America/Los_Angeles scotland=Europe/London seattle=America/Los_Angeles
    south_africa=Africa/Johannesburg south_korea=Asia/Seoul spain=Europe/Madrid
    sweden=Europe/Stockholm switzerland=Europe/Zurich taiwan=Asia/Taipei thailand=Asia/Bangkok
    turkey=Europe/Istanbul uk=Europe/London ukraine=Europe/Kyiv vietnam=Asia/Ho_Chi_Minh
    washington=America/New_York china=Asia/Shanghai egypt=Africa/Cairo
    """
)
