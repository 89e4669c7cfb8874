//! What a case may expect, one function or line each. Numbers agree within 1e-5 times max(1, |number|), as the files say.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sortition::rng::{Purpose, coin};
use sortition::{Draw, Error, Sampler, Scores, sample_rows};
use toml::Value;

use crate::batch;
use crate::case::Case;
use crate::params::Unfit;

/// How many seeds "whatever the seed" is tried with, where the case does not say.
const SEEDS: usize = 20;
const MANY_SEEDS: usize = 300;

/// Why Rust has no part in an expectation, if it has none.
pub(crate) fn elsewhere(case: &Case, expectation: &str) -> Option<String> {
    let wanted = case.expect[expectation].as_str();
    let reason = match expectation {
        _ if case.pieces.is_some() || case.byte_pieces.is_some() => "the loop and its text are Python's",
        _ if case.table.is_some() => "beam search is Python's",
        "json_safe" => "the dictionary of a draw is Python's",
        "twice" if wanted == Some("differs") => "a seed from the system is Python's: the crate takes a number",
        "error" | "error_mentions" | "state_unchanged" => {
            return match case.params(0) {
                Err(unfit @ Unfit::Type(_)) => Some(unfit.to_string()),
                Err(Unfit::Unknown(_)) | Ok(_) => None,
            };
        }
        _ => return None,
    };
    Some(reason.to_owned())
}

/// Panics if the case does not keep what it promises.
pub(crate) fn hold(case: &Case, expectation: &str) {
    let value = &case.expect[expectation];
    match expectation {
        "kept" => assert_eq!(want::<Vec<usize>>(value), kept(case)),
        "kept_count" => assert_eq!(want::<usize>(value), kept(case).len()),
        "scores" => close(&processed(case), &want::<Vec<f64>>(value)),
        "probs" => close(&chances(case), &want::<Vec<f64>>(value)),
        "finite" => assert_eq!(want::<bool>(value), processed(case).iter().all(|x| x.is_finite())),
        "token" => assert_eq!(BTreeSet::from([want(value)]), tokens(case, SEEDS)),
        "never" => assert!(tokens(case, MANY_SEEDS).is_disjoint(&want(value))),
        "frequency" => frequency(case, &want(value)),
        "count" => count(case, &want(value)),
        "value" => close(&[call(case).0[0]], &[want(value)]),
        "values" => close(&call(case).0, &want::<Vec<f64>>(value)),
        "ids" => assert_eq!(want::<Vec<u32>>(value), call(case).1),
        "twice" => assert_eq!(sequence(case, &mut fresh(case)), sequence(case, &mut fresh(case))),
        "seed" => assert_eq!(want::<u64>(value), fresh(case).params().seed),
        "forks" => forks(case, &want::<String>(value)),
        "tokens" if case.draft.is_some() => assert_eq!(want::<Vec<u32>>(value), verified(case)),
        "tokens" => assert_eq!(want::<Vec<i64>>(value), batch::tokens(case).0),
        "errors" => assert_eq!(want::<Vec<batch::Failed>>(value), batch::tokens(case).1),
        "alone" => batch::alone(case, &want::<Vec<usize>>(value)),
        "permuted" => {
            assert!(want::<bool>(value));
            batch::permuted(case);
        }
        "rows_differ" => batch::rows_differ(case, want(value)),
        "input_unchanged" => input_unchanged(case, want(value)),
        _ => hold_draw(case, expectation, value),
    }
}

/// What is said of draws, and of errors.
fn hold_draw(case: &Case, expectation: &str, value: &Value) {
    match expectation {
        "logprob" => close(&each(case, |draw| draw.logprob), &[want(value); SEEDS]),
        "raw_logprob" => close(&each(case, |draw| draw.raw_logprob), &[want(value); SEEDS]),
        "logprobs" => {
            let by_id: Vec<f64> = want(value);
            close(&each(case, |draw| draw.logprob), &each(case, |draw| by_id[draw.token as usize]));
            close(&chances(case), &by_id.iter().map(|x| x.exp()).collect::<Vec<_>>());
        }
        "raw_logprobs" => {
            let by_id: Vec<f64> = want(value);
            close(&each(case, |draw| draw.raw_logprob), &each(case, |draw| by_id[draw.token as usize]));
            for (id, logprob) in each(case, |draw| draw.top.clone()).concat() {
                close(&[logprob], &[by_id[id as usize]]);
            }
        }
        "rank" => assert_eq!(vec![want::<usize>(value); SEEDS], each(case, |draw| draw.rank)),
        "top_ids" => assert_eq!(vec![want::<Vec<u32>>(value); SEEDS], each(case, top_ids)),
        "chosen_listed_once" => {
            assert!(want::<bool>(value));
            for ids in each(case, top_ids) {
                assert_eq!(case.logprobs, Some(ids.len()));
                assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len());
            }
        }
        "error" => assert_eq!(want::<String>(value), class(&failure(case).0)),
        "error_row" => assert_eq!(Some(want::<usize>(value)), failure(case).0.row()),
        "error_token" => {
            let Error::BadScore { token, .. } = failure(case).0 else { panic!("no token") };
            assert_eq!(want::<usize>(value), token);
        }
        "error_stage" => {
            let Error::NoCandidate { stage: Some(stage), .. } = failure(case).0 else { panic!("no stage") };
            assert_eq!(want::<String>(value), stage.name());
        }
        "error_mentions" => {
            let message = failure(case).0.to_string();
            for word in want::<Vec<String>>(value) {
                assert!(message.contains(&word), "no {word} in: {message}");
            }
        }
        "state_unchanged" => {
            assert!(want::<bool>(value));
            let samplers = failure(case).1;
            let outputs =
                if case.rows.is_some() { case.outputs_by_row() } else { vec![case.output.clone(); samplers.len()] };
            assert_eq!(outputs.len(), samplers.len());
            for (sampler, output) in samplers.iter().zip(outputs) {
                assert_eq!((&output[..], output.len() as u64), (sampler.output(), sampler.position()));
            }
        }
        unknown => panic!("no check for {unknown}"),
    }
}

