//! The record of one draw: what each stage did to the candidates.
//!
//! A traced draw runs the same stages on the same scores, one at a time, and looks at what is left after each; it gives the
//! same token. A draw without a trace does nothing of it.

use crate::candidates::Candidates;
use crate::math;
use crate::stage::{Kind, Stage};

/// What one stage did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The stage.
    pub stage: Stage,
    /// How many candidates came to it.
    pub before: usize,
    /// How many it left.
    pub after: usize,
    /// The probability of those that it removed, as they came to it.
    pub mass: f64,
    /// The limit that it used: the temperature; the least score kept of a cut by rank or mass or score; the least
    /// probability of a cut by probability; the largest distance from the entropy, in nats; the bound on the surprise, in bits; the
    /// probability aimed at. `None` for what has no such number, or did nothing.
    pub limit: Option<f64>,
}

/// What became of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was a candidate of the draw.
    Kept,
    /// Its score came in as -inf.
    Impossible,
    /// This stage removed it.
    Removed(Stage),
}

/// The record of one draw.
///
/// ```
/// use sortition::{Fate, Params, Sampler, Stage};
/// let mut sampler = Sampler::new(Params { top_k: Some(2), ..Params::default() }, &[], None, &[], 0)?;
/// let trace = sampler.draw_traced(&[1.0, 3.0, 2.0, 0.0], None, 0)?.trace.unwrap();
/// assert_eq!((4, 2), (trace.steps()[0].before, trace.steps()[0].after));
/// assert_eq!(Fate::Removed(Stage::TopK), trace.fate(0));
/// assert_eq!(Fate::Kept, trace.fate(1));
/// # Ok::<(), sortition::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    steps: Vec<Step>,
    /// For each token: 0 if it was kept, 1 if it came in as impossible, else 2 and the step that removed it.
    fates: Vec<u8>,
    /// The candidates and their probabilities as they come to the next stage.
    left: Vec<(u32, f64)>,
}

impl Trace {
    /// What each stage did, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What became of a token; those beyond the vocabulary are impossible.
    #[must_use]
    pub fn fate(&self, token: u32) -> Fate {
        match self.fates.get(token as usize) {
            Some(0) => Fate::Kept,
            Some(&step) if step > 1 => Fate::Removed(self.steps[usize::from(step) - 2].stage),
            _ => Fate::Impossible,
        }
    }

    /// The fate of every token: 0 kept, 1 impossible, else two more than the index of the step.
    #[must_use]
    pub fn fates(&self) -> &[u8] {
        &self.fates
    }

    /// Notes the candidates that come to the first stage; what is returned notes what each stage left.
    pub(crate) fn begin<'t>(
        &'t mut self,
        candidates: &mut Candidates<'_>,
    ) -> impl FnMut(Stage, Option<f64>, &mut Candidates<'_>) + use<'t> {
        self.fates = vec![1; candidates.vocabulary()];
        self.left = probabilities(candidates);
        for &(id, _) in &self.left {
            self.fates[id as usize] = 0;
        }
        |stage, limit, candidates| self.record(stage, limit, candidates)
    }

    /// Notes what a stage left.
    fn record(&mut self, stage: Stage, limit: Option<f64>, candidates: &mut Candidates<'_>) {
        let came = std::mem::replace(&mut self.left, probabilities(candidates));
        let step = u8::try_from(self.steps.len() + 2).unwrap_or(u8::MAX);
        let mut left = self.left.iter().map(|&(id, _)| id).peekable();
        let mut mass = 0.0;
        for &(id, p) in &came {
            if left.next_if_eq(&id).is_none() {
                self.fates[id as usize] = step;
                mass += p;
            }
        }
        let (before, after) = (came.len(), self.left.len());
        let by_rank = stage.kind() == Kind::Cut && before > after;
        let least = || by_rank.then(|| f64::from(candidates.least()));
        // What is beyond all numbers limits nothing, and has no place in JSON.
        let limit = limit.or_else(least).map(|limit| limit.clamp(f64::MIN, f64::MAX));
        // Rounding leaves the sum of nearly all a little above one.
        self.steps.push(Step { stage, before, after, mass: mass.min(1.0), limit });
    }
}

/// The candidates, ascending, with their probabilities.
fn probabilities(candidates: &mut Candidates<'_>) -> Vec<(u32, f64)> {
    candidates.list().into_iter().map(|(id, x)| (id, math::exp(candidates.logprob(x)))).collect()
}
