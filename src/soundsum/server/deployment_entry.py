"""An entry for OpenDP's registry of deployments, made from releases, their ledger and the owner's file.

The fields are those of the registry's schemas/deployments-schema.yaml as it was in July 2026; `FIELDS` lists them as we
read them. What only the owner knows is marked TO DO, and the entry is a draft.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from soundsum._version import __version__
from soundsum.budget.ledger import Reading
from soundsum.budget.limit import Limit
from soundsum.refusals import Reason, RefusedValue
from soundsum.releases.ledger_check import compare_with_ledger
from soundsum.server.owner_file import OwnedTable

TO_DO = "TO DO"

FIELDS: dict[str, Any] = {
    "url_slug": str,
    "status": ("Draft", "Converted", "Pending", "Changes Required", "Approved", "Approved (Update Requested)",
               "Approved (Pending)"),
    "tier": (1, 2, 3),
    "deployment": {
        "basic": {
            "name": str, "data_curators": list, "intended_use": str,
            "data_product_type": ("Summary statistics", "Interactive API", "Dataset", "Synthetic data", "SQL queries",
                                  "Machine learning model"),
            "data_product_region": str, "description": str, "publication_date": str,
        },
        "dp_variant": {
            "variant_name": ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
            "data_domain": str, "unprotected_quantities": str,
        },
        "privacy_loss": {
            "privacy_unit": str, "privacy_unit_details": str,
            "privacy_parameters": {"epsilon": float, "delta": float, "rho": float}, "privacy_parameters_details": str,
        },
        "deployment_model": {
            "model_name": ("Central", "Local", "Shuffle", "Federated", "Varies"), "actors": str,
            "release_type": ("One release", "Many releases"), "access_type": ("Interactive", "Non-interactive"),
            "access_type_details": str, "data_source_type": ("Static", "Dynamic"),
        },
        "accounting": {"post_processing": str, "composition": str},
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": str, "mechanisms": str, "justification": str,
        },
        "administrative": {"registry_authors": list},
    },
}  # fmt: skip
"""Every field that an entry has, with its type or the values that it may have."""


def write_entry(releases: Sequence[dict[str, Any]], ledger: Reading, owned: OwnedTable | None) -> dict[str, Any]:
    """Write the entry; refuse releases that their certificates or the ledger contradict."""
    problems = [problem for found in compare_with_ledger(releases, ledger) for problem in found]
    if problems:
        raise RefusedValue(
            "file",
            Reason.MISMATCH,
            "the releases cannot be registered: {problem}",
            "`soundsum check --budget` lists all that is wrong",
            problem=problems[0],
        )
    limit, binding = ledger.terms.limit, ledger.terms.binding
    name = owned.name if owned is not None else binding.data or "a private table"
    noises = sorted({part["noise"] for one in releases for part in one["certificate"]["released"]})
    dates = sorted(one["at"] for one in releases)
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "table",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": name,
                "data_curators": [f"{TO_DO}: who publishes"],
                "intended_use": f"{TO_DO}: what the numbers are for",
                "data_product_type": "Summary statistics" if owned is None else "Interactive API",
                "data_product_region": f"{TO_DO}: the region",
                "description": f"{TO_DO}: what the data is. Differentially private "
                f"{', '.join(sorted({one['certificate']['statistic'] for one in releases}))} of {name}.",
                "publication_date": dates[0][:10],
            },
            "dp_variant": {
                "variant_name": _name_variant(limit),
                "data_domain": f"Every table with the columns of {name}; values are clamped to public bounds.",
                "unprotected_quantities": "None. The schema, the bounds, the categories and the list of groups are "
                "public beforehand.",
            },
            "privacy_loss": {
                "privacy_unit": binding.unit,
                "privacy_unit_details": _describe_unit(releases, ledger),
                "privacy_parameters": _round_up(limit),
                "privacy_parameters_details": f"Exactly: {_say_exactly(limit)}, for all releases together; "
                f"{ledger.spent} is spent so far. Rounded up above.",
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": "The owner sets the terms; the operator sees the data; analysts and the public see releases.",
                "release_type": "Many releases",
                "access_type": "Non-interactive" if owned is None else "Interactive",
                "access_type_details": "The owner releases."
                if owned is None
                else "Analysts have shares of one budget, "
                "which may add up to more than it; the budget bounds what all of them get together, also if they "
                "collude.",
                "data_source_type": "Static",
            },
            "accounting": {
                "post_processing": "Sums are scaled; means and variances are computed from noisy sums and counts.",
                "composition": "Adaptive sequential composition, each cost charged before anything is read; "
                + ("rhos add up." if limit.rho is not None else "epsilons and deltas add up."),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": f"{TO_DO}: how bounds, caps and epsilon were chosen; never "
                "from the data without a charge.",
                "mechanisms": _describe_mechanisms(noises, owned),
                "justification": f"{TO_DO}: why these parameters. Each release has a certificate that can be checked "
                "without the data (`soundsum check`).",
            },
            "administrative": {"registry_authors": [f"{TO_DO}: who wrote this entry"]},
        },
    }


def _name_variant(limit: Limit) -> str:
    if limit.rho is not None:
        return "Zero-concentrated DP"
    return "Approximate DP" if limit.delta else "Pure DP"


def _round_up(limit: Limit) -> dict[str, float]:
    amounts = {"epsilon": limit.epsilon, "delta": limit.delta or None, "rho": limit.rho}
    return {name: round_up(x) for name, x in amounts.items() if x is not None}


def round_up(x: Fraction) -> float:
    """Round to the least float that is not below.

    >>> round_up(Fraction(1, 10)), Fraction(round_up(Fraction(1, 3))) >= Fraction(1, 3)
    (0.1, True)
    """
    nearest = float(x)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def _say_exactly(limit: Limit) -> str:
    return ", ".join(f"{name} = {x}" for name, x in limit.to_json().items() if x not in (None, "0"))


def _describe_unit(releases: Sequence[dict[str, Any]], ledger: Reading) -> str:
    binding = ledger.terms.binding
    caps = sorted({one["unit"] for one in releases})
    whom = "all rows" if binding.privacy_unit is None else f"all rows with one {binding.privacy_unit}"
    protected = "one row" if binding.privacy_unit is None else whom
    return (
        f"Tables are adjacent if they differ in {protected} ({binding.relation} neighbours). Limits: {'; '.join(caps)}."
    )


def _describe_mechanisms(noises: Sequence[str], owned: OwnedTable | None) -> str:
    timing = "not applicable, as nobody queries interactively"
    if owned is not None:
        timing = f"every answer takes {owned.pad}" if owned.pad else "none: answers are not padded"
    access = (
        "the owner runs the library" if owned is None else "analysts have revocable tokens; answers are releases alone"
    )
    return (
        f"Discrete {' and '.join(noises) or 'no'} noise on integer sums, by soundsum {__version__}. "
        f"Timing: {timing}. "
        "Floating point: sums are exact integers on a grid, noise is drawn in integer arithmetic from the operating "
        "system's randomness, and bounds are integers and fractions; the sensitivity proof covers the arithmetic that "
        "runs. "
        f"Access: {access}. Code: soundsum {__version__}, Apache-2.0."
    )