fn want<T: DeserializeOwned>(value: &Value) -> T {
    value.clone().try_into().expect("the type that the expectation has")
}

fn close(got: &[f64], wanted: &[f64]) {
    assert_eq!(wanted.len(), got.len());
    for (&got, &wanted) in got.iter().zip(wanted) {
        let near =
            if wanted.is_finite() { (got - wanted).abs() <= 1e-5 * wanted.abs().max(1.0) } else { got == wanted };
        assert!(near, "{got} is not {wanted}");
    }
}

fn fresh(case: &Case) -> Sampler {
    case.sampler(0).expect("legal parameters")
}

/// The scores after all stages.
fn processed(case: &Case) -> Vec<f64> {
    let row = case.row();
    let mut out = vec![0.0; row.scores().len()];
    fresh(case).process(row.scores(), case.mask().as_deref(), &mut out).expect("scores");
    out.into_iter().map(f64::from).collect()
}

/// Drawing and processing leave the scores alone.
fn input_unchanged(case: &Case, wanted: bool) {
    let row = case.row();
    let before = row.bits();
    let (mut sampler, mut out) = (fresh(case), vec![0.0; before.len()]);
    sampler.process(row.scores(), None, &mut out).expect("scores");
    sampler.draw(row.scores(), None, 0).expect("a draw");
    assert_eq!(wanted, before == row.bits());
}

fn kept(case: &Case) -> Vec<usize> {
    processed(case).iter().enumerate().filter(|(_, x)| x.is_finite()).map(|(id, _)| id).collect()
}

