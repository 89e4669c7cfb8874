//! Philox4x32-10: a random number is a function of its address.
//!
//! Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). A block cipher of ten
//! rounds turns a counter and a key into four words. There is no state to advance, so a coin depends on nothing but
//! the seed, the stream, the position and the purpose it is tossed for: not on the batch, not on earlier draws.

/// What a coin is tossed for. Each purpose has coins of its own, so that adding a stage moves no other coin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// The draw of the token.
    Draw = 0,
    /// Whether XTC acts.
    Xtc = 1,
    /// Whether a drafted token stands.
    Accept = 2,
    /// The draw of the token in place of one that does not.
    Residual = 3,
}

/// Where the coins of one draw lie, but for their purpose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub(crate) seed: u64,
    pub(crate) stream: u32,
    pub(crate) position: u64,
}

impl Address {
    pub(crate) fn coin(self, purpose: Purpose) -> f64 {
        coin(self.seed, self.stream, self.position, purpose)
    }
}

/// The coin at `(stream, position, purpose)` of `seed`: 53 random bits in `[0, 1)`.
///
/// ```
/// use sortition::rng::{Purpose, coin};
/// let first = coin(7, 0, 0, Purpose::Draw);
/// assert!((0.0..1.0).contains(&first));
/// assert_eq!(first, coin(7, 0, 0, Purpose::Draw));
/// assert_ne!(first, coin(7, 0, 1, Purpose::Draw));
/// ```
#[must_use]
pub fn coin(seed: u64, stream: u32, position: u64, purpose: Purpose) -> f64 {
    /// 2^-53, which only moves the exponent.
    const UNIT: f64 = f64::EPSILON / 2.0;
    let [position_low, position_high] = halves(position);
    let words = philox4x32_10([stream, position_low, position_high, purpose as u32], halves(seed));
    let bits = (u64::from(words[0]) << 32 | u64::from(words[1])) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in a float64")]
    let integer = bits as f64;
    integer * UNIT
}

/// The four words that ten rounds make of `counter` under `key`.
#[must_use]
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

    let mut words = counter;
    let mut key = key;
    for _ in 0..10 {
        let [low0, high0] = halves(u64::from(MULTIPLIERS[0]) * u64::from(words[0]));
        let [low1, high1] = halves(u64::from(MULTIPLIERS[1]) * u64::from(words[2]));
        words = [high1 ^ words[1] ^ key[0], low1, high0 ^ words[3] ^ key[1], low0];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    words
}

/// The low and the high half.
#[expect(clippy::cast_possible_truncation, reason = "taking halves is the point")]
const fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known-answer vectors that come with the Random123 library (`kat_vectors`, philox4x32, ten rounds).
    #[test]
    fn published_vectors() {
        let vectors = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, expected) in vectors {
            assert_eq!(expected, philox4x32_10(counter, key));
        }
    }

    #[test]
    fn every_part_of_the_address_matters() {
        let here = coin(1, 0, 0, Purpose::Draw);
        assert_ne!(here, coin(1 << 32 | 1, 0, 0, Purpose::Draw));
        assert_ne!(here, coin(1, 1, 0, Purpose::Draw));
        assert_ne!(here, coin(1, 0, 1 << 32, Purpose::Draw));
        assert_ne!(here, coin(1, 0, 0, Purpose::Xtc));
    }
}
