//! Where a mass is reached as weights are added up, the best score first.

use super::cuts::descending;

/// Where a mass is reached.
pub(super) struct Edge {
    /// How many keys it takes.
    pub(super) rank: usize,
    /// Their mass, without and with the last of them.
    pub(super) before: f64,
    pub(super) mass: f64,
}

impl Edge {
    /// Whether it might be another one if what is needed were wrong by `error`.
    pub(super) fn in_doubt(&self, needed: f64, error: f64) -> bool {
        error > 0.0 && (needed - self.before <= error || self.mass - needed <= error)
    }
}

/// The sum, by four accumulators in turn: one alone waits for itself.
pub(super) fn spread_sum(weights: &[f32]) -> f64 {
    let (quads, rest) = weights.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for quad in quads {
        for (sum, &weight) in sums.iter_mut().zip(quad) {
            *sum += f64::from(weight);
        }
    }
    let [a, b, c, d] = sums;
    ((a + b) + (c + d)) + rest.iter().copied().map(f64::from).sum::<f64>()
}

/// Keys that sort by score, best first, and carry the weight. Equal scores have equal weights, so their order is no matter.
pub(super) fn fill_keys(keys: &mut Vec<u64>, scores: &[f32], weights: &[f32]) {
    keys.clear();
    let pairs = scores.iter().zip(weights);
    keys.extend(pairs.map(|(&x, weight)| u64::from(descending(x)) << 32 | u64::from(weight.to_bits())));
}

/// The weight that a key carries.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is the weight")]
fn weight(key: u64) -> f64 {
    f64::from(f32::from_bits(key as u32))
}

/// Where `sum` reaches `needed` as the keys are added to it in order; `None` if it does not.
fn prefix(keys: &[u64], sum: f64, needed: f64) -> Option<Edge> {
    let mut mass = sum;
    for (at, &key) in keys.iter().enumerate() {
        let before = mass;
        mass += weight(key);
        if mass >= needed {
            return Some(Edge { rank: at + 1, before, mass });
        }
    }
    None
}

/// Where `sum` reaches `needed` as the keys are added, best first; those that it takes are then in front.
pub(super) fn halved(keys: &mut [u64], mut sum: f64, needed: f64) -> Option<Edge> {
    let (mut rest, mut rank) = (keys, 0);
    let mut reached = None;
    while rest.len() > 64 {
        let middle = rest.len() / 2;
        rest.select_nth_unstable(middle);
        let (better, worse) = rest.split_at_mut(middle);
        let mass: f64 = better.iter().copied().map(weight).sum();
        if sum + mass >= needed {
            reached = Some(sum + mass);
            rest = better;
        } else {
            sum += mass;
            rank += middle;
            rest = worse;
        }
    }
    rest.sort_unstable();
    let edge = prefix(rest, sum, needed).or_else(|| {
        // Rounding: added in another order they reached it, at the end of the rest.
        let (mass, &last) = reached.zip(rest.last())?;
        Some(Edge { rank: rest.len(), before: mass - weight(last), mass })
    })?;
    Some(Edge { rank: rank + edge.rank, ..edge })
}

/// Where `sum` reaches `needed`, which is more, as one weight is added up to so many times; `None` if it does not.
pub(super) fn repeated(weight: f32, times: usize, sum: f64, needed: f64) -> Option<Edge> {
    #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
    let mass = |rank: usize| sum + rank as f64 * f64::from(weight);
    let reached = least_number(times, |rank| mass(rank) >= needed);
    (mass(reached) >= needed).then(|| Edge { rank: reached, before: mass(reached - 1), mass: mass(reached) })
}

/// The least number above zero that something holds for that holds for all above as well; `most`, if for none below.
pub(super) fn least_number(most: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut no, mut yes) = (0, most);
    while yes - no > 1 {
        let middle = usize::midpoint(no, yes);
        *(if holds(middle) { &mut yes } else { &mut no }) = middle;
    }
    yes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_repeated_as_often_as_it_is_added() {
        for (sum, needed) in [(0.0, 0.1), (0.0, 0.5), (0.0, 0.75), (1.0, 1.1), (1.0, 2.25), (1.0, 1.0 + 1e9)] {
            let keys = vec![0.25_f32.to_bits().into(); 1000];
            let rank = |edge: Edge| (edge.rank, edge.before, edge.mass);
            assert_eq!(prefix(&keys, sum, needed).map(rank), repeated(0.25, 1000, sum, needed).map(rank));
        }
    }

    #[test]
    fn keys_sort_by_score_and_carry_the_weight() {
        let xs = [f32::MAX, 1.0, f32::from_bits(1), 0.0, -f32::from_bits(1), -1.0, f32::MIN];
        let mut keys = Vec::new();
        fill_keys(&mut keys, &xs, &[0.5; 7]);
        assert!(keys.is_sorted());
        assert_eq!(
            xs.map(descending).to_vec(),
            keys.iter().map(|key| u32::try_from(key >> 32).unwrap()).collect::<Vec<_>>()
        );
        assert!(keys.iter().all(|&key| weight(key) == 0.5));
    }

    /// One by one, best first, the small weights are lost beside the large one; all before it they are not. The order in which
    /// a half is added up is that of the selection.
    #[test]
    fn what_a_half_reaches_is_reached() {
        let needed = 1.0_f64.next_up();
        let mut reached = 0;
        for at in 0..128 {
            let mut scores: [f32; 128] = std::array::from_fn(|at| f32::from(u8::try_from(at).unwrap()));
            let mut weights = [f32::from_bits((127 - 54) << 23); 128];
            (scores[at], weights[at]) = (1000.0, 1.0);
            let mut keys = Vec::new();
            fill_keys(&mut keys, &scores, &weights);
            let mut selected = keys.clone();
            selected.select_nth_unstable(64);
            let half: f64 = selected[..64].iter().copied().map(weight).sum();
            if half >= needed {
                reached += 1;
                assert!(halved(&mut keys, 0.0, needed).is_some_and(|edge| edge.rank <= 64 && edge.mass >= needed));
            }
        }
        assert!(reached > 0);
    }
}
