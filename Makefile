# make lab       install, copy the lessons into work/, and open JupyterLab at the first (PORT=8889 for another port)
# make test      install, and run everything that runs without a GPU
# make test-gpu  run the GPU checks with PYTHON's own torch, installing nothing (PARTS="kernels speed" for some)
# make docs      build the site into build/site
# make release-check  build the wheel and the site, and use the wheel with every Python and torch (an hour, 6 GB)
# make bench     measure kernels on the GPU (KERNELS="cublas gemv_a16wn_fp32" SHAPES=4096x14336 M="1 16" WEIGHTS="W16 W4")
# make bench-model  decode and prefill whole models on the GPU with PYTHON's own torch, installing nothing; it goes on
#                   where the last run ended (PARTS="8B-ours 1B" for some, MINUTES=9 to end in time, ROWS=rows.csv)

export PYTHON PORT
BIN := .venv/bin
# Any python3 can run this script, which looks for one that is new enough, or takes $PYTHON.
SETUP := command -v python3 >/dev/null || { echo "There is no python3: sudo apt install python3 python3-venv"; exit 1; }; python3 tools/environment.py

lab:
	@$(SETUP) lab
	@$(BIN)/python tools/open_lab.py

# pytest's workers already use all cores, so a second thread of torch or of the simulator in each
# would only wait. The tests start hundreds of Pythons, and PYTHONDONTWRITEBYTECODE would make each of them
# compile torch's modules anew.
test:
	@$(SETUP) test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 GEMLITE_EDU_PROGRESS=$$(mktemp -d)/progress.json $(BIN)/python -m pytest \
	  -n auto --maxprocesses 4 --dist loadfile --nbval --doctest-modules gemlite_edu gemlite_lab tests notebooks solutions

test-gpu:
	@$(or $(PYTHON),python3) tests/gpu/run.py $(PARTS)

docs:
	@$(SETUP) docs
	@$(BIN)/python -m sphinx -q -W --keep-going -c docs/site . build/site
	@echo "build/site/index.html"

release-check:
	@$(SETUP) dev
	@$(BIN)/python tools/release_check.py

bench:
	@$(SETUP) lab
	@$(BIN)/python -m gemlite_lab.bench $(if $(KERNELS),--kernels "$(KERNELS)") $(if $(SHAPES),--shapes "$(SHAPES)") \
	  $(if $(M),--m "$(M)") $(if $(WEIGHTS),--weights "$(WEIGHTS)") $(if $(TRANSPOSED),--transposed)

bench-model:
	@$(or $(PYTHON),python3) -m gemlite_lab.bench.model --parts "$(PARTS)" $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(ROWS),--rows "$(ROWS)")

.PHONY: lab test test-gpu docs release-check bench bench-model
