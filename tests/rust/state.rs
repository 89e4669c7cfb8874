//! Damaged bytes of a sampler are refused: no crash, no sampler, and no more memory than the bytes are long.
//!
//! Damage is drawn from a generator with a fixed seed: bits, bytes, lengths, pieces cut out, put in, moved, and taken from
//! another state. In the second test the header and the checksum are made right again afterwards, as somebody who means it
//! would: then a state may be a legal one, and must be exactly what the bytes say.

mod counting;

use hmac_sha256::Hash;
use sortition::rng::philox4x32_10;
use sortition::{Dry, Params, Reach, Sampler, Scope, Stage};

const HEADER: usize = 9 + 4 + 8;
const CHECKSUM: usize = 32;

/// Numbers without end, the same in every run.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 += 1;
        philox4x32_10([self.0, 0, 0, 0], [2026, 0])[0]
    }

    fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit.max(1)
    }
}

fn state(params: Params, prompt: &[u32], steps: usize) -> Vec<u8> {
    let mut sampler = Sampler::new(params, prompt, Some(64), &[2, 3], 5).expect("legal parameters");
    let row: Vec<f32> = (0..64_u8).map(|id| f32::from(id % 7)).collect();
    for _ in 0..steps {
        sampler.sample(&row, None).expect("a token");
    }
    sampler.to_bytes().expect("no processors")
}

/// Nothing on, everything on, and both policies.
fn states() -> Vec<Vec<u8>> {
    let mut order: Vec<_> = Stage::soft().collect();
    order.reverse();
    let everything = Params {
        temperature: 0.7,
        dynatemp_range: Some(0.2),
        smoothing_factor: Some(0.4),
        top_k: Some(40),
        top_p: Some(0.9),
        xtc_probability: Some(0.5),
        xtc_protect: vec![1, 2],
        repetition_penalty: Some(1.1),
        repetition: Reach { scope: Scope::Output, window: Some(9), exclude: vec![7] },
        no_repeat_ngram: Some(4),
        dry_multiplier: Some(0.8),
        dry: Dry { breakers: vec![vec![1], vec![2, 3]], ..Dry::default() },
        logit_bias: vec![(5, 1.5), (6, f64::NEG_INFINITY)],
        suppress: vec![9],
        allowed_ids: Some((0..64).collect()),
        bad_words: vec![vec![4, 5], vec![6]],
        min_tokens: 3,
        order: Some(order),
        seed: 7,
        ..Params::default()
    };
    let everything = Params { readings: sortition::Profile::named("llama.cpp").expect("it is").readings, ..everything };
    let mirostat = Params { mirostat: Some(2), ..Params::default() };
    let adaptive = Params { adaptive_target: Some(0.3), ..Params::default() };
    vec![
        state(Params::default(), &[], 0),
        state(everything, &[1, 2, 3, 1, 2], 12),
        state(mirostat, &[8; 30], 20),
        state(adaptive, &[], 3),
    ]
}

/// The same bytes, damaged once to three times.
fn damaged(states: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = states[numbers.below(states.len())].clone();
    for _ in 0..=numbers.below(3) {
        damage(&mut bytes, &states[numbers.below(states.len())], numbers);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    let (at, to) = (numbers.below(bytes.len()), numbers.below(bytes.len() + 1));
    let piece = numbers.below(40);
    let foreign = numbers.below(other.len());
    let foreign = &other[foreign..other.len().min(foreign + piece)];
    match numbers.below(9) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << numbers.below(8),
        1 if !bytes.is_empty() => bytes[at] = numbers.next().to_le_bytes()[0],
        2 => bytes.truncate(at),
        3 => bytes.extend_from_slice(foreign),
        4 => drop(bytes.drain(at..bytes.len().min(at + piece))),
        5 => drop(bytes.splice(to..to, foreign.iter().copied())),
        6 => {
            let end = bytes.len().min(at + foreign.len());
            bytes[at..end].copy_from_slice(&foreign[..end - at]);
        }
        7 => {
            // What may be a length, and what may be a number: extremes.
            let extremes =
                [0, 1, 2, 255, 1 << 31, 1 << 32, 1 << 60, u64::MAX, f64::NAN.to_bits(), f64::INFINITY.to_bits()];
            let extreme = extremes[numbers.below(extremes.len())].to_le_bytes();
            let end = bytes.len().min(at + extreme.len());
            bytes[at..end].copy_from_slice(&extreme[..end - at]);
        }
        _ => {
            let end = at.max(to.min(bytes.len()));
            bytes[at.min(end)..end].reverse();
        }
    }
}

