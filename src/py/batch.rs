//! `sample_batch`, as Python calls it.

use std::sync::MutexGuard;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadwriteArray1, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::array::{Batch, Masks, addresses, span};
use super::error::{in_row, own_exception};
use super::sampler::PySampler;
use crate::batch::{decide, draw, token};
use crate::sampler::{Decision, check_top};
use crate::{Draw, Error, Request, Sampler, Scores};

/// Tokens, exceptions by row, and the details if they were asked for.
type Answer<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyDict>, Option<Details<'py>>);

/// Of each row: logprob, raw logprob, rank, ids and logprobs of the best, candidates left.
type Details<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray2<i64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<i64>>,
);

/// Draws for every sampler; see `_native.pyi`.
#[pyfunction]
pub(super) fn sample_batch<'py>(
    samplers: &Bound<'py, PyList>,
    logits: &Bound<'py, PyAny>,
    mask: Option<&Bound<'py, PyAny>>,
    rows: Option<Vec<u64>>,
    top: Option<usize>,
    marks: bool,
    out: Option<Bound<'py, PyArray1<i64>>>,
) -> PyResult<Answer<'py>> {
    let py = samplers.py();
    with_requests(samplers, logits, mask, rows, |requests, scores, words| {
        let mut out = out.map(|out| own(out, scores, words)).transpose()?;
        let errors = PyDict::new(py);
        let marked = marks.then_some(&errors);
        let (tokens, details) = if let Some(top) = top {
            let vocabularies = requests.iter().flat_map(|request| request.sampler.vocabulary(request.logits));
            vocabularies.into_iter().try_for_each(|vocab| check_top(vocab, top))?;
            let draws = serve(py, requests, draw(top), marked)?;
            (tokens(py, &draws, out.as_mut())?, Some(details(py, &draws, top)?))
        } else {
            (tokens(py, &serve(py, requests, token, marked)?, out.as_mut())?, None)
        };
        Ok((tokens, errors, details))
    })
}

/// Draws for every sampler, the tokens alone; see `_native.pyi`.
#[pyfunction]
#[pyo3(signature = (samplers, logits, rows=None))]
pub(super) fn draw_tokens<'py>(
    samplers: &Bound<'py, PyList>,
    logits: &Bound<'py, PyAny>,
    rows: Option<Vec<u64>>,
) -> PyResult<Bound<'py, PyList>> {
    let py = samplers.py();
    with_requests(samplers, logits, None, rows, |requests, _, _| {
        PyList::new(py, serve(py, requests, token, None)?.iter().flatten().map(|drawn| drawn.token))
    })
}

/// What `work` makes of a request for each sampler, of all rows and of their masks.
fn with_requests<'py, R>(
    samplers: &Bound<'py, PyList>,
    logits: &Bound<'py, PyAny>,
    mask: Option<&Bound<'py, PyAny>>,
    rows: Option<Vec<u64>>,
    work: impl FnOnce(&mut [Request<'_>], &[Scores<'_>], Option<&[&[u32]]>) -> PyResult<R>,
) -> PyResult<R> {
    let scores = Batch::new(logits)?;
    let chosen = chosen(rows, scores.len())?;
    let natives = natives(samplers, chosen.as_ref().map_or(scores.len(), Vec::len), chosen.is_some())?;
    let words = mask.map(|words| Masks::new(words, scores.len())).transpose()?;
    let scores = scores.slices()?;
    let words = words.as_ref().map(Masks::words).transpose()?;
    let mut guards = enter(&natives)?;
    let mut requests = Vec::with_capacity(guards.len());
    for (at, sampler) in guards.iter_mut().enumerate() {
        let at = chosen.as_ref().map_or(at, |chosen| chosen[at]);
        requests.push(Request { sampler, logits: scores[at], mask: words.as_ref().map(|words| words[at]) });
    }
    work(&mut requests, &scores, words.as_deref())
}

/// The array, to be written to when all is decided: until then nothing may go wrong with it either.
fn own<'py>(
    out: Bound<'py, PyArray1<i64>>,
    logits: &[Scores<'_>],
    mask: Option<&[&[u32]]>,
) -> PyResult<PyReadwriteArray1<'py, i64>> {
    let place = out.data().addr()..out.data().addr() + size_of::<i64>() * out.shape()[0];
    let read = logits.iter().map(|row| span(*row)).chain(mask.into_iter().flatten().map(|words| addresses(words)));
    let range = "apart from logits and mask, and of no other call";
    // What NumPy did not make, only its addresses tell apart.
    for read in read {
        if read.start < place.end && place.start < read.end {
            return Err(Error::Range { name: "out", range, value: "memory that is read".to_owned() }.into());
        }
    }
    out.try_readwrite().map_err(|_| Error::Range { name: "out", range, value: "memory in use".to_owned() }.into())
}

