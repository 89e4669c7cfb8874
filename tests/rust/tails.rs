//! Rare tokens come as often as their chances say: a hundred million draws from each row.
//!
//! A coin of 24 bits, a sum in float32 or a pick that favours an end of the row would show here and nowhere else. Counts of
//! rare tokens follow Poisson's law; a right sampler with seeds that nobody has tried would fail one of these five once in a
//! million times. With these seeds each passes always or never.

#![expect(clippy::disallowed_methods, reason = "what is right comes from elsewhere than what is tested")]

use sortition::{Params, Sampler, num_threads};

/// Of all tests together.
const FALSE_ALARM: f64 = 1e-6;
const TESTS: f64 = 5.0;

const STREAMS: u32 = 100;
const POSITIONS: u32 = 1_000_000;

/// How often each token of a row of these chances comes, over many positions of many streams.
fn counts(chances: &[f64], seed: u64) -> Vec<u64> {
    #[expect(clippy::cast_possible_truncation, reason = "scores are float32")]
    let row: Vec<_> = chances.iter().map(|p| p.ln() as f32).collect();
    let of_streams = |streams: Vec<u32>| {
        let mut counts = vec![0; row.len()];
        for stream in streams {
            let params = Params { seed, ..Params::default() };
            let mut sampler = Sampler::new(params, &[], None, &[], stream).expect("legal parameters");
            for _ in 0..POSITIONS {
                counts[sampler.sample(&row, None).expect("a token") as usize] += 1;
            }
        }
        counts
    };
    let threads = u32::try_from(num_threads()).expect("some threads");
    let parts: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let part = |first| (first..STREAMS).step_by(threads as usize).collect();
        let spawned: Vec<_> = (0..threads).map(|first| scope.spawn(move || of_streams(part(first)))).collect();
        spawned.into_iter().map(|thread| thread.join().expect("counts")).collect()
    });
    (0..row.len()).map(|token| parts.iter().map(|part| part[token]).sum()).collect()
}

/// The chance of at most `count` where `mean` are expected.
fn at_most(count: u64, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut sum = term;
    for k in 1..=count {
        #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
        let k = k as f64;
        term *= mean / k;
        sum += term;
    }
    sum
}

/// The chance of at least `count` where `mean` are expected.
fn at_least(count: u64, mean: f64) -> f64 {
    if count == 0 { 1.0 } else { 1.0 - at_most(count - 1, mean) }
}

/// Holds a count to the chance of its token.
fn assert_follows(count: u64, chance: f64) {
    let mean = chance * f64::from(STREAMS) * f64::from(POSITIONS);
    let side = FALSE_ALARM / TESTS / 2.0;
    assert!(at_most(count, mean) > side && at_least(count, mean) > side, "{count}, and {mean} are expected");
}

#[test]
fn the_limits_are_those_of_poissons_law() {
    // From the table of the distribution: a mean of 10, and a mean of 100.
    assert!((at_most(3, 10.0) - 0.010_336).abs() < 1e-6);
    assert!((at_most(100, 100.0) - 0.526_562).abs() < 1e-6);
    // Where 100 are expected, 53 to 156 pass.
    assert!(at_most(52, 100.0) < 1e-7 && at_most(53, 100.0) > 1e-7);
    assert!(at_least(156, 100.0) > 1e-7 && at_least(157, 100.0) < 1e-7);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "a hundred million draws take `--release`")]
fn one_in_a_million_comes_a_hundred_times_in_a_hundred_million() {
    assert_follows(counts(&[1.0 - 1e-6, 1e-6], 1)[1], 1e-6);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "a hundred million draws take `--release`")]
fn rare_tokens_come_wherever_they_stand() {
    // The first in id order, the last, and two in between, one of them of one in ten million; 17 are more than a register.
    let mut chances = [0.0; 17];
    (chances[0], chances[5], chances[9], chances[16]) = (1e-6, 1e-7, 1e-6, 1e-6);
    chances[12] = 1.0 - chances.iter().sum::<f64>();
    let counts = counts(&chances, 2);
    for (&count, &chance) in counts.iter().zip(&chances) {
        match chance {
            0.0 => assert_eq!(0, count),
            rare if rare < 0.5 => assert_follows(count, rare),
            _ => {}
        }
    }
}
