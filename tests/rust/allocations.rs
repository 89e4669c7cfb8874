//! Nothing is allocated per token: buffers are made at the first and kept.
//!
//! An allocator that counts, by thread, as the test harness has threads of its own. Two things may grow, by doubling, so
//! that a long sequence meets it a few times only: the history itself and what a policy remembers (room for 64 tokens is made
//! beforehand), and what a penalty knows of the distinct tokens in it. A list of log-probabilities is a result, and is
//! allocated for the caller; so are the tokens of a batch.

mod counting;

use counting::allocations;
use sortition::{Params, Request, Sampler, sample_batch, sample_each, set_num_threads};

const VOCAB: usize = 50_000;

/// Scores spread like a normal distribution's, `lifted` of them far above the others; another row for another `seed`.
fn row(seed: u32, lifted: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).expect("sixteen bits")) / 65_536.0
    };
    let mut scores: Vec<f32> = (0..VOCAB).map(|_| (0..12).map(|_| uniform()).sum::<f32>() - 6.0).collect();
    for place in 0..lifted {
        scores[place * 997 % VOCAB] += 12.0;
    }
    scores
}

/// Flat and peaked ones, and one full of ties.
fn rows_of_all_kinds() -> Vec<Vec<f32>> {
    let ties = row(9, 0).into_iter().map(|x| (x * 64.0).round() / 64.0).collect();
    (0..4).flat_map(|seed| [row(seed, 0), row(seed, 12)]).chain([ties]).collect()
}

/// Every plan that takes another way through the code.
fn plans() -> Vec<(&'static str, Params)> {
    let with = |change: fn(&mut Params)| {
        let mut params = Params { seed: 7, ..Params::default() };
        change(&mut params);
        params
    };
    vec![
        ("greedy", with(|p| p.temperature = 0.0)),
        ("temperature", with(|p| p.temperature = 0.8)),
        ("temperature next to zero", with(|p| p.temperature = 1e-6)),
        ("top-k 1", with(|p| p.top_k = Some(1))),
        ("top-k 50", with(|p| p.top_k = Some(50))),
        ("top-k 20,000", with(|p| p.top_k = Some(20_000))),
        ("top-p .95", with(|p| p.top_p = Some(0.95))),
        ("typical .9", with(|p| p.typical_p = Some(0.9))),
        ("top-h .9", with(|p| p.top_h = Some(0.9))),
        ("tail-free .9", with(|p| p.tfs = Some(0.9))),
        ("min-k", with(|p| p.min_k = Some(0.0))),
        ("min-p .05", with(|p| p.min_p = Some(0.05))),
        ("xtc", with(|p| (p.xtc_probability, p.xtc_threshold) = (Some(1.0), 0.1))),
        ("xtc of many", with(|p| (p.xtc_probability, p.xtc_threshold) = (Some(1.0), 1e-6))),
        ("top-k, top-p, min-p", with(|p| (p.top_k, p.top_p, p.min_p) = (Some(50), Some(0.9), Some(0.05)))),
        ("top-p, min-p", with(|p| (p.top_p, p.min_p) = (Some(0.9), Some(0.01)))),
        ("top-p of allowed ids", with(|p| (p.top_p, p.allowed_ids) = (Some(0.9), Some((0..30_000).collect())))),
        ("bias and bans", with(|p| (p.logit_bias, p.suppress) = (vec![(3, 2.0), (40_000, -1.0)], vec![17, 18]))),
    ]
}

