"""Refuses settings that the theorem does not cover, each with the reason and an alternative."""

from __future__ import annotations

import inspect
import math
from typing import Any

from soundsum.gradients.lazy_import import need
from soundsum.numbers.quoting import printed, quote
from soundsum.refusals import Reason, RefusedValue

MODES = ("hooks", "functorch")
MOST_OF_PRV = 600
"""The accountant prv computes exp(t) / q of a privacy loss t in floats, which end at exp(709.7).

So it takes every loss of a step above 709.7 + log q for that one. All other losses together are below -50 with
probability at most exp(-50), as the mean of exp(-loss) is 1. So a total with such a step stays above 659 + log q, and
what is said up to 600 holds: q is above exp(-59), or such a step less likely than any delta that prv accepts.
"""


def refuse_accountant(accountant: str) -> None:
    if accountant == "gdp":
        raise RefusedValue(
            "accountant",
            Reason.UNSOUND,
            "`accountant='gdp'` approximates epsilon by its limit for many steps, which is no upper bound",
            "use prv or rdp",
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
        raise RefusedValue(
            "poisson_sampling",
            Reason.UNSOUND,
            "`poisson_sampling=False` makes fixed batches, and accountants assume that each record is sampled "
            "independently",
            "leave it True",
        )
    if grad_sample_mode == "ew":
        raise RefusedValue(
            "grad_sample_mode",
            Reason.UNSOUND,
            "`grad_sample_mode='ew'`: expanded weights add to a batch's gradients what is left of an earlier batch, "
            "where no layer is called",
            "use `grad_sample_mode='hooks'` or 'functorch'",
        )
    if grad_sample_mode not in MODES:
        raise RefusedValue(
            "grad_sample_mode",
            Reason.UNSOUND,
            "`grad_sample_mode={given}` adds the gradients up before they can be clipped as integers, trusting norms "
            "that were computed in floats",
            "use `grad_sample_mode='hooks'` or 'functorch'",
            given=quote(grad_sample_mode),
        )
    if clipping == "adaptive":
        raise RefusedValue(
            "clipping",
            Reason.UNSOUND,
            "`clipping='adaptive'`: its norm follows how many of the other examples were clipped, a count released "
            "with floating-point noise",
            "use `clipping='flat'` or 'per_layer' with norms you choose",
        )
    if clipping not in ("flat", "per_layer"):
        raise RefusedValue(
            "clipping",
            Reason.UNSOUND,
            "`clipping={given}` is not known to look at one example at a time",
            "use 'flat' or 'per_layer'",
            given=quote(clipping),
        )
    if loss_reduction not in ("sum", "mean"):
        raise RefusedValue(
            "loss_reduction",
            Reason.UNKNOWN,
            "`loss_reduction={given}` is neither 'sum' nor 'mean'",
            "give 'sum', or 'mean' with slots",
            given=quote(loss_reduction),
        )
    if loss_reduction == "mean" and not slots:
        raise RefusedValue(
            "loss_reduction",
            Reason.CONFLICT,
            "`loss_reduction='mean'` without slots divides by the size of the batch, which is private, so every "
            "example's gradient depends on how many others there are",
            "use `loss_reduction='sum'`, or slots",
        )
    if noise_generator is not None:
        raise RefusedValue(
            "noise_generator",
            Reason.UNSOUND,
            "noise from a generator can be repeated, so it hides nothing",
            "leave `noise_generator` out: noise always comes from the operating system",
        )


def refuse_target(epsilon: Any, delta: Any, epochs: Any) -> None:
    """Refuses targets for which the search for the noise multiplier would not end, or would accept any noise."""
    if not math.isfinite(epsilon):
        raise RefusedValue(
            "target_epsilon",
            Reason.NOT_A_NUMBER,
            "`target_epsilon={given}` is not a finite number",
            "give one above 0, such as 3",
            given=quote(epsilon),
        )
    if epsilon <= 0:
        raise RefusedValue(
            "target_epsilon",
            Reason.TOO_SMALL,
            "`target_epsilon={given}` is not above 0",
            "give a larger one, such as 3",
            given=quote(epsilon),
        )
    if not delta > 0:
        raise RefusedValue(
            "target_delta",
            Reason.TOO_SMALL,
            "`target_delta={given}` is not above 0",
            "give a probability above 0 and below 1, such as 1e-5",
            given=quote(delta),
        )
    if delta >= 1:
        raise RefusedValue(
            "target_delta",
            Reason.TOO_LARGE,
            "`target_delta={given}` is not below 1",
            "give a probability above 0 and below 1, such as 1e-5",
            given=quote(delta),
        )
    if not math.isfinite(epochs) or int(epochs) != epochs:
        raise RefusedValue(
            "epochs",
            Reason.NOT_WHOLE,
            "`epochs={given}` is not a whole number",
            "give the number of epochs that will be trained, 1 or more",
            given=quote(epochs),
        )
    if epochs < 1:
        raise RefusedValue(
            "epochs",
            Reason.TOO_SMALL,
            "`epochs={given}` is less than 1",
            "give the number of epochs that will be trained, 1 or more",
            given=quote(epochs),
        )


def refuse_epsilon(accountant: str, epsilon: float, option: str | None = None) -> None:
    """Refuses an epsilon that is NaN, or that floats cannot tell from a larger one."""
    if math.isnan(epsilon) or (accountant == "prv" and epsilon > MOST_OF_PRV):
        raise RefusedValue(
            option,
            Reason.UNSOUND,
            "the accountant prv cannot bound an epsilon of {epsilon}: it computes with floats that end near exp(709), "
            "so what it says above {most} may be far too small",
            "use more noise, or `PrivacyEngine(accountant='rdp')`",
            epsilon=f"{epsilon:.4g}",
            most=MOST_OF_PRV,
        )


def refuse_norms(clipping: str, max_grad_norm: Any, parameters: int) -> None:
    """Requires one norm for the whole gradient, or a list with one for each trained parameter."""
    several = isinstance(max_grad_norm, list | tuple)
    if several and clipping != "per_layer":
        raise RefusedValue(
            "max_grad_norm",
            Reason.CONFLICT,
            "`max_grad_norm={given}`: `clipping={clipping}` takes one norm",
            "give one norm, or `clipping='per_layer'`",
            given=quote(max_grad_norm),
            clipping=quote(clipping),
        )
    if not several and clipping == "per_layer":
        raise RefusedValue(
            "max_grad_norm",
            Reason.CONFLICT,
            "`max_grad_norm={given}`: `clipping='per_layer'` takes a list of norms",
            "give one for each parameter",
            given=quote(max_grad_norm),
        )
    if several and len(max_grad_norm) != parameters:
        raise RefusedValue(
            "max_grad_norm",
            Reason.MISMATCH,
            "`max_grad_norm` has {norms} norms for {parameters} parameters",
            "give one for each",
            norms=len(max_grad_norm),
            parameters=parameters,
        )


def refuse_optimizer(optimizer: Any) -> None:
    """Refuses an optimizer that cannot step on a noisy gradient, before a step is accounted for."""
    name = type(optimizer).__name__
    if _needs_closure(optimizer):
        raise RefusedValue(
            "optimizer",
            Reason.UNSUPPORTED,
            "{optimizer} computes the gradients several times in one step (its step takes a closure), and each of them "
            "would need noise of its own",
            "use an optimizer that steps on one gradient, such as SGD or Adam",
            optimizer=name,
        )
    if isinstance(optimizer, need("torch.optim").SparseAdam):
        raise RefusedValue(
            "optimizer",
            Reason.UNSUPPORTED,
            "{optimizer} takes sparse gradients, and noise makes all of them dense",
            "use Adam",
            optimizer=name,
        )


def _needs_closure(optimizer: Any) -> bool:
    try:
        inspect.signature(optimizer.step).bind()
    except TypeError:
        return True
    return False


def refuse_parameters(module: Any, optimizer: Any) -> None:
    """Refuses parameters that only one of the two has; also at every step, as some may have been frozen at first."""
    known, given = set(module.parameters()), {p for group in optimizer.param_groups for p in group["params"]}
    if given - known:
        raise RefusedValue(
            "optimizer",
            Reason.MISMATCH,
            "the optimizer has parameters that the module does not have",
            "make it from `module.parameters()`",
        )
    if any(p.requires_grad for p in known - given):
        raise RefusedValue(
            "module",
            Reason.MISMATCH,
            "the module trains parameters that the optimizer does not have, and their gradients would get no noise",
            "give all to one optimizer, or freeze the others (`requires_grad_(False)`)",
        )


def refuse_module(module: Any) -> None:
    """Refuses layers that mix or remember examples, and sharding that splits one; also at every step."""
    batch_norm = need("torch.nn.modules.batchnorm")._BatchNorm
    nn = need("torch.nn")
    embeddings = (nn.Embedding, nn.EmbeddingBag)
    for name, layer in module.named_modules():
        if type(layer).__name__.startswith(("FSDP", "FullyShardedDataParallel")):
            raise RefusedValue(
                "module",
                Reason.UNSUPPORTED,
                "FSDP splits one example's gradient over ranks, which is not supported",
                "use `opacus.distributed.DifferentiallyPrivateDistributedDataParallel`",
            )
        if is_fixed(layer):
            continue
        if isinstance(layer, batch_norm) and not type(layer).__name__.startswith(("InstanceNorm", "LazyInstanceNorm")):
            raise RefusedValue(
                "module",
                Reason.UNSOUND,
                "{layer} ({type}) normalises each example by the others, so no gradient depends on one example alone",
                "use GroupNorm (`PrivacyEngine.get_compatible_module` replaces it), or keep the statistics it has: "
                "`requires_grad_(False)`, and `eval()` after each `train()` of the model",
                layer=_say(name),
                type=type(layer).__name__,
            )
        if any(getattr(layer, kept, None) is not None for kept in ("running_mean", "running_var")):
            raise RefusedValue(
                "module",
                Reason.UNSOUND,
                "{layer} ({type}) keeps running statistics of the examples, or may, and they get no noise",
                "make the layer with `track_running_stats=False` (setting it later keeps them), or use torch's own "
                "with the statistics it has: `requires_grad_(False)` and `eval()`",
                layer=_say(name),
                type=type(layer).__name__,
            )
        if getattr(layer, "max_norm", None) is not None and isinstance(layer, embeddings):
            raise RefusedValue(
                "module",
                Reason.UNSOUND,
                "{layer} ({type}) with `max_norm={given}` rescales the rows that examples look up, without noise",
                "make it without max_norm",
                layer=_say(name),
                type=type(layer).__name__,
                given=quote(layer.max_norm),
            )
        hooks = [hook for hook in layer._forward_pre_hooks.values() if _is_reparametrization(hook)]
        if hooks and any(p.requires_grad for p in layer.parameters(recurse=False)):
            raise RefusedValue(
                "module",
                Reason.UNSUPPORTED,
                "{layer} ({type}) has the {hook} of `torch.nn.utils`, whose parameters get no per-example gradients",
                "use that of `torch.nn.utils.parametrizations`",
                layer=_say(name),
                type=type(layer).__name__,
                hook=type(hooks[0]).__name__,
            )
        if any(kind.__module__.startswith("torch.ao.quantization") for kind in type(layer).__mro__):
            raise RefusedValue(
                "module",
                Reason.UNSOUND,
                "{layer} ({type}) remembers the range of the examples' values, without noise",
                "quantize the model after it is trained",
                layer=_say(name),
                type=type(layer).__name__,
            )


def _say(name: str) -> str:
    """Names a layer; the module itself has no name."""
    return f"layer {printed(name)}" if name else "the module"


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
        raise RefusedValue(
            "module",
            Reason.UNSOUND,
            "a layer ({type}) that was frozen and in eval mode when the model was made private no longer is",
            "leave it frozen, and call `eval()` on it after each `train()` of the model",
            type=type(layer).__name__,
        )


def refuse_dataset(dataset: Any) -> None:
    if isinstance(dataset, need("torch.utils.data").IterableDataset):
        raise RefusedValue(
            "data_loader",
            Reason.UNSUPPORTED,
            "an IterableDataset cannot be Poisson-sampled",
            "give one with an index",
        )


def refuse_sampler(loader: Any) -> None:
    """Refuses a sampler that chooses records: it would be ignored, and records it leaves out would be trained on."""
    data = need("torch.utils.data")
    everybody = (data.SequentialSampler, data.RandomSampler, data.distributed.DistributedSampler)
    chooses = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
    if type(chooses) is data.BatchSampler:
        chooses = chooses.sampler
    if not isinstance(chooses, everybody) and not hasattr(chooses, "tickets"):
        raise RefusedValue(
            "data_loader",
            Reason.UNSUPPORTED,
            "the data loader's {sampler} chooses records, and private training samples from all of them",
            "give a loader of the records to train on (`torch.utils.data.Subset`)",
            sampler=type(chooses).__name__,
        )
