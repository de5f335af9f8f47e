(* Answers one line for each line read: a command, then its arguments. Rationals are written num/den, floats as bits. *)
open Definitions

let z = Big_int_Z.big_int_of_string
let show = Big_int_Z.string_of_big_int
let truth s = s = "1"

let rational s =
  match String.split_on_char '/' s with
  | [a; b] -> { qnum = z a; qden = z b }
  | _ -> { qnum = z s; qden = Big_int_Z.unit_big_int }

let show_rational q = let q = qred q in show q.qnum ^ "/" ^ show q.qden

(* A record with the random bits it is rounded by: word:byte.byte...:bits. *)
let record s =
  match String.split_on_char ':' s with
  | [word; bytes; x] -> ((z word, List.map z (String.split_on_char '.' bytes)), b64_of_bits (z x))
  | _ -> failwith s

(* Random bytes, two hexadecimal digits each. *)
let bytes s =
  List.init (String.length s / 2) (fun i -> Big_int_Z.big_int_of_int (int_of_string ("0x" ^ String.sub s (2 * i) 2)))

let noise = function
  | "laplace" -> sample
  | "gaussian" -> gaussian_sample
  | name -> failwith name

(* Releases: what is asked, and the noise it takes. *)
let whole s = if s = "none" then None else Some (z s)

let statistic = function
  | "sum" -> Sum
  | "count" -> Count
  | "mean" -> Mean
  | "variance" -> Variance
  | "histogram" -> Histogram
  | name -> failwith name

let privacy_unit groups rows most = { groups = whole groups; max_rows = whole rows; max_groups = z most }
let show_norms n = String.concat "," (List.map show [n.norm1; n.norm2; n.entries])

let norms s =
  match String.split_on_char ',' s with
  | [a; b; c] -> { norm1 = z a; norm2 = z b; entries = z c }
  | _ -> failwith s

(* One task: its weight and its parts. *)
let task s =
  match String.split_on_char ':' s with
  | weight :: parts -> (rational weight, List.map norms parts)
  | [] -> failwith s

let show_noise = function
  | NoNoise -> "none"
  | LaplaceNoise scale -> "laplace=" ^ show_rational scale
  | GaussianNoise sigma2 -> "gaussian=" ^ show_rational sigma2

let noise_of kind parameter =
  match kind with
  | "none" -> NoNoise
  | "laplace" -> LaplaceNoise (rational parameter)
  | "gaussian" -> GaussianNoise (rational parameter)
  | name -> failwith name

let fit = function "laplace" -> laplace_for | "gaussian" -> gaussian_for | name -> failwith name

(* Ledgers: costs as epsilon:delta:rho, operations as pay:cost or settle:number, and what they leave behind. *)
let amount s = if s = "none" then None else Some (rational s)
let show_amount = function None -> "none" | Some x -> show_rational x

let cost = function
  | [e; d; r] -> { epsilon = amount e; delta = rational d; rho = amount r }
  | words -> failwith (String.concat ":" words)

let operation s =
  match String.split_on_char ':' s with
  | "pay" :: amounts -> Pay (cost amounts)
  | ["settle"; n] -> Settle (z n)
  | ["fail"; n] -> Fail (z n)
  | ["withdraw"; n] -> Withdraw (z n)
  | ["refund"; n] -> Refund (z n)
  | ["reopen"] -> Reopen
  | _ -> failwith s

let letter = function Charged -> "c" | Released -> "r" | Failed -> "f" | Refunded -> "b"

let show_ledger l =
  let states = List.rev_map (fun c -> show c.number ^ letter c.became) l.charges in
  let amounts = [show_amount l.spent.epsilon; show_rational l.spent.delta; show_amount l.spent.rho] in
  String.concat ":" ([show l.lines; show l.failures] @ amounts @ [String.concat "," states])

let same_rational a b = qred a = qred b
let whole_rational n = { qnum = n; qden = Big_int_Z.unit_big_int }

