"""The public rule that makes rows of binary features: what it sets, what it is called, and how it is kept."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from confide.errors import ConfideError, DataError, ParameterError, UnreadableError, UsageError
from confide.features import FeatureRows
from confide.sources.encoding import Encoding, Rule
from confide.sources.feature_columns import Cuts, Flag, OneOf, parse_column, spelling
from confide.sources.words import HashedWords, Vocabulary, place_of, read_stop_words, read_vocabulary, words_of
from tests.sources.refusals import refused

TEXTS = [
    "The QUICK brown fox, the lazy dog; it's a dog's life.",
    "Ärzte sagen: Über die Größe der ΣΊΣΥΦΟΣ-Studie",
    "İstanbul ﬁne ǅ 東京都 は大きい, 1st x2 a_b __ 42",
    "cafe\u0301 naïve e-mail@example.org",
    "हिन्दी में शब्द, العربية لغة",
    "don\u2019t\tsplit\u00a0me\nplease",
    "",
    "a b c ! ?",
]

PINNED = [0xC902, 0x9AE9, 0x3C54]


def features_of(encoding: Encoding, **row: Any) -> list[int]:
    return list(map(int, encoding.encoded({name: [value] for name, value in row.items()}).features))


def named(encoding: Encoding, **row: Any) -> tuple[str, ...]:
    return encoding.names(features_of(encoding, **row))


def sets(rows: FeatureRows) -> list[set[int]]:
    return [set(rows.features[a:b].tolist()) for a, b in zip(rows.starts[:-1], rows.starts[1:], strict=True)]


any_text = st.one_of(st.sampled_from(TEXTS), st.text(max_size=60), st.text("aAbBéÉßςΣ İı_1٣ .'\n", max_size=40))


class TestWords:
    @given(st.lists(any_text, min_size=1, max_size=8))
    def test_words_against_sklearn(self, texts: list[str]) -> None:
        analyzer = CountVectorizer().build_analyzer()
        assert [words_of(text) for text in texts] == [analyzer(text) for text in texts]

    @given(st.lists(any_text, min_size=1, max_size=8), st.data())
    def test_a_vocabulary_against_sklearn(self, texts: list[str], data: st.DataObject) -> None:
        found = sorted({word for text in [*texts, *TEXTS] for word in words_of(text)})
        words = data.draw(st.lists(st.sampled_from(found), unique=True, min_size=1))
        rows = Encoding(rules=(Vocabulary(column="note", words=tuple(words)),)).encoded({"note": texts})
        theirs = CountVectorizer(binary=True, vocabulary=words).transform(texts)
        assert (rows.matrix() != theirs).nnz == 0

    @given(st.lists(any_text, max_size=8), st.integers(1, 20))
    def test_hashed_words_are_the_set_of_places(self, texts: list[str], bits: int) -> None:
        encoding = Encoding(rules=(HashedWords(column="note", bits=bits, leave_out=("the", "größe")),))
        expected = [{place_of(w, bits) for w in words_of(text) if w not in ("the", "größe")} for text in texts]
        assert sets(encoding.encoded({"note": texts})) == expected

    def test_places_are_fixed(self) -> None:
        """The last four digits that `printf cancer | b2sum -l 64` shows, and so on: c902, 9ae9, 3c54."""
        assert [place_of(word, 16) for word in ("cancer", "größe", "東京都")] == PINNED
        assert place_of("cancer", 4) == PINNED[0] % 16

    def test_names(self) -> None:
        encoding = Encoding.parse(text="note")
        assert (encoding.width, encoding.names([0, 12345])) == (16384, ("#0", "#12345"))
        assert named(encoding, note="Cancer") == (f"#{PINNED[0] % 2**14}",)

    def test_missing_texts_set_nothing(self) -> None:
        encoding = Encoding.parse(text="note")
        rows = encoding.encoded({"note": [None, "", math.nan, "word"]})
        assert np.diff(rows.starts).tolist() == [0, 0, 0, 1]
        assert not rows.labels.any()

    def test_what_is_not_text_is_an_error_for_the_data_holder_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rows: dict[str, list[Any]] = {"note": ["one", 31771]}
        assert np.diff(Encoding.parse(text="note").encoded(rows).starts).tolist() == [1, 0]
        monkeypatch.setenv("CONFIDE_SHOW_ERRORS", "1")
        with refused(DataError, private=[31771], says="'note'"):
            Encoding.parse(text="note").encoded(rows)


class TestWordLists:
    def test_one_word_a_line(self, tmp_path: Path) -> None:
        file = tmp_path / "words.txt"
        file.write_text("\ufeffCancer\r\n\n  größe \ncancer\nx2\n", encoding="utf-8")
        assert read_vocabulary(file) == ("cancer", "größe", "x2")
        encoding = Encoding.parse(text="note", vocabulary=file)
        assert named(encoding, note="No CANCER of that Größe") == ("cancer", "größe")

    def test_stop_words_are_read_as_texts_are(self, tmp_path: Path) -> None:
        file = tmp_path / "stop.txt"
        file.write_text("the\na\nI\ndon't\nOf\n", encoding="utf-8")
        assert read_stop_words(file) == ("the", "don", "of")
        encoding = Encoding.parse(text="note", leave_out=file, bits=20)
        assert features_of(encoding, note="The fear of don't") == [place_of("fear", 20)]

    @pytest.mark.parametrize("line", ["died,note", "died;note", "died\tnote", "died|note", '{"died": 1}', "two words"])
    def test_a_table_is_no_list_of_stop_words(self, line: str, tmp_path: Path) -> None:
        file = tmp_path / "stop.txt"
        file.write_text(f"the\n{line}\n", encoding="utf-8")
        with refused(UnreadableError, private=[line], says="line 2"):
            read_stop_words(file)

    @pytest.mark.parametrize("line", ["new york", "q", "e-mail", "it's", "wörd,zebra"])
    def test_a_line_that_is_no_word(self, line: str, tmp_path: Path) -> None:
        """The file may be the wrong one, with somebody's data in it: no line is shown."""
        file = tmp_path / "words.txt"
        file.write_text(f"good\n\n{line}\n", encoding="utf-8")
        with refused(UnreadableError, private=[line], says="line 3"):
            Encoding.parse(text="note", vocabulary=file)

    @pytest.mark.parametrize("reader", [read_vocabulary, read_stop_words])
    def test_lists_that_cannot_be_read(self, reader: Any, tmp_path: Path) -> None:
        with refused(UsageError, says="nowhere"):
            reader(tmp_path / "nowhere.txt")
        with refused(UsageError):
            reader(tmp_path)
        (tmp_path / "latin.txt").write_bytes("größe\n".encode("latin-1"))
        with refused(UnreadableError, private=["größe", "gr"], says="UTF-8"):
            reader(tmp_path / "latin.txt")
        (tmp_path / "blank.txt").write_bytes(b"\n \n")
        with refused(UnreadableError, says="no words"):
            reader(tmp_path / "blank.txt")


