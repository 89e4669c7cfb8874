//! Tail-free sampling (Phénix and Egan): the candidates before the curve of sorted probabilities goes straight.
//!
//! The bend `|p[i] - 2 p[i+1] + p[i+2]|` belongs to token `i + 1`. All bends behind a prefix add up to at most its last two
//! probabilities, so a prefix usually settles the cut although the sum of all bends is not known.

use crate::candidates::{Candidates, MET, Ranked};

/// Keeps the best, and what follows while the bends up to it add up to at most `z` of all, `z < 1`. Without a bend nothing
/// is cut.
pub(super) fn apply(candidates: &mut Candidates<'_>, z: Option<f64>, min_keep: usize) -> Option<f64> {
    let z = z?;
    let rank = candidates.settled_by_prefix(true, |best, whole| settle(best, whole, z));
    candidates.keep_best(rank.max(min_keep));
    None
}

/// How many to keep, if these are enough to tell.
fn settle(best: &[Ranked], whole: bool, z: f64) -> Option<usize> {
    let weight = |at: usize| f64::from(best[at].weight);
    let bends = || (2..best.len()).map(|at| (weight(at - 2) - 2.0 * weight(at - 1) + weight(at)).abs());
    let sum: f64 = bends().sum();
    if sum == 0.0 || best.len() < 3 {
        return whole.then_some(best.len());
    }
    let within = |total: f64| {
        let mut so_far = 0.0;
        bends().take_while(|bend| (so_far += bend, so_far * MET <= z * total).1).count()
    };
    let least = within(sum);
    if whole {
        return Some(1 + least);
    }
    let most = within(sum + weight(best.len() - 2) + weight(best.len() - 1));
    (least == most && most < best.len() - 2).then_some(1 + least)
}
