"""Every option is declared once: signatures, docstrings, commands and requests say what the declaration says."""

import inspect
import tomllib
from pathlib import Path

import jsonschema
import pytest
import typer.main
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app
from soundsum.privacy.planner import Plan
from soundsum.releases import api, private
from soundsum.releases.options import OPTIONS, REQUIRED, SETTINGS, list_fields
from soundsum.releases.signatures import CALLS
from soundsum.requests.write_request import describe_requests
from soundsum.statistics import STATISTICS

ROOT = Path(__file__).parents[2]
FUNCTIONS = (
    *("release", "sum", "mean", "variance", "std", "count", "histogram", "groups", "suggest_bounds"),
    "suggest_max_rows",
)
STATISTIC_COMMANDS = (
    *("sum", "mean", "variance", "std", "count", "histogram", "groups", "suggest_bounds", "suggest_max_rows"),
)


def find(name):
    found = ss
    for part in name.split("."):
        found = getattr(found, part)
    return found


def parameters(function):
    """Name, annotation, default and whether it is positional; without self."""
    return [
        (p.name, p.annotation, p.default, p.kind is p.POSITIONAL_OR_KEYWORD)
        for p in inspect.signature(function).parameters.values()
        if p.name != "self"
    ]


@pytest.mark.parametrize("name", CALLS)
def test_signatures_are_those_declared(name):
    assert parameters(find(name)) == CALLS[name].parameters()


@pytest.mark.parametrize("name", CALLS)
def test_docstrings_explain_every_option_in_the_words_declared(name):
    said = " ".join(inspect.getdoc(find(name)).split())
    for option in CALLS[name].options.values():
        assert f"{option.name}: " in said or f"{option.name}, " in said
        assert " ".join(option.words.split()) in said
    assert "{" not in "".join(option.words for option in CALLS[name].options.values())


@pytest.mark.parametrize("method", ["sum", "mean", "variance", "std", "count", "histogram", "plan"])
def test_queries_of_an_owner_s_table_take_options_by_the_same_names(method):
    common = {name: (annotation, default) for name, annotation, default, _ in CALLS["Private.release"].parameters()}
    own = parameters(getattr(ss.Private, method))
    asked = {"by", "groups", "where", "max_rows", "max_groups", "missing"}
    assert {name for name, *_ in own} >= (asked if method == "plan" else asked | {"noise", "delta", "rho", "epsilon"})
    for name, annotation, default, _ in own:
        option = OPTIONS[name]
        unless_given = None if name in ("lower", "upper") else option.default  # which the schema may have
        assert (annotation, default) in (
            common.get(name),
            (option.annotation, unless_given),
            (option.annotation.removesuffix(" | None"), REQUIRED),  # a column of the table
        )


def test_type_checkers_know_the_options_of_queries():
    typed = {name: kind.__forward_arg__ for name, kind in private.QueryOptions.__annotations__.items()}
    declared = CALLS["Private.release"]
    assert typed == {name: declared.options[name].annotation for name in declared.keywords}


def test_a_plan_is_released_with_options_of_a_sum():
    declared = CALLS["sum"].options
    for name, annotation, default, _ in parameters(Plan.release):
        assert annotation in (declared[name].annotation, declared[name].annotation.removesuffix(" | None"))
        assert default == declared[name].default


@pytest.mark.parametrize(
    "name, options",
    [("sum", "SumOptions"), ("mean", "BoundedOptions"), ("std", "BoundedOptions"), ("median", "QuantileOptions")],
)
def test_type_checkers_know_every_option(name, options):
    typed = getattr(api, options).__annotations__
    declared = CALLS[name].options
    assert set(typed) | {"by"} == set(CALLS[name].keywords)
    for option, kind in typed.items():
        assert kind.__forward_arg__ == declared[option].annotation


@pytest.mark.parametrize("name", ["count", "histogram", "release"])
def test_the_options_of_every_statistic_are_those_that_have_one_type(name):
    typed = api.CommonOptions.__annotations__
    assert set(typed) < set(CALLS[name].keywords)
    assert all(kind.__forward_arg__ == CALLS[name].options[option].annotation for option, kind in typed.items())


