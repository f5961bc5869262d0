"""Short texts to compare tokenizers on when there is no corpus at hand, each with its name."""

ENGLISH = """\
The harbour town of Ellmouth reopened its swing bridge on Tuesday, nine months after a storm bent
two of its girders and cut the old quarter off from the railway. Repairs came to £4.2 million, some
15% less than the council had set aside, and the mayor, Ruth Adeyemi, said that the rest would pay
for a footpath. "We weren't sure it'd be ready by spring," she told reporters. About 3,000 people
cross the bridge each day; engineers will look at it again on 14 November 2031.
"""

KOREAN = """\
오래된 역 앞의 작은 우체국이 다음 달부터 동네 도서관으로 바뀐다. 주민들은 지난 2년 동안 책 8,000여
권을 모았고, 편지를 분류하던 긴 탁자는 아이들의 책상이 되었다. 관장을 맡은 김 씨는 “비를 피하러
들어왔다가 한 권쯤 읽고 가는 곳이면 좋겠다”고 말했다. 우체통은 그대로 두기로 했는데, 이제는 책을
돌려주는 곳으로 쓰인다.
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

MATHEMATICS = r"""\begin{theorem}
For every integer $n \ge 1$ we have $\sum_{k=1}^{n} \frac{1}{k(k+1)} = \frac{n}{n+1}$.
\end{theorem}
\begin{proof}
Since $\frac{1}{k(k+1)} = \frac{1}{k} - \frac{1}{k+1}$ for all $k \ge 1$, the sum telescopes:
\[
  \sum_{k=1}^{n} \left( \frac{1}{k} - \frac{1}{k+1} \right)
  = 1 - \frac{1}{n+1}
  = \frac{n}{n+1}.
\]
In particular $\sum_{k=1}^{\infty} \frac{1}{k(k+1)} = \lim_{n \to \infty} \frac{n}{n+1} = 1$.
\end{proof}
"""

SCIENCE = """\
Dissolved CO₂ hydrates to carbonic acid, which dissociates in two steps (in pure water at 25 °C,
pKₐ₁ ≈ 6.35 and pKₐ₂ ≈ 10.33), so that seawater of pH 8.1 holds most of its inorganic carbon as
HCO₃⁻. A rising partial pressure of CO₂ shifts CO₂ + CO₃²⁻ + H₂O ⇌ 2 HCO₃⁻ to the right and lowers
the saturation state Ω = [Ca²⁺][CO₃²⁻]/Kₛₚ, on which the calcification of corals, pteropods and
coccolithophores depends; molecular diffusion (D ≈ 1.9 × 10⁻⁹ m² s⁻¹) is far too slow to restore it.
"""

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
    "Korean": KOREAN.encode(),
    "Python": PYTHON.encode(),
    "mathematics": MATHEMATICS.encode(),
    "science": SCIENCE.encode(),
    "French": FRENCH.encode(),
    "Russian": RUSSIAN.encode(),
    "Chinese": CHINESE.encode(),
    "Hindi": HINDI.encode(),
    "Arabic": ARABIC.encode(),
}
