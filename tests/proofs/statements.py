"""What the Coq theorems say and rest on, as Coq prints it: `python -m tests.proofs.statements` stores it anew.

The theorems are those the pages name, each in the table under "Machine-checked"; with them go the definitions a reader
needs to know what is said. A change of a statement is then a change of proofs/statements.txt, which somebody reads.
"""

import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "proofs"
LAST = [ROOT / "docs" / "theorems" / f"{name}.md" for name in ("lemmas", "attack_proofs")]
PAGES = [page for page in sorted(LAST[0].parent.glob("*.md")) if page.stem != "README" and page not in LAST] + LAST
STATEMENTS, ASSUMPTIONS = PROOFS / "statements.txt", PROOFS / "assumptions.txt"

DEFINITIONS = [
    f"{module}.{name}"
    for module, names in {
        "Relations": "insert_delete hamming unordered symmetric change_one sensitivity steps",
        "Permutations": "inserts orders times coupled permuted_sensitivity",
        "Privacy": "mean",
        "Sums": "magnitude within sum sumZ clamp magnitudeZ in_bounds",
        "Wide": "wide",
        "Checked": "checked value",
        "Modular": "N wrap modular circle",
        "Saturating": "sat saturating_from saturating",
        "Split": "ups downs split negative split_checked",
        "Accuracy": "records_up_to accurate_at accurate_up_to negative split_sum",
        "Trees": "u tree leaves height computed evaluate in_order map_tree tree_accuracy floats exact mags size",
        "Iterated": "iterated iterated_accuracy",
        "Pairwise": "halves pairwise_tree pairwise pairwise_accuracy",
        "NumpyPairwise": "sequence add_row add_rows join_eight block first_part numpy numpy_tree H_fuel numpy_height "
        "safe_height numpy_pairwise",
        "Kahan": "step kahan kahan_accuracy",
        "TowardZero": "record held half_from half ups downs parts total pw pwn",
        "TowardZeroTwoSigns": "fit",
        "Shifted": "U' moved",
        "Grid": "low0 high0 nearer low high clampR q grid_sum record_error rounded randomised_error randomised_sum",
        "GridKernel": "base anchor reach chain held_between kernel",
        "OurGrid": "ideal g m grid_sensitivity e1 e2 q64",
        "Binary64": "add sub mul less same zero one anchor64 missing clamp64 clamp64_from_above not_nan anchored64 "
        "block64 lane64 iterated_sum kahan_step kahan_sum toward_zero_sum pairwise_sum numpy_sum iterated64 kahan64",
        "Overflow": "plus minus plus_down Omega zero record both_finite",
        "Statistics": "centred square count person l1 l2 share entry apart histogram_apart part part_sum average",
        "Gradients": "squares shorten clip factor length2 clipped_sum difference",
        "GradientRows": "parts all_parts coarsening half_even in_steps shift_for clip_integers zeros clip_row "
        "is_finite_row clip_blocks",
        "Distances": "places counted d_Sym subsequence",
        "IntegerAttacks": "filled",
        "ResultRoundingAttack": "tied_copies tied one_above",
        "TreeRoundingAttack": "lower upper all_lower one_upper",
        "RepeatedRoundingAttacks": "top_record f phases U2 x2 L2 in_turn pairs",
        "RoundingAttack": "L U n",
        "FiniteAttacks": "smallest reordering_fits rounding_fits result_rounding_fits tree_rounding_fits "
        "repeated_rounding_1_fits repeated_rounding_2_fits all_finite moved kahan_all_finite tree_all_finite types "
        "every_attack_fits",
        "Randomised": "bernoulli is_byte number size goes_on up_to strings draws around upward clampQ clean64 "
        "randomised64 randomised_up64 real_of",
        "Examples": "L17 U17",
        "Bounds": "nat_Q pow2 is_zero below floor_log2 power_below nearest nearest_float magnitude ideal "
        "wide_sensitivity checked_sensitivity modular_sensitivity u iterated_error tree_error "
        "pairwise_error numpy_error kahan_constant kahan_error from_accuracy split_from_accuracy "
        "split_accuracy one_sign drift toward_zero_sensitivity toward_zero_accuracy shifted_upper "
        "shifted_accuracy grid our_grid grid_sensitivity grid_accuracy paper_step "
        "stepped_offset inward stepped_sensitivity stepped_accuracy",
        "FloatPromises": "promised",
        "ShiftedPromises": "shifted_promised",
        "GridPromises": "kernel_sum",
        "Conditions": "integer_type least greatest is_integer_type float_type emax smallest_exponent largest "
        "is_float_type holds is_whole in_integer_type integer_bounds in_float_type float_bounds count "
        "fewer_than_2_64 is_known fits wide_allowed checked_allowed split_checked_allowed whole_grid "
        "doubles double_from in_doubles grid_allowed written_out stepped_allowed paper_allowed sum_allowed "
        "iterated_reach iterated_allowed is_low tree_reach pairwise_height pairwise_allowed "
        "highest_numpy_tree is_numpy_type numpy_pairwise_allowed kahan_reach kahan_allowed split_allowed "
        "toward_zero_allowed shift_allowed stays_in_type stays_finite relation is_sized is_ordered "
        "cut_permutes saturating_permutes toward_zero_permutes",
        "Programs": "total program bind run byte_mean weigh passes extended strings",
        "Samplers": "bernoulli kernel_bernoulli first_failure bernoulli_exp successes again number_of bits_below "
        "bytes_below below signed attempt laplace_within laplace kernel_first_failure kernel_exp kernel_laplace "
        "kernel_then_reference",
        "Private": "window sample share noisy probability laplace_mass",
        "Gaussian": "exp_coins bernoulli_exp_any distance gaussian_attempt gaussian_from gaussian kernel_exp_coins "
        "kernel_gaussian kernel_gaussian_then_reference",
        "Theta": "lsum bounded least_bound g theta interval",
        "Zcdp": "zcdp c gaussian_mass gaussian_sample",
        "Composition": "grows unit_weight tends close then_ noisy_number noisy_numbers L1 mechanism keeps_its_promise "
        "session",
        "EndToEnd": "steps release in_event",
        "Shares": "norms privacy_unit is_plain unit_norms statistic ranges statistic_norms fine_grid from_near "
        "fineness steps_of is_moved needs_noise task sum_Q needy every task_share part_share shares noise laplace_for "
        "gaussian_for gaussian_within noises spent",
        "Released": "draw add_noise noisy_vector noisy_parts released then_read L2 moves all_move on_bytes private",
        "Units": "way adds vector has_room is_of in_range is_allowed vectors part_norms",
        "Releases": "asked is_covered task_of sums_of public_number release contributions of_records of_persons "
        "public_size statistic_of at_least_one read_sum read_mean read_variance",
        "Concrete": "double records records_by persons persons_by one_sum same_unit least_double_of three_at_once "
        "a_gaussian_histogram enough_for_one enough_for_two rows_of_two rows_of_one single names sums_of_found a_step "
        "an_analyst",
        "Renyi": "one_is law term zcdp_laws zcdp_close loss_factor then_cons cons_law keeps_its_rho rho_session",
        "Methods": "one_number promise noise_for is_kept epsilon_of delta_of noisy_release nearly_private_on_average "
        "in_steps steps_for",
        "Ranges": "ends in_range",
        "Choices": "coin flips heads one_head least behind permute_and_flip flips_mean heads_up share_of_heads others "
        "chance chances flip_mass within_range ranges_within proposal exponential_choice exponential_mass choose_all",
        "Quantiles": "error below_it upto_it error_of errors sum_Z errors_of_counts most double most_groups "
        "has_more_groups rank_span rank_squares values all_errors own all_own adds_within lists_groups rate_for "
        "choose_at choose_by_rho_at rate_keeps",
        "Logarithms": "terms grain power series atanh_below atanh_above log_bounds code_log_term code_rho "
        "code_other_rho unit_of_64_bits rounded_down rounded_up code_zcdp_rho code_zcdp_epsilon",
        "GaussianReleases": "proper nearly_private log_term",
        "Deltas": "nearly_close beyond first_beyond from_on at_least gaussian_delta ramp differ gaussian_fits few "
        "all_few enough_sigma2 enough_rho modest_rho modest_sigma2 step keeps_both both_session",
        "Normal": "around_0 area_within room_for area density below middle whole_area cell rounded_normal "
        "rounded_vector width lies_in digits nth_integer draw_rounded draw_vector",
        "GradientReleases": "sigma_for curve_of nearly_as_likely gradient_sums noisy_gradients",
        "Ledger": "cost limit or_0 is_some is_zero zcdp nothing counts_by_rho plus minus rho_left_by rho_limit "
        "countable fits state charge ledger empty find change operation state_eqb conclude apply world without "
        "nonnegative step reachable is_live cost_epsilon cost_delta cost_rho total live adds_up within has_become "
        "is_shown",
        "Persons": "row groups_listed is_of_group counts integer is_owned rows_of moments summary owners person "
        "persons_of in_group number_in is_ahead put ranked kept weigh adds_to weights goes_together totals "
        "way_of_persons person_sums one_person_more neighbouring unit_of_persons asked_of_persons",
        "Selection": "linear near both slope kept edge seen one_group beside search changes is_in persons_in counts",
        "Searches": "within_reach truncated find_group find_groups",
        "GaussianSearches": "there shown named find_groups_with alone without",
        "Types": "at_most clamped",
        "GridsAllowed": "grid_sum_of q_of_double",
        "FloatsAllowed": "payloads agrees kept",
        "Claims": "of_size neighbours protected cut records public_size",
    }.items()
    for name in names.split()
]

