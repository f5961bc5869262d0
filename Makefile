# Every command there is. CI runs `make ray torch check test rtl-test`, no more and no less.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(abspath $(BIN)):$(PATH)
# Maturin builds into the environment that is active.
export VIRTUAL_ENV := $(abspath $(VENV))
unexport CONDA_PREFIX

CORPUS ?=
VOCAB ?= 16384
OUT ?= tokenizer
BENCH ?=

.PHONY: help
help: ## List the commands.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: train
train: build ## Train a tokenizer on CORPUS (default: Python's standard library), compare it, show it.
	@zeton train $(CORPUS) --vocab-size $(VOCAB) --out $(OUT) --force --compare gpt2 --compare cl100k_base
	@echo "(ratio: bytes a token, more is better; diff: tokens saved against the first)"
	@echo; echo "On short samples, which favour the published tokenizers: they have more tokens, trained on text of all these kinds."
	@zeton eval -t gpt2 -t cl100k_base -t $(OUT)
	@echo; zeton show --color always -t $(OUT) "def encode(text: str) -> list[int]:  # 12345 tokens"

.PHONY: test
test: dev rtl ## Run every test: Rust, Python, examples in the docs, and a share of the accelerator's.
	cargo test --workspace --release
	pytest -q -n auto --dist loadfile

.PHONY: rtl-test
rtl-test: dev rtl fpga-tools debian ## Verify the accelerator: every block, lanes, proofs, lints, for a quarter of an hour.
	pytest -q -m "" tests/rtl tests/accelerator tests/python/cli/test_cli_accel.py

.PHONY: fpga
fpga: dev rtl fpga-tools ## Place and route the accelerator for an ECP5-85, by five seeds; report and bitstreams, for hours.
	python bench/fpga.py tiny small small-3 gpt2 ulx3s cl100k o200k $(BENCH)

.PHONY: fpga-sweep
fpga-sweep: dev rtl fpga-tools ## Sweep the accelerator's parameters: rates, clock, area, a picture, for hours; it can be stopped.
	python bench/fpga_batches.py
	python bench/fpga_sweep.py $(BENCH)

.PHONY: rtl-lint
rtl-lint: dev rtl ## Lint the accelerator in Verilator and slang.
	pytest -q tests/rtl/test_lint.py

.PHONY: check
check: dev rtl docs ## Formatting, lints and types, in both languages, and the site's links.
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --release -- -D warnings
	ruff format --check .
	ruff check .
	mypy python/zeton tests bench scripts examples/pronounce
	python -m mypy.stubtest zeton._engine --ignore-disjoint-bases

.PHONY: docs
docs: $(VENV)/docs ## Build the documentation as a site in site/; a dead link ends it.
	NO_MKDOCS_2_WARNING=1 mkdocs build --quiet --strict
	@echo "Open site/index.html; it needs no network"

.PHONY: bench
bench: dev $(VENV)/bench ## Measure every encoder there is beside ours, for hours (BENCH=--quick: to try it).
	python bench/peers.py $(BENCH)

.PHONY: bench-train
bench-train: dev $(VENV)/bench ## Measure training beside others, by threads, memory and size, for half an hour.
	python bench/train.py $(BENCH)

.PHONY: wheel
wheel: $(VENV)/core ## Build the wheel into dist/.
	maturin build --release --out dist

.PHONY: build
build: $(VENV)/core ## Build the engine into the Python package, in an environment of its own.
	@test -d target || echo "Building the engine (about a minute the first time)"
	@maturin develop --release --quiet > $(VENV)/build.log 2>&1 || { cat $(VENV)/build.log; exit 1; }

.PHONY: dev
dev: build $(VENV)/dev ## Install what tests, checks and benchmarks need.

.PHONY: ray
ray: $(VENV)/ray ## Install Ray; without it, the tests of many machines are skipped, and say so.

.PHONY: torch
torch: $(VENV)/torch ## Install torch (4 GB); without it, the tests of the encoder-decoder are skipped, and say so.

.PHONY: rtl
rtl: $(VENV)/rtl ## Install what the accelerator's tests need: simulator, proofs, lints.

.PHONY: debian
debian: ## Install Debian's Icarus and FUSE, for the four-state run and the fake card; needs root, and goes on without.
	@{ command -v iverilog && command -v fusermount3; } > /dev/null || \
	  { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -qq -y --no-install-recommends iverilog fuse3; } > /dev/null || \
	  echo "Icarus and FUSE are not here and cannot be installed; the four-state run and the fake card's tests are skipped"

.PHONY: fpga-tools
fpga-tools: $(VENV)/fpga ## Install what placing and routing needs.

# What running needs, what testing needs, the site, Ray, torch, the accelerator's tools, the peers of
# the benchmark; pinned by version and hash.
$(VENV)/core: requirements/core.txt
	$(PYTHON) -m venv $(VENV)
	python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/dev: requirements/dev.txt $(VENV)/core
	python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/docs: requirements/docs.txt $(VENV)/core
	python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/ray: requirements/ray.txt $(VENV)/dev
	python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/torch: requirements/torch.txt $(VENV)/dev
	python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/rtl: requirements/rtl.txt $(VENV)/dev
	python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/fpga: requirements/fpga.txt $(VENV)/rtl
	python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/bench: requirements/bench.txt $(VENV)/dev
	python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

.PHONY: lock
lock: $(VENV)/core ## Renew the pinned requirements from pyproject.toml.
	python -m pip install --quiet pip-tools
	cd requirements && for name in core dev docs ray torch rtl fpga bench; do \
	  pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe --no-emit-index-url \
	    --no-emit-trusted-host --no-emit-find-links --no-header --upgrade --output-file $$name.txt $$name.in; done

.PHONY: clean
clean: ## Remove what was built.
	rm -rf target dist site $(VENV)
