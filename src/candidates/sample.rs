//! Samples of scores: what they weigh together, and where in their order a mass is likely reached.
//!
//! The weights of a sample are thrown into bins by their leading bits, which ascend as weights do, and added up from the largest
//! on. How far the place where the target is reached may be off follows from the squares of the weights on both sides of it.
//! All of it is a guess that the caller checks.

use super::edge::spread_sum;
use super::grow;
use crate::kernels::{Base, Bracket, Kernels};
use crate::scores::Scores;

/// Scores of a sample that lie side by side: a line of memory. In a sorted row they are alike, so that fewer, longer runs tell
/// less.
pub(super) const RUN: usize = 16;

/// Scores of a sample.
pub(super) const SAMPLE: usize = 256 * RUN;

/// Scores of a sample that tells a mass alone.
const PROBE: usize = SAMPLE / 4;

/// The error that a bracket allows for, in standard errors.
pub(super) const CONFIDENCE: f64 = 3.0;

/// Octaves of weights below the largest that are told apart, and parts of them: an octave has 128, or all are finer.
const OCTAVES: u32 = 24;
const BINS_U32: u32 = 128 * OCTAVES;
const BINS: usize = BINS_U32 as usize;

/// Bins that are looked at together.
const GROUP: usize = 64;

/// A score is told from a weight by a logarithm, and a weight is rounded: a bracket is wider by this part of the weights at
/// its ends.
const SLACK: f64 = 1.0 / 1_048_576.0;

/// How scores are sampled and weighed.
pub(super) struct Sample<'a> {
    pub(super) kernels: &'a Kernels,
    pub(super) base: Base,
    /// The largest score of the row.
    pub(super) max: f32,
    pub(super) floats: &'a mut Vec<f32>,
}

impl<'a> Sample<'a> {
    /// The mass of the scores below `bound`, by a sample of [`PROBE`].
    pub(super) fn mass(self, xs: Scores<'_>, bound: f32) -> f64 {
        let weights = self.weights(xs, bound, PROBE);
        spread_sum(weights) * ratio(xs.len(), weights.len())
    }

    /// Where a target in the scores below `bound` is likely reached, by a sample of `size`.
    pub(super) fn bracket(self, xs: Scores<'_>, bound: f32, size: usize, aim: Aim) -> Option<Bracket> {
        let (base, max) = (self.base, self.max);
        let weights = self.weights(xs, bound, size);
        let [low, high] = between(weights, xs.len(), aim)?;
        let score = |weight: f64| base.score(weight, max);
        let high = high.map_or(f32::INFINITY, |weight| score(weight * (1.0 + SLACK)).next_up());
        let low = low.map_or(f32::MIN, |weight| score(weight * (1.0 - SLACK)).next_down().max(f32::MIN));
        (low < high).then_some(Bracket { low, high, max })
    }

    /// Weights of a sample, those of scores from `bound` on zero.
    fn weights(self, xs: Scores<'_>, bound: f32, size: usize) -> &'a [f32] {
        grow(self.floats, 2 * SAMPLE);
        let (scores, weights) = self.floats.split_at_mut(SAMPLE);
        let size = xs.len().min(size) / RUN * RUN;
        let (scores, weights) = (&mut scores[..size], &mut weights[..size]);
        take(self.kernels, xs, scores);
        for x in &mut *scores {
            *x = if *x < bound { *x } else { f32::NEG_INFINITY };
        }
        self.kernels.weights(&*scores, self.base, self.max, weights);
        weights
    }
}

/// Copies runs of scores to `out`.
///
/// Places go by the golden ratio: however many there are, they are spread evenly, and in step with no pattern of the row.
pub(super) fn take(kernels: &Kernels, xs: Scores<'_>, out: &mut [f32]) {
    let places = (xs.len() - RUN + 1) as u64;
    for (run, out) in (0_u64..).zip(out.chunks_mut(RUN)) {
        let spread = run.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let at = ((spread * places) >> 32) as usize;
        kernels.copy(xs.slice(at..at + RUN), &[], out);
    }
}

#[expect(clippy::cast_precision_loss, reason = "lengths fit 32 bits")]
fn ratio(length: usize, sample: usize) -> f64 {
    length as f64 / sample as f64
}

/// What is looked for.
#[derive(Clone, Copy)]
pub(super) struct Aim {
    pub(super) target: Target,
    /// The largest that a weight can be, and the least.
    pub(super) range: [f32; 2],
    /// The error that is allowed for, in standard errors.
    pub(super) confidence: f64,
}

/// What is to be reached, best first.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// With what is `heavy`, which is not in the sample, the share `p` of that and all others.
    Nucleus {
        p: f64,
        heavy: f64,
    },
    Mass(f64),
}

