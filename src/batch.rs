//! Many rows in one call.

use crate::candidates::with_workspace;
use crate::error::Error;
use crate::params::Params;
use crate::sampler::Sampler;
use crate::scores::Scores;
use crate::threads;

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
    each(&rows, |at, row| {
        let stream = u32::try_from(at).map_err(|_| Error::Range {
            name: "rows",
            range: "fewer than 2^32",
            value: at.to_string(),
        })?;
        with_workspace(|workspace| sampler.choose(row, stream, workspace))
    })
}

/// `work` on every row, in parallel if that is worth it; an error says which row it is if there are several.
pub(crate) fn each<T: Send>(
    rows: &[Scores<'_>],
    work: impl Fn(usize, Scores<'_>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    threads::map(rows.to_vec(), width(rows), |at, row| work(at, row).map_err(|error| place(error, at, rows)))
}

/// The same with a row of `out` for each. Only the binding has such tables.
#[cfg(feature = "python")]
pub(crate) fn write(
    rows: &[Scores<'_>],
    out: &mut [f32],
    work: impl Fn(Scores<'_>, &mut [f32]) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let pairs: Vec<_> = rows.iter().zip(out.chunks_mut(width(rows).max(1))).collect();
    threads::map(pairs, width(rows), |at, (&row, out)| work(row, out).map_err(|error| place(error, at, rows)))?;
    Ok(())
}

fn width(rows: &[Scores<'_>]) -> usize {
    rows.first().map_or(0, |row| row.len())
}

fn place(error: Error, row: usize, rows: &[Scores<'_>]) -> Error {
    if rows.len() > 1 { error.in_row(row) } else { error }
}
