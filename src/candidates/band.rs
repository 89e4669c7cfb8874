//! Where sums over a flat row cross a limit as the distance from a center grows: thousands of candidates, few of them looked at.
//!
//! As `bracket` does it for the nucleus: a sample tells between which two distances the limit is likely crossed. One pass sums
//! what is nearer than both, a band of scores around the center, and takes out what lies between, some hundredths of the row,
//! among which `crossing` then selects; where scores are rounded, these are many of few kinds, each of which is told once. What
//! the sample says is only a guess: if the limit is not crossed there after all, nothing is lost but time.

mod kinds;

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

/// So often a bin is halved to find where in it the limit is crossed: the sample tells less.
const HALVINGS: u32 = 10;

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
        let Near { count, mass, moment, doubtful } = self.read_band(band);
        #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
        let before = (question.adds)([mass, moment, count as f64]);
        if count > 0 && !(question.short)(before) {
            return None;
        }
        let kinds = if doubtful > FEW { self.tell_once(doubtful) } else { None };
        let told = kinds.unwrap_or(doubtful);
        self.weigh_gathered(told, total.shift);
        let Scratch { values, floats, indices, tied, .. } = &mut *self.scratch;
        let times = |at: usize| if kinds.is_some() { indices[at] } else { 1 };
        let items = values[..told].iter().zip(&*floats).enumerate();
        let items = items.map(|(at, pair)| Item { times: times(at), ..question.item(pair) });
        let items = items.filter(|item| question.counts(item));
        let (key, before) = Bins::between(near, far).crossed(items.clone(), question, before, false, tied)?;
        let distance = f64::from_bits(key);
        let is_level = |item: &Item| (f64::from_bits(item.key) - distance).abs() <= question.slack;
        if kinds.is_some() && items.filter(is_level).count() > 1 {
            // They stay by their places, which are not told.
            return None;
        }
        let known = (near == 0.0 || distance - question.slack >= near) && distance + question.slack < far;
        known.then_some(Crossing { distance, before, gathered: told, times: tied[0].times as usize })
    }

    /// Sums over the core of a band; what of it is not in the core comes into the scratch values.
    fn read_band(&mut self, band: Band) -> Near {
        let row = scores(self.input, self.store, self.view);
        let values = &mut self.scratch.values;
        grow(values, row.len() + LANES);
        self.kernels.band(row, Base::new(self.temperature), self.max, band, values)
    }

    /// Two distances between which the limit is likely crossed, by what is heavy and a sample of the others.
    fn likely_crossed<A, S>(&mut self, question: &Question<A, S>, total: Total, heavy: Heavy) -> Option<[f64; 2]>
    where
        A: Fn([f64; 3]) -> Sums,
        S: Fn(Sums) -> bool,
    {
        self.sample_below(heavy.bound);
        let Scratch { values, floats, shifted, narrowed, octaves, .. } = &mut *self.scratch;
        let (sample, weights) = (&shifted[..SAMPLE], &narrowed[..SAMPLE]);
        let mut octaves = Octaves::up_to(question.center.abs() + WEIGHTY * self.temperature, octaves);
        for pair in values[..heavy.count].iter().zip(&*floats) {
            octaves.add(question.item(pair), question, 1.0);
        }
        let squares: f64 = weights.iter().map(|&weight| f64::from(weight) * f64::from(weight)).sum();
        let mass = total.sum - spread_sum(&floats[..heavy.count]);
        let sampled = spread_sum(weights);
        if mass <= 0.0 || sampled == 0.0 {
            return None;
        }
        let scale = mass / sampled;
        for pair in sample.iter().zip(weights).filter(|(x, _)| **x > f32::NEG_INFINITY) {
            octaves.add(question.item(pair), question, scale);
        }
        octaves.add_up();
        let bin = octaves.position(|sums| sums[0] == 0.0 || (question.short)(sums))?;
        let crossed = octaves.mass_crossed(bin, &question.short);
        // Heavy ones are not sampled.
        let known = values[..heavy.count].iter().zip(&*floats).map(|pair| question.item(pair));
        let known = known.filter(|item| octaves.bin(item.key) <= bin).map(|item| f64::from(item.weight));
        let share = ((crossed - known.sum::<f64>()) / mass).clamp(0.0, 1.0);
        let error = CONFIDENCE * scale * (share * (1.0 - share) * squares).sqrt();
        let low = octaves.position(|sums| sums[0] < crossed - error)?;
        let high = octaves.position(|sums| sums[0] < crossed + error).unwrap_or(BINS - 1);
        // A little more on both sides, for those as far as the last one within rounding.
        let (near, far) = (octaves.edge(low) - 2.0 * question.slack, octaves.edge(high + 1) + 2.0 * question.slack);
        Some([near.max(0.0), far])
    }

    /// Leaves a sample of the scores below `bound` in `shifted`, -inf for the others, and its weights in `narrowed`.
    fn sample_below(&mut self, bound: f32) {
        let row = scores(self.input, self.store, self.view);
        let Scratch { shifted, narrowed, .. } = &mut *self.scratch;
        for buffer in [&mut *shifted, &mut *narrowed] {
            grow(buffer, SAMPLE);
        }
        let (sample, weights) = (&mut shifted[..SAMPLE], &mut narrowed[..SAMPLE]);
        take(self.kernels, row, sample);
        for x in &mut *sample {
            *x = if *x < bound { *x } else { f32::NEG_INFINITY };
        }
        self.kernels.weights(&*sample, Base::new(self.temperature), self.max, weights);
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

    /// The mass at which the limit is crossed inside a bin, if what is in it is all alike: of many equal scores one bin has
    /// more than a sample may err by.
    fn mass_crossed(&self, bin: usize, short: impl Fn(Sums) -> bool) -> f64 {
        let before = bin.checked_sub(1).map_or([0.0; 2], |bin| self.bins[bin]);
        let (mut below, mut reached) = (before, self.bins[bin]);
        for _ in 0..HALVINGS {
            let middle = add(below, reached).map(|sum| sum / 2.0);
            *(if short(middle) { &mut below } else { &mut reached }) = middle;
        }
        reached[0]
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
    use crate::candidates::{Sums as Read, Workspace, with_workspace};
    use crate::kernels::{Kernels, available};

    /// A bell of scores that are rounded to `step`.
    fn rounded(sigma: f32, step: f32) -> Vec<f32> {
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            f32::from(u16::try_from(state >> 48).expect("16 bits")) / 65_536.0
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f32>() - 6.0;
        (0..60_000).map(|_| (normal() * sigma / step).round() * step).collect()
    }

    /// The distance at which the sums over all that are no farther are not short any more.
    fn crossed<A, S>(question: &Question<A, S>, row: &[f32], weights: &[f32]) -> f64
    where
        A: Fn([f64; 3]) -> Sums,
        S: Fn(Sums) -> bool,
    {
        let mut items: Vec<Item> = row.iter().zip(weights).map(|pair| question.item(pair)).collect();
        items.sort_by_key(|item| item.key);
        let mut sums = [0.0; 2];
        let mut equals = items.chunk_by(|a, b| a.key == b.key).map(|level| {
            sums = level.iter().fold(sums, |sums, &item| add(sums, question.added_by(item)));
            (level[0].key, (question.short)(sums))
        });
        f64::from_bits(equals.find(|&(_, short)| !short).expect("the limit is crossed").0)
    }

    /// Of rounded scores few are looked at, and the limit is crossed where it is in the sums over all.
    #[test]
    fn rounded_scores_are_told_by_their_kinds() {
        let rows =
            [(1.0, 0.1), (1.0, 1.0), (2.0, 0.125), (3.0, 0.1), (3.0, 0.5)].map(|(sigma, step)| rounded(sigma, step));
        for (row, p) in rows.iter().flat_map(|row| [0.1, 0.2, 0.5, 0.8, 0.95].map(|p| (row, p))) {
            for kernels in available() {
                with_workspace(|workspace| check(kernels, row, p, workspace));
            }
        }
    }

    /// By mass from the mean on, as typical asks it, and by entropy from the best on, as top-H does.
    fn check(kernels: &'static Kernels, row: &Vec<f32>, p: f64, workspace: &mut Workspace) {
        let mut candidates = Candidates::new(kernels, row.into(), workspace, Read::None).expect("good scores");
        let (max, total) = (candidates.max(), candidates.total().sum);
        let (log_mass, entropy, center) = (candidates.log_mass(), candidates.entropy(), candidates.mean());
        let mut weights = vec![0.0; row.len()];
        kernels.weights(row, Base::new(1.0), max, &mut weights);
        let by_mass = Question {
            max: max.into(),
            center,
            slack: 1e-6,
            weightless: true,
            adds: |[mass, _, count]: [f64; 3]| [mass, count],
            short: |[mass, _]: Sums| mass < p * total,
        };
        let crossing = candidates.crossing(&by_mass);
        assert_eq!(crossed(&by_mass, row, &weights), crossing.distance, "mass {p}");
        assert!(crossing.gathered <= FEW, "{} looked at for mass {p}", crossing.gathered);
        let by_entropy = Question {
            max: max.into(),
            center: 0.0,
            slack: 0.0,
            weightless: false,
            adds: |[mass, moment, _]: [f64; 3]| [mass, mass * log_mass - moment],
            short: |[mass, terms]: Sums| terms / mass + crate::math::ln(mass / total) <= p * entropy,
        };
        let crossing = candidates.crossing(&by_entropy);
        assert_eq!(crossed(&by_entropy, row, &weights), crossing.distance, "entropy {p}");
        assert!(crossing.gathered <= FEW, "{} looked at for entropy {p}", crossing.gathered);
    }

    /// A row whose limit is crossed nearer or farther than its sample says: by how much, more or less.
    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places, which came as scores")]
    fn what_a_sample_says_is_not_taken_for_granted() {
        let places: Vec<f32> = (0..60_000_u16).map(f32::from).collect();
        let uniform = |at: u32| f32::from(u16::try_from(at * 40_503 % 8_191).unwrap()) / 8_191.0;
        for kernels in available() {
            let mut sample = vec![0.0; SAMPLE];
            take(kernels, (&places).into(), &mut sample);
            for pull in (-20_i8..=20).map(|pull| f32::from(pull) / 20.0) {
                let mut row: Vec<f32> = (0..60_000).map(uniform).collect();
                row[1] = 1.0;
                for at in &sample {
                    let x = &mut row[*at as usize];
                    // To the center, or away from it.
                    let to = if pull > 0.0 { 0.5 } else { (*x).round() };
                    *x += (to - *x) * pull.abs();
                }
                for slack in [0.0, 1.0 / 128.0] {
                    with_workspace(|workspace| check_slack(kernels, &row, slack, workspace));
                }
            }
        }
    }

    /// The crossing of half of the mass is that of its definition, and what is level with it was gathered.
    fn check_slack(kernels: &'static Kernels, row: &Vec<f32>, slack: f64, workspace: &mut Workspace) {
        let mut candidates = Candidates::new(kernels, row.into(), workspace, Read::None).expect("good scores");
        let half = candidates.total().sum / 2.0;
        let (adds, short) = (|[mass, ..]: [f64; 3]| [mass, 0.0], |[mass, _]: Sums| mass < half);
        let question = Question { max: 1.0, center: -0.5, slack, weightless: true, adds, short };
        let Crossing { distance, gathered, .. } = candidates.crossing(&question);
        assert_eq!(crossed_at_half(row).0, distance);
        let is_level = |x: &&f32| (question.distance(**x) - distance).abs() <= question.slack;
        let level = candidates.scratch.values[..gathered].iter().filter(is_level).count();
        assert_eq!(row.iter().filter(is_level).count(), level);
    }

    /// Two kinds at one distance are two that the crossing stands for, each with its own number.
    #[test]
    fn kinds_on_both_sides_are_not_mixed() {
        let uniform = |at: u16| f32::from(at.wrapping_mul(0x9e37)) / 65_536.0;
        let row: Vec<f32> = (0..40_000).map(|at| (uniform(at) * uniform(at) * 16.0).round() / 16.0).collect();
        assert_eq!(1.0, row.iter().copied().fold(0.0, f32::max));
        for kernels in available() {
            with_workspace(|workspace| {
                let mut candidates =
                    Candidates::new(kernels, (&row).into(), workspace, Read::None).expect("good scores");
                let half = candidates.total().sum / 2.0;
                let (adds, short) = (|[mass, ..]: [f64; 3]| [mass, 0.0], |[mass, _]: Sums| mass < half);
                let question = Question { max: 1.0, center: -0.5, slack: 0.0, weightless: true, adds, short };
                let Crossing { distance, times, .. } = candidates.crossing(&question);
                assert_eq!(crossed_at_half(&row), (distance, times * candidates.scratch.tied.len()));
            });
        }
    }

    /// Of these scores, of which the largest is 1, the distance from 1/2 at which those no farther have half of the mass, and
    /// how many are at it; by its definition.
    fn crossed_at_half(row: &[f32]) -> (f64, usize) {
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
                    assert_eq!(crossed_at_half(row), (distance, at_distance), "{}", kernels.name());
                    assert!(if equal { times == at_distance } else { gathered < row.len() / 8 }, "{gathered}");
                });
            }
        }
    }
}
