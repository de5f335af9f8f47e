"""The pytest plugin: audits as tests of a library's own suite.

A test calls the `dp_audit` fixture with a Target, or returns one under `@pytest.mark.dp_audit`. The deterministic tier
runs by default; `--dp-audit=full` also samples releases. A baseline file lists known violations: new ones fail the
test, and so do listed ones that have disappeared. soundsum is imported when a test first audits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from soundsum.auditor.auditing import Audit

MODES = ("deterministic", "full", "off")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dp-audit", "audits of differential privacy (soundsum)")
    group.addoption(
        "--dp-audit",
        choices=MODES,
        default="deterministic",
        help="deterministic (default): exact sums alone; full: runs of releases too; off: skip audits",
    )
    group.addoption("--dp-audit-baseline", metavar="FILE", help="known violations; default dp-audit-baseline.json")
    group.addoption("--dp-audit-update", action="store_true", help="write the violations found into the baseline")
    group.addoption("--dp-audit-sarif", metavar="FILE", help="write all violations found as SARIF 2.1.0")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "dp_audit(target=None, **options): audit this Target, or the one the test returns, with ss.audit's options",
    )


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> Callable[..., Audit]:
    """Audit a target and fail unless its violations are those of the baseline; returns the Audit."""

    def run(target: Any, **options: Any) -> Audit:
        __tracebackhide__ = True
        return _audit(request.config, target, options)

    return run


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """A marked test that was given no target in its mark returns one."""
    mark = pyfuncitem.get_closest_marker("dp_audit")
    if mark is None:
        yield
        return
    options = dict(mark.kwargs)
    target = options.pop("target", mark.args[0] if mark.args else None)
    if target is None:
        function, kept = pyfuncitem.obj, []

        def keep(*args: Any, **kwargs: Any) -> None:
            kept.append(function(*args, **kwargs))

        pyfuncitem.obj = keep
        outcome: Any = yield
        pyfuncitem.obj = function
        outcome.get_result()
        target = kept[0] if kept else None
    else:
        outcome = yield
        outcome.get_result()
    if target is None:
        pytest.fail("dp_audit: give a target in the mark, or return one from the test", pytrace=False)
    _audit(pyfuncitem.config, target, options)


def _audit(config: pytest.Config, target: Any, options: dict[str, Any]) -> Audit:
    __tracebackhide__ = True
    mode = config.getoption("--dp-audit")
    if mode == "off":
        pytest.skip("--dp-audit=off")
    from soundsum.auditor.auditing import audit
    from soundsum.auditor.ci_files import BASELINE, compare_with_baseline, read_baseline, update_baseline

    done = audit(target, **{"sampling": mode == "full", **options})
    path = Path(config.getoption("--dp-audit-baseline") or config.rootpath / BASELINE)
    config.stash.setdefault(_DONE, []).append(done)
    unasked = [_unasked(one.name, done.of(one)) for one in done.targets]
    if any(unasked):
        pytest.fail("\n".join(filter(None, unasked)), pytrace=False)
    if config.getoption("--dp-audit-update"):
        for one in done.targets:
            update_baseline(path, one.name, done.of(one))
        return done
    before = read_baseline(path)
    problems = []
    for one in done.targets:
        compared = compare_with_baseline(done.of(one), before, one.name)
        if not compared.same:
            problems.append(f"{one.name}: {compared}")
            problems += [_describe(f) for f in done.of(one) if set(f.rules) & set(compared.new)]
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
    return done


def _unasked(name: str, findings: Any) -> str:
    """Why nothing was audited of a target; nothing where something was."""
    if any(finding.verdict != "UNSUPPORTED" for finding in findings):
        return ""
    return f"{name}: nothing was audited: {'; '.join(dict.fromkeys(finding.note for finding in findings))}"


def _describe(finding: Any) -> str:
    lines = [f"  {finding.verdict} {finding.rule}: {finding.headline}", f"  to fix it: {finding.hint}"]
    return "\n".join([*lines, *(f"    {line}" for line in finding.repro.splitlines())])


_DONE: pytest.StashKey[list[Audit]] = pytest.StashKey()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """All audits of the session as one SARIF file."""
    path = session.config.getoption("--dp-audit-sarif")
    done = session.config.stash.get(_DONE, [])
    if not path or not done:
        return
    import json
    from dataclasses import replace
    from importlib import import_module

    findings = tuple(finding for one in done for finding in one.findings)
    together = replace(done[0], findings=findings, seconds=sum(one.seconds for one in done))
    document = import_module("soundsum.auditor.ci_files").sarif(together)
    Path(path).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