(* Which rho implies an epsilon and a delta, of those that occur. *)
let implied s =
  let known = List.map (fun one -> List.map rational (String.split_on_char ':' one))
      (if s = "none" then [] else String.split_on_char ',' s) in
  fun e d ->
    match List.find_opt (function [a; b; _] -> same_rational a e && same_rational b d | _ -> false) known with
    | Some [_; _; r] -> r
    | _ -> failwith "no rho is known"

(* Which sigma^2 is enough for a number that moves so far, of those that occur. *)
let enough s =
  let known = List.map (fun one -> List.map rational (String.split_on_char ':' one))
      (if s = "none" then [] else String.split_on_char ',' s) in
  fun most e d ->
    match List.find_opt
            (function [n; a; b; _] -> same_rational n (whole_rational most) && same_rational a e && same_rational b d | _ -> false)
            known with
    | Some [_; _; _; sigma2] -> sigma2
    | _ -> failwith "no sigma^2 is known"

(* Tables of persons: a row as owner:group:passes:value, a lot as owner:group:number. *)
let row s =
  match String.split_on_char ':' s with
  | [p; g; passes; q] -> { owner = whole p; code = z g; passes = truth passes; value = whole q }
  | _ -> failwith s

let lots s =
  let known = Hashtbl.create 100 in
  List.iter
    (fun one -> match String.split_on_char ':' one with
       | [p; g; n] -> Hashtbl.replace known (p, g) (z n)
       | _ -> failwith one)
    (if s = "none" then [] else String.split_on_char ',' s);
  fun p g -> Hashtbl.find known (show p, show g)

let same_number a b = Big_int_Z.eq_big_int a b

(* The error of n records of a given magnitude, by the name of the sum. *)
let error sum sized k n =
  match sum with
  | "iterated" -> iterated_error k n
  | "pairwise" -> pairwise_error k n
  | "numpy_pairwise" -> numpy_error sized k n
  | "kahan" -> kahan_error k n
  | _ -> failwith sum

let integer_bound name sized bits lo hi lower upper =
  match name with
  | "wide" -> wide_sensitivity sized lo hi lower upper
  | "checked" -> checked_sensitivity sized lower upper
  | "modular" | "split_modular" -> modular_sensitivity sized bits lower upper
  | "saturating" | "split" | "split_checked" -> ideal sized lower upper
  | _ -> failwith name

(* Conditions. *)
let show_truth b = if b then "1" else "0"
let limit s = if s = "none" then None else Some (z s)
let float_type k l = { mantissa = z k; exponent = z l }

let integer_allowed name sized kind limit lower upper =
  match name with
  | "wide" -> wide_allowed kind limit lower upper
  | "checked" -> checked_allowed kind limit lower upper
  | "split_checked" -> split_checked_allowed sized kind limit lower upper
  | "modular" | "saturating" | "split" | "split_modular" -> integer_bounds kind lower upper
  | _ -> failwith name

let float_allowed name sized kind wider limit lower upper =
  match name with
  | "iterated" -> iterated_allowed kind wider limit lower upper
  | "pairwise" -> pairwise_allowed kind wider limit lower upper
  | "numpy_pairwise" -> numpy_pairwise_allowed kind limit lower upper
  | "kahan" -> kahan_allowed kind wider limit lower upper
  | "toward_zero" -> toward_zero_allowed sized kind limit lower upper
  | _ -> failwith name

let relation = function
  | "symmetric" -> Symmetric
  | "insert_delete" -> InsertDelete
  | "change_one" -> ChangeOne
  | "hamming" -> Hamming
  | name -> failwith name

let permutes name r lower upper =
  match name with
  | "checked" | "split_checked" | "iterated" | "pairwise" | "numpy_pairwise" | "kahan" -> cut_permutes r
  | "saturating" -> saturating_permutes r lower upper
  | "toward_zero" -> toward_zero_permutes r
  | "wide" | "grid" | "modular" | "split" | "split_modular" -> false
  | _ -> failwith name