@pytest.mark.parametrize("kind", STATISTICS)
def test_fields_of_statistics_are_options_with_the_same_defaults(kind):
    if not hasattr(ss, kind.capitalize()):
        return
    for name, p in inspect.signature(STATISTICS[kind]).parameters.items():
        option = CALLS.get(kind, CALLS["suggest_bounds"]).options.get(name, OPTIONS[name])
        assert p.default in (option.default, inspect.Parameter.empty, None)


def command(name):
    return typer.main.get_command(app).commands[name.replace("_", "-")]


@pytest.mark.parametrize("name", STATISTIC_COMMANDS)
def test_commands_spell_and_explain_options_as_declared(name):
    flags = {option.flag.name or option.name: option for option in CALLS[name].options.values() if option.flag}
    found = {p.name: p for p in command(name).params if p.name not in ("as_json", "as_csv")}
    assert set(found) == set(flags)
    for spelled, p in found.items():
        option = flags[spelled]
        assert p.help == option.flag.help
        assert p.required == (option.name in {"data", *CALLS[name].required})
        assert p.opts == [spelled if option.name == "data" else f"--{spelled.replace('_', '-')}"]
        if option.flag.metavar is not None:
            assert p.metavar == option.flag.metavar
        if option.default not in (None, REQUIRED) and option.name != "missing":
            assert p.default == option.default


def accepted(text, tmp_path, monkeypatch):
    """Whether the command takes this request."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,k,p\n1,a,1\n2,b,2\n")
    Path("r.toml").write_text(text)
    return CliRunner().invoke(app, ["release", "t.csv", "r.toml"])


def test_the_page_about_requests_names_every_option_and_its_request_fits_the_schema():
    page = (ROOT / "docs/requests.md").read_text()
    settings = page.partition("| option | where | meaning |")[2].partition("\n\n")[0]
    assert all(f"`{name}`" in settings for name in SETTINGS)
    request = page.partition("```toml\n")[2].partition("```")[0]
    jsonschema.validate(tomllib.loads(request), describe_requests())


COUNTED = '[statistics.n]\nstatistic = "count"\n'
SUMMED = '[statistics.t]\nstatistic = "sum"\ncolumn = "x"\nbounds = [0, 1]\n'


@pytest.mark.parametrize(
    "request_text",
    [
        f"epsilon = 1\nfoo = 1\n{COUNTED}",
        f'epsilon = 1\nname = "t"\n{COUNTED}',
        f'epsilon = 1\nbudget = "b.db"\n{COUNTED}',
        f"epsilon = [1]\n{COUNTED}",
        f'epsilon = 1\nmax_rows = "a"\nprivacy_unit = "p"\n{COUNTED}',
        f'epsilon = 1\nwhere = "x > 1"\n{COUNTED}',
        f'epsilon = 1\nmissing = "none"\n{COUNTED}',
        f'epsilon = 1\nrelation = "none"\n{COUNTED}',
        f"epsilon = 1\n{COUNTED}bins = 3\n",
        f"epsilon = 1\n{SUMMED.replace('[0, 1]', '[0]')}",
        f"epsilon = 1\n{SUMMED.replace('bounds = [0, 1]', 'lower = 0')}",
        'epsilon = 1\n[statistics.n]\ncolumn = "x"\n',
        "epsilon = 1\n",
    ],
)
def test_a_request_that_does_not_fit_the_schema_is_refused(request_text, tmp_path, monkeypatch):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(request_text), describe_requests())
    assert accepted(request_text, tmp_path, monkeypatch).exception is not None


@pytest.mark.parametrize("kind", ["sum", "mean", "variance", "std", "count", "histogram"])
def test_every_field_that_the_schema_gives_a_statistic_is_known_to_the_command(kind):
    from soundsum.requests.request_file import allowed_fields

    (own,) = [
        one
        for one in describe_requests()["properties"]["statistics"]["additionalProperties"]["oneOf"]
        if one["properties"]["statistic"]["const"] == kind
    ]
    assert set(own["properties"]) - {"statistic"} == set(allowed_fields(STATISTICS[kind]))
    assert set(list_fields(STATISTICS[kind])) - {"lower", "upper"} <= set(own["properties"])