impl Target {
    /// Which share of a mass it is.
    fn share(self, mass: f64) -> f64 {
        match self {
            Self::Nucleus { p, heavy } => p - (1.0 - p) * heavy / mass,
            Self::Mass(wanted) => wanted / mass,
        }
    }

    /// By how much it changes with the mass that is better, and with that which is not.
    fn slopes(self) -> [f64; 2] {
        match self {
            Self::Nucleus { p, .. } => [1.0 - p, p],
            Self::Mass(_) => [1.0, 0.0],
        }
    }
}

/// Two weights between which the target is likely reached in `length` scores, by the `weights` of a sample: the lower and the
/// upper one, where there is one.
fn between(weights: &[f32], length: usize, aim: Aim) -> Option<[Option<f64>; 2]> {
    let Aim { target, range, confidence } = aim;
    let bins = Histogram::new(weights, range);
    let sum: f64 = bins.groups.iter().sum();
    let mass = target.share(sum * ratio(length, weights.len())) * sum;
    let error = confidence * bins.error(mass, weights.len(), target);
    let high = bins.reached(mass - error).map(|bin| bins.top(bin));
    let low = bins.reached(mass + error).filter(|&bin| bin + 1 < BINS).map(|bin| bins.top(bin + 1));
    (mass > 0.0).then_some([low, high])
}

/// Weights of a sample, added up by their size, the largest first.
struct Histogram {
    sums: [f32; BINS],
    groups: [f64; BINS / GROUP],
    /// The bits of the largest weight, and how many of them do not tell its bin. Weights sort as their bits do.
    largest: u32,
    shift: u32,
}

impl Histogram {
    fn new(weights: &[f32], range: [f32; 2]) -> Self {
        let [largest, least] = range.map(f32::to_bits);
        let range = largest.saturating_sub(least).min(OCTAVES << 23);
        // So many that the least is no further than just behind the last bin, and in the second half of them, unless each bin
        // holds one number.
        let shift = u32::BITS - (range / (BINS_U32 + 1)).leading_zeros();
        let mut sums = [0.0_f32; BINS];
        for weight in weights {
            sums[((largest.saturating_sub(weight.to_bits()) >> shift) as usize).min(BINS - 1)] += weight;
        }
        let mut groups = [0.0; BINS / GROUP];
        for (group, sums) in groups.iter_mut().zip(sums.as_chunks::<GROUP>().0) {
            let mut lanes = [0.0; 8];
            for eight in sums.as_chunks::<8>().0 {
                for (lane, sum) in lanes.iter_mut().zip(eight) {
                    *lane += sum;
                }
            }
            *group = lanes.into_iter().map(f64::from).sum();
        }
        Self { sums, groups, largest, shift }
    }

    /// The bin in which a mass is reached.
    fn reached(&self, mass: f64) -> Option<usize> {
        let mut left = mass;
        let group = self.groups.iter().position(|sum| {
            let here = left <= *sum;
            left -= if here { 0.0 } else { *sum };
            here
        })?;
        let bin = self.sums[group * GROUP..][..GROUP].iter().position(|&sum| {
            left -= f64::from(sum);
            left <= 0.0
        });
        Some(group * GROUP + bin.unwrap_or(GROUP - 1))
    }