/// The body in a right header, and the right checksum after it.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let body = bytes.get(HEADER..bytes.len().saturating_sub(CHECKSUM)).unwrap_or_default();
    let mut sealed = b"sortition".to_vec();
    sealed.extend_from_slice(&2_u32.to_le_bytes());
    sealed.extend_from_slice(&(body.len() as u64).to_le_bytes());
    sealed.extend_from_slice(body);
    let checksum = Hash::hash(&sealed);
    sealed.extend_from_slice(&checksum);
    sealed
}

#[test]
fn what_was_written_is_read_and_written_again() {
    for bytes in states() {
        let sampler = Sampler::from_bytes(&bytes).expect("our own bytes");
        assert_eq!(Ok(&bytes), sampler.to_bytes().as_ref());
        assert_eq!(bytes, sealed(&bytes), "the header and the checksum are as documented");
    }
}

#[test]
fn of_100_000_damaged_states_none_is_read() {
    let states = states();
    let mut numbers = Numbers(0);
    let mut tried = 0;
    while tried < 100_000 {
        let bytes = damaged(&states, &mut numbers);
        if states.contains(&bytes) {
            continue; // the damage was none
        }
        tried += 1;
        let mut result = None;
        let taken = counting::bytes(|| result = Some(Sampler::from_bytes(&bytes)));
        let error = result.expect("it was called").expect_err("damaged bytes");
        assert!(error.to_string().starts_with("state must be "), "{error}");
        assert!(taken < 1_000, "{taken} bytes to refuse {}", bytes.len());
    }
}

#[test]
fn a_forged_state_is_refused_or_is_what_it_says() {
    let states = states();
    let mut numbers = Numbers(1 << 31);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..30_000 {
        let bytes = sealed(&damaged(&states, &mut numbers));
        let mut result = None;
        let taken = counting::bytes(|| result = Some(Sampler::from_bytes(&bytes)));
        // Buffers that grow by doubling, and what a history knows of each of its tokens.
        assert!(taken < 20_000 + 1_000 * bytes.len(), "{taken} bytes for {}", bytes.len());
        let Some(Ok(mut sampler)) = result else {
            refused += 1;
            continue;
        };
        read += 1;
        assert_eq!(Ok(&bytes), sampler.to_bytes().as_ref(), "nothing is read that is not written again");
        assert_eq!(Ok(()), sampler.params().check());
        for row in [[0.0_f32; 64].as_slice(), &[f32::NEG_INFINITY; 64]] {
            let before = sampler.output().len();
            let drawn = sampler.sample(row, None).is_ok();
            assert_eq!(before + usize::from(drawn), sampler.output().len());
        }
        sampler.rollback(sampler.output().len()).expect("all of it");
    }
    assert!(read > 1_000 && refused > 10_000, "{read} and {refused}: the damage is of all kinds");
}

#[test]
fn a_processor_does_not_travel() {
    let nothing = sortition::Processor::new(|_, _| Ok(()));
    let params = Params { processors: vec![nothing], ..Params::default() };
    let error = Sampler::new(params, &[], None, &[], 0).expect("legal").to_bytes().expect_err("code");
    assert_eq!("processors must be empty to make bytes of a sampler: they are code, got 1", error.to_string());
}
