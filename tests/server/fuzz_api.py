"""Schemathesis against a real server: requests made from the OpenAPI description, and nearly so.

The names of the table and its columns are put into the description first, so that many requests are answered. No
answer may be a fault, or have an undocumented status or body, and the ledger must add up. `make server`.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

from soundsum.budget import ledger

from .running import Server

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,ignored_auth,unsupported_method"
)
EXAMPLES = int(os.environ.get("EXAMPLES", "60"))
SHARE = 10**9


def describe(url):
    """The description, with names that are there among those that are tried."""
    told = httpx.get(f"{url}/v1/openapi.json", trust_env=False).json()
    for path, calls in told["paths"].items():
        for call in calls.values():
            for parameter in call.get("parameters", []):
                if parameter["name"] == "name":
                    parameter["schema"] = {"enum": ["visits"]}
                if parameter["name"] == "id":
                    parameter["schema"] = {"enum": ["visits-1", "visits-2", "visits-x", "nowhere-1"]}
            body = call.get("requestBody")
            if body is not None:
                name_what_is_there(body["content"]["application/json"]["schema"])
            assert path.startswith("/v1/")
    return told


def name_what_is_there(schema):
    """Leave of a request's description what this table can answer."""
    schema["required"] = ["epsilon", "statistics"]
    schema["properties"] |= {
        "epsilon": {"enum": ["1/1000", 0.001, 1]},
        "by": {"enum": ["ward", ["ward"]]},
        "where": {"type": "array", "items": {"enum": ["age >= 18", "ward in a, b"]}},
        "noise": {"enum": ["laplace"]},
        "max_rows": {"enum": [1, 3]},
    }
    for name in ("delta", "rho", "groups", "max_groups"):
        schema["properties"].pop(name, None)
    asked = schema["properties"]["statistics"]
    asked |= {"maxProperties": 3, "propertyNames": {"pattern": "^[a-z]{1,8}$"}}
    kinds = [one for one in asked["additionalProperties"]["oneOf"] if "bounds" in one["properties"]]
    kinds = [one for one in kinds if one["properties"]["statistic"]["const"] in ("sum", "mean", "variance")]
    for kind in kinds:
        kind["required"] = ["statistic", "column", "bounds"]
        kind["properties"] = {
            "statistic": kind["properties"]["statistic"],
            "column": {"enum": ["cost", "age"]},
            "bounds": {"enum": [[0, 10], ["0", "1/2"], [-3, 1000]]},
        }
    asked["additionalProperties"]["oneOf"] = kinds


def main():
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder), "--no-pad", "--each", "50") as server:
        token = server.add("fuzz", epsilon=SHARE // 10**3, max_failures=10**6)
        description = Path(folder, "openapi.json")
        description.write_text(json.dumps(describe(server.url)))
        command = [
            Path(sys.executable).with_name("schemathesis"), "run", description, "--url", server.url,
            "--header", f"Authorization: Bearer {token}", "--checks", CHECKS, "--max-examples", str(EXAMPLES),
            "--phases", "coverage,fuzzing", "--workers", "2", "--generation-deterministic", "--no-color",
        ]  # fmt: skip
        code = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONWARNINGS": "ignore"}).returncode
        faults = server.folder / "owner.operator.log"
        words = faults.read_text() if faults.exists() else ""
        traced = re.findall(r"^\w*(?:Error|Exception)\b.*$", words, re.MULTILINE)
        found = ledger.read(server.ledger)
    states = [entry.state for entry in found.entries]
    print(f"{len(states)} charges, {states.count('released')} released; the ledger adds up")
    print(f"{len(traced)} faults in the operator's log", *sorted(set(traced))[:20], sep="\n  ")
    sys.exit(code or bool(traced) or set(states) != {"released"})


if __name__ == "__main__":
    main()
