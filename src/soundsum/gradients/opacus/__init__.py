"""Opacus with sound sums: its PrivacyEngine, optimizers and data loaders, under its own names.

```python
engine = ss.gradients.opacus.PrivacyEngine()
model, optimizer, loader = engine.make_private(
    module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.1, max_grad_norm=1.0,
    sample_rate="1/32", expected_batch_size=56, max_size=2000,
)
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from soundsum.gradients.lazy_import import need

if TYPE_CHECKING:
    from soundsum.gradients.opacus.loading import BatchMemoryManager
    from soundsum.gradients.opacus.optimizers import DistributedDPOptimizer, DPOptimizer
    from soundsum.gradients.opacus.privacy_engine import PrivacyEngine

_HOMES = {
    "BatchMemoryManager": "loading",
    "DPOptimizer": "optimizers",
    "DistributedDPOptimizer": "optimizers",
    "PrivacyEngine": "privacy_engine",
}

__all__ = ["BatchMemoryManager", "DPOptimizer", "DistributedDPOptimizer", "PrivacyEngine"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'soundsum.gradients.opacus' has no attribute {name!r}")
    need("torch")
    need("opacus")
    return getattr(import_module(f"soundsum.gradients.opacus.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
