# SPDX-License-Identifier: MIT
"""Goal: config, summary and log take what people have, entry by entry, and what cannot be taken is counted and named.
Method: configs of OmegaConf, attrs, pydantic, named tuples and argparse; keys that meet; read back from the store."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import types
from collections.abc import Iterator
from typing import Any

import attr
import pydantic
import pytest
import tracker
from omegaconf import MISSING, OmegaConf


def stored(config: Any, **options: Any) -> Any:
    with tracker.init(config=config, quiet=True, **options) as run:
        pass
    return tracker.open_run(run.uid).config


# Bug (wandb#1233): lists became one text, and one unset value ended init().
def test_my_hydra_config_is_stored_as_it_is() -> None:
    config = OmegaConf.create(
        {"name": "a", "opt": {"betas": [0.9, 0.999], "lr": "${base}"}, "base": 0.1, "tags": ["x", "${name}", ["y"]]}
    )
    expected = {"name": "a", "opt": {"betas": [0.9, 0.999], "lr": 0.1}, "base": 0.1, "tags": ["x", "a", ["y"]]}
    assert stored(config) == expected
    assert stored({"cfg": config}) == {"cfg": expected}


@pytest.mark.parametrize("text", ["???", "${nowhere}", "${oc.env:NO_SUCH_VARIABLE}"])
def test_one_value_of_my_config_that_is_not_set_costs_that_value_alone(
    text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    config = OmegaConf.create({"lr": 0.1, "data": {"path": text, "n": 1}, "list": [1, text, 3]})
    with tracker.init(config=config) as run:
        expected = {"lr": 0.1, "data": {"path": text, "n": 1}, "list": [1, text, 3]}
        assert run.config == expected
        assert run.status().values_rejected == 2
        run.config["again"] = config
        run.config.update(OmegaConf.create({"more": text}))
        assert run.config["again"].as_dict() == expected
        run.summary["cfg"] = config
        assert run.status().values_rejected == 7
    assert tracker.open_run(run.uid).config == {**expected, "again": expected, "more": text}
    said = [line for line in capfd.readouterr().err.splitlines() if "config" in line and "cannot read" in line]
    assert all(line.endswith("; its text is kept") for line in said), said
    assert [line.partition("'")[2].partition("'")[0] for line in said[:2]] == ["data/path", "list/1"]
    with pytest.raises(ValueError, match="'data/path': config and summary cannot read it"):
        tracker.init(config=config, strict=True)


@dataclasses.dataclass
class Schema:
    lr: float = 0.1
    path: str = MISSING


@attr.define
class Attrs:
    lr: float = 0.1
    sizes: tuple[int, ...] = (1, 2)


class Pydantic(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    lr: float = 0.1
    sizes: list[int] = [1, 2]


class Named(collections.namedtuple("Named", ["lr", "sizes"])):
    __slots__ = ()


class KeysOnly:
    """As ml_collections.ConfigDict: what dict.update() takes, and no Mapping."""

    def keys(self) -> Iterator[str]:
        yield from ("lr", "bad")

    def __getitem__(self, key: str) -> Any:
        if key == "bad":
            raise RuntimeError("no such device")
        return 0.1


def test_objects_with_fields_are_dicts_at_any_depth(capfd: pytest.CaptureFixture[str]) -> None:
    fields = {"lr": 0.1, "sizes": [1, 2]}
    given: list[Any] = [Attrs(), Pydantic(), Named(0.1, (1, 2)), argparse.Namespace(**fields)]
    given.append(types.SimpleNamespace(**fields))
    for config in given:
        assert stored(config) == fields, config
        assert stored({"nested": config, "list": [config]}) == {"nested": fields, "list": [fields]}, config
    assert stored(Pydantic(more=3)) == {**fields, "more": 3}  # type: ignore[call-arg]
    assert stored(OmegaConf.structured(Schema)) == {"lr": 0.1, "path": "???"}
    assert stored({"a": KeysOnly(), "b": collections.deque([1, 2]), "c": {"x": 1}.keys(), "d": range(3)}) == {
        "a": {"lr": 0.1},
        "b": [1, 2],
        "c": ["x"],
        "d": [0, 1, 2],
    }
    assert "'a/bad': config and summary cannot read it (RuntimeError: no such device)" in (capfd.readouterr().err)


# Bug (wandb#5477): one of two settings was lost, uncounted.
@pytest.mark.parametrize(
    ("config", "kept", "lost", "name"),
    [
        ({"model": "bert", "model/layers": 12}, {"model": {"layers": 12}}, 1, "model"),
        ({"model": {"a": 1, "b": 2}, "model/a": 3}, {"model": {"a": 3, "b": 2}}, 1, "model/a"),
        ({"m/a": 1, "m/b": 2, "m": "x"}, {"m": "x"}, 2, "m"),
        ({1: "int", "1": "text"}, {"1": "text"}, 1, "1"),
        ({"a": {1: "int", "1": "text"}}, {"a": {"1": "text"}}, 1, "a/1"),
        ({"": 1, "b": 2}, {"b": 2}, 1, ""),
        ({"a": {"": 1, "b": 2}}, {"a": {"b": 2}}, 1, "a/"),
    ],
)
def test_two_settings_of_one_name_are_counted_and_named(
    config: dict[Any, Any], kept: dict[str, Any], lost: int, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with tracker.init(config=config) as run:
        assert run.status().values_rejected == lost
        assert run.config == kept
        run.config["below"] = config
        assert run.status().values_rejected == 2 * lost
        run.config.update(config)
        assert run.status().values_rejected == 3 * lost
        assert run.config == {**kept, "below": kept}
    assert tracker.open_run(run.uid).config == {**kept, "below": kept}
    said = [line for line in capfd.readouterr().err.splitlines() if "config" in line]
    assert sum(f"'{name}'" in line for line in said) == 1, said
    with pytest.raises(ValueError, match=f"'{name}'"):
        tracker.init(config=config, strict=True)
    with tracker.init(strict=True, quiet=True) as strict, pytest.raises(ValueError, match=f"{name}'"):
        strict.config.update(config)


def test_a_path_through_a_value_that_is_no_dict_is_counted(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    run.config["model"] = "bert"
    run.config["model"] = "vit"  # said again, and so no loss
    assert run.status().values_rejected == 0
    run.config["model/layers"] = 12
    assert run.config == {"model": {"layers": 12}}
    assert run.status().values_rejected == 1
    assert "config has two values for 'model'" in capfd.readouterr().err


def test_every_door_takes_the_same_keys(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    run.config[1] = "a"  # type: ignore[index]
    run.config.update([(2, "b")])
    run.summary[3] = "c"  # type: ignore[index]
    assert run.config == {"1": "a", "2": "b"}
    assert dict(run.summary) == {"3": "c"}
    run.config[""] = 1
    run.summary[""] = 1
    run.config["k" * 2000] = 1
    assert run.status().values_rejected == 3
    assert run.config == {"1": "a", "2": "b"}
    assert capfd.readouterr().err.count("'': config and summary take no empty key") == 1
    with tracker.init(strict=True, quiet=True) as strict:
        for key in ("", "k" * 2000):
            with pytest.raises(ValueError, match="key"):
                strict.config[key] = 1


def test_log_takes_configs_and_objects_with_fields(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    run.log({"opt": Attrs(), "cfg": OmegaConf.create({"x": 1.5, "bad": "???"})})
    run.log(OmegaConf.create({"y": 2.5, "bad": "???"}))
    run.log({"n": Named(0.5, 3), "p": types.SimpleNamespace(z=1)})
    run.finish()
    back = tracker.open_run(run.uid)
    series = {name: back.history(name).values[0] for name in back.series()}
    assert series == {"opt/lr": 0.1, "cfg/x": 1.5, "y": 2.5, "n/lr": 0.5, "n/sizes": 3.0, "p/z": 1.0}
    said = capfd.readouterr().err
    assert "'cfg/bad' is not logged: MissingMandatoryValue: Missing mandatory value: bad" in said
    assert "'opt/sizes' is not logged" in said
