# SPDX-License-Identifier: BSD-3-Clause
# What a person types. Everything that is more than a line stands in tools/ or CMakePresets.json.
PREFIX ?= /usr/local
DESTDIR ?=

.DEFAULT_GOAL := help
.PHONY: help setup build check test nightly demo bench bench-peers bench-own bench-lab bench-scale bench-verbs install uninstall tidy format \
        clean test-verbs asan-ubsan tsan coverage fuzz

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | column -t -s '@' \
	    2>/dev/null || grep -h '##' $(MAKEFILE_LIST)

build: ## the command (build/bin/tutti) and the libraries (build/lib)
	@tools/setup build
	@cmake --preset product --log-level=NOTICE
	@cmake --build --preset product

check: ## what to run while you work: builds, a few minutes of tests under one MPI, briefly
	@tools/setup test
	@tools/test --check

test: ## sets the machine up, builds, runs every test; ends in "N passed, N failed, N skipped"
	@tools/setup test
	@tools/test

nightly: ## the same at length, a soak, every table of figures; as root, some 8 hours; goes on where it ended
	@tools/setup test
	@tools/setup tidy
	@tools/setup vmlab
	@tools/setup bench-lab
	@tools/test --nightly $(NIGHTLY)

test-verbs: ## what needs RDMA devices: soft-RoCE in a virtual machine (tools/vmlab)
	@tools/setup vmlab
	@tools/vmlab setup
	@$(MAKE) --no-print-directory build
	@TESTS_GUEST=1 python3 -m pytest -p no:cacheprovider -ra tests/system/test_vmlab.py tests/system/test_verbs.py tests/system/test_ud.py

demo: ## an unmodified MPI program and the benchmark, under the bare MPI and under Tutti
	@tools/setup demo
	@$(MAKE) --no-print-directory build
	@tools/demo

bench: ## Tutti beside your MPI, all collectives, two ranks
	@tools/setup demo
	@$(MAKE) --no-print-directory build
	@build/bin/tutti run -- mpirun.mpich -n 2 build/bin/tutti bench all

bench-peers: ## Tutti against Open MPI, MPICH and Intel MPI from PyPI, in turn
	@tools/setup bench-peers
	@tools/peers
	@$(MAKE) --no-print-directory build
	@tools/bench-peers

bench-own: ## collectives as other programs time them, under each MPI bare and through Tutti
	@tools/setup bench-peers
	@tools/peers
	@$(MAKE) --no-print-directory build
	@tools/bench-own $(BENCH_OWN)

bench-lab: ## Tutti against these MPIs, and multicast, on an emulated cluster of 16 hosts; as root, takes an hour (--quick: minutes)
	@tools/setup bench-lab
	@$(MAKE) --no-print-directory build
	@tools/bench-lab $(BENCH_LAB)
	@tools/bench-lab --table multicast $(BENCH_LAB)

bench-scale: ## Tutti's schedules and SMPI's selectors, 64 to 1,024 ranks in SimGrid (BENCH_SCALE=--quick: a minute)
	@tools/setup bench-scale
	@$(MAKE) --no-print-directory build
	@tools/bench-scale $(BENCH_SCALE)

bench-verbs: ## RDMA beside your MPI's messages on the same devices, in a virtual machine (BENCH_VERBS=--hosts=2)
	@tools/setup vmlab
	@tools/vmlab setup
	@$(MAKE) --no-print-directory build
	@tools/bench-verbs $(BENCH_VERBS)

drawings: build ## docs/algorithms/*.svg, the schedules that the pages show
	@tools/draw-algorithms

install: build ## installs under PREFIX (/usr/local), below DESTDIR if given
	@DESTDIR='$(DESTDIR)' cmake --install build --prefix '$(PREFIX)'

uninstall: ## takes away what install has put under PREFIX, below DESTDIR if given
	@DESTDIR='$(DESTDIR)' cmake -DPREFIX='$(PREFIX)' -DLIST=share/tutti/installed -P cmake/uninstall.cmake

tidy: ## house rules (tools/tidy) and clang-tidy
	@tools/setup tidy
	@tools/tidy
	@cmake --preset tidy --log-level=NOTICE
	@cmake --build --preset tidy

format: ## clang-format over every C and C++ file
	@git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format -i

asan-ubsan: ## unit tests under the address and undefined-behaviour sanitizers
	@tools/setup test
	@tools/test asan-ubsan

tsan: ## threaded tests under the thread sanitizer
	@tools/setup test
	@tools/test tsan

fuzz: ## every fuzz target for FUZZ_SECONDS (60)
	@tools/setup test
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-60} tools/test fuzz

coverage: ## line and branch coverage of the unit tests
	@tools/setup coverage
	@cmake --preset coverage --log-level=NOTICE
	@cmake --build --preset coverage
	@ctest --test-dir build/coverage --output-on-failure -j 2
	@gcovr --root . --filter src/ --print-summary --html-details build/coverage/index.html \
	    --delete build/coverage

clean: ## removes what was built; keeps the MPIs of build/peers and the kernel of build/vmlab
	@if [ -d build ]; then find build -mindepth 1 -maxdepth 1 ! -name peers ! -name vmlab -exec rm -rf {} +; fi
