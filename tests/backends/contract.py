"""The tests that every backend must pass: subclass `BackendContract` and define the fixture `backend`."""

import ipaddress
import socket
from collections.abc import Sequence

import pytest

from annotations.text.spans import Span, check_bounds, trim
from models_runtime.backends import Backend
from tests.timing import grows_in_proportion

PLAIN = "Dr. Julián Otero Paz, Hospital San Rocco, C/ Mayor 3, 28013 Madrid. Tel. 923 555 100. Ingreso: 05/03/2020.\n"
HOSTILE: dict[str, str] = {
    "empty": "", "one letter": "a", "only white space": " \t\r\n\u2003\ufeff\u200b",
    "only controls": "\x01\x02\x0b\x0c\x1b\x7f\x85", "byte order mark": "\ufeff" + PLAIN,
    "crlf": PLAIN.replace("\n", "\r\n") * 3, "cr alone": PLAIN.replace("\n", "\r") * 3,
    "emoji before and inside": "👩‍⚕️🏥 Dra. 😊 Carmen Huerta 👨‍👩‍👧‍👦, tel. 923 555 100 🇪🇸 28013 Madrid",
    "combining marks": "Paciente: Jose\u0301 Nun\u0303ez, nacido en Leo\u0301n el 3 de marzo de 1950, Zu\u0308rich",
    "bidi": "\u202eDr. Rossi\u202c \u2067שלום 12/03/2020\u2069 \u200fمريض\u200e via Roma 5",
    "other scripts": "患者：田中太郎、2020年3月5日 Москва, ул. Ленина 5 Αθήνα 東京都 Tel. ٠١٢٣٤٥٦٧٨٩",
    "letters that grow when lowered": "İstanbul Dr. İlker Ağaoğlu İ İ İ Via İzmir 5, ẞ ŉ ǰ ΐ ﬀ",
    "not-a-character": "Dr. Rossi\ufffe\uffff \U0010ffff via Roma 5",
    "no break spaces": "Sr.\xa0Juan\xa0Pérez,\xa0C/\xa0Mayor\xa03,\u202f28013\u2009Madrid",
    "zero width": "Dr.\u200b Ros\u200bsi, Mad\u00adrid, Bar\u2060celona",
    "markup": "<b>Dr. Rossi</b> &amp; <script>12/03/2020</script> {{ name }} %s \\1",
    "one long word": "x" * 5000 + " Dr. Rossi", "one long number": "1" * 5000 + " 12/03/2020",
    "lines of nothing": "\n" * 2000 + PLAIN,
}  # fmt: skip
MANY: list[str] = [PLAIN, "", *HOSTILE.values(), PLAIN]


def key(spans: Sequence[Span]) -> list[tuple[int, int, str, float | None, str]]:
    """All fields of spans, including confidence and source, which don't count in comparisons of spans."""
    return [(span.start, span.end, span.label, span.confidence, span.source) for span in spans]


def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sockets connect to this machine alone."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: tuple[str, int]) -> None:
        assert ipaddress.ip_address(address[0]).is_loopback
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


class BackendContract:
    """The tests that every backend passes."""

    words: str = PLAIN
    # Characters of the longest text. The rules get a longer one: the cheaper a character is, the longer a text must be
    # before a cost that grows with the square of its length shows.
    most: int = 60_000
    # Several texts at once. A backend that asks a server gets fewer.
    many: Sequence[str] = MANY

    # The fixture that makes the backend.
    made: str = "loaded"

    @pytest.fixture
    def backend(self, request: pytest.FixtureRequest) -> Backend:
        return request.getfixturevalue(self.made)

    def test_attributes_of_a_backend(self, backend: Backend) -> None:
        assert isinstance(backend, Backend) and backend.name and backend.revision and backend.label_set
        assert backend.labels and list(backend.labels) == sorted(set(backend.labels))

    def test_spans_fit_hostile_text(self, backend: Backend) -> None:
        for name, text in HOSTILE.items():
            (spans,) = backend.predict([text])
            assert spans == sorted(spans), name
            assert len({(span.start, span.end, span.label) for span in spans}) == len(spans), name
            for span in spans:
                check_bounds(span, len(text))
                assert trim(text, span.start, span.end) == (span.start, span.end), name
                assert span.label in backend.labels and span.source, name
                assert span.confidence is None or 0 <= span.confidence <= 1, name

    def test_offsets_are_code_points(self, backend: Backend) -> None:
        """A prefix moves the spans by its number of code points, not of UTF-16 units."""
        plain = backend.predict([self.words])[0]
        assert plain, "the contract needs a text in which the backend finds spans"
        for lead in ("👩‍⚕️\n\n", "\ufeff\n\n", "e\u0301\u0301\n\n", "\U0001f468\r\n\r\n"):
            moved = backend.predict([lead + self.words])[0]
            assert [(span.start - len(lead), span.end - len(lead), span.label) for span in moved] == [
                (span.start, span.end, span.label) for span in plain
            ]

    def test_the_order_of_texts_is_kept(self, backend: Backend) -> None:
        alone = [key(backend.predict([text])[0]) for text in self.many]
        assert [key(spans) for spans in backend.predict(self.many)] == alone
        assert [key(spans) for spans in backend.stream(iter(self.many))] == alone and backend.predict([]) == []
        assert list(backend.stream([])) == []

    def test_the_output_is_repeatable(self, backend: Backend) -> None:
        once, again = backend.predict(self.many), backend.predict(self.many)
        assert [key(spans) for spans in once] == [key(spans) for spans in again]

    def test_a_stream_is_read_lazily(self, backend: Backend) -> None:
        taken = 0

        def endless():
            nonlocal taken
            while True:
                taken += 1
                yield PLAIN

        stream = backend.stream(endless())
        for _ in range(3):
            assert next(stream) == backend.predict([PLAIN])[0]
        assert taken <= 1000

    def test_no_network(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused(*args: object, **kwargs: object) -> None:
            raise AssertionError("a backend must not use the network")

        monkeypatch.setattr(socket, "getaddrinfo", refused)
        monkeypatch.setattr(socket.socket, "connect", refused)
        backend.predict(self.many)

    def test_a_very_long_text(self, backend: Backend) -> None:
        """The time is proportional to a text's length, and the whole text is processed."""
        line = self.words if self.words.endswith("\n") else self.words + "\n"
        quarter = line * (self.most // 4 // len(line))
        found: dict[str, list[Span]] = {}

        def predict(text: str) -> None:
            (found[text],) = backend.predict([text])

        assert grows_in_proportion(lambda: predict(quarter), lambda: predict(quarter * 4), floor=0.05)
        few, many = found[quarter], found[quarter * 4]
        assert len(many) >= 3 * len(few) and many and many[-1].end > len(quarter) * 3
