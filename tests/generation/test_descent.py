"""Tests of the questions that shrinking asks."""

from refgrad.generation import random_scenario, weight
from refgrad.generation.repair import evaluated
from refgrad.generation.shrinking import first_question

YES, NO = True, False


def test_a_question_leads_to_the_same_ones_whenever_it_is_answered() -> None:
    start = evaluated(random_scenario(3))
    assert start is not None
    question = first_question(start)
    assert question is not None
    assert question.after(NO) is question.after(NO)
    assert question.after(YES) is not question.after(NO)


def test_after_a_yes_only_simpler_scenarios_are_asked_about() -> None:
    start = evaluated(random_scenario(3))
    assert start is not None
    question, weights = first_question(start), [weight(start.scenario)]
    while question is not None:
        weights.append(weight(question.scenario))
        question = question.after(YES)
    assert len(weights) > 3
    assert weights == sorted(weights, reverse=True)


def test_no_scenario_is_asked_about_twice() -> None:
    start = evaluated(random_scenario(3))
    assert start is not None
    question = first_question(start)
    texts: list[str] = []
    while question is not None and len(texts) < 60:
        texts.append(question.scenario.text)
        question = question.after(NO)
    assert len(set(texts)) == len(texts) == 60