/// The rows that were chosen, each of which there must be.
fn chosen(rows: Option<Vec<u64>>, count: usize) -> Result<Option<Vec<usize>>, Error> {
    let missing = |row| Error::Range {
        name: "rows",
        range: "indices below the number of rows of logits",
        value: format!("{row}, of {count} rows"),
    };
    let known = |row| usize::try_from(row).ok().filter(|&row| row < count).ok_or_else(|| missing(row));
    rows.map(|rows| rows.into_iter().map(known).collect()).transpose()
}

/// The cores of the samplers, of which there must be `count`.
fn natives<'py>(samplers: &Bound<'py, PyList>, count: usize, chosen: bool) -> PyResult<Vec<Bound<'py, PySampler>>> {
    let py = samplers.py();
    if samplers.len() != count {
        let range = if chosen { "one for each of rows" } else { "one for each row of logits" };
        let value = format!("{} for {count} rows", samplers.len());
        return Err(Error::Range { name: "samplers", range, value }.into());
    }
    let native = |(at, item): (usize, Bound<'py, PyAny>)| {
        let native = item.getattr(intern!(py, "_native")).ok().and_then(|native| native.cast_into().ok());
        native.ok_or_else(|| {
            let value = format!("{} at {at}", item.get_type());
            Error::Range { name: "samplers", range: "a sequence of Sampler", value }.into()
        })
    };
    samplers.iter().enumerate().map(native).collect()
}

/// All samplers, for this call alone.
fn enter<'s>(natives: &'s [Bound<'_, PySampler>]) -> PyResult<Vec<MutexGuard<'s, Sampler>>> {
    let guard = |(at, native): (usize, &'s Bound<'_, PySampler>)| {
        native.get().enter(native.py()).map_err(|busy| {
            let twice = natives[..at].iter().position(|earlier| earlier.is(native));
            twice.map_or(in_row(native.py(), busy, at), |earlier| {
                let value = format!("the same for the rows {earlier} and {at}");
                Error::Range { name: "samplers", range: "one Sampler for each row", value }.into()
            })
        })
    };
    natives.iter().enumerate().map(guard).collect()
}

/// Decides every row and records: all or nothing, or with the exceptions of those that failed in `marked`.
fn serve<T: Send>(
    py: Python<'_>,
    requests: &mut [Request<'_>],
    work: impl Fn(&mut Request<'_>) -> Result<Decision<T>, Error> + Sync + Send,
    marked: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Option<Decision<T>>>> {
    let decided = py.detach(|| decide(requests, work));
    py.check_signals()?; // while nothing is recorded
    for (at, result) in decided.iter().enumerate() {
        if let Err(error) = result {
            let Some(errors) = marked.filter(|_| !error.is_interrupt()) else { return Err(error.clone().into()) };
            errors.set_item(at, own_exception(py, error, at).into_value(py))?;
        }
    }
    let recorded = requests.iter_mut().zip(decided).map(|(request, result)| Some(request.record(result.ok()?)));
    Ok(recorded.collect())
}

/// The tokens, -1 where there is none, as a new array or in `out`.
fn tokens<'py, T>(
    py: Python<'py>,
    decisions: &[Option<Decision<T>>],
    out: Option<&mut PyReadwriteArray1<'py, i64>>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let tokens = decisions.iter().map(|decision| decision.as_ref().map_or(-1, |decision| decision.token.into()));
    let Some(out) = out else { return Ok(PyArray1::from_iter(py, tokens)) };
    for (place, token) in out.as_slice_mut()?.iter_mut().zip(tokens) {
        *place = token;
    }
    Ok((***out).clone())
}

/// What else was said; NaN, 0 and -1 where there is no token.
fn details<'py>(py: Python<'py>, draws: &[Option<Decision<Draw>>], top: usize) -> PyResult<Details<'py>> {
    let said = || draws.iter().map(|decision| decision.as_ref().map(|decision| &decision.said));
    let float = |of: fn(&Draw) -> f64| PyArray1::from_iter(py, said().map(|draw| draw.map_or(f64::NAN, of)));
    #[expect(clippy::cast_possible_wrap, reason = "a vocabulary fits 32 bits")]
    let count = |of: fn(&Draw) -> usize| PyArray1::from_iter(py, said().map(|draw| draw.map_or(0, of) as i64));
    let best = || {
        said().flat_map(|draw| {
            (0..top).map(move |at| draw.map_or((-1, f64::NAN), |draw| (i64::from(draw.top[at].0), draw.top[at].1)))
        })
    };
    let shape = [draws.len(), top];
    Ok((
        float(|draw| draw.logprob),
        float(|draw| draw.raw_logprob),
        count(|draw| draw.rank),
        PyArray1::from_iter(py, best().map(|(id, _)| id)).reshape(shape)?,
        PyArray1::from_iter(py, best().map(|(_, logprob)| logprob)).reshape(shape)?,
        count(|draw| draw.kept),
    ))
}
