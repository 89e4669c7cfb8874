//! Many rows in one call: each with a sampler of its own, or without state.
//!
//! A call with samplers first decides every row, in parallel if that is worth it, and then records: until the last row is
//! decided no sampler has moved.

use std::sync::OnceLock;

use crate::error::Error;
use crate::params::Params;
use crate::sampler::{Decision, Draw, Sampler};
use crate::scores::Scores;
use crate::threads;

/// A row of scores, and who draws from it.
#[derive(Debug)]
pub struct Request<'a> {
    /// The sequence that the token joins.
    pub sampler: &'a mut Sampler,
    /// The scores.
    pub logits: Scores<'a>,
    /// Packed: bit `t & 31` of word `t >> 5` allows token `t`.
    pub mask: Option<&'a [u32]>,
}

/// Draws a token for every request, all or nothing: if one fails, every sampler is as it was. A request's token is the one
/// that [`Sampler::sample`] would draw, whatever stands beside it.
///
/// # Errors
///
/// As [`Sampler::sample`], of the first request that fails; [`Error::row`] says which one it is. An interrupt of a processor
/// comes before all, and no request that had not begun is decided.
///
/// ```
/// use sortition::{Params, Request, Sampler, sample_batch};
/// let greedy = Params { temperature: 0.0, ..Params::default() };
/// let drawn = Params { top_k: Some(1), seed: 7, ..Params::default() };
/// let mut samplers = [Sampler::new(greedy, &[], None, &[], 0)?, Sampler::new(drawn, &[2], None, &[], 0)?];
/// let rows = [[0.0, 1.0, 0.5], [3.0, 1.0, 0.5]];
///
/// let mut requests: Vec<_> = (samplers.iter_mut().zip(&rows))
///     .map(|(sampler, row)| Request { sampler, logits: row.into(), mask: None })
///     .collect();
/// assert_eq!(vec![1, 0], sample_batch(&mut requests)?);
/// assert_eq!(&[0], samplers[1].output());
/// # Ok::<(), sortition::Error>(())
/// ```
pub fn sample_batch(requests: &mut [Request<'_>]) -> Result<Vec<u32>, Error> {
    let decided = decide(requests, token).into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(requests.iter_mut().zip(decided).map(|(request, decision)| request.record(decision).token).collect())
}

/// Draws a token for every request, each for itself: a sampler whose request fails is as it was, with the error in the place
/// of its token, and the others go on.
///
/// ```
/// use sortition::{Error, Params, Request, Sampler, sample_each};
/// let sampler = || Sampler::new(Params::default(), &[], None, &[], 0);
/// let mut samplers = [sampler()?, sampler()?];
/// let rows = [[f32::NAN, 0.0], [f32::NEG_INFINITY, 0.0]];
///
/// let mut requests: Vec<_> = (samplers.iter_mut().zip(&rows))
///     .map(|(sampler, row)| Request { sampler, logits: row.into(), mask: None })
///     .collect();
/// let [Err(error), Ok(1)] = &sample_each(&mut requests)[..] else { panic!("a bad row and a token") };
/// assert_eq!("row 0: token 0 has the score NaN: scores must be finite or -inf", error.to_string());
/// # Ok::<(), Error>(())
/// ```
pub fn sample_each(requests: &mut [Request<'_>]) -> Vec<Result<u32, Error>> {
    let decided = decide(requests, token);
    requests.iter_mut().zip(decided).map(|(request, decision)| Ok(request.record(decision?).token)).collect()
}

/// Like [`sample_batch`], with log-probabilities and the `top` best tokens of the scores as they came: see
/// [`Sampler::draw`].
///
/// # Errors
///
/// As [`sample_batch`]; and [`Error::Range`] when `top` exceeds a vocabulary.
pub fn draw_batch(requests: &mut [Request<'_>], top: usize) -> Result<Vec<Draw>, Error> {
    let decided = decide(requests, draw(top)).into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(requests.iter_mut().zip(decided).map(|(request, decision)| request.record(decision).said).collect())
}

/// Like [`sample_each`], with log-probabilities and the `top` best tokens of the scores as they came: see
/// [`Sampler::draw`].
pub fn draw_each(requests: &mut [Request<'_>], top: usize) -> Vec<Result<Draw, Error>> {
    let decided = decide(requests, draw(top));
    requests.iter_mut().zip(decided).map(|(request, decision)| Ok(request.record(decision?).said)).collect()
}

impl Request<'_> {
    /// The token joins its sequence.
    pub(crate) fn record<T>(&mut self, decision: Decision<T>) -> Decision<T> {
        self.sampler.record(&decision);
        decision
    }
}

/// Finds a token alone.
pub(crate) fn token(request: &mut Request<'_>) -> Result<Decision<()>, Error> {
    request.sampler.decide(request.logits, request.mask)
}

/// Finds a token, and what its row says of it.
pub(crate) fn draw(top: usize) -> impl Fn(&mut Request<'_>) -> Result<Decision<Draw>, Error> + Sync {
    move |request| request.sampler.decide_draw(request.logits, request.mask, top, None)
}

/// What becomes of each request; nothing is recorded.
pub(crate) fn decide<T: Send>(
    requests: &mut [Request<'_>],
    work: impl Fn(&mut Request<'_>) -> Result<Decision<T>, Error> + Sync,
) -> Vec<Result<Decision<T>, Error>> {
    map(
        requests.iter_mut().enumerate(),
        |(_, request)| request.sampler.effort() * request.logits.len(),
        |(at, request)| work(request).map_err(|error| error.in_row(at)),
    )
}

/// [`threads::map`] up to an interrupt: then no further item is begun, and it is the result of all.
fn map<I: Send, T: Send>(
    items: impl ExactSizeIterator<Item = I>,
    effort: impl Fn(&I) -> usize,
    work: impl Fn(I) -> Result<T, Error> + Sync,
) -> Vec<Result<T, Error>> {
    let interrupt = OnceLock::new();
    let mut results = threads::map(items, effort, |item| match interrupt.get() {
        Some(error) => Err(Error::clone(error)),
        None => work(item).inspect_err(|error| {
            if error.is_interrupt() {
                // Of two, the first ends the call.
                let _ = interrupt.set(error.clone());
            }
        }),
    });
    if let Some(error) = interrupt.into_inner() {
        results.fill_with(|| Err(error.clone()));
    }
    results
}

/// Draws a token for every row, without history, row `r` from stream `r`: the first token that a sampler on that stream would
/// draw. In parallel if that is worth it.
///
/// # Errors
///
/// As [`Sampler::sample`], of the first row that fails; which one it is, is said if there are several.
///
/// ```
/// use sortition::{Params, sample_rows};
/// let greedy = Params { temperature: 0.0, ..Params::default() };
/// assert_eq!(Ok(vec![1, 0]), sample_rows(&[&[0.1, 0.9], &[0.9, 0.1]], greedy));
/// ```
pub fn sample_rows<'a, R: Into<Scores<'a>> + Copy>(rows: &[R], params: Params) -> Result<Vec<u32>, Error> {
    let rows: Vec<Scores<'a>> = rows.iter().map(|&row| row.into()).collect();
    let sampler = Sampler::new(params, &[], None, &[], 0)?;
    each(&rows, sampler.effort(), |at, row| {
        let stream = u32::try_from(at).map_err(|_| Error::Range {
            name: "rows",
            range: "fewer than 2^32",
            value: at.to_string(),
        })?;
        sampler.choose(row, stream)
    })
}

/// `work` on every row, which takes about as long as `effort` reads of it; in parallel if that is worth it. An error says
/// which row it is if there are several.
pub(crate) fn each<T: Send>(
    rows: &[Scores<'_>],
    effort: usize,
    work: impl Fn(usize, Scores<'_>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let results = map(
        rows.iter().enumerate(),
        |(_, row)| effort * row.len(),
        |(at, &row)| work(at, row).map_err(|error| place(error, at, rows)),
    );
    results.into_iter().collect()
}

/// The same with a row of `out` for each. Only the binding has such tables.
#[cfg(feature = "python")]
pub(crate) fn write(
    rows: &[Scores<'_>],
    out: &mut [f32],
    effort: usize,
    work: impl Fn(Scores<'_>, &mut [f32]) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let width = rows.first().map_or(0, |row| row.len());
    let done = threads::map(
        rows.iter().zip(out.chunks_mut(width.max(1))).enumerate(),
        |(_, (row, _))| effort * row.len(),
        |(at, (&row, out))| work(row, out).map_err(|error| place(error, at, rows)),
    );
    done.into_iter().collect()
}

fn place(error: Error, row: usize, rows: &[Scores<'_>]) -> Error {
    if rows.len() > 1 { error.in_row(row) } else { error }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::processor::{Failure, Processor};

    #[test]
    fn an_interrupt_ends_the_call_and_is_no_rows() {
        let calls = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&calls);
        let processor = Processor::new(move |context, _| {
            seen.fetch_add(1, Ordering::Relaxed);
            match context[0] {
                0 => Err(Failure::raised(std::fmt::Error)),
                2 => Err(Failure::interrupt(std::fmt::Error)),
                _ => Ok(()),
            }
        });
        let params = Params { processors: vec![processor], ..Params::default() };
        let mut samplers: Vec<_> =
            (0..5).map(|row| Sampler::new(params.clone(), &[row], None, &[], 0).expect("they are good")).collect();
        let row = [0.0_f32, 1.0];
        let mut requests: Vec<_> =
            samplers.iter_mut().map(|sampler| Request { sampler, logits: Scores::from(&row), mask: None }).collect();

        let results = sample_each(&mut requests);
        assert_eq!(3, calls.load(Ordering::Relaxed));
        assert!(results.iter().all(|result| result.as_ref().is_err_and(|e| e.is_interrupt() && e.row().is_none())));
        assert!(sample_batch(&mut requests).is_err_and(|error| error.is_interrupt()));
        assert!(samplers.iter().all(|sampler| sampler.output().is_empty()));
    }
}
