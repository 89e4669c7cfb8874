//! Tail-free sampling (Phénix and Egan): the candidates before the curve of sorted probabilities goes straight.
//!
//! The bend `|p[i] - 2 p[i+1] + p[i+2]|` belongs to token `i + 1`. All bends behind a prefix add up to at most its last two
//! probabilities, so a prefix usually settles the cut although the sum of all bends is not known.

use crate::candidates::{Candidates, MET, Verdict};

/// The prefix is lengthened until its last weight is this part of an average bend that is in doubt.
const SURE: f64 = 0.25;

/// Bends that are added up at once.
const SPAN: usize = 64;

/// Keeps the best, and what follows while the bends up to it add up to at most `z` of all, `z < 1`. Without a bend nothing
/// is cut.
pub(super) fn apply(candidates: &mut Candidates<'_>, z: Option<f64>, min_keep: usize) -> Option<f64> {
    let z = z?;
    candidates.keep_settled(min_keep, |best, whole| settle(best, whole, z));
    None
}

/// How many to keep, if the best of these weights are enough to tell; or how light the last of them must be.
fn settle(best: &[f32], whole: bool, z: f64) -> Verdict {
    let sum: f64 = spans(best).map(sum).sum();
    let fewest = within(best, z * sum);
    if whole {
        return Verdict::Keep(if sum == 0.0 { best.len() } else { 1 + fewest });
    }
    let [.., before, last] = *best else { return Verdict::Need(0.0) };
    let most = within(best, z * (sum + f64::from(before) + f64::from(last)));
    if most + 2 >= best.len() {
        // The cut may be behind: as much further down as the question is asked again.
        return Verdict::Need(last.into());
    }
    if fewest == most {
        return Verdict::Keep(1 + fewest);
    }
    // What the last two weigh leaves some bends in doubt; it is to be less than one of them.
    let doubtful = bends(&best[fewest..most + 2]).filter(|&bend| bend > 0.0).count().max(1);
    #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
    let doubtful = doubtful as f64;
    Verdict::Need(f64::from(last) / doubtful * SURE)
}

/// How many bends add up to no more than the limit.
fn within(best: &[f32], limit: f64) -> usize {
    let (mut so_far, mut count) = (0.0, 0);
    for span in spans(best) {
        let sum = so_far + sum(span);
        if sum * MET <= limit {
            (so_far, count) = (sum, count + span.len() - 2);
            continue;
        }
        for bend in bends(span) {
            so_far += bend;
            if so_far * MET > limit {
                return count;
            }
            count += 1;
        }
    }
    count
}

/// The weights whose bends are added up at once: each span has its own [`SPAN`], the last one fewer.
fn spans(best: &[f32]) -> impl Iterator<Item = &[f32]> {
    let bends = best.len().saturating_sub(2);
    (0..bends).step_by(SPAN).map(move |at| &best[at..bends.min(at + SPAN) + 2])
}

fn bends(weights: &[f32]) -> impl Iterator<Item = f64> {
    weights.windows(3).map(|w| (f64::from(w[0]) - 2.0 * f64::from(w[1]) + f64::from(w[2])).abs())
}

/// The sum of the bends of a span, by eight accumulators in turn: one alone waits for itself.
fn sum(span: &[f32]) -> f64 {
    let mut all = [0.0; SPAN];
    for (place, bend) in all.iter_mut().zip(bends(span)) {
        *place = bend;
    }
    let mut sums = [0.0; 8];
    for eight in all.as_chunks::<8>().0 {
        for (sum, bend) in sums.iter_mut().zip(eight) {
            *sum += bend;
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::available;
    use std::cell::Cell;

    /// A bell as wide as models' rows are: what is shown of it is little, and the cut that of all.
    #[test]
    fn a_bell_is_not_sorted_to_its_end() {
        // The mean of twelve uniform numbers is as good as normal.
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            f32::from(u16::try_from(state >> 48).expect("16 bits")) / 65_536.0
        };
        let row: Vec<f32> = (0..150_000).map(|_| 4.0 * ((0..12).map(|_| uniform()).sum::<f32>() - 6.0)).collect();
        for (kernels, z) in available().flat_map(|kernels| [0.5, 0.9, 0.95].map(|z| (kernels, z))) {
            let shown = Cell::new(0);
            let kept = |by: &dyn Fn(&[f32], bool) -> Verdict| {
                with_workspace(|workspace| {
                    let mut candidates =
                        Candidates::new(kernels, (&row).into(), workspace, Sums::Exact(1.0)).expect("good scores");
                    candidates.keep_settled(1, by);
                    candidates.list()
                })
            };
            let expected = kept(&|best, whole| if whole { settle(best, whole, z) } else { Verdict::Need(0.0) });
            let got = kept(&|best, whole| {
                shown.set(shown.get().max(best.len()));
                settle(best, whole, z)
            });
            assert_eq!(expected, got, "{z}");
            assert!(shown.get() < row.len() / 4, "{} shown for {z}", shown.get());
        }
    }
}
