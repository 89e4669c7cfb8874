//! Where sums over a flat row cross a limit as the distance from a center grows: thousands of candidates, few of them looked at.
//!
//! As `bracket` does it for the nucleus: a sample tells between which two distances the limit is likely crossed. One pass sums
//! what is nearer than both, a band of scores around the center, and takes out what lies between, some hundredths of the row,
//! among which `crossing` then selects, unless all of them are equal: then one tells all. What the sample says is only a guess:
//! if the limit is not crossed there after all, nothing is lost but time.

use super::bracket::are_equal;
use super::crossing::{Bins, Crossing, FEW, Heavy, Item, Question, Sums, WEIGHTY, add};
use super::edge::spread_sum;
use super::mass::Total;
use super::sample::{CONFIDENCE, SAMPLE, take};
use super::{Candidates, LANES, Scratch, grow, scores};
use crate::kernels::{Band, Base, Near};

/// Bits of a distance that do not tell its bin: an octave has 128.
const BIN: u32 = 52 - 7;

/// Bins, up to the largest distance: 24 octaves.
const BINS: usize = 24 << 7;

/// Where more than one in so many candidates is heavy, nothing is to be saved.
const HEAVY: usize = 8;

impl Candidates<'_> {
    /// [`Self::crossing`], if a sample tells where. The scores are not shifted for their weights, or it is `None`.
    pub(super) fn crossing_in_band<A, S>(
        &mut self,
        question: &Question<A, S>,
        total: Total,
        heavy: Heavy,
    ) -> Option<Crossing>
    where
        A: Fn([f64; 3]) -> Sums,
        S: Fn(Sums) -> bool,
    {
        let places = self.places();
        if places < 2 * SAMPLE || heavy.count > places / HEAVY || total.shift.is_some() {
            return None;
        }
        let [near, far] = self.likely_crossed(question, total, heavy)?;
        let band = Band { core: question.nearer(near), all: question.nearer(far) };
        let base = Base::new(self.temperature);
        let row = scores(self.input, self.store, self.view);
        grow(&mut self.scratch.values, places + LANES);
        let Near { count, mass, moment, doubtful } =
            self.kernels.band(row, base, self.max, band, &mut self.scratch.values);
        #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
        let before = (question.adds)([mass, moment, count as f64]);
        if count > 0 && !(question.short)(before) {
            return None;
        }
        let one_tells_all = doubtful > FEW && are_equal(self.kernels, &self.scratch.values[..doubtful]);
        let weighed = if one_tells_all { 1 } else { doubtful };
        self.weigh_gathered(weighed, total.shift);
        let Scratch { values, floats, tied, .. } = &mut *self.scratch;
        let items = values[..weighed].iter().zip(&*floats).map(|pair| question.item(pair));
        let mut items = items.filter(|item| question.counts(item));
        let (key, before, times) = if one_tells_all {
            let item = items.next()?;
            tied.clear();
            tied.push(item);
            let is_short = (question.short)(add(before, question.added_by_equals(item, doubtful)));
            (!is_short).then_some((item.key, before, doubtful))?
        } else {
            let (key, before) = Bins::between(near, far).crossed(items, question, before, false, tied)?;
            (key, before, 1)
        };
        let distance = f64::from_bits(key);
        let known = (near == 0.0 || distance - question.slack >= near) && distance + question.slack < far;
        known.then_some(Crossing { distance, before, gathered: doubtful, times })
    }

    /// Two distances between which the limit is likely crossed, by what is heavy and a sample of the others.
    fn likely_crossed<A, S>(&mut self, question: &Question<A, S>, total: Total, heavy: Heavy) -> Option<[f64; 2]>
    where
        A: Fn([f64; 3]) -> Sums,
        S: Fn(Sums) -> bool,
    {
        let row = scores(self.input, self.store, self.view);
        let Scratch { values, floats, shifted, narrowed, octaves, .. } = &mut *self.scratch;
        let mut octaves = Octaves::up_to(question.center.abs() + WEIGHTY * self.temperature, octaves);
        for pair in values[..heavy.count].iter().zip(&*floats) {
            octaves.add(question.item(pair), question, 1.0);
        }
        for buffer in [&mut *shifted, &mut *narrowed] {
            grow(buffer, SAMPLE);
        }
        let (sample, weights) = (&mut shifted[..SAMPLE], &mut narrowed[..SAMPLE]);
        take(self.kernels, row, sample);
        for x in &mut *sample {
            *x = if *x < heavy.bound { *x } else { f32::NEG_INFINITY };
        }
        self.kernels.weights(&*sample, Base::new(self.temperature), self.max, weights);
        let squares: f64 = weights.iter().map(|&weight| f64::from(weight) * f64::from(weight)).sum();
        let mass = total.sum - spread_sum(&floats[..heavy.count]);
        let sampled = spread_sum(weights);
        if mass <= 0.0 || sampled == 0.0 {
            return None;
        }
        let scale = mass / sampled;
        for pair in sample.iter().zip(&*weights).filter(|(x, _)| **x > f32::NEG_INFINITY) {
            octaves.add(question.item(pair), question, scale);
        }
        octaves.add_up();
        let bin = octaves.position(|sums| sums[0] == 0.0 || (question.short)(sums))?;
        let reached = octaves.bins[bin][0];
        // Heavy ones are not sampled.
        let known = values[..heavy.count].iter().zip(&*floats).map(|pair| question.item(pair));
        let known = known.filter(|item| octaves.bin(item.key) <= bin).map(|item| f64::from(item.weight));
        let share = ((reached - known.sum::<f64>()) / mass).clamp(0.0, 1.0);
        let error = CONFIDENCE * scale * (share * (1.0 - share) * squares).sqrt();
        let (low, high) = if octaves.is_certain(bin, error, &question.short) {
            (bin, bin)
        } else {
            let low = octaves.position(|sums| sums[0] < reached - error)?;
            (low, octaves.position(|sums| sums[0] < reached + error).unwrap_or(BINS - 1))
        };
        // A little more on both sides, for those as far as the last one within rounding.
        let (near, far) = (octaves.edge(low) - 2.0 * question.slack, octaves.edge(high + 1) + 2.0 * question.slack);
        Some([near.max(0.0), far])
    }
}