class TestColumns:
    ENCODING = Encoding.parse(columns=["smoker", "age=40,50.5,60", "sex=f|m"])

    def test_names(self) -> None:
        assert self.ENCODING.names(range(self.ENCODING.width)) == (
            *("smoker", "age<40", "40<=age<50.5", "50.5<=age<60", "age>=60", "sex=f", "sex=m"),
        )
        assert self.ENCODING.columns == ("smoker", "age", "sex")
        for wrong in (-1, 7):
            with refused(ParameterError, says="0 to 6"):
                self.ENCODING.name_of(wrong)

    @pytest.mark.parametrize(
        ("value", "name"),
        [
            (39, "age<40"),
            (-math.inf, "age<40"),
            ("-1e3", "age<40"),
            (np.nextafter(40, 0), "age<40"),
            (40, "40<=age<50.5"),
            ("40", "40<=age<50.5"),
            (" 40.0 ", "40<=age<50.5"),
            (Decimal("50.4999999999999999999999"), "40<=age<50.5"),
            (Decimal("50.5"), "50.5<=age<60"),
            (60, "age>=60"),
            (2**63, "age>=60"),
            ("inf", "age>=60"),
        ],
    )
    def test_intervals_hold_their_lower_end(self, value: object, name: str) -> None:
        assert named(self.ENCODING, smoker=None, age=value, sex=None) == (name,)

    @pytest.mark.parametrize("value", [1, 1.0, True, "1", "1.0", "true", "TRUE", " True "])
    def test_set_flags(self, value: object) -> None:
        assert named(self.ENCODING, smoker=value, age=None, sex=None) == ("smoker",)

    @pytest.mark.parametrize("value", [0, 0.0, -0.0, False, "0", "0.0", "False", None, math.nan, "", " "])
    def test_other_flags(self, value: object) -> None:
        assert named(self.ENCODING, smoker=value, age=None, sex=None) == ()

    @pytest.mark.parametrize("value", [31771, 0.31771, "zebra", "yes", -1, "01", "1e0"])
    def test_a_flag_with_other_values(self, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
        """They set nothing: an error would tell that somebody has them, and only the data holder may see it."""
        assert features_of(self.ENCODING, smoker=value, age=None, sex=None) == []
        monkeypatch.setenv("CONFIDE_SHOW_ERRORS", "1")
        with refused(DataError, private=[value] if value != "yes" else [], says="'smoker'"):
            features_of(self.ENCODING, smoker=value, age=None, sex=None)

    @pytest.mark.parametrize("value", ["zebra", "31,771", "1_000", "n/a", "0x10"])
    def test_numbers_that_are_none(self, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
        assert features_of(self.ENCODING, smoker=None, age=value, sex=None) == []
        monkeypatch.setenv("CONFIDE_SHOW_ERRORS", "1")
        with refused(DataError, private=[value], says="'age'"):
            features_of(self.ENCODING, smoker=None, age=value, sex=None)

    @pytest.mark.parametrize("missing", [None, math.nan, "", "  "])
    def test_missing_values_set_nothing(self, missing: object) -> None:
        assert features_of(self.ENCODING, smoker=missing, age=missing, sex=missing) == []
        assert features_of(self.ENCODING, smoker=None, age="NaN", sex=None) == []

    @pytest.mark.parametrize(("value", "names"), [("f", ("sex=f",)), (" m", ("sex=m",)), ("F", ()), ("x", ()), (1, ())])
    def test_values(self, value: object, names: tuple[str, ...]) -> None:
        assert named(self.ENCODING, smoker=None, age=None, sex=value) == names

    @pytest.mark.parametrize(
        ("value", "names"),
        [
            (1, ("grade=1",)),
            (1.0, ("grade=1",)),
            ("1.00", ("grade=1",)),
            (Decimal("1.0"), ("grade=1",)),
            (2.5, ("grade=2.50",)),
            ("007", ("grade=007",)),
            (7, ()),
            ("01", ()),
            (True, ("grade=true",)),
            ("True", ("grade=true",)),
        ],
    )
    def test_numbers_as_values(self, value: object, names: tuple[str, ...]) -> None:
        assert named(Encoding.parse(columns=["grade=1|2.50|007|true"]), grade=value) == names

    def test_what_was_met_before_has_no_say(self) -> None:
        """1, True and 1.0 are equal in Python, and are not the same value of a column."""
        encoding = Encoding.parse(columns=["grade=1|true"])
        for values in ([1, True, 1.0, "1", "true"], [True, 1, "true", 1.0, "1"]):
            together = sets(encoding.encoded({"grade": values}))
            assert together == [set(features_of(encoding, grade=value)) for value in values]

    @given(st.floats(allow_nan=False))
    def test_numbers_are_spelt_one_way(self, number: float) -> None:
        assert spelling(number) == spelling(repr(number)) or "e" in repr(number)
        assert float(str(spelling(number))) == number

    def test_columns_of_different_length(self) -> None:
        with refused(ParameterError, says="length"):
            self.ENCODING.encoded({"smoker": [1, 0], "age": [1], "sex": ["f"]})


class TestParsing:
    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            ("smoker", Flag(column="smoker")),
            (" age = 40, 50 ", Cuts(column="age", points=(40.0, 50.0))),
            ("age=40", Cuts(column="age", points=(40.0,))),
            ("x=-1e-3,.5,2.", Cuts(column="x", points=(-0.001, 0.5, 2.0))),
            ("sex=f|", OneOf(column="sex", values=("f",))),
            ("city=Paris, TX | Rome", OneOf(column="city", values=("Paris, TX", "Rome"))),
            ("grade=1|2", OneOf(column="grade", values=("1", "2"))),
            ("eq=a=b|c", OneOf(column="eq", values=("a=b", "c"))),
        ],
    )
    def test_rules(self, text: str, rule: Rule) -> None:
        assert parse_column(text) == rule

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("age=40,x", "'age=40,x': 'x' is not a number"),
            ("age=40,", "'' is not a number"),
            ("age=", "'age=': '' is not a number"),
            ("age=50,40", "ascend"),
            ("age=40,40.0", "ascend"),
            ("age=40,inf", "finite"),
            ("age=nan", "finite"),
            ("sex=f", "not a number to cut at"),
            ("sex=f||", "not empty"),
            ("sex=f|m|f", "the same"),
            ("grade=1|1.0", "the same"),
            ("=40", "name of the column"),
            ("", "name of the column"),
        ],
    )
    def test_bad_rules(self, text: str, says: str) -> None:
        with refused(ParameterError, says=re.escape(says)):
            parse_column(text)

    def test_options_that_do_not_fit(self, tmp_path: Path) -> None:
        file = tmp_path / "words.txt"
        file.write_text("word\n")
        with refused(ParameterError, says="no features"):
            Encoding.parse()
        for options in ({"bits": 12}, {"leave_out": file}, {"vocabulary": file}):
            with refused(ParameterError, says="no column of text"):
                Encoding.parse(columns=["smoker"], **options)
        for options in ({"bits": 12}, {"leave_out": file}):
            with refused(ParameterError, says="hashed"):
                Encoding.parse(text="note", vocabulary=file, **options)
        for bits in (0, 25, True, 3.0):
            with refused(ParameterError, says="from 1 to 24"):
                Encoding.parse(text="note", bits=bits)  # type: ignore[arg-type]

    def test_names_are_told_apart(self, tmp_path: Path) -> None:
        file = tmp_path / "words.txt"
        file.write_text("smoker\n")
        with refused(ParameterError, says="'age' has two rules"):
            Encoding.parse(columns=["age=40", "age=50"])
        with refused(ParameterError, says="'smoker'"):
            Encoding.parse(text="note", vocabulary=file, columns=["smoker"])
        with refused(ParameterError, says="'#12'"):
            Encoding.parse(text="note", columns=["#12"])
        with refused(ParameterError, says="'#0'"):
            Encoding(rules=(HashedWords(column="note"), HashedWords(column="title")))

    def test_words_beside_columns(self) -> None:
        encoding = Encoding.parse(text="note", bits=8, columns=["smoker", "age=40"])
        assert encoding.width == 256 + 3
        found = features_of(encoding, note="cancer", smoker=1, age=50)
        assert found == [PINNED[0] % 256, 256, 258]
        assert encoding.names(found) == (f"#{PINNED[0] % 256}", "smoker", "age>=40")