    /// The standard error of a mass in a sample of so many, by which the target is reached: the weights vary, and so does how
    /// many are on either side of it.
    fn error(&self, mass: f64, size: usize, target: Target) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a sample is short")]
        let size = size as f64;
        let [better, other] = target.slopes();
        let (mut left, mut mean, mut squares) = (mass, 0.0, 0.0);
        for (group, &sum) in self.groups.iter().enumerate() {
            let inside = left.clamp(0.0, sum);
            left -= sum;
            mean += better * inside - other * (sum - inside);
            let middle = self.top(group * GROUP + GROUP / 2);
            squares += (better * better * inside + other * other * (sum - inside)) * middle;
        }
        (squares - mean * mean / size).max(0.0).sqrt()
    }

    /// The largest weight that can be in a bin.
    fn top(&self, bin: usize) -> f64 {
        let below = u32::try_from(bin).unwrap_or(u32::MAX).saturating_mul(1 << self.shift);
        f64::from(f32::from_bits(self.largest.saturating_sub(below)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::bracket::INNER;

    /// Weights that differ by many octaves, in samples: each tells between which two weights a part of all of them is reached,
    /// and nearly each is right.
    #[test]
    fn a_target_is_between_what_samples_tell() {
        const SAMPLES: usize = 100;
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            f32::from(u16::try_from(state >> 48).unwrap()) / 65_536.0
        };
        let mut cube = || {
            let u = uniform();
            u * u * u
        };
        let all: Vec<f32> = (0..SAMPLES * SAMPLE).map(|_| cube() * cube()).collect();
        let mut sorted = all.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let sum = spread_sum(&all);
        for p in [0.05, 0.5, 0.9, 0.99] {
            let mut left = p * sum;
            let edge = sorted.iter().copied().map(f64::from).find(|weight| {
                left -= weight;
                left <= 0.0
            });
            let edge = edge.unwrap();
            // A mass near that of all may be more than a sample holds: then an end is missing, and nothing is outside there.
            for (target, tells) in [(Target::Nucleus { p, heavy: 0.0 }, true), (Target::Mass(p * sum), p <= 0.5)] {
                let (mut missed, mut inside) = (0, 0);
                for sample in all.chunks(SAMPLE) {
                    let aim = Aim { target, range: [2.0, 0.0], confidence: CONFIDENCE };
                    let [low, high] = between(sample, all.len(), aim).unwrap();
                    assert!((low.is_some() && high.is_some()) || !tells);
                    let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
                    missed += usize::from(!(low..=high).contains(&edge));
                    inside += sorted.partition_point(|&weight| f64::from(weight) > low)
                        - sorted.partition_point(|&weight| f64::from(weight) > high);
                }
                // The weights are heavy-tailed, and the error is told by half octaves: somewhat more than .3 % are missed. A miss
                // costs only time.
                assert!(missed <= 5, "{missed} of {SAMPLES} missed at {p}");
                assert!(!tells || inside <= SAMPLES * all.len() / 10, "{inside} inside at {p}");
            }
        }
    }

    /// Inside a bracket all weights are about the same, and the sample is smaller.
    #[test]
    fn a_narrow_range_is_told_apart() {
        for (range, step) in [([1.5, 0.75], 1), ([1.01, 1.0], 1), ([f32::from_bits(0x3f80_0000 + 5000), 1.0], 10)] {
            let [largest, least] = range.map(f32::to_bits);
            // Every number in the range, or so many that are as far apart.
            let places = (0..u32::try_from(INNER).unwrap()).map(|at| at.wrapping_mul(0x9e37_79b9) >> 12);
            let weights: Vec<f32> =
                places.map(|place| f32::from_bits(largest - place * step % (largest - least + 1))).collect();
            let bins = Histogram::new(&weights, range);
            let end = ((largest - least) >> bins.shift) as usize;
            assert!(end <= BINS && (end >= BINS / 2 || bins.shift == 0), "{end} at {range:?}");
            let mut sorted = weights.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let mut mass = 0.0;
            for weight in sorted.into_iter().map(f64::from) {
                let bin = bins.reached(mass + weight / 2.0).unwrap();
                mass += weight;
                let bottom = if bin + 1 < BINS { bins.top(bin + 1) } else { range[1].into() };
                assert!((bottom..=bins.top(bin)).contains(&weight), "{weight} in {bin} of {range:?}");
            }
            assert!((bins.groups.iter().sum::<f64>() / mass - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn nothing_is_reached_without_a_weight() {
        let aim = Aim { target: Target::Mass(1.0), range: [0.0; 2], confidence: CONFIDENCE };
        assert!(between(&[0.0; RUN], 1000, aim).is_none());
    }
}