/// Sums by distance.
struct Octaves<'a> {
    bottom: u64,
    bins: &'a mut [Sums],
}

impl<'a> Octaves<'a> {
    /// What is farther counts as being as far.
    fn up_to(farthest: f64, bins: &'a mut Vec<Sums>) -> Self {
        bins.clear();
        bins.resize(BINS, [0.0; 2]);
        Self { bottom: (farthest.to_bits() >> BIN).saturating_sub(BINS as u64 - 1), bins }
    }

    fn bin(&self, key: u64) -> usize {
        usize::try_from((key >> BIN).saturating_sub(self.bottom)).map_or(BINS - 1, |bin| bin.min(BINS - 1))
    }

    /// The least distance of a bin; what is nearer than the others is in the first.
    fn edge(&self, bin: usize) -> f64 {
        if bin == 0 { 0.0 } else { f64::from_bits((self.bottom + bin as u64) << BIN) }
    }

    fn add<A: Fn([f64; 3]) -> Sums, S>(&mut self, item: Item, question: &Question<A, S>, times: f64) {
        let bin = &mut self.bins[self.bin(item.key)];
        *bin = add(*bin, question.added_by(item).map(|sum| sum * times));
    }

    /// From here on each bin has the sums of all up to it.
    fn add_up(&mut self) {
        let mut sums = [0.0; 2];
        for bin in &mut *self.bins {
            sums = add(sums, *bin);
            *bin = sums;
        }
    }

    /// Whether what is short up to a bin, and is not with it, would be so if each mass were wrong by `error`: then many equal
    /// scores are in it.
    fn is_certain(&self, bin: usize, error: f64, short: impl Fn(Sums) -> bool) -> bool {
        let wrong_by = |sums: Sums, error: f64| sums.map(|sum| sum * (1.0 + error / sums[0]));
        let before = bin.checked_sub(1).map_or([0.0; 2], |bin| self.bins[bin]);
        !short(wrong_by(self.bins[bin], -error)) && (before[0] == 0.0 || short(wrong_by(before, error)))
    }

    /// The first bin of which something does not hold that holds for all before, and for none behind.
    fn position(&self, holds: impl Fn(Sums) -> bool) -> Option<usize> {
        let bin = self.bins.partition_point(|&sums| holds(sums));
        (bin < BINS).then_some(bin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Sums as Read, with_workspace};
    use crate::kernels::available;

    /// Of these scores, of which the largest is 1, the distance from 1/2 at which those no farther have half of the mass, and
    /// how many are at it; by its definition.
    fn crossed(row: &[f32]) -> (f64, usize) {
        #[expect(clippy::disallowed_methods, reason = "what is right comes from elsewhere than what is tested")]
        let weigh = |&x: &f32| ((f64::from(x) - 0.5).abs(), f64::from(x).exp());
        let mut weighed: Vec<_> = row.iter().map(weigh).collect();
        weighed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left = weighed.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
        let crossed = weighed.iter().find(|(_, weight)| {
            left -= weight;
            left <= 0.0
        });
        let (distance, _) = *crossed.expect("half of the mass");
        (distance, weighed.iter().filter(|other| other.0 == distance).count())
    }

    /// Hardly any scores are equal; or half of all are, and others stand at other distances: then one tells of all.
    #[test]
    fn little_of_a_flat_row_is_in_doubt() {
        let uniform = |at: u16| f32::from(at.wrapping_mul(0x9e37)) / 65_536.0;
        let rounded = |x: f32| (x * 16.0).floor() / 16.0 + 1.0 / 32.0;
        let rows: [Vec<f32>; 2] = [
            (0..40_000).map(|at| if at == 0 { 1.0 } else { uniform(at) }).collect(),
            (0..40_000).map(|at| [1.0, 0.625, rounded(uniform(at))][usize::from(at.min(1 + at % 2))]).collect(),
        ];
        for (row, equal) in rows.iter().zip([false, true]) {
            for kernels in available() {
                with_workspace(|workspace| {
                    let mut candidates =
                        Candidates::new(kernels, row.into(), workspace, Read::None).expect("good scores");
                    let half = candidates.total().sum / 2.0;
                    let (adds, short) = (|[mass, ..]: [f64; 3]| [mass, 0.0], |[mass, _]: Sums| mass < half);
                    let question = Question { max: 1.0, center: -0.5, slack: 0.0, weightless: true, adds, short };
                    let Crossing { distance, gathered, times, .. } = candidates.crossing(&question);
                    let at_distance = times * candidates.scratch.tied.len();
                    assert_eq!(crossed(row), (distance, at_distance), "{}", kernels.name());
                    assert!(if equal { times == at_distance } else { gathered < row.len() / 8 }, "{gathered}");
                });
            }
        }
    }
}
