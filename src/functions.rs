//! The kernels as functions of one row, without a sampler.

use crate::candidates::{Candidates, Sums, probabilities, with_workspace};
use crate::error::Error;
use crate::kernels;
use crate::scores::Scores;

/// Runs `finish` on all tokens of `row`.
fn with<R>(row: Scores<'_>, sums: Sums, finish: impl FnOnce(&mut Candidates<'_>) -> R) -> Result<R, Error> {
    not_empty(row)?;
    with_workspace(|workspace| {
        let mut candidates = Candidates::new(kernels::active(), row, workspace, sums)?;
        if candidates.is_empty() {
            return Err(Error::NoCandidate { row: None, stage: None });
        }
        Ok(finish(&mut candidates))
    })
}

/// The token with the best score, of equals the lowest.
///
/// # Errors
///
/// Of every function here: [`Error::RowLength`] for an empty row, [`Error::BadScore`] for NaN and +inf,
/// [`Error::NoCandidate`] when all scores are -inf, [`Error::Range`] for an argument outside its range.
///
/// ```
/// assert_eq!(Ok(1), sortition::argmax(&[1.0, 3.0, 3.0]));
/// ```
pub fn argmax<'a>(row: impl Into<Scores<'a>>) -> Result<u32, Error> {
    with(row.into(), Sums::None, |candidates| candidates.best())
}

/// Writes the probabilities, `exp(x / T)` over their sum, into `out`, which is as long as `row`.
///
/// Four weights at a time are summed in `f32`, the rest in `f64`.
///
/// # Errors
///
/// See [`argmax`]; `out` may then be partly written.
///
/// ```
/// let mut p = [0.0; 3];
/// sortition::softmax(&[0.0, 0.0, f32::NEG_INFINITY], 1.0, &mut p)?;
/// assert_eq!([0.5, 0.5, 0.0], p);
/// # Ok::<(), sortition::Error>(())
/// ```
pub fn softmax<'a>(row: impl Into<Scores<'a>>, temperature: f64, out: &mut [f32]) -> Result<(), Error> {
    let row = row.into();
    row.check_length_of(out)?;
    if !(temperature.is_finite() && temperature > 0.0) {
        let value = temperature.to_string();
        return Err(Error::Range { name: "temperature", range: "finite and above 0", value });
    }
    not_empty(row)?;
    with_workspace(|workspace| probabilities(kernels::active(), row, workspace, temperature, out))
}

/// Writes the logarithms of the probabilities into `out`, which is as long as `row`.
///
/// # Errors
///
/// See [`argmax`].
///
/// ```
/// let mut logs = [0.0; 2];
/// sortition::log_softmax(&[1000.0, 0.0], &mut logs)?;
/// assert_eq!([0.0, -1000.0], logs);
/// # Ok::<(), sortition::Error>(())
/// ```
pub fn log_softmax<'a>(row: impl Into<Scores<'a>>, out: &mut [f32]) -> Result<(), Error> {
    let row = row.into();
    row.check_length_of(out)?;
    with(row, Sums::Exact(1.0), |candidates| {
        let max = candidates.max();
        #[expect(clippy::cast_possible_truncation, reason = "the one rounding")]
        let log_total = -candidates.logprob(max) as f32;
        kernels::active().subtract(row, max, log_total, out);
    })
}

/// The natural logarithm of the sum of `exp(x)`.
///
/// # Errors
///
/// See [`argmax`].
///
/// ```
/// let sum = sortition::logsumexp(&[1000.0, 1000.0])?;
/// assert!((sum - (1000.0 + 2_f64.ln())).abs() < 1e-6);
/// # Ok::<(), sortition::Error>(())
/// ```
pub fn logsumexp<'a>(row: impl Into<Scores<'a>>) -> Result<f64, Error> {
    with(row.into(), Sums::Exact(1.0), |candidates| candidates.log_sum_exp())
}

/// The entropy of the probabilities, in nats.
///
/// # Errors
///
/// See [`argmax`].
///
/// ```
/// let entropy = sortition::entropy(&[0.0, 0.0, f32::NEG_INFINITY])?;
/// assert!((entropy - 2_f64.ln()).abs() < 1e-6);
/// # Ok::<(), sortition::Error>(())
/// ```
pub fn entropy<'a>(row: impl Into<Scores<'a>>) -> Result<f64, Error> {
    with(row.into(), Sums::Exact(1.0), |candidates| candidates.entropy())
}

/// The `k` best tokens with their scores, best first, of equals the lower id; all when there are fewer. Tokens that are
/// impossible come last.
///
/// # Errors
///
/// See [`argmax`].
///
/// ```
/// assert_eq!(Ok(vec![(1, 0.5), (2, 0.5)]), sortition::top_k(&[0.125, 0.5, 0.5, 0.25], 2));
/// ```
pub fn top_k<'a>(row: impl Into<Scores<'a>>, k: usize) -> Result<Vec<(u32, f32)>, Error> {
    let row = row.into();
    if k == 0 {
        return Err(Error::Range { name: "k", range: "at least 1", value: "0".to_owned() });
    }
    with(row, Sums::None, |candidates| {
        candidates.keep_best(k);
        let mut best = candidates.ranked();
        if best.len() < k.min(row.len()) {
            let impossible = (0..).zip(row.iter()).filter(|&(_, x)| x == f32::NEG_INFINITY);
            best.extend(impossible.take(k.min(row.len()) - best.len()));
        }
        best
    })
}

/// The nucleus: the fewest tokens whose total probability is at least `p`, best first; `p` is in (0, 1].
///
/// # Errors
///
/// See [`argmax`].
///
/// ```
/// let row = [0.1_f32, 0.6, 0.3].map(f32::ln);
/// assert_eq!(Ok(vec![1, 2]), sortition::top_p(&row, 0.8));
/// ```
pub fn top_p<'a>(row: impl Into<Scores<'a>>, p: f64) -> Result<Vec<u32>, Error> {
    if !(p > 0.0 && p <= 1.0) {
        return Err(Error::Range { name: "p", range: "in (0, 1]", value: p.to_string() });
    }
    with(row.into(), Sums::None, |candidates| {
        if p < 1.0 {
            candidates.keep_mass(p, 1);
        }
        candidates.ranked().into_iter().map(|(id, _)| id).collect()
    })
}

fn not_empty(row: Scores<'_>) -> Result<(), Error> {
    if row.is_empty() {
        return Err(Error::RowLength { row: None, expected: "at least 1".to_owned(), got: 0 });
    }
    Ok(())
}
