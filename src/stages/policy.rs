//! Policies: they come last and remember what was drawn. Mirostat takes the place of the cuts.
//!
//! What a policy remembers is two numbers per token, kept by the sampler beside the output, so that a token taken back
//! takes its memory with it.

use super::{adaptive_p, mirostat};
use crate::candidates::Candidates;
use crate::math;
use crate::params::Params;
use crate::stage::Stage;

/// What a policy remembers at one position.
pub(crate) type Memory = [f64; 2];

/// A policy and its settings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Policy {
    Mirostat { version: u32, tau: f64, eta: f64 },
    AdaptiveP { target: f64, decay: f64 },
}

impl Policy {
    pub(crate) fn new(params: &Params) -> Option<Self> {
        let &Params { mirostat_tau: tau, mirostat_eta: eta, adaptive_decay: decay, .. } = params;
        let mirostat = params.mirostat.map(|version| Self::Mirostat { version, tau, eta });
        mirostat.or_else(|| params.adaptive_target.map(|target| Self::AdaptiveP { target, decay }))
    }

    pub(crate) fn stage(self) -> Stage {
        match self {
            Self::Mirostat { .. } => Stage::Mirostat,
            Self::AdaptiveP { .. } => Stage::AdaptiveP,
        }
    }

    /// A list with the memory before the first token, and room for those after some more.
    pub(crate) fn memories(self) -> Vec<Memory> {
        let mut memories = Vec::with_capacity(64);
        memories.push(self.start());
        memories
    }

    fn start(self) -> Memory {
        match self {
            Self::Mirostat { tau, .. } => [mirostat::start(tau), 0.0],
            Self::AdaptiveP { target, decay } => [target / (1.0 - decay), 1.0 / (1.0 - decay)],
        }
    }

    /// Whether this can be a memory.
    pub(crate) fn may_remember(self, [first, second]: Memory) -> bool {
        match self {
            Self::Mirostat { .. } => first.is_finite() && second == 0.0,
            Self::AdaptiveP { .. } => first >= 0.0 && first <= second && second >= 1.0 && second.is_finite(),
        }
    }

    /// Does to the candidates what the memory asks for; returns the surprise allowed, or the probability aimed at.
    pub(crate) fn apply(self, candidates: &mut Candidates<'_>, memory: Memory) -> f64 {
        match self {
            Self::Mirostat { version, .. } => {
                let keep = if version == 1 { mirostat::first } else { mirostat::second };
                keep(candidates, memory[0]);
                memory[0]
            }
            Self::AdaptiveP { target, .. } => adaptive_p::apply(candidates, target, memory),
        }
    }

    /// The natural logarithm of the probability of a token just drawn, as the policy counts it.
    pub(crate) fn logprob(self, candidates: &mut Candidates<'_>, token: u32) -> f64 {
        match self {
            Self::Mirostat { .. } => {
                let score = candidates.score(token);
                candidates.logprob(score)
            }
            Self::AdaptiveP { .. } => candidates.remembered(token),
        }
    }

    /// The memory after a token with this log-probability.
    pub(crate) fn next(self, memory: Memory, logprob: f64) -> Memory {
        match self {
            Self::Mirostat { tau, eta, .. } => [mirostat::next(memory[0], logprob, tau, eta), 0.0],
            Self::AdaptiveP { decay, .. } => adaptive_p::next(memory, math::exp(logprob), decay),
        }
    }
}
