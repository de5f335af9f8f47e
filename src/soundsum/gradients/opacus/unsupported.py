"""Refuses settings that the theorem does not cover, each with the reason and an alternative."""

from __future__ import annotations

import inspect
import math
from typing import Any

from soundsum.gradients.lazy_import import need

MODES = ("hooks", "functorch")
MOST_OF_PRV = 600
"""The accountant prv computes exp(t) / q of a privacy loss t in floats, which end at exp(709.7).

So it takes every loss of a step above 709.7 + log q for that one. All other losses together are below -50 with
probability at most exp(-50), as the mean of exp(-loss) is 1. So a total with such a step stays above 659 + log q, and
what is said up to 600 holds: q is above exp(-59), or such a step less likely than any delta that prv accepts.
"""


def refuse_accountant(accountant: str) -> None:
    if accountant == "gdp":
        raise ValueError(
            "accountant='gdp': its epsilon is what many steps tend to, which is no bound for the steps there were; "
            "use prv or rdp"
        )


def refuse_settings(
    *,
    loss_reduction: str,
    slots: bool,
    poisson_sampling: bool,
    clipping: str,
    grad_sample_mode: str,
    noise_generator: Any,
) -> None:
    if not poisson_sampling:
        raise ValueError(
            "poisson_sampling=False: accountants count on each record being in a batch by a coin of its own, which "
            "fixed batches are not; leave it True"
        )
    if grad_sample_mode == "ew":
        raise ValueError(
            "grad_sample_mode='ew': expanded weights add to a batch's gradients what is left of an earlier batch, "
            "where no layer is called; use grad_sample_mode='hooks' or 'functorch'"
        )
    if grad_sample_mode not in MODES:
        raise ValueError(
            f"grad_sample_mode={grad_sample_mode!r}: it adds the gradients up before they can be clipped as integers, "
            f"trusting norms that were computed in floats; use grad_sample_mode='hooks' (or {', '.join(MODES[1:])})"
        )
    if clipping == "adaptive":
        raise ValueError(
            "clipping='adaptive': its norm follows how many of the other examples were clipped, a count released with "
            "floating-point noise; use clipping='flat' or 'per_layer' with norms you choose"
        )
    if clipping not in ("flat", "per_layer"):
        raise ValueError(
            f"clipping={clipping!r}: it is not known that it looks at one example alone; use 'flat' or 'per_layer'"
        )
    if loss_reduction not in ("sum", "mean"):
        raise ValueError(f"loss_reduction={loss_reduction!r}: it is 'sum', or with slots also 'mean'")
    if loss_reduction == "mean" and not slots:
        raise ValueError(
            "loss_reduction='mean' without slots: the mean divides by the size of the batch, which is private, so "
            "every example's gradient depends on how many others there are; use loss_reduction='sum', or slots"
        )
    if noise_generator is not None:
        raise ValueError(
            "noise_generator: noise that can be repeated hides nothing; it always comes from the operating system"
        )


def refuse_target(epsilon: Any, delta: Any, epochs: Any) -> None:
    """Refuses targets for which the search for the noise multiplier would not end, or would accept any noise."""
    if not 0 < epsilon < math.inf:
        raise ValueError(f"target_epsilon={epsilon}: an epsilon to keep is above 0 and finite, such as 3")
    if not 0 < delta < 1:
        raise ValueError(f"target_delta={delta}: a probability to keep is above 0 and below 1, such as 1e-5")
    if not epochs >= 1 or int(epochs) != epochs:
        raise ValueError(f"epochs={epochs}: give how many epochs will be trained, a whole number, 1 or more")


def refuse_epsilon(accountant: str, epsilon: float) -> None:
    """Refuses an epsilon that is NaN, or that floats cannot tell from a larger one."""
    if math.isnan(epsilon) or (accountant == "prv" and epsilon > MOST_OF_PRV):
        raise ValueError(
            f"epsilon={epsilon:.4g}: the accountant prv computes with floats that end near exp(709), so what it says "
            f"above {MOST_OF_PRV} may be far too little; use more noise, or PrivacyEngine(accountant='rdp')"
        )


def refuse_norms(clipping: str, max_grad_norm: Any, parameters: int) -> None:
    """Requires one norm for the whole gradient, or a list with one for each trained parameter."""
    several = isinstance(max_grad_norm, list | tuple)
    if several != (clipping == "per_layer"):
        wanted = "a list of norms, one for each parameter" if clipping == "per_layer" else "one norm"
        raise ValueError(f"max_grad_norm={max_grad_norm}: clipping={clipping!r} takes {wanted}")
    if several and len(max_grad_norm) != parameters:
        raise ValueError(f"max_grad_norm has {len(max_grad_norm)} norms for {parameters} parameters: give one for each")


def refuse_optimizer(optimizer: Any) -> None:
    """Refuses an optimizer that cannot step on a noisy gradient, before a step is accounted for."""
    name = type(optimizer).__name__
    try:
        inspect.signature(optimizer.step).bind()
    except TypeError:
        raise ValueError(
            f"{name} computes the gradients several times in one step (step takes a closure), and each of them would "
            "need noise of its own; use an optimizer that steps on one gradient, such as SGD or Adam"
        ) from None
    if isinstance(optimizer, need("torch.optim").SparseAdam):
        raise ValueError(f"{name} takes sparse gradients, and noise makes all of them dense; use Adam")


