"""JSON that comes in and refusals that go out: a request is held to its limits before anything is made of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, Refusal, RefusedValue

T = TypeVar("T")
U = TypeVar("U")

LARGEST = 1 << 18
"""Bytes of a request."""

DEEPEST = 8
LONGEST_NUMBER = 400
"""Characters of a number in JSON."""

KEY = re.compile(r"[!-~]{1,200}")
"""Idempotency keys."""

TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
"""Texts, of which the last may have no end, as no place may be read again from each quote before it; and brackets."""

BOTH = "`lower` and `upper`"

NOT_ANSWERED = (
    "the server cannot answer this; if something was charged for it, the charge stays until the owner refunds it"
)
"""The one sentence for everything that is not refused from public facts."""


@dataclass
class Reply(Exception):
    """An answer that is no release: its status, and why."""

    status: int
    message: str
    option: str | None = None
    reason: str | None = None
    more: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        said = {"message": self.message, "option": self.option, "reason": self.reason, **(self.more or {})}
        return {"error": said}


def unanswered() -> Reply:
    return Reply(503, NOT_ANSWERED)


def refuse(refusal: Refusal, status: int = 422, **more: Any) -> Reply:
    """Put a refusal into the words of a request."""
    option = "bounds" if refusal.option in ("lower", "upper") else refusal.option
    return Reply(status, refusal.say(InRequest()), option, str(refusal.reason), more)


def refusing(read: Callable[[T], U], given: T) -> U:
    """Read what is given; what is refused is a Reply."""
    refusal: Refusal | None = None
    try:
        return read(given)
    except Refusal as error:
        refusal = error
    raise refuse(refusal)


class InRequest:
    """Options as a request in JSON has them."""

    def option(self, name: str, value: str | None) -> str:
        called = "bounds" if name in ("lower", "upper") else name
        if value is not None and value.startswith("ss.Found("):  # an object of Python's
            return f'"{called}": "found" and "delta"'
        return f'"{called}"' if value is None else f'"{called}": {value}'

    def code(self, text: str) -> str:
        return text

    def sentences(self, refusal: Refusal) -> tuple[str, str]:
        """Both bounds are one option here."""
        problem, remedy = (one.replace(BOTH, "`bounds`") for one in (refusal.problem, refusal.remedy))
        return problem.replace("`bounds` are missing", "`bounds` is missing"), remedy


def read_body(body: bytes) -> dict[str, Any]:
    """Read a request in JSON: an object, with every name once, of limited depth, its numbers of limited length."""
    said = ""
    try:
        text = body.decode()
        if _find_depth(text) > DEEPEST:
            said = f"it is nested more than {DEEPEST} deep"
        else:
            read = json.loads(
                text, object_pairs_hook=_read_object, parse_int=_read_int, parse_float=_read_float,
                parse_constant=_read_float,
            )  # fmt: skip
            if isinstance(read, dict):
                return read
            said = "it is not an object"
    except UnicodeDecodeError:
        said = "it is not UTF-8"
    except RecursionError:
        said = "it is nested too deeply"
    except _Unreadable as error:
        said = str(error)
    except ValueError:
        said = "it is not JSON"
    raise RefusedValue("request", Reason.UNREADABLE, "the request cannot be read: {said}", said=said)


class _Unreadable(Exception):
    pass


def _find_depth(text: str) -> int:
    deepest = depth = 0
    for found in TOKENS.finditer(text):
        depth += (found[0] in "[{") - (found[0] in "]}")
        deepest = max(deepest, depth)
    return deepest


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise _Unreadable("a name is there twice")
    for name in read:
        _require_text(name)
    for name, one in read.items():
        if one is None:
            raise _Unreadable(f"{quote(name)} is null; leave it out")
        _require_printable(one)
    return read


def _require_printable(value: Any) -> None:
    """Refuses control characters in a text, or in one of a list's; objects within it have been looked at."""
    if isinstance(value, str):
        _require_text(value)
    for one in value if isinstance(value, list) else ():
        _require_printable(one)


def _require_text(text: str) -> None:
    if not text.isprintable() or any("\ud800" <= one <= "\udfff" for one in text):
        raise _Unreadable("a text has characters that cannot be printed")


def _read_int(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise _Unreadable("a number is too long")
    return int(text)


def _read_float(text: str) -> float:
    if len(text) > LONGEST_NUMBER:
        raise _Unreadable("a number is too long")
    made = float(text)
    if made - made != 0:
        raise _Unreadable(f"{quote(text)} is not a finite number")
    return made


def digest(table: str, asked: Mapping[str, Any]) -> str:
    """Return the digest of what is asked, by which it is known again."""
    canonical = json.dumps([table, asked], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_key(given: str | None) -> str | None:
    """Read an idempotency key."""
    if given is not None and KEY.fullmatch(given) is None:
        raise RefusedValue(
            "key",
            Reason.MALFORMED,
            "the idempotency key is not 1 to 200 printable characters of ASCII",
            "give one such as a UUID",
        )
    return given