names = st.text(min_size=1, max_size=8).filter(lambda name: name.strip() != "")
word_tuples = st.lists(any_text, max_size=5).map(
    lambda texts: tuple(dict.fromkeys(word for text in texts for word in words_of(text)))
)


def word_rule(column: str) -> st.SearchStrategy[Rule]:
    return st.one_of(
        st.builds(HashedWords, column=st.just(column), bits=st.integers(1, 12), leave_out=word_tuples),
        st.builds(Vocabulary, column=st.just(column), words=word_tuples.filter(bool)),
    )


def column_rule(column: str) -> st.SearchStrategy[Rule]:
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    values = names.filter(lambda value: spelling(value) is not None)
    return st.one_of(
        st.builds(Flag, column=st.just(column)),
        st.builds(
            Cuts, column=st.just(column), points=st.lists(numbers, min_size=1, unique=True).map(sorted).map(tuple)
        ),
        st.builds(OneOf, column=st.just(column), values=st.lists(values, min_size=1, unique_by=spelling).map(tuple)),
    )


@st.composite
def encodings(draw: st.DrawFn) -> Encoding:
    columns = draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True))
    rules = [draw(column_rule(column)) for column in columns]
    return Encoding(rules=(*([draw(word_rule("note"))] if draw(st.booleans()) else []), *rules))


