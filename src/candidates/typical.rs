//! Candidates by how close their surprise is to the entropy.
//!
//! `|H + ln P|` is the distance of a score from that score whose surprise is the entropy, over `T`. So the most typical are a
//! band of scores around a center: a bound brings out all above it, of which those are the band that are no further from the
//! center than the bound is. If the band holds the mass, the cut is in it; if not, the bound is lowered. In the band, halves
//! are selected towards the cut; nothing is sorted but the last few.

use super::{Candidates, MET, Scratch};

/// A candidate and its distance from the center.
#[derive(Debug, Clone, Copy)]
pub(super) struct Near {
    /// The bits of a non-negative `f64`, which order as it does.
    distance: u64,
    /// Where among the gathered scores; ties go to the lower.
    place: u32,
    weight: f32,
}

impl Near {
    fn key(&self) -> (u64, u32) {
        (self.distance, self.place)
    }
}

/// The mass to come to.
#[derive(Clone, Copy)]
struct Goal {
    mass: f64,
    exceed: bool,
}

impl Goal {
    fn reached(self, mass: f64) -> bool {
        if self.exceed { mass > self.mass } else { mass >= self.mass }
    }
}

impl Candidates<'_> {
    /// Keeps those closest to the entropy whose mass is at least `p` (or exceeds it), but no fewer than `min_keep`; with
    /// `ties` also all that are as close as the last of them. Returns the distance of the last, in nats.
    pub(crate) fn keep_typical(&mut self, p: f64, min_keep: usize, exceed: bool, ties: bool) -> f64 {
        let entropy = self.entropy();
        let total = self.total();
        let center = f64::from(self.max) + self.temperature * (total.log() - entropy);
        let goal = Goal { mass: if exceed { p / MET } else { p * MET } * total.sum, exceed };
        let mut parts = 32;
        loop {
            let whole = self.all_at_once(parts);
            let bound = if whole { f32::MIN } else { self.bound(parts) };
            let count = self.gather(bound);
            let total = self.total();
            self.weigh_gathered(count, total);
            let reach = if whole { f64::INFINITY } else { center - f64::from(bound) };
            let Scratch { values, floats, near, .. } = &mut *self.scratch;
            near.clear();
            for ((&x, &weight), place) in values[..count].iter().zip(&*floats).zip(0..) {
                let distance = (f64::from(x) - center).abs();
                // At the bound itself rounding may hide a score just below, which was not gathered.
                if distance < reach {
                    near.push(Near { distance: distance.to_bits(), place, weight });
                }
            }
            if let Some(rank) = settle(near, goal, min_keep, whole) {
                return self.keep_nearest(rank, ties);
            }
            parts *= 8;
        }
    }

    /// Keeps the first `rank` of the band, which are the nearest.
    fn keep_nearest(&mut self, rank: usize, ties: bool) -> f64 {
        let temperature = self.temperature;
        let Scratch { values, indices, near, .. } = &mut *self.scratch;
        let last = near[..rank].iter().map(|near| near.distance).max().unwrap_or(0);
        if ties {
            near.retain(|near| near.distance <= last);
        } else {
            near.truncate(rank);
        }
        near.sort_unstable_by_key(|near| near.place);
        for (at, place) in near.iter().map(|near| near.place as usize).enumerate() {
            values[at] = values[place];
            indices[at] = indices[place];
        }
        let count = near.len();
        self.adopt(count);
        f64::from_bits(last) / temperature
    }
}

/// How many of the nearest it takes, moved to the front; `None` if all do not do and there are more.
fn settle(near: &mut [Near], goal: Goal, min_keep: usize, whole: bool) -> Option<usize> {
    let length = near.len();
    let (mut rest, mut rank, mut sum) = (&mut *near, 0, 0.0);
    while rest.len() > 64 {
        let middle = rest.len() / 2;
        rest.select_nth_unstable_by_key(middle, Near::key);
        let (nearer, farther) = rest.split_at_mut(middle);
        let mass: f64 = nearer.iter().map(|near| f64::from(near.weight)).sum();
        if goal.reached(sum + mass) {
            rest = nearer;
        } else {
            sum += mass;
            rank += middle;
            rest = farther;
        }
    }
    rest.sort_unstable_by_key(Near::key);
    let found = rest.iter().position(|near| {
        sum += f64::from(near.weight);
        goal.reached(sum)
    });
    // Rounding may leave the mass of all just below: then nothing is cut.
    let rank = found.map(|at| rank + at + 1).or(whole.then_some(length))?;
    if rank >= min_keep {
        return Some(rank);
    }
    if min_keep > length {
        return whole.then_some(length);
    }
    if min_keep < length {
        near.select_nth_unstable_by_key(min_keep, Near::key);
    }
    Some(min_keep)
}
