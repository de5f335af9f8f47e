"""Private gradients: DP-SGD's clipped sum with the proof of our sums, on CPU and GPU (docs/gradients.md).

Each example's gradient becomes integers whose length is exactly at most the clipping norm; integers are added, and the
rounded Gaussian hides them. Needs torch (`pip install '.[torch]'`), which is imported when something is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soundsum.gradients import opacus
    from soundsum.gradients.attacking import Attack, attack
    from soundsum.gradients.clipped_sum import Noisy, Sum, clip
    from soundsum.gradients.slots import Slots
    from soundsum.numbers.clipping import Grid

_HOMES = {
    "gradients.attacking": ("Attack", "attack"),
    "gradients.clipped_sum": ("Noisy", "Sum", "clip"),
    "gradients.slots": ("Slots",),
    "numbers.clipping": ("Grid",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["Attack", "Grid", "Noisy", "Slots", "Sum", "attack", "clip", "opacus"]


def __getattr__(name: str) -> Any:
    if name == "opacus":
        return import_module("soundsum.gradients.opacus")
    if name not in _HOME:
        raise AttributeError(f"module 'soundsum.gradients' has no attribute {name!r}")
    return getattr(import_module(f"soundsum.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