class TestKept:
    @given(encodings())
    def test_round_trips(self, encoding: Encoding) -> None:
        again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict(), allow_nan=False)))
        assert again == encoding
        assert again.to_dict() == encoding.to_dict()
        assert again.names(range(again.width)) == encoding.names(range(encoding.width))
        assert len(set(again.names(range(again.width)))) == again.width

    def test_as_it_was_written(self) -> None:
        """What older files hold must be read for ever."""
        kept = {
            "schema": "confide.encoding/1",
            "rules": [
                {"kind": "hashed-words", "column": "note", "hash": "blake2b-64", "bits": 10, "leave_out": ["the"]},
                {"kind": "vocabulary", "column": "title", "words": ["cancer", "fear"]},
                {"kind": "flag", "column": "smoker"},
                {"kind": "cuts", "column": "age", "points": [40, 50.5]},
                {"kind": "one-of", "column": "sex", "values": ["f", "m"]},
            ],
        }
        encoding = Encoding.from_dict(kept)
        assert encoding.to_dict() == kept
        found = named(encoding, note="the cancer", title="Fear", smoker="1", age=50.5, sex="m")
        assert found == (f"#{PINNED[0] % 1024}", "fear", "smoker", "age>=50.5", "sex=m")

    @pytest.mark.parametrize(
        "rule",
        [
            {"kind": "unheard", "column": "a"},
            {"column": "a"},
            "flag",
            {"kind": "flag"},
            {"kind": "flag", "column": ""},
            {"kind": "flag", "column": "a", "more": 1},
            {"kind": "cuts", "column": "a", "points": ["40"]},
            {"kind": "cuts", "column": "a", "points": [math.nan]},
            {"kind": "cuts", "column": "a", "points": [10**400]},
            {"kind": "cuts", "column": "a", "points": 40},
            {"kind": "one-of", "column": "a", "values": "fm"},
            {"kind": "one-of", "column": "a", "values": [1]},
            {"kind": "vocabulary", "column": "a", "words": []},
            {"kind": "vocabulary", "column": "a", "words": ["Two words"]},
            {"kind": "vocabulary", "column": "a", "words": ["word", "word"]},
            {"kind": "hashed-words", "column": "a", "bits": 16, "leave_out": []},
            {"kind": "hashed-words", "column": "a", "hash": "md5", "bits": 16, "leave_out": []},
            {"kind": "hashed-words", "column": "a", "hash": "blake2b-64", "bits": "16", "leave_out": []},
        ],
    )
    def test_what_is_no_rule(self, rule: object) -> None:
        with pytest.raises(ConfideError):
            Encoding.from_dict({"schema": "confide.encoding/1", "rules": [rule]})

    @pytest.mark.parametrize("data", [{}, {"schema": "confide.encoding/2", "rules": []}, [], None, {"rules": []}])
    def test_what_is_no_encoding(self, data: Any) -> None:
        with refused(ParameterError, says=r"confide\.encoding/1"):
            Encoding.from_dict(data)


def test_places_are_named_by_the_first_words_that_share_them() -> None:
    encoding = Encoding.parse(text="message", bits=1, columns=["smoker"])
    words = [f"word{number}" for number in range(20)]
    named = encoding.word_names(words)
    assert set(named) == {"#0", "#1"}
    for name, shown in named.items():
        there = [word for word in words if f"#{place_of(word, 1)}" == name]
        assert shown == f"{', '.join(there[:3])}, {len(there) - 3} more ({name})"


def test_words_that_are_left_out_name_no_place(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("the\n")
    encoding = Encoding.parse(text="message", bits=4, leave_out=tmp_path / "stop.txt")
    assert encoding.word_names(["the"]) == {}
    assert encoding.word_names(["the", "free"]) == {f"#{place_of('free', 4)}": f"free (#{place_of('free', 4)})"}


def test_only_hashed_words_have_places_to_name() -> None:
    with pytest.raises(ParameterError, match="no words are hashed"):
        Encoding.parse(columns=["smoker"]).word_names(["free"])