def refuse_parameters(module: Any, optimizer: Any) -> None:
    """Refuses parameters that only one of the two has; also at every step, as some may have been frozen at first."""
    known, given = set(module.parameters()), {p for group in optimizer.param_groups for p in group["params"]}
    if given - known:
        raise ValueError("the optimizer has parameters that the module has not; make it from module.parameters()")
    if any(p.requires_grad for p in known - given):
        raise ValueError(
            "the module trains parameters that the optimizer has not, and their gradients would get no noise; give all "
            "to one optimizer, or freeze the others (requires_grad_(False))"
        )


def refuse_module(module: Any) -> None:
    """Refuses layers that mix or remember examples, and sharding that splits one; also at every step."""
    batch_norm = need("torch.nn.modules.batchnorm")._BatchNorm
    nn = need("torch.nn")
    embeddings = (nn.Embedding, nn.EmbeddingBag)
    for name, layer in module.named_modules():
        if type(layer).__name__.startswith(("FSDP", "FullyShardedDataParallel")):
            raise ValueError("FSDP splits one example's gradient over ranks, which is not supported; use DPDDP")
        if is_fixed(layer):
            continue
        if isinstance(layer, batch_norm) and not type(layer).__name__.startswith(("InstanceNorm", "LazyInstanceNorm")):
            raise ValueError(
                f"{name or 'the module'} is a {type(layer).__name__}, which normalises each example by the others, so "
                "no gradient is of one example alone; use GroupNorm (PrivacyEngine.get_compatible_module replaces it), "
                "or keep the statistics it has: requires_grad_(False), and eval() after each train() of the model"
            )
        if any(getattr(layer, kept, None) is not None for kept in ("running_mean", "running_var")):
            raise ValueError(
                f"{name or 'the module'} ({type(layer).__name__}) keeps running statistics of the examples, or may, "
                "and they are not noised; make the layer with track_running_stats=False (setting it later keeps them), "
                "or use torch's own with the statistics it has: requires_grad_(False) and eval()"
            )
        if getattr(layer, "max_norm", None) is not None and isinstance(layer, embeddings):
            raise ValueError(
                f"{name or 'the module'} is an {type(layer).__name__} with max_norm={layer.max_norm}, which rescales "
                "the rows that examples look up, without noise; leave max_norm out"
            )
        hooks = [hook for hook in layer._forward_pre_hooks.values() if _is_reparametrization(hook)]
        if hooks and any(p.requires_grad for p in layer.parameters(recurse=False)):
            raise ValueError(
                f"{name or 'the module'} is a {type(layer).__name__} with the {type(hooks[0]).__name__} of "
                "torch.nn.utils, whose parameters get no gradients of each example; use that of "
                "torch.nn.utils.parametrizations"
            )
        if any(kind.__module__.startswith("torch.ao.quantization") for kind in type(layer).__mro__):
            raise ValueError(
                f"{name or 'the module'} is a {type(layer).__name__}, which remembers the range of the examples' "
                "values, without noise; quantize the model after it is trained"
            )


def _is_reparametrization(hook: Any) -> bool:
    """Says whether a hook computes a layer's weight from other parameters before each call."""
    return type(hook).__module__.startswith("torch.nn.utils.")


def is_fixed(layer: Any) -> bool:
    """Says whether a layer of torch's normalises by fixed statistics and leaves them unchanged."""
    return (
        isinstance(layer, need("torch.nn.modules.batchnorm")._NormBase)
        and type(layer).__module__.startswith("torch.nn.modules.")
        and not layer.training
        and layer.track_running_stats  # set to False later, an InstanceNorm writes to them in eval mode
        and layer.running_mean is not None
        and layer.running_var is not None
        and not any(p.requires_grad for p in layer.parameters())
    )


def keep_fixed(module: Any) -> None:
    """Requires the fixed layers to stay fixed at every call; `train()` of the whole model would change them."""
    for layer in filter(is_fixed, module.modules()):
        layer.register_forward_pre_hook(_require_fixed)


def _require_fixed(layer: Any, inputs: Any) -> None:
    if not is_fixed(layer):
        raise ValueError(
            f"a {type(layer).__name__} that was frozen and in eval mode when the model was made private no longer "
            "is; leave it frozen, and call eval() on it after each train() of the model"
        )


def refuse_dataset(dataset: Any) -> None:
    if isinstance(dataset, need("torch.utils.data").IterableDataset):
        raise ValueError("an IterableDataset cannot be sampled by a coin for each record; give one with an index")


def refuse_sampler(loader: Any) -> None:
    """Refuses a sampler that chooses records: it would be ignored, and records it leaves out would be trained on."""
    data = need("torch.utils.data")
    everybody = (data.SequentialSampler, data.RandomSampler, data.distributed.DistributedSampler)
    chooses = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
    if type(chooses) is data.BatchSampler:
        chooses = chooses.sampler
    if not isinstance(chooses, everybody) and not hasattr(chooses, "tickets"):
        raise ValueError(
            f"the data loader has a {type(chooses).__name__}, which chooses records, and private training draws from "
            "all of them by coins of its own; give a loader of the records to train on (torch.utils.data.Subset)"
        )


AMP = (
    "dynamic loss scaling multiplies every gradient by a factor that depends on all examples so far, and skips steps "
    "where one of them overflows; train in bfloat16 or float32 and call optimizer.step() without a GradScaler"
)
