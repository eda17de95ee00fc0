"""What the report says of models and of the tokenizer."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from corpusmill.pipeline import Recipe, run
from corpusmill.pipeline.engine import RunFolder
from corpusmill.pipeline.ledger import sealed_docs_phases
from corpusmill.pipeline.planning import Plan, make_plan
from corpusmill.pipeline.report_models import model_cards, tokenizer_audit
from corpusmill.pipeline.report_rows import draw_kept

from .conftest import RECIPE, write_corpus

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "configs/sample/models/quality.ftz"


def plan_of(base: Path, model: str) -> Plan:
    write_corpus(base / "input", files=1, rows=2)
    step = f'  - classifiers.fasttext_quality: {{model: "{model}", languages: [en]}}\n'
    text = RECIPE.replace("steps:\n", f"steps:\n  - measure.language\n{step}")
    return make_plan(Recipe.parse(text, base))


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_a_card_beside_the_model(tmp_path: Path) -> None:
    said = words(model_cards(plan_of(tmp_path, "package:sample/models/quality.ftz")))
    card = json.loads(MODEL.with_name("quality.card.json").read_bytes())
    best = card["heldout"]["reliability"][-1]
    assert f"auc {card['heldout']['auc']}" in said
    assert f"0.9 to 1.0, mean {best['mean_score']}" in said
    assert f"{best['share_good']:.0%} of {best['count']} good" in said
    assert card["known_failures"][1] in said


def test_a_card_in_the_folder_of_a_trained_model(tmp_path: Path) -> None:
    """Its text is escaped: a card may come from anybody."""
    shutil.copy(MODEL, tmp_path / "model.ftz")
    card = {"name": "<script>", "heldout": {"auc": 0.5, "reliability": []}, "known_failures": []}
    (tmp_path / "card.json").write_text(json.dumps(card))
    page = model_cards(plan_of(tmp_path, "model.ftz"))
    assert "&lt;script&gt;" in page
    assert "<script>" not in page


@pytest.mark.parametrize("card", [None, "{", "[]", "{}"])
def test_no_card(tmp_path: Path, card: str | None) -> None:
    shutil.copy(MODEL, tmp_path / "model.ftz")
    if card is not None:
        (tmp_path / "card.json").write_text(card)
    assert "No step used a model" in model_cards(plan_of(tmp_path, "model.ftz"))


@pytest.mark.slow
def test_the_audit_is_of_the_runs_tokenizer(tmp_path: Path) -> None:
    write_corpus(tmp_path / "input", files=1, rows=20)
    text = RECIPE.replace("steps:\n", "steps:\n  - measure.language\n")
    made = run(
        Recipe.parse(text + "tokenizer: {stage: tokenizers.bpe, vocab_size: 300}\n", tmp_path),
        tmp_path / "run", workers=1,
    )  # fmt: skip
    folder = RunFolder(made.root, Plan.load(made.root / "plan.json"))
    kept = draw_kept(folder, sealed_docs_phases(folder)[-1]).rows
    said = words(tokenizer_audit(folder, made.root, kept))
    count = json.loads((made.root / "ledger.json").read_bytes())["records"]["kept"]
    assert f"{count} kept texts" in said
    assert (
        f"vocabulary {json.loads((made.root / 'tokenizer/card.json').read_bytes())['vocab_size']}"
        in said
    )
    assert "lossy texts 0" in said
    assert re.search(r"digits 1: \d+, 2: \d+, 3: \d+ ", said)
    shutil.rmtree(made.root / "tokenizer")
    assert "made no tokenizer" in tokenizer_audit(folder, made.root, kept)
