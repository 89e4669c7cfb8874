//! Candidates by how close their surprise is to the entropy.
//!
//! `|H + ln P|` is the distance of a score from the mean of all scores, each counted by its probability, over `T`: the
//! logarithm of the mass is in both terms, and no digit need be lost to it. So the most typical are a band of scores around
//! the mean. `crossing` finds how wide it is. At its edge stand those that are as far as the last one within rounding, of
//! which the lower ids stay.

use super::crossing::{Crossing, Question, Sums, add};
use super::edge::least_number;
use super::{BLOCK, Candidates, MET, Scratch, scores};
use crate::math;

impl Candidates<'_> {
    /// Keeps those closest to the entropy whose mass is at least `p` (or exceeds it), but no fewer than `min_keep`; with
    /// `ties` also all that are as close as the last of them. Returns the distance of the last, in nats.
    pub(crate) fn keep_typical(&mut self, p: f64, min_keep: usize, exceed: bool, ties: bool) -> f64 {
        let center = self.mean();
        let slack = self.temperature * -math::ln(MET);
        let goal = if exceed { p / MET } else { p * MET } * self.total().sum;
        #[expect(clippy::cast_precision_loss, reason = "more than any vocabulary is all")]
        let min_keep = min_keep as f64;
        let adds = |[mass, _, count]: [f64; 3]| [mass, count];
        let short = |[mass, count]: Sums| count < min_keep || if exceed { mass <= goal } else { mass < goal };
        let question = Question { max: self.max.into(), center, slack, weightless: true, adds, short };
        let crossing = self.crossing(&question);
        let Crossing { distance: last, before, times, .. } = crossing;
        let (all, certain) = (question.nearer((last + slack).next_up()), question.nearer(last - slack));
        if times > 1 {
            // All that are level are equal.
            let one = self.scratch.tied[0];
            let reached = |stay| !short(add(before, question.added_by_equals(one, stay)));
            let stay = if ties { times } else { least_number(times, reached) };
            let nearer_are_better = f64::from(one.score) - question.max < center && self.max < certain[1];
            if stay < times && (nearer_are_better || (one.score == self.max && before[1] == 0.0)) {
                self.keep_down_to(one.score, stay, true);
            } else {
                self.keep_near(all, certain, (stay < times).then_some(stay));
            }
        } else {
            let stay = if ties { None } else { self.needed_of_level(&question, crossing) };
            self.keep_near(all, certain, stay);
        }
        last / self.temperature
    }

    /// How many it takes of those that are as far as the last one within rounding, of which the lower ids come first; `None` if
    /// all.
    fn needed_of_level<A, S>(&mut self, question: &Question<A, S>, crossing: Crossing) -> Option<usize>
    where
        A: Fn([f64; 3]) -> Sums,
        S: Fn(Sums) -> bool,
    {
        let Crossing { distance: last, before, gathered, .. } = crossing;
        let (near, far) = (last - question.slack, last + question.slack);
        let Scratch { values, floats, tied: level, .. } = &mut *self.scratch;
        let items = values[..gathered].iter().zip(&*floats).map(|pair| question.item(pair));
        let distance = |key: u64| f64::from_bits(key);
        level.clear();
        level.extend(items.filter(|item| (near..=far).contains(&distance(item.key))));
        // What is nearer than the last and yet level waits for its turn.
        let nearer = level.iter().filter(|item| distance(item.key) < last);
        let mut sums = nearer.fold(before, |[mass, count], item| [mass - f64::from(item.weight), count - 1.0]);
        let stay = level.iter().position(|&item| {
            sums = add(sums, question.added_by(item));
            !(question.short)(sums)
        });
        stay.map(|stay| stay + 1).filter(|&stay| stay < level.len())
    }

    /// Keeps a range of scores; with `stay`, only the first so many of those that are not in the `certain` one, which is inside.
    fn keep_near(&mut self, all: [f32; 2], certain: [f32; 2], stay: Option<usize>) {
        if stay.is_none() && self.max < all[1] {
            return self.keep_at_least(all[0], 1);
        }
        let count = match stay {
            None => self.gather_between(all),
            Some(stay) => self.gather_first(all, certain, stay),
        };
        self.adopt(count);
    }

    /// Gathers a range of scores, but of those that are not in the `certain` one only the first `stay`.
    fn gather_first(&mut self, all: [f32; 2], certain: [f32; 2], stay: usize) -> usize {
        self.make_room();
        let places = self.places();
        let end = self.end_of_first(all, certain, stay);
        // The rest of its block is looked at for itself: blocks begin where the row does.
        let block = end.next_multiple_of(BLOCK).min(places);
        let mut count = 0;
        for (part, range) in [(0..end, all), (end..block, certain), (block..places, certain)] {
            let Scratch { blocks, values, indices, .. } = &mut *self.scratch;
            let row = scores(self.input, self.store, self.view).slice(part.clone());
            let blocks = &blocks[part.start / BLOCK..];
            let indices = &mut indices[count..];
            let found = self.kernels.gather_between(row, blocks, range, &mut values[count..], indices);
            #[expect(clippy::cast_possible_truncation, reason = "a vocabulary fits u32")]
            indices[..found].iter_mut().for_each(|place| *place += part.start as u32);
            count += found;
        }
        count
    }

    /// The place behind the first `stay` scores that are in a range but not in the `certain` one.
    fn end_of_first(&self, all: [f32; 2], certain: [f32; 2], mut stay: usize) -> usize {
        let row = self.scores();
        for start in (0..row.len()).step_by(BLOCK) {
            let block = row.slice(start..row.len().min(start + BLOCK));
            let from = |x| self.kernels.count(block, x);
            // In a range that ends before it begins there is none.
            let count = |[low, high]: [f32; 2]| from(low).saturating_sub(from(high));
            let outside = count(all) - count(certain);
            if outside >= stay {
                let is_in = |x: f32, [low, high]: [f32; 2]| x >= low && x < high;
                let mut outside = block.iter().zip(start..).filter(|&(x, _)| is_in(x, all) && !is_in(x, certain));
                return outside.nth(stay - 1).map_or(row.len(), |(_, place)| place + 1);
            }
            stay -= outside;
        }
        row.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::available;

    /// The last that stays is anywhere in a block, and in the last, which is short.
    #[test]
    fn of_those_as_far_the_first_stay() {
        let row: Vec<f32> = (0..2_100_u16).map(|at| f32::from(at * 7 % 10)).collect();
        for stay in 1..=630 {
            let mut before = 0;
            let mut expected = Vec::new();
            for (id, &x) in (0..).zip(&row) {
                let is_level = [3.0, 6.0, 7.0].contains(&x);
                if [4.0, 5.0].contains(&x) || (is_level && before < stay) {
                    expected.push((id, x));
                }
                before += usize::from(is_level);
            }
            for kernels in available() {
                with_workspace(|workspace| {
                    let mut candidates =
                        Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                    candidates.keep_near([3.0, 8.0], [4.0, 6.0], Some(stay));
                    assert_eq!(expected, candidates.list(), "{stay}");
                });
            }
        }
    }
}
