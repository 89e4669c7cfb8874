//! Processors of the caller's own: functions of the context and the scores.

use std::fmt;
use std::sync::Arc;

type Function = dyn Fn(&[u32], &mut [f32]) -> Result<(), Failure> + Send + Sync;

/// A function that changes scores. It sees the context, prompt and output, and the scores of the whole row as they are at
/// its place in the order, -inf where a token is impossible. What it leaves must be finite or -inf; what was impossible
/// stays so. Two processors are equal if they are one.
///
/// ```
/// use sortition::{Params, Processor, Sampler};
/// let twice = Processor::new(|context, scores| {
///     if let [.., last] = context {
///         scores[*last as usize] = f32::NEG_INFINITY;
///     }
///     Ok(())
/// });
/// let params = Params { temperature: 0.0, processors: vec![twice], ..Params::default() };
/// let mut sampler = Sampler::new(params, &[], None, &[], 0)?;
/// assert_eq!(2, sampler.sample(&[0.0, 1.0, 2.0], None)?);
/// assert_eq!(1, sampler.sample(&[0.0, 1.0, 2.0], None)?);
/// # Ok::<(), sortition::Error>(())
/// ```
#[derive(Clone)]
pub struct Processor(Arc<Function>);

impl Processor {
    /// A processor of this function. An error that it returns becomes [`crate::Error::Processor`].
    pub fn new(function: impl Fn(&[u32], &mut [f32]) -> Result<(), Failure> + Send + Sync + 'static) -> Self {
        Self(Arc::new(function))
    }

    pub(crate) fn run(&self, context: &[u32], scores: &mut [f32]) -> Result<(), Failure> {
        (self.0)(context, scores)
    }
}

impl fmt::Debug for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Processor").field(&Arc::as_ptr(&self.0)).finish()
    }
}

impl PartialEq for Processor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Why a processor failed.
#[derive(Debug, Clone)]
pub enum Failure {
    /// Its own error. Two are equal if they are one.
    Raised(Arc<dyn std::error::Error + Send + Sync>),
    /// What ends the whole call, and is no row's error: somebody wants it to end. No further row is begun.
    Interrupt(Arc<dyn std::error::Error + Send + Sync>),
    /// What it returned is not a row of scores.
    Answer {
        /// The token with a bad score, if that is what is wrong.
        token: Option<usize>,
        /// What is wrong.
        what: String,
    },
}

impl Failure {
    /// The failure of a processor that met this error.
    pub fn raised(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Raised(Arc::new(error))
    }

    /// The failure of a processor that was told, by this error, to end the call.
    pub fn interrupt(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Interrupt(Arc::new(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raised(error) => write!(f, "a processor failed: {error}"),
            Self::Interrupt(error) => write!(f, "a processor was interrupted: {error}"),
            Self::Answer { what, .. } => what.fmt(f),
        }
    }
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Raised(one), Self::Raised(other)) | (Self::Interrupt(one), Self::Interrupt(other)) => {
                Arc::ptr_eq(one, other)
            }
            (Self::Answer { what: one, .. }, Self::Answer { what: other, .. }) => one == other,
            _ => false,
        }
    }
}
