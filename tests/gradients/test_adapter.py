"""The auditor's adapter to Opacus, which is installed here: what it says, and one step in each gradient mode."""

import pytest

import soundsum as ss
from soundsum.auditor.adapters import open_adapter
from soundsum.auditor.calling import Unsupported
from tests.auditor.adapters.conformance import check_words


@pytest.fixture(scope="module")
def targets():
    return {target.name.removeprefix("opacus."): target for target in open_adapter("opacus")}


def test_words(targets):
    check_words(list(targets.values()))
    assert {name.partition(".")[0] for name in targets} == {"hooks", "functorch", "ew", "ghost"}
    assert {target.dtype.name for target in targets.values()} == {"float32", "float16", "bfloat16"}


@pytest.mark.parametrize("mode", ["hooks", "hooks.accumulated", "functorch", "ew", "ghost"])
def test_a_step_adds_the_records_and_its_noise_is_fresh(targets, mode):
    target = targets[f"{mode}.float32"]
    data, problem = ss.Runs("float32", [(0.5, 3), (1, 2)]), target.problem(0, 1, 5)
    assert target.sum_of(data, problem) == 3.5
    assert float(target.claim(problem, 5)) == pytest.approx(1.06251)
    assert len(set(target.outputs(data, problem, 5, 5))) == 5
    assert 3.7 < target.noise_multiplier < 4.5  # enough for (1, 1e-5)


def test_norms_beyond_the_type_are_not_tried(targets):
    target = targets["hooks.float16"]
    with pytest.raises(Unsupported, match="lies beyond float16"):
        target.claim(target.problem(0, 65504, 4), 4)
