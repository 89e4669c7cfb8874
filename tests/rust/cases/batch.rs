//! What a case of many rows may expect: the tokens of one call for all, and what is left when one of them fails.

use std::collections::BTreeSet;

use serde::Deserialize;
use sortition::{Error, Request, Sampler, draw_batch, draw_each, sample_batch, sample_each};

use crate::case::Case;
use crate::expect::class;

/// The rows of a case, with what each is drawn by.
struct Batch {
    rows: Vec<Vec<f32>>,
    masks: Vec<Option<Vec<u32>>>,
    samplers: Vec<Sampler>,
}

impl Batch {
    fn new(case: &Case) -> Self {
        Self { rows: case.rows.clone().expect("rows"), masks: case.row_masks(), samplers: case.row_samplers() }
    }

    /// The same with its rows in another order.
    fn ordered(self, order: &[usize]) -> Self {
        Self {
            rows: order.iter().map(|&r| self.rows[r].clone()).collect(),
            masks: order.iter().map(|&r| self.masks[r].clone()).collect(),
            samplers: order.iter().map(|&r| self.samplers[r].clone()).collect(),
        }
    }

    fn requests(&mut self) -> Vec<Request<'_>> {
        let rows = self.samplers.iter_mut().zip(&self.rows).zip(&self.masks);
        rows.map(|((sampler, row), mask)| Request { sampler, logits: row.into(), mask: mask.as_deref() }).collect()
    }

    /// What each row draws, call after call from the same scores.
    fn sequences(mut self, steps: usize) -> Vec<Vec<u32>> {
        let mut sequences = vec![Vec::new(); self.rows.len()];
        for _ in 0..steps {
            let drawn = sample_batch(&mut self.requests()).expect("tokens");
            sequences.iter_mut().zip(drawn).for_each(|(sequence, token)| sequence.push(token));
        }
        sequences
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failed {
    row: usize,
    error: String,
}

/// A token for each row, -1 for one that failed, and the errors; the same with what the rows say of their tokens.
pub(crate) fn tokens(case: &Case) -> (Vec<i64>, Vec<Failed>) {
    let (mut batch, mut said) = (Batch::new(case), Batch::new(case));
    let (drawn, described): (Vec<_>, Vec<_>) = if case.on_error.as_deref() == Some("mark") {
        let described = draw_each(&mut said.requests(), 1).into_iter().map(|draw| draw.map(|draw| draw.token));
        (sample_each(&mut batch.requests()), described.collect())
    } else {
        let described = draw_batch(&mut said.requests(), 1).expect("draws").into_iter().map(|draw| Ok(draw.token));
        let drawn = sample_batch(&mut batch.requests()).expect("tokens").into_iter().map(Ok);
        (drawn.collect(), described.collect())
    };
    assert_eq!(drawn, described);
    let failed = |(row, result): (usize, &Result<u32, Error>)| {
        let error = class(result.as_ref().err()?).to_owned();
        Some(Failed { row, error })
    };
    let errors = drawn.iter().enumerate().filter_map(failed).collect();
    (drawn.into_iter().map(|token| token.map_or(-1, i64::from)).collect(), errors)
}

/// The error of a call for all, and the samplers that it was for.
pub(crate) fn failure(case: &Case) -> (Error, Vec<Sampler>) {
    let mut batch = Batch::new(case);
    let error = sample_batch(&mut batch.requests()).expect_err("an error");
    (error, batch.samplers)
}

/// These rows draw among the others what they draw alone.
pub(crate) fn alone(case: &Case, wanted: &[usize]) {
    let together = Batch::new(case).sequences(case.steps());
    for &r in wanted {
        assert_eq!(together[r..=r], Batch::new(case).ordered(&[r]).sequences(case.steps()), "row {r}");
    }
}

/// Rows in another order draw the same.
pub(crate) fn permuted(case: &Case) {
    let straight = Batch::new(case).sequences(case.steps());
    for order in permutations(straight.len()) {
        let turned = Batch::new(case).ordered(&order).sequences(case.steps());
        assert_eq!(order.iter().map(|&r| straight[r].clone()).collect::<Vec<_>>(), turned, "{order:?}");
    }
}

/// Each number goes to every place among those below it.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    (0..count).fold(vec![Vec::new()], |shorter, number| {
        let with =
            |order: Vec<usize>| (0..=number).map(move |place| [&order[..place], &[number], &order[place..]].concat());
        shorter.into_iter().flat_map(with).collect()
    })
}

pub(crate) fn rows_differ(case: &Case, wanted: bool) {
    let sequences = Batch::new(case).sequences(case.steps());
    assert_eq!(wanted, sequences.len() == sequences.iter().collect::<BTreeSet<_>>().len());
}