fn chances(case: &Case) -> Vec<f64> {
    let scores = processed(case);
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<_> = scores.iter().map(|x| (x - max).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// What fresh samplers draw with the seeds from 0 on.
fn draws(case: &Case, seeds: usize) -> Vec<Draw> {
    let (row, mask) = (case.row(), case.mask());
    let draw = |seed| {
        let mut sampler = case.sampler(seed).expect("legal parameters");
        sampler.draw(row.scores(), mask.as_deref(), case.logprobs.unwrap_or(0)).expect("a draw")
    };
    (0..seeds as u64).map(draw).collect()
}

/// The same of [`SEEDS`] draws, what `part` takes of each.
fn each<T>(case: &Case, part: impl Fn(&Draw) -> T) -> Vec<T> {
    draws(case, SEEDS).iter().map(part).collect()
}

fn tokens(case: &Case, seeds: usize) -> BTreeSet<u32> {
    draws(case, case.draws.unwrap_or(seeds)).iter().map(|draw| draw.token).collect()
}

fn top_ids(draw: &Draw) -> Vec<u32> {
    draw.top.iter().map(|&(id, _)| id).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frequency {
    id: u32,
    value: f64,
    tol: f64,
}

fn frequency(case: &Case, wanted: &Frequency) {
    let count = case.draws.expect("a number of draws");
    let tokens: Vec<_> = match &case.draft_probs {
        Some(chances) => (0..count as u64).map(|seed| drafted(case, chances, seed)).collect(),
        None => draws(case, count).iter().map(|draw| draw.token).collect(),
    };
    let hits: f64 = tokens.iter().map(|&token| if token == wanted.id { 1.0 } else { 0.0 }).sum();
    #[expect(clippy::cast_precision_loss, reason = "some thousand draws")]
    let share = hits / count as f64;
    assert!((share - wanted.value).abs() <= wanted.tol, "{share}");
}

/// The first token where one was drafted, drawn from the draft's own chances by coins of another stream; every second time
/// with these chances at hand.
fn drafted(case: &Case, chances: &[f64], seed: u64) -> u32 {
    let coin = coin(seed, 1, 0, Purpose::Draw);
    let mut sum = 0.0;
    let token = chances.iter().position(|p| (sum += p, sum > coin).1).expect("a token");
    #[expect(clippy::cast_possible_truncation, reason = "scores are float32")]
    let scores: Vec<_> = chances.iter().map(|p| p.ln() as f32).collect();
    let known: &[Scores<'_>] = &[(&scores).into()];
    let row = case.row();
    let mut sampler = case.sampler(seed).expect("legal parameters");
    let draft = [u32::try_from(token).expect("an id")];
    let known = (seed % 2 == 1).then_some(known);
    sampler.verify(&[row.scores(), row.scores()], &draft, known, None).expect("tokens")[0]
}

/// The tokens of the draft that stand, and the one after.
fn verified(case: &Case) -> Vec<u32> {
    let rows: Vec<_> = case.rows.as_ref().expect("rows").iter().map(Vec::as_slice).collect();
    fresh(case).verify(&rows, case.draft.as_ref().expect("a draft"), None, None).expect("tokens")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Count {
    id: u32,
    low: usize,
    high: usize,
}

/// One token for each of many copies of the row.
fn count(case: &Case, wanted: &Count) {
    let row = case.row();
    let rows = vec![row.scores(); case.draws.expect("a number of draws")];
    let tokens = sample_rows(&rows, case.params(0).expect("parameters")).expect("tokens");
    let hits = tokens.iter().filter(|&&token| token == wanted.id).count();
    assert!((wanted.low..=wanted.high).contains(&hits), "{hits}");
}

/// The numbers and the ids that a public function returns.
fn call(case: &Case) -> (Vec<f64>, Vec<u32>) {
    let row = case.row();
    let row = row.scores();
    let mut out = vec![0.0; row.len()];
    let argument = |name: &str| case.args.get(name).map(want::<f64>);
    let known = |names: &[&str]| case.args.keys().all(|name| names.contains(&name.as_str()));
    let widened = |out: Vec<f32>| out.into_iter().map(f64::from).collect();
    match case.call.as_deref().expect("a function") {
        "argmax" => (vec![sortition::argmax(row).expect("a token").into()], Vec::new()),
        "entropy" => (vec![sortition::entropy(row).expect("a number")], Vec::new()),
        "logsumexp" => (vec![sortition::logsumexp(row).expect("a number")], Vec::new()),
        "log_softmax" => {
            sortition::log_softmax(row, &mut out).expect("numbers");
            (widened(out), Vec::new())
        }
        "softmax" if known(&["temperature"]) => {
            sortition::softmax(row, argument("temperature").unwrap_or(1.0), &mut out).expect("numbers");
            (widened(out), Vec::new())
        }
        "top_k" if known(&["k"]) => {
            let best = sortition::top_k(row, want(&case.args["k"])).expect("tokens");
            (best.iter().map(|&(_, x)| x.into()).collect(), best.iter().map(|&(id, _)| id).collect())
        }
        "top_p" if known(&["p"]) => (Vec::new(), sortition::top_p(row, argument("p").expect("p")).expect("tokens")),
        other => panic!("no function {other} of {:?}", case.args),
    }
}

/// The error of the case, and the samplers that were made: none where making it is the error.
fn failure(case: &Case) -> (Error, Vec<Sampler>) {
    if case.rows.is_some() {
        return batch::failure(case);
    }
    match case.sampler(0) {
        Err(error) => (error, Vec::new()),
        Ok(mut sampler) => {
            let error = sampler.draw(case.row().scores(), case.mask().as_deref(), 0).expect_err("an error");
            (error, vec![sampler])
        }
    }
}

/// The class of an error in Python.
pub(crate) fn class(error: &Error) -> &'static str {
    match error {
        Error::Range { .. } | Error::UnknownToken { .. } => "ParameterError",
        Error::NoCandidate { .. } => "NoCandidateError",
        _ => "LogitsError",
    }
}

/// What a sampler draws from the row again and again.
fn sequence(case: &Case, sampler: &mut Sampler) -> Vec<u32> {
    let row = case.row();
    (0..case.steps()).map(|_| sampler.sample(row.scores(), None).expect("a token")).collect()
}

fn forks(case: &Case, wanted: &str) {
    assert_eq!("differ and repeat", wanted);
    let drawn = || -> Vec<_> {
        let forks = fresh(case).fork(case.fork.expect("a number of forks"));
        forks.into_iter().map(|mut fork| sequence(case, &mut fork)).collect()
    };
    let first = drawn();
    assert_eq!(first.len(), first.iter().collect::<BTreeSet<_>>().len());
    assert_eq!(first, drawn());
}
