(** The executable definitions, extracted: the tests run them beside the Python models and the C++ kernels. Nothing is
    stated here; what is proved of these definitions is in the files they come from and in those named Promises. *)

From Coq Require Import List ZArith QArith.
From Flocq Require Import IEEE754.Bits.
From Soundsum Require Import Sums Modular Saturating Split Binary64 Bounds Conditions.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.
From Soundsum Require Import FiniteAttacks Randomised GradientRows Programs Samplers Private Zcdp Shares Released Releases.
From Soundsum Require Gaussian Ledger Persons Logarithms Quantiles Deltas Searches GaussianSearches GradientReleases.
Extract Constant Z.of_nat => "Big_int_Z.big_int_of_int".
(* Which reduces fractions of ten thousand bits; Coq's own goes bit by bit. *)
Extract Constant Z.ggcd => "(fun a b -> let g = Big_int_Z.gcd_big_int a b in
  if Big_int_Z.sign_big_int g = 0 then (g, (a, b)) else (g, (Big_int_Z.div_big_int a g, Big_int_Z.div_big_int b g)))".

(** A bound, an accuracy and a condition by the method's name are put together in oracle.ml; here are their parts. *)
Extraction "definitions.ml"
  anchored64 block64 lane64 sums64 sums32 shift64 shift32 b64_of_bits bits_of_b64 b32_of_bits bits_of_b32 anchor64
  sumZ modular saturating split
  reordering_fits rounding_fits result_rounding_fits tree_rounding_fits repeated_rounding_1_fits
  repeated_rounding_2_fits
  randomised64 randomised_up64 clip_row clip_blocks sample gaussian_sample kernel_laplace Gaussian.kernel_gaussian
  statistic_norms steps_of noises laplace_for gaussian_for run noisy_vector read_sum read_mean read_variance
  Ledger.empty Ledger.apply Persons.person_sums Persons.weights
  Logarithms.log_bounds Logarithms.code_rho Logarithms.code_zcdp_rho Logarithms.code_zcdp_epsilon
  gaussian_within Deltas.first_beyond Searches.find_groups GaussianSearches.find_groups_with GradientReleases.sigma_for
  Quantiles.errors_of_counts Quantiles.rank_span Quantiles.rank_squares Quantiles.rate_for Quantiles.rate_keeps
  Qred wide_sensitivity checked_sensitivity modular_sensitivity ideal
  iterated_error pairwise_error numpy_error kahan_error from_accuracy split_from_accuracy split_accuracy
  toward_zero_sensitivity toward_zero_accuracy shifted_upper shifted_accuracy our_grid grid_sensitivity grid_accuracy
  paper_step stepped_sensitivity stepped_accuracy
  wide_allowed checked_allowed split_checked_allowed integer_bounds grid_allowed whole_grid written_out stepped_allowed
  stepped_offset inward paper_allowed iterated_allowed pairwise_allowed numpy_pairwise_allowed kahan_allowed
  split_allowed toward_zero_allowed shift_allowed smallest_exponent stays_in_type stays_finite in_doubles
  is_sized is_ordered cut_permutes saturating_permutes toward_zero_permutes.