let answer = function
  | ["relation"; r] -> show_truth (is_sized (relation r)) ^ " " ^ show_truth (is_ordered (relation r))
  | ["permutes"; name; r; lower; upper] -> show_truth (permutes name (relation r) (rational lower) (rational upper))
  | ["stays_in_type"; bits; signed; n; lower; upper] ->
    show_truth (stays_in_type { bits = z bits; signed = truth signed } (limit n) (rational lower) (rational upper))
  | ["stays_finite"; k; l; n; lower; upper] ->
    show_truth (stays_finite (float_type k l) (limit n) (rational lower) (rational upper))
  | ["integers_allowed"; name; sized; bits; signed; n; lower; upper] ->
    let kind = { bits = z bits; signed = truth signed } in
    show_truth (integer_allowed name (truth sized) kind (limit n) (rational lower) (rational upper))
  | ["floats_allowed"; name; split; sized; k; l; wider_k; wider_l; n; lower; upper] ->
    let sized = truth sized and lower = rational lower and upper = rational upper in
    show_truth
      (float_allowed name sized (float_type k l) (float_type wider_k wider_l) (limit n) lower upper
       && (not (truth split) || split_allowed sized lower upper))
  | ["shifted_allowed"; name; sized; k; l; wider_k; wider_l; n; lower; upper] ->
    let sized = truth sized and kind = float_type k l and lower = rational lower and upper = rational upper in
    let top = shifted_upper kind.mantissa (smallest_exponent kind) lower upper in
    show_truth
      (shift_allowed sized kind lower upper
       && float_allowed name sized kind (float_type wider_k wider_l) (limit n) (rational "0") top)
  | ["grid_allowed"; bits; sized; k; l; n; lower; upper] ->
    let kind = float_type k l and lower = rational lower and upper = rational upper in
    let (_, low), high = whole_grid (truth sized) (smallest_exponent kind) lower upper in
    show_truth (grid_allowed kind (limit n) lower upper && (bits = "none" || written_out (z bits) low high))
  | ["doubles"; sized; k; l; lower; upper] ->
    (match in_doubles (truth sized) (float_type k l) (rational lower) (rational upper) with
     | None -> "none"
     | Some c ->
       String.concat " "
         (show_rational c.base :: List.map show [c.scale; c.more; c.least_double; c.greatest_double; c.shift]))
  | ["step_allowed"; bits; sized; step; n; lower; upper] ->
    let step = rational step and lower = rational lower and upper = rational upper in
    let low, high = inward lower upper step (stepped_offset (truth sized) lower upper) in
    show_truth (stepped_allowed (limit n) step lower upper && (bits = "none" || written_out (z bits) low high))
  | ["paper_allowed"; bits; n; lower; upper] ->
    show_truth (paper_allowed (z bits) (limit n) (rational lower) (rational upper))
  | ["integer"; name; sized; bits; lo; hi; lower; upper] ->
    show_rational (integer_bound name (truth sized) (z bits) (z lo) (z hi) (rational lower) (rational upper))
  | ["float"; name; sized; k; n; lower; upper] ->
    let e = error name (truth sized) (z k) (int_of_string n) and lower = rational lower and upper = rational upper in
    show_rational (from_accuracy (truth sized) e lower upper) ^ " " ^ show_rational (e (ideal false lower upper))
  | ["split"; name; k; n; lower; upper] ->
    let e = error name false (z k) (int_of_string n) and lower = rational lower and upper = rational upper in
    show_rational (split_from_accuracy e lower upper) ^ " " ^ show_rational (split_accuracy e lower upper)
  | ["toward_zero"; sized; k; n; lower; upper] ->
    let k = z k and n = int_of_string n and lower = rational lower and upper = rational upper in
    show_rational (toward_zero_sensitivity (truth sized) k n lower upper) ^ " "
    ^ show_rational (toward_zero_accuracy k n lower upper)
  | ["shifted"; name; k; eta; n; lower; upper] ->
    let k = z k and n = int_of_string n and lower = rational lower and upper = rational upper in
    let zero = rational "0" and top = shifted_upper k (z eta) lower upper in
    let sensitivity, inner =
      if name = "toward_zero" then (toward_zero_sensitivity true k n zero top, toward_zero_accuracy k n zero top)
      else let e = error name true k n in (from_accuracy true e zero top, e (ideal false zero top)) in
    show_rational sensitivity ^ " " ^ show_rational (shifted_accuracy k n inner lower upper)
  | ["grid"; randomised; sized; eta; n; lower; upper] ->
    let sized = truth sized and eta = z eta and lower = rational lower and upper = rational upper in
    show_rational (grid_sensitivity sized eta lower upper) ^ " "
    ^ show_rational (grid_accuracy (truth randomised) sized eta (int_of_string n) lower upper)
  | ["stepped"; randomised; sized; step; n; lower; upper] ->
    let sized = truth sized and step = rational step and lower = rational lower and upper = rational upper in
    show_rational (stepped_sensitivity sized step lower upper) ^ " "
    ^ show_rational (stepped_accuracy (truth randomised) sized step (int_of_string n) lower upper)
  | ["paper_step"; sized; bits; n; lower; upper] ->
    show_rational (paper_step (truth sized) (z bits) (int_of_string n) (rational lower) (rational upper))
  | ["grid_integers"; sized; eta; lower; upper] ->
    let g = our_grid (truth sized) (z eta) (rational lower) (rational upper) in
    String.concat " " (List.map show [g.grid_exponent; g.grid_offset; g.grid_low; g.grid_high])
  | "kernel" :: base :: scale :: more :: low :: high :: low_integer :: high_integer :: records ->
    let f s = b64_of_bits (z s) in
    let b = f base and s = f scale and m = f more and l = f low and h = f high in
    let each x =
      let x = f x in
      show (anchored64 Zero false b s m l h x) ^ " " ^ show (block64 b s m l h (z low_integer) (z high_integer) x) in
    String.concat " " (List.map each records)
  | ["fits"; name; k; emax; a; b; c] ->
    let k = z k and emax = z emax and a = z a and b = z b and c = z c in
    let fits = match name with
      | "reordering" -> reordering_fits k emax a b c
      | "rounding" -> rounding_fits k emax a b
      | "result_rounding" -> result_rounding_fits k emax a b
      | "tree_rounding" -> tree_rounding_fits k emax a b c
      | "repeated_rounding_1" -> repeated_rounding_1_fits k emax a b
      | "repeated_rounding_2" -> repeated_rounding_2_fits k emax a b
      | _ -> failwith name in
    if fits then "1" else "0"
  | "randomised" :: lower :: upper :: step :: base :: shift :: low :: high :: records ->
    let each r =
      randomised64 (rational lower) (rational upper) (rational step) (rational base) (z shift) (z low) (z high) r in
    String.concat " " (List.map (fun s -> show (each (record s))) records)
  | "randomised_up" :: lower :: upper :: step :: offset :: low :: high :: records ->
    let each ((_, bytes), x) =
      randomised_up64 (rational lower) (rational upper) (rational step) (rational offset) (z low) (z high) (bytes, x) in
    String.concat " " (List.map (fun s -> show (each (record s))) records)
  | "clip_row" :: exponent :: room :: precision :: limit :: row ->
    let row = List.map (fun s -> b64_of_bits (z s)) row in
    String.concat " " (List.map show (clip_row (z exponent) (z room) (z precision) (z limit) row))
  | "clip_blocks" :: exponent :: room :: precision :: limit :: blocks ->
    let block s = match List.map z (String.split_on_char ':' s) with
      | limit :: row -> (limit, List.map b64_of_bits row)
      | [] -> failwith s in
    let clipped = clip_blocks (z exponent) (z room) (z precision) (z limit) (List.map block blocks) in
    String.concat " " (List.map show (List.concat clipped))
  | ["draw"; kind; numerator; denominator; drawn] ->
    let bytes = bytes drawn in
    (match noise kind (z numerator) (z denominator) bytes with
     | Some (value, rest) -> show value ^ " " ^ string_of_int (List.length bytes - List.length rest)
     | None -> "none")
  | ["kernel_draw"; kind; numerator; denominator; drawn] ->
    let bytes = bytes drawn and n = z numerator and d = z denominator in
    let fuel = List.length bytes + 2 in
    (match run (if kind = "laplace" then kernel_laplace fuel n d else kernel_gaussian fuel n d) bytes with
     | Some (value, rest) -> show value ^ " " ^ string_of_int (List.length bytes - List.length rest)
     | None -> "none")
  | ["draws"; kind; numerator; denominator; drawn] ->
    let draw = noise kind (z numerator) (z denominator) in
    let rec go bytes = match draw bytes with Some (value, rest) -> show value :: go rest | None -> [] in
    String.concat " " (go (bytes drawn))
  | ["norms"; kind; groups; rows; most; sized; low; high] ->
    let u = privacy_unit groups rows most in
    String.concat " " (List.map show_norms (statistic_norms (statistic kind) u (truth sized) (z low) (z high)))
  | ["steps"; kind; groups; rows; most; sized; eta; lower; upper] ->
    let u = privacy_unit groups rows most in
    let ((step, offset), low), high =
      steps_of (statistic kind) u (truth sized) (z eta) (rational lower) (rational upper) in
    String.concat " " [show_rational step; show_rational offset; show low; show high]
  | "divide" :: kind :: amount :: tasks ->
    let found = noises (fit kind) (rational amount) (List.map task tasks) in
    String.concat " " (List.map (fun parts -> String.concat ";" (List.map show_noise parts)) found)
  | "divide_delta" :: epsilon :: delta :: known :: rhos :: tasks ->
    let fit = gaussian_within (enough known) (implied rhos) (rational epsilon) (rational delta) in
    let found = noises fit (rational "1") (List.map task tasks) in
    String.concat " " (List.map (fun parts -> String.concat ";" (List.map show_noise parts)) found)
  | ["first_beyond"; sigma2; epsilon; most] -> show (first_beyond (rational sigma2) (rational epsilon) (z most))
  | ["sigma"; multiplier; most] -> show (sigma_for (rational multiplier) (z most))
  | "find_groups" :: sigma2 :: threshold :: drawn :: counts ->
    let bytes = bytes drawn and noise = GaussianNoise (rational sigma2) in
    (match run (find_groups_with noise (z threshold) (List.map int_of_string counts) (List.length bytes + 2)) bytes with
     | Some (seen, _) -> String.concat " " (List.map (function Some n -> show n | None -> "-") seen)
     | None -> "none")
  | "find_groups_within" :: numerator :: denominator :: reach :: drawn :: counts ->
    let bytes = bytes drawn in
    let search = find_groups (z numerator) (z denominator) (int_of_string reach) (List.map int_of_string counts) in
    (match run (search (List.length bytes + 2)) bytes with
     | Some (seen, _) -> String.concat " " (List.map (function Some n -> show n | None -> "-") seen)
     | None -> "none")
  | "add_noise" :: kind :: parameter :: drawn :: sums ->
    let bytes = bytes drawn in
    (match run (noisy_vector (noise_of kind parameter) (List.map z sums) (List.length bytes + 2)) bytes with
     | Some (values, _) -> String.concat " " (List.map show values)
     | None -> "none")
  | "ledger" :: most :: total :: table :: operations ->
    let lim = match cost (String.split_on_char ':' total) with
      | { epsilon; delta; rho } -> { most_epsilon = epsilon; most_delta = delta; most_rho = rho } in
    let rho_for = implied table in
    let rec go l = function
      | [] -> []
      | one :: rest ->
        (match apply rho_for lim (z most) l (operation one) with
         | None -> "refused" :: go l rest
         | Some l -> show_ledger l :: go l rest) in
    String.concat " " (go (empty lim) operations)
  | "errors" :: p :: q :: points :: counts ->
    let points = List.map int_of_string (String.split_on_char ',' points) in
    String.concat " " (List.map show (errors_of_counts (z p) (z q) points (List.map z counts)))
  | ["rank_norms"; groups; rows; most; sized; p; q; epsilon; rate; rho] ->
    let u = privacy_unit groups rows most and sized = truth sized and p = z p and q = z q in
    String.concat " "
      [show (rank_span u p q sized); show (rank_squares u p q sized); show_rational (rate_for (rational epsilon) u p q sized);
       show_truth (rate_keeps (rational rate) (rational rho) u p q sized)]
  | ["log"; x] -> let low, high = log_bounds (rational x) in show_rational low ^ " " ^ show_rational high
  | ["rho"; alpha; epsilon; delta] ->
    let alpha = rational alpha and epsilon = rational epsilon and delta = rational delta in
    show_rational (code_zcdp_rho alpha epsilon delta) ^ " " ^ show_rational (code_rho alpha epsilon delta)
  | ["epsilon"; alpha; rho; delta] ->
    show_rational (code_zcdp_epsilon (rational alpha) (rational rho) (rational delta))
  | ["weights"; kind; low; high] ->
    let one ((a, b), c) = String.concat "," (List.map show [a; b; c]) in
    String.concat " " (List.map one (weights (statistic kind) (z low) (z high)))
  | "persons" :: kind :: groups :: drops :: missing :: most_groups :: most_rows :: low :: high :: drawn :: rows ->
    let sums =
      person_sums same_number (int_of_string groups) (truth drops) (z missing) (z most_groups) (z most_rows)
        (lots drawn) (statistic kind) (z low) (z high) (List.map row rows) in
    String.concat ";" (List.map (fun sums -> String.concat "," (List.map show sums)) sums)
  | "add_wrapped" :: kind :: parameter :: least :: greatest :: drawn :: sums ->
    let bytes = bytes drawn in
    (match run (noisy_vector (noise_of kind parameter) (List.map z sums) (List.length bytes + 2)) bytes with
     | Some (values, _) -> String.concat " " (List.map (fun x -> show (wrap (z least) (z greatest) x)) values)
     | None -> "none")
  | ["read_sum"; step; offset; n; total] ->
    show_rational (read_sum (rational step) (rational offset) (z n) (z total))
  | ["read_mean"; step; offset; low; high; total; n] ->
    show_rational (read_mean (rational step) (rational offset) (z low) (z high) (z total) (z n))
  | ["read_variance"; step; low; high; total; squares; n] ->
    show_rational (read_variance (rational step) (z low) (z high) (z total) (z squares) (z n))
  | "lane" :: anchors :: patterns -> show (lane64 (List.map z patterns) (z anchors))
  | "sums64" :: records -> String.concat " " (List.map (fun x -> show (bits_of_b64 x)) (sums64 (List.map (fun s -> b64_of_bits (z s)) records)))
  | "sums32" :: records -> String.concat " " (List.map (fun x -> show (bits_of_b32 x)) (sums32 (List.map (fun s -> b32_of_bits (z s)) records)))
  | "shift64" :: records ->
    let l = List.map (fun s -> b64_of_bits (z s)) records in
    String.concat " " (List.map (fun x -> show (bits_of_b64 x)) (shift64 (List.hd l) (List.tl l)))
  | "shift32" :: records ->
    let l = List.map (fun s -> b32_of_bits (z s)) records in
    String.concat " " (List.map (fun x -> show (bits_of_b32 x)) (shift32 (List.hd l) (List.tl l)))
  | "integers" :: lo :: hi :: records ->
    let lo = z lo and hi = z hi and l = List.map z records in
    String.concat " " (List.map show [sumZ l; modular lo hi l; saturating lo hi l; split lo hi l])
  | words -> failwith (String.concat " " words)

let () =
  try
    while true do
      print_endline (answer (String.split_on_char ' ' (input_line stdin)))
    done
  with End_of_file -> ()
