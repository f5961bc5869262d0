"""Short texts to compare tokenizers on when there is no corpus at hand, each with its name."""

ENGLISH = """\
The lighthouse had been dark for eleven years when the new keeper climbed its stairs. She carried
a lamp, two loaves of bread and a notebook in which nobody had written yet. "If a ship comes," she
told the gulls, "it won't find me asleep." By midnight the wind had turned, and far out on the
water, small as a spark, something answered her light.
"""

PYTHON = '''\
def longest_run(values: list[int]) -> tuple[int, int]:
    """Return the start and the length of the longest run of equal values."""
    best = (0, 0)
    start = 0
    for index, value in enumerate(values):
        if value != values[start]:
            start = index
        if index - start + 1 > best[1]:
            best = (start, index - start + 1)
    return best


assert longest_run([3, 3, 7, 7, 7, 1]) == (2, 3)
'''

FRENCH = """\
Le boulanger ouvrait sa porte bien avant l'aube, quand la rue n'était encore qu'une odeur de pluie.
Il disait qu'on reconnaît un bon pain à l'oreille : la croûte doit chanter en refroidissant. Les
enfants de l'école, à qui il donnait les miettes, n'ont jamais su s'il plaisantait, mais tous, bien
des années après, s'arrêtent encore pour écouter.
"""

RUSSIAN = """\
Поезд пришёл на маленькую станцию с опозданием на два часа, и никто этому не удивился. На перроне
стояла старая собака, которая встречала каждый вагон так, будто ждала именно его. Проводник вынес
ей кусок хлеба, посмотрел на часы и сказал: «Ну вот, теперь можно ехать дальше».
"""

CHINESE = """\
小镇的图书馆只有三个房间,却藏着几代人留下的书。每到下雨的傍晚,老馆长就泡一壶茶,坐在窗边修补破旧的书页。
他常说,一本书被翻得越旧,就越有人爱它。有一天,一个孩子还回来一本丢失了四十年的地图册,里面还夹着一片干枯的银杏叶。
"""

HINDI = """\
गाँव के बाहर एक पुराना कुआँ था, जिसका पानी गर्मियों में भी ठंडा रहता था। दादी कहती थीं कि उसे सात
भाइयों ने मिलकर एक ही रात में खोदा था। बच्चे हर शाम वहाँ इकट्ठा होते, कहानियाँ सुनते और तारों को गिनते
हुए घर लौट जाते थे।
"""

ARABIC = """\
في آخر السوق القديم دكان صغير يصلح صاحبه الساعات منذ خمسين عاما. يقول للزبائن إن الوقت لا يضيع،
بل ينتظر من يعرف كيف يسمعه. وحين يغلق بابه في المساء، تدق الساعات كلها معا، فيقف المارة لحظة ثم
يمضون وهم يبتسمون.
"""

SAMPLES: dict[str, bytes] = {
    "English": ENGLISH.encode(),
    "Python": PYTHON.encode(),
    "French": FRENCH.encode(),
    "Russian": RUSSIAN.encode(),
    "Chinese": CHINESE.encode(),
    "Hindi": HINDI.encode(),
    "Arabic": ARABIC.encode(),
}