/// What is kept follows what was drawn, so buffers find their size in the first tokens, not at the first.
fn policies() -> [(&'static str, Params); 3] {
    let params = || Params { seed: 7, ..Params::default() };
    [
        ("mirostat 1", Params { mirostat: Some(1), ..params() }),
        ("mirostat 2", Params { mirostat: Some(2), ..params() }),
        ("adaptive-p", Params { adaptive_target: Some(0.4), ..params() }),
    ]
}

fn penalties() -> Params {
    let (repetition_penalty, frequency_penalty, presence_penalty) = (Some(1.1), Some(0.2), Some(0.1));
    Params { repetition_penalty, frequency_penalty, presence_penalty, top_k: Some(50), ..Params::default() }
}

fn sampler(params: Params, prompt: &[u32]) -> Sampler {
    Sampler::new(params, prompt, None, &[], 0).expect("legal parameters")
}

#[test]
fn no_plan_allocates_for_the_same_row_again() {
    for (name, params) in plans() {
        for row in [&row(0, 0), &row(2, 12), &vec![1.0; VOCAB]] {
            let mut sampler = sampler(params.clone(), &[]);
            sampler.sample(row, None).expect("a token");
            let count = allocations(|| {
                for _ in 0..20 {
                    sampler.sample(row, None).expect("a token");
                }
            });
            assert_eq!(0, count, "{name}");
        }
    }
}

#[test]
fn no_plan_allocates_on_rows_of_all_kinds_once_it_has_met_them() {
    let rows = rows_of_all_kinds();
    let mask = vec![0xdead_beef; VOCAB.div_ceil(32)];
    for (name, params) in plans() {
        for mask in [None, Some(mask.as_slice())] {
            let mut sampler = sampler(params.clone(), &[]);
            for row in &rows {
                sampler.sample(row, mask).expect("a token");
            }
            let count = allocations(|| {
                for row in rows.iter().cycle().take(50) {
                    sampler.sample(row, mask).expect("a token");
                }
            });
            assert_eq!(0, count, "{name}, {}", if mask.is_some() { "masked" } else { "no mask" });
        }
    }
}

#[test]
fn policies_allocate_in_the_first_tokens_only() {
    let rows = rows_of_all_kinds();
    for (name, params) in policies() {
        let mut sampler = sampler(params, &[]);
        let mut draw = |count| {
            for row in rows.iter().cycle().take(count) {
                sampler.sample(row, None).expect("a token");
            }
        };
        draw(32);
        assert_eq!(0, allocations(|| draw(24)), "{name}");
    }
}

#[test]
fn penalties_allocate_for_new_distinct_tokens_only() {
    let scores = row(5, 12);
    let prompt: Vec<u32> = (0..1_000).map(|i| i * 31 % 50_000).collect();
    let mut sampler = sampler(penalties(), &prompt);
    let mut said: Vec<u32> = (0..40).map(|_| sampler.sample(&scores, None).expect("a token")).collect();
    said.dedup();
    // The same tokens again: nothing new is to be remembered.
    let count = allocations(|| {
        for &token in said.iter().take(10) {
            sampler.accept(token);
            sampler.rollback(1).expect("just accepted");
            sampler.sample(&scores, None).expect("a token");
            sampler.rollback(1).expect("just drawn");
        }
    });
    assert_eq!(0, count);
}

#[test]
fn a_history_grows_by_doubling() {
    let mut sampler = sampler(penalties(), &[]);
    let scores = row(6, 0);
    let count = allocations(|| {
        for token in 0..10_000 {
            sampler.accept(token);
        }
        sampler.sample(&scores, None).expect("a token");
    });
    // Seven buffers (the tokens; entries and places of three penalties), at most log2(10,000) = 14 times each.
    assert!(count <= 7 * 14 + 20, "{count} allocations for 10,000 distinct tokens");
}

#[test]
fn a_draw_without_a_list_allocates_nothing() {
    let rows = rows_of_all_kinds();
    for (name, params) in plans() {
        let mut sampler = sampler(params, &[]);
        for row in &rows {
            sampler.draw(row, None, 0).expect("a draw");
        }
        let count = allocations(|| {
            for row in &rows {
                sampler.draw(row, None, 0).expect("a draw");
            }
        });
        assert_eq!(0, count, "{name}");
    }
}

#[test]
fn a_list_of_log_probabilities_is_a_few_allocations_of_its_own_size() {
    let rows = rows_of_all_kinds();
    let mut sampler = sampler(Params { top_k: Some(50), ..Params::default() }, &[]);
    for row in &rows {
        sampler.draw(row, None, 5).expect("a draw");
    }
    let count = allocations(|| {
        for row in &rows {
            sampler.draw(row, None, 5).expect("a draw");
        }
    });
    assert!(count <= 8 * rows.len(), "{count} allocations for {} draws", rows.len());
}

#[test]
fn a_batch_allocates_what_it_returns_and_nothing_for_a_row() {
    set_num_threads(1).expect("one");
    let rows = rows_of_all_kinds();
    let mask = vec![0xdead_beef; VOCAB.div_ceil(32)];
    for mask in [None, Some(mask.as_slice())] {
        for count in [2, plans().len()] {
            let mut samplers: Vec<_> =
                plans().into_iter().take(count).map(|(_, params)| sampler(params, &[])).collect();
            for seed in 0..rows.len() {
                batch(&mut samplers, &rows, seed, mask);
            }
            for seed in 0..20 {
                assert_eq!(4, batch(&mut samplers, &rows, seed, mask), "two vectors a call, for {count} rows");
            }
        }
    }
}

/// How many allocations two calls make, in which each sampler draws from one of the rows.
fn batch(samplers: &mut [Sampler], rows: &[Vec<f32>], seed: usize, mask: Option<&[u32]>) -> usize {
    let rows = rows.iter().cycle().skip(seed);
    let mut requests: Vec<_> =
        samplers.iter_mut().zip(rows).map(|(sampler, row)| Request { sampler, logits: row.into(), mask }).collect();
    allocations(|| {
        sample_batch(&mut requests).expect("tokens");
        assert!(sample_each(&mut requests).iter().all(Result::is_ok));
    })
}
