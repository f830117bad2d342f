"""A site's configuration: what is written is read again, and what is wrong is said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from confide.errors import (
    FederationError,
    ParameterError,
    RefusedError,
)
from confide.federation.site.config import SiteConfig, SiteModel
from tests.federation.site_rows import config


class TestConfiguration:
    def test_what_is_written_is_read_again(self, tmp_path: Path) -> None:
        whole = SiteConfig(
            name="St. Mary",
            models={
                "by column": SiteModel(data="a b.csv", label='the "label"', positive="ja", score="Größe\\x"),
                "run here": SiteModel(
                    data="/x/y.parquet", label="y", positive=1, features=("a", "b"), text=("b",), model_file="m.onnx"
                ),
            },
            folder=tmp_path,
        )
        whole.write(tmp_path)
        assert SiteConfig.load(tmp_path) == whole
        assert (tmp_path / "site.toml").stat().st_mode & 0o777 == 0o600
        more = whole.with_model("third", SiteModel(data="d.csv", label="y", score="s"))
        more.write(tmp_path)
        assert list(SiteConfig.load(tmp_path).models) == ["by column", "run here", "third"]
        assert [path.name for path in tmp_path.iterdir()] == ["site.toml"]

    def test_another_name_refers_to_an_entry(self, folder: Path) -> None:
        both = config(folder, score="risk").with_alias("n", "m")
        both.write(folder)
        read = SiteConfig.load(folder)
        assert read == both
        assert (read.names, read.model("n"), read.source("n")) == (("m", "n"), read.model("m"), read.source("m"))
        assert read.counts("n") == read.counts("m")
        assert both.with_alias("o", "n").aliases == {"n": "m", "o": "m"}
        assert both.with_model("n", SiteModel(data="rows.csv", label="event", score="marker")).aliases == {}
        assert list(
            both.with_model("o", SiteModel(data="d.csv", label="y", score="s")).with_alias("o", "m").models
        ) == ["m"]
        with pytest.raises(ParameterError, match="said to be the same as 'gone'"):
            SiteConfig(name="a", models=both.models, aliases={"n": "gone"})
        with pytest.raises(ParameterError, match="no key 'data'"):
            SiteConfig.from_toml('[site]\nname = "a"\n[models.x]\nsame_as = "m"\ndata = "d"', folder)

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ({"score": "risk"}, {"score": "risk", "label": "died", "positive": "yes"}, True),
            ({"score": "risk"}, {"score": "risk", "range": (0.0, 2.0)}, True),
            ({"score": "risk"}, {"score": "risk", "data": "sub/../rows.csv"}, True),
            ({"score": "risk"}, {"score": "risk", "data": "absent.csv"}, False),
            ({"score": "risk"}, {"score": "marker"}, False),
            (
                {"features": ("a", "b"), "model_file": "m.onnx"},
                {"features": ("b", "a"), "model_file": "./m.onnx"},
                True,
            ),
            ({"features": ("a", "b"), "model_file": "m.onnx"}, {"features": ("a",), "model_file": "m.onnx"}, False),
            ({"features": ("a", "b"), "model_file": "m.onnx"}, {"features": ("a", "b"), "model_file": "n.onnx"}, False),
            ({"features": ("a", "b"), "model_file": "m.onnx"}, {"score": "risk"}, False),
        ],
    )
    def test_the_same_rows_and_scores_have_one_entry(
        self, folder: Path, one: dict[str, Any], other: dict[str, Any], same: bool
    ) -> None:
        (folder / "sub").mkdir()
        first = config(folder, **one)
        second = SiteModel(**{"data": "rows.csv", "label": "event", **other})
        if not same:
            assert first.with_model("n", second).source("n") != first.source("m")
            return
        with pytest.raises(ParameterError, match=r"'m' and 'n' have the same rows and scores.*same_as = .m."):
            first.with_model("n", second)
        assert SiteConfig(name="a", models={"n": second}, folder=folder).source("n") == first.source("m")

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "[site] needs a name"),
            ('[site]\nname = "a/b"', "the name of a site is"),
            ('[site]\nname = "a"\nnmae = 1', "no key 'nmae'. Did you mean 'name'"),
            ('[site]\nname = "a"\n[model.x]\ndata = "d"', "no key 'model'. Did you mean 'models'"),
            ('[site]\nname = "a"\n[models.x]\nlabel = "y"\nscore = "s"', '[models."x"] needs data'),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"', "give either score"),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nfeatures = ["f"]', "give either score"),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nmodel_file = "f.pkl"', "give either score"),
            (
                '[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nscore = "s"\nmodel_file = "m"',
                "give either score",
            ),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nscore = 3', "score must be a text"),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nscore = "s"\npositive = []', "positive must be"),
            ('[site]\nname = "a"\n[models.x]\ndata = "d"\nlabel = "y"\nfeatures = "f"', "features must be a list"),
            ('[site]\nname = "a"\n[models.x]\nscroe = "s"', "no key 'scroe'. Did you mean 'score'"),
            ('[site]\nname = "a"\n[models]\nx = 3', '[models."x"] must be a table'),
            ("[site\n", "not valid TOML in line 1"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path: Path, text: str, words: str) -> None:
        (tmp_path / "site.toml").write_text(text)
        with pytest.raises(ParameterError, match=re.escape(words)):
            SiteConfig.load(tmp_path)

    def test_a_folder_without_one_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(FederationError, match=r"no site configuration at .*confide site init"):
            SiteConfig.load(tmp_path)
        with pytest.raises(FederationError, match="cannot be written"):
            SiteConfig(name="a").write(tmp_path / "absent")

    def test_an_unknown_model_is_refused_by_its_name(self, folder: Path) -> None:
        with pytest.raises(RefusedError, match=r"no model 'mm'; ask its administrator"):
            config(folder, score="risk").counts("mm")
        with pytest.raises(RefusedError, match=r"no model .m.; ask"):
            SiteConfig(name="a").counts("m")
