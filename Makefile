# `make demo` and `make test` do all set-up first: a .venv from the lock file, and bubblewrap where they may install it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test build lock sandbox browser clean

help:
	@echo "make demo    take a sample class through the course, from notebook to feedback"
	@echo "make test    run the test suite"
	@echo "make build   build release/ and tinytorch_ref/ from source/"
	@echo "make lock    bring requirements.lock up to date with pyproject.toml"
	@echo "make clean   remove what these commands made, but no grades"

demo: setup
	$(BIN)/tinytorch demo

test: setup browser
	$(BIN)/python -m pytest

build: setup
	$(BIN)/tinytorch build

setup: $(READY) sandbox

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; say which, as in: make demo PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@echo "Installing the packages of requirements.lock into $(VENV): a minute or two"
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Install a system package where root or sudo allows it: $(call install,COMMAND,PACKAGE,WHAT IS MISSING WITHOUT IT).
# sudo asks for a password only at a terminal.
define install
@if ! command -v $(1) >/dev/null; then \
  sudo=; [ "$$(id -u)" = 0 ] || { sudo=sudo; [ -t 0 ] || sudo="sudo -n"; }; \
  if command -v apt-get >/dev/null; then \
    { $$sudo apt-get -qq update && $$sudo apt-get -qq install -y $(2); } >/dev/null 2>&1 || true; \
  elif command -v dnf >/dev/null; then \
    $$sudo dnf -q install -y $(2) >/dev/null 2>&1 || true; \
  fi; \
  command -v $(1) >/dev/null || echo "$(2) is not installed: $(3)"; \
fi
endef

sandbox:
	$(call install,bwrap,bubblewrap,submissions would run without a sandbox)

browser:
	$(call install,chromium,chromium,the tests in a browser are left out)

lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra test --universal --python-version 3.11 --fork-strategy fewest \
	  --generate-hashes --custom-compile-command "make lock" --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV) .tinytorch demo *.egg-info source/*/*.ipynb
