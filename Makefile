# SPDX-License-Identifier: MIT
# The only list of commands; CI calls it. Each works in a fresh clone on a fresh Debian machine.
PY := .venv/bin/python
TEST := $(PY) tools/test.py

.PHONY: demo demo-server package test deps build unit integration fault python console bench tidy format wheel soak \
  test-torch test-import install-test docs asan tsan fuzz ci-full test-pythons examples bench-rivals clean

demo: package                  ; @PYTHONPATH=build/python $(PY) examples/demo/demo.py
demo-server: package
	@tools/torch-env.sh
	@PYTHONPATH=$(CURDIR)/build/python .venv-torch/bin/python examples/demo/demo_server.py
# Where npm's registry cannot be reached the demos go on without the web console.
package:                       ; @tools/setup.sh --demo && { $(PY) tools/console.py || true; } && $(TEST) package
test: deps                     ; @$(TEST)
deps:                          ; @tools/setup.sh
build: deps                    ; @$(TEST) everything
unit: deps                     ; @$(TEST) build unit
integration: deps              ; @$(TEST) build integration
fault: deps                    ; @$(TEST) build fault
python: deps                   ; @$(TEST) build python
console: deps                  ; @$(PY) tools/console.py
pictures: package                 ; @PYTHONPATH=build/python $(PY) tools/pictures.py
examples: deps                 ; @$(TEST) build examples
install-test: deps             ; @$(TEST) build install
asan: deps                     ; @TRACKER_SANITIZE_ALL=ON $(TEST) asan
tsan: deps                     ; @TRACKER_SANITIZE_ALL=ON $(TEST) tsan
tidy: deps                     ; @$(TEST) tools
docs: deps                     ; @$(PY) tools/docs.py && $(PY) benchmarks/figures.py
bench: deps                    ; @$(PY) benchmarks/run.py
bench-rivals: deps             ; @$(PY) benchmarks/run.py rivals column_codecs
soak: build                    ; @tests/fault/soak.sh
wheel: deps                    ; @$(PY) tools/wheel.py
format: deps                   ; @$(PY) tools/format.py
test-torch: deps               ; @$(TEST) torch
test-import: build             ; @$(TEST) real_tools
test-pythons: deps             ; @tools/test-pythons.sh
fuzz:                          ; @tools/setup.sh --full && $(TEST) fuzz
ci-full:                       ; @tools/setup.sh --full && TRACKER_SANITIZE_ALL=ON $(TEST) all
clean:                         ; @rm -rf build build-* dist
