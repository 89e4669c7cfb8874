//! A bad score is found wherever it is, also where a row is only estimated.

use sortition::{Error, Params, Sampler};

/// The first blocks of a peaked row are summed before all others are estimated: at its ends, and on both sides of that border.
#[test]
fn a_draw_refuses_a_bad_score_at_every_place() {
    const LENGTH: usize = 40_000;
    let mut row: Vec<_> = (0..LENGTH).map(|at| f32::from(u8::try_from(at * 31 % 97).expect("small")) / 97.0).collect();
    row[5_000] = 30.0;
    let params = || Params { temperature: 0.8, ..Params::default() };
    for place in [0, 8_191, 8_192, LENGTH - 1] {
        for bad in [f32::NAN, -f32::NAN, f32::INFINITY] {
            let mut row = row.clone();
            row[place] = bad;
            let mut sampler = Sampler::new(params(), &[], None, &[], 0).expect("legal parameters");
            let refused = sampler.sample(&row, None);
            let Err(Error::BadScore { token, value, .. }) = refused else { panic!("{refused:?} for {bad} at {place}") };
            assert_eq!((place, bad.to_bits()), (token, value.to_bits()));
        }
    }
    let mut sampler = Sampler::new(params(), &[], None, &[], 0).expect("legal parameters");
    assert_eq!(Ok(5_000), sampler.sample(&row, None).map_err(|error| error.to_string()));
}

/// The first read takes one way for a stage that needs few scores, and another for one that needs sums of all.
#[test]
fn a_bad_score_under_a_mask_is_refused_at_every_place() {
    const LENGTH: usize = 2_005;
    let plans = [
        Params { temperature: 0.0, ..Params::default() },
        Params { top_k: Some(5), logit_bias: vec![(7, 1.0)], ..Params::default() },
        Params { min_p: Some(0.1), ..Params::default() },
        Params { temperature: 0.8, ..Params::default() },
    ];
    // All but one in four, up to the last words; behind those, none.
    let mask = vec![0x7777_7777; LENGTH / 32 - 2];
    for params in plans {
        for place in 0..LENGTH {
            for bad in [f32::NAN, -f32::NAN, f32::INFINITY] {
                let mut row = vec![0.5; LENGTH];
                row[place] = bad;
                let mut sampler = Sampler::new(params.clone(), &[], None, &[], 0).expect("legal parameters");
                let refused = sampler.sample(&row, Some(&mask));
                let Err(Error::BadScore { token, value, .. }) = refused else {
                    panic!("{refused:?} for {bad} at {place}")
                };
                assert_eq!((place, bad.to_bits()), (token, value.to_bits()));
            }
        }
    }
}