PRINTED = re.compile(rf"\b((?:{'|'.join(sorted(file.stem for file in PROOFS.glob('*.v')))})\.[A-Za-z_]\w*'*)")
TYPE = re.compile(r"^(?:Inductive|Record)\s.*?(?=\n\n)", re.MULTILINE | re.DOTALL)
PART = re.compile(r"(?:^\s*|\| |[{;]\s*|:=\s+)([A-Za-z_]\w*'*)(?= :|\s*\{)", re.MULTILINE)

HEADER = """From Coq Require Import List Permutation ZArith QArith Qreals Reals.
From Flocq Require Import Core IEEE754.Binary IEEE754.Bits.
{requires}
Open Scope R_scope.
Set Printing Width 110.
"""


def theorems(page: Path) -> list[str]:
    """The names in the table of a page, in order."""
    found = re.search(r"^#+ Machine-checked$(.*?)(?=^#|\Z)", page.read_text(), re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\|.*\|$", found[1], re.MULTILINE) if found else []
    return [name for row in rows for name in re.findall(r"`(\w+\.\w+)`", row)]


def named() -> dict[str, list[str]]:
    return {page.stem: names for page in PAGES if (names := theorems(page))}


def coq(commands: list[str], names: list[str], *, first: str = "") -> list[str]:
    """What Coq prints for each command."""
    modules = sorted({name.split(".")[0] for name in names})
    text = HEADER.format(requires="".join(f"From Soundsum Require {module}.\n" for module in modules)) + first
    text += "".join(f'Redirect "{i}" {command}\n' for i, command in enumerate(commands))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "Asked.v").write_text(text)
        asked = ["coqc", "-w", "none", "-Q", PROOFS, "Soundsum", "Asked.v"]
        ran = subprocess.run(asked, capture_output=True, text=True, cwd=folder)
        assert ran.returncode == 0, ran.stderr
        return [(Path(folder) / f"{i}.out").read_text().strip() for i in range(len(commands))]


