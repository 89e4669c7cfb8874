//! One operation a run, for an instruction counter: `instructions ISA CASE`. Without arguments, the names of the cases.
//!
//! What is between the start and the end of [`measured`] counts: one token, after two that made the buffers.

use std::hint::black_box;
use std::process::ExitCode;

use sortition::{Params, Reach, Sampler, Scope, kernels};

const VOCAB: usize = 32_000;

type Case = (&'static str, Kind, fn() -> Params);

/// How the scores of a row lie.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Flat,
    /// A few are lifted above the others.
    Peaked,
    /// All are the same.
    Equal,
    Ascending,
}
use Kind::{Ascending, Equal, Flat, Peaked};

/// Name, row, parameters; where it is masked, half of the row is allowed. The last three show that a token costs the same after a
/// long history as after a short one.
const CASES: [Case; 20] = [
    ("greedy/flat", Flat, || Params { temperature: 0.0, ..Params::default() }),
    ("greedy/masked", Flat, || Params { temperature: 0.0, ..Params::default() }),
    ("temperature=0.8/flat", Flat, || Params { temperature: 0.8, ..Params::default() }),
    ("top_k=50/flat", Flat, || Params { top_k: Some(50), ..Params::default() }),
    ("top_k=50/masked", Flat, || Params { top_k: Some(50), ..Params::default() }),
    ("top_k=50/equal", Equal, || Params { top_k: Some(50), ..Params::default() }),
    ("top_k=50/ascending", Ascending, || Params { top_k: Some(50), ..Params::default() }),
    ("min_p=0.05/peaked", Peaked, || Params { min_p: Some(0.05), ..Params::default() }),
    ("min_p=0.05/flat", Flat, || Params { min_p: Some(0.05), ..Params::default() }),
    ("top_p=0.95/peaked", Peaked, || Params { top_p: Some(0.95), ..Params::default() }),
    ("top_p=0.95/flat", Flat, || Params { top_p: Some(0.95), ..Params::default() }),
    ("top_p=0.95/ascending", Ascending, || Params { top_p: Some(0.95), ..Params::default() }),
    ("typical_p=0.9/equal", Equal, || Params { typical_p: Some(0.9), ..Params::default() }),
    ("typical_p=0.9/flat", Flat, || Params { typical_p: Some(0.9), ..Params::default() }),
    ("tfs=0.95/flat", Flat, || Params { tfs: Some(0.95), ..Params::default() }),
    ("chain/peaked", Peaked, chain),
    ("chain/small", Flat, chain),
    ("history=1024/flat", Flat, history),
    ("history=16384/flat", Flat, history),
    ("history=131072/flat", Flat, history),
];

fn chain() -> Params {
    let (top_k, top_p, min_p) = (Some(50), Some(0.95), Some(0.05));
    Params { repetition_penalty: Some(1.1), temperature: 0.8, top_k, top_p, min_p, ..Params::default() }
}

/// All that looks at the history, and nothing else.
fn history() -> Params {
    let all = || Reach { scope: Scope::All, ..Reach::default() };
    Params {
        temperature: 0.0,
        repetition_penalty: Some(1.1),
        frequency_penalty: Some(0.2),
        frequency: all(),
        presence_penalty: Some(0.1),
        presence: all(),
        no_repeat_ngram: Some(8),
        dry_multiplier: Some(0.8),
        ..Params::default()
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [isa, name] = arguments.as_slice() else {
        for (name, ..) in CASES {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    };
    let Some(&(_, kind, params)) = CASES.iter().find(|(case, ..)| case == name) else {
        eprintln!("no case {name}");
        return ExitCode::FAILURE;
    };
    if !kernels::select(isa) {
        eprintln!("this CPU, or the counter, does not run {isa}");
        return ExitCode::FAILURE;
    }
    let vocab = if name.ends_with("small") { 32 } else { VOCAB };
    let row = row(vocab, kind);
    let mask = name.ends_with("masked").then(|| vec![0x6996_9669; vocab / 32]);
    let params = params();
    let length = name.strip_prefix("history=").and_then(|rest| rest.split('/').next());
    let prompt = match length {
        Some(length) => text(length.parse().expect("a number of tokens")),
        None if params.repetition_penalty.is_some() => (0..1_000).map(|i| i * 31 % 32_000).collect(),
        None => Vec::new(),
    };
    let mut sampler = Sampler::new(params, &prompt, None, &[], 0).expect("legal parameters");
    for _ in 0..2 {
        sampler.sample(&row, mask.as_deref()).expect("a token");
    }
    if length.is_some() {
        sampler.rollback(2).expect("two tokens"); // the text ends in what it repeats
    }
    let token = measured(&mut sampler, &row, mask.as_deref());
    println!("token {token}");
    ExitCode::SUCCESS
}

/// The counter is told to count in here.
#[inline(never)]
fn measured(sampler: &mut Sampler, row: &[f32], mask: Option<&[u32]>) -> u32 {
    black_box(sampler.sample(black_box(row), mask).expect("a token"))
}

/// So many of 150 words, the common ones more often; its last sentence stood at its beginning as well.
fn text(length: usize) -> Vec<u32> {
    let mut state = 7_u32;
    let mut word = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let uniform = (state >> 16) % 200;
        uniform * uniform / 200
    };
    let mut words: Vec<u32> = (0..length).map(|_| word()).collect();
    words.copy_within(100..130, length - 30);
    words
}

/// Sums of twelve uniform numbers, which is nearly normal, the same on every machine; as the kind says, changed.
fn row(vocab: usize, kind: Kind) -> Vec<f32> {
    let mut state = 1_u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).expect("sixteen bits")) / 65_536.0
    };
    let mut scores: Vec<f32> = (0..vocab).map(|_| (0..12).map(|_| uniform()).sum::<f32>() - 6.0).collect();
    match kind {
        Flat => {}
        Peaked => (0..20_u8).for_each(|i| scores[usize::from(i) * 997 % vocab] = 16.0 - 0.6 * f32::from(i)),
        Equal => scores.fill(1.5),
        Ascending => scores.sort_by(f32::total_cmp),
    }
    scores
}