def statements() -> str:
    names = every_theorem()
    commands = [f"Print {name}." for name in DEFINITIONS] + [f"Check {name}." for name in names]
    return "\n\n".join(coq(commands, DEFINITIONS + names)) + "\n"


def untold(text: str) -> set[str]:
    """Names of ours in the statements whose own definition is not among them: a change of it would not be seen."""
    parts = {part for kind in TYPE.findall(text) for part in PART.findall(kind)}
    names = set(PRINTED.findall(text)) - {*DEFINITIONS, *every_theorem()}
    return {name for name in names if name.split(".")[1] not in parts}


def axioms(groups: list[list[str]]) -> list[str]:
    """The axioms that the theorems of each group rest on together."""
    tuples = [f"Definition group_{i} := (@{', @'.join(names)}).\n" for i, names in enumerate(groups)]
    every = [name for names in groups for name in names]
    answers = coq([f"Print Assumptions group_{i}." for i in range(len(groups))], every, first="".join(tuples))
    return [", ".join(sorted(_axioms(answer))) or "nothing" for answer in answers]


def _axioms(answer: str) -> list[str]:
    """Each line of what Coq prints is an axiom and its type; anything else (a check switched off) is no answer."""
    if answer == "Closed under the global context":
        return []
    first, *lines = re.sub(r"\n +", " ", answer).splitlines()
    assert first == "Axioms:", answer
    found = [re.match(r"([\w.]+) ?: ", line) for line in lines]
    assert all(found), answer
    return [match[1] for match in found if match]


def every_theorem() -> list[str]:
    return list(dict.fromkeys(name for names in named().values() for name in names))


if __name__ == "__main__":
    STATEMENTS.write_text(statements())
    told = zip(every_theorem(), axioms([[name] for name in every_theorem()]), strict=True)
    ASSUMPTIONS.write_text("".join(f"{name}: {found}\n" for name, found in told))
