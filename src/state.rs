//! The state of a sampler as bytes: what it is asked to do, what it has said, and what its policy remembers.
//!
//! # Version 2
//!
//! The word `sortition`, the version (4 bytes), the length of the body (8 bytes), the body, and the SHA-256 of all that is
//! before it. The body is the parameters in the order of [`Params`], the prompt, the output, the stop tokens, the size of
//! the vocabulary, the stream, and the memories after each output. Everything is little-endian and without padding:
//! numbers by their bits, counts with 8 bytes and token ids with 4; an optional value after a byte that says whether it is
//! there; a list after its length (8 bytes); what has a name (stages, readings, scopes) by its name; a structure as its
//! fields. Processors are code and do not travel.
//!
//! A version stands for this layout and for what the parameters mean: it goes up with either, and another version is
//! refused.
//!
//! # Damage
//!
//! The checksum finds it. It keeps nobody from writing bytes of their own, so what is read is checked as if a caller had
//! given it: here, by the constructor, and by the policy. Memory is taken as the bytes are read, not as they announce.

use crate::error::Error;
use crate::params::{Dry, Params, Reach, Scope};
use crate::processor::Processor;
use crate::profile::Readings;
use crate::stage::Stage;

const MAGIC: &[u8] = b"sortition";
const VERSION: u32 = 2;
const CHECKSUM: usize = 32;

/// All that a sampler is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    pub(crate) params: Params,
    pub(crate) prompt: Vec<u32>,
    pub(crate) output: Vec<u32>,
    pub(crate) stop_tokens: Vec<u32>,
    pub(crate) vocab_size: Option<usize>,
    pub(crate) stream: u32,
    /// What the policy remembers after each output; empty without a policy.
    pub(crate) memories: Vec<[f64; 2]>,
}

impl State {
    /// # Errors
    ///
    /// [`Error::Range`] if there are processors.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let processors = self.params.processors.len();
        if processors > 0 {
            let range = "empty to make bytes of a sampler: they are code";
            return Err(Error::Range { name: "processors", range, value: processors.to_string() });
        }
        let mut body = Vec::new();
        self.put(&mut body);
        let mut bytes = MAGIC.to_vec();
        VERSION.put(&mut bytes);
        body.len().put(&mut bytes);
        bytes.append(&mut body);
        let checksum = hmac_sha256::Hash::hash(&bytes);
        bytes.extend_from_slice(&checksum);
        Ok(bytes)
    }

    /// # Errors
    ///
    /// [`Error::Range`] if [`Self::to_bytes`] cannot have made the bytes. The values in them are still to be checked.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (bytes, checksum) = bytes.split_at(bytes.len().saturating_sub(CHECKSUM));
        let mut rest = Reader(bytes.strip_prefix(MAGIC).ok_or_else(|| refused("bytes that begin otherwise"))?);
        let version = u32::take(&mut rest).map_err(refused)?;
        if version != VERSION {
            let range = "of version 2, which is the one that this build reads";
            return Err(Error::Range { name: "state", range, value: format!("version {version}") });
        }
        let length = u64::take(&mut rest).map_err(refused)?;
        if length != rest.0.len() as u64 {
            return Err(refused(format!("{} bytes where it announces {length}", rest.0.len())));
        }
        if hmac_sha256::Hash::hash(bytes) != checksum {
            return Err(refused("bytes that have changed: the checksum is another"));
        }
        let this = Self::take(&mut rest).map_err(refused)?;
        if rest.0.is_empty() { Ok(this) } else { Err(refused(format!("{} bytes too many", rest.0.len()))) }
    }
}

/// The error for bytes that are no state.
pub(crate) fn refused(what: impl Into<String>) -> Error {
    Error::Range { name: "state", range: "as to_bytes made it", value: what.into() }
}

/// What is left to read.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn array<const N: usize>(&mut self) -> Result<&'b [u8; N], String> {
        let (array, rest) = self.0.split_first_chunk().ok_or("an end in the middle of a value")?;
        self.0 = rest;
        Ok(array)
    }
}

/// What has a form in bytes. An error says what stands there instead.
trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(from: &mut Reader<'_>) -> Result<Self, String>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Wire for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn take(from: &mut Reader<'_>) -> Result<Self, String> {
                from.array().map(|bytes| Self::from_le_bytes(*bytes))
            }
        }
    )*};
}

numbers!(u8, u32, u64, f64);

impl Wire for usize {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u64).put(out);
    }

    /// More than this machine can count is as much as it can.
    fn take(from: &mut Reader<'_>) -> Result<Self, String> {
        u64::take(from).map(|count| Self::try_from(count).unwrap_or(Self::MAX))
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        u8::from(self.is_some()).put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, String> {
        match u8::take(from)? {
            0 => Ok(None),
            1 => T::take(from).map(Some),
            other => Err(format!("a {other} for whether a value is there")),
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        for item in self {
            item.put(out);
        }
    }

    /// Grows as items are found: a length is not believed.
    fn take(from: &mut Reader<'_>) -> Result<Self, String> {
        let length = u64::take(from)?;
        (0..length).map(|_| T::take(from)).collect()
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, String> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

impl Wire for [f64; 2] {
    fn put(&self, out: &mut Vec<u8>) {
        (self[0], self[1]).put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, String> {
        <(f64, f64)>::take(from).map(Self::from)
    }
}

fn put_name(name: &str, out: &mut Vec<u8>) {
    name.as_bytes().to_vec().put(out);
}

/// The value of the name that comes next.
fn named<T>(from: &mut Reader<'_>, what: &str, find: impl FnOnce(&str) -> Option<T>) -> Result<T, String> {
    let bytes = Vec::<u8>::take(from)?;
    let name = String::from_utf8_lossy(&bytes);
    find(&name).ok_or_else(|| format!("{what} {:?}, which is unknown", name.chars().take(40).collect::<String>()))
}

impl Wire for Stage {
    fn put(&self, out: &mut Vec<u8>) {
        put_name(self.name(), out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, String> {
        named(from, "the stage", Self::named)
    }
}

impl Wire for Scope {
    fn put(&self, out: &mut Vec<u8>) {
        put_name(if *self == Self::All { "all" } else { "output" }, out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, String> {
        named(from, "the scope", |name| match name {
            "all" => Some(Self::All),
            "output" => Some(Self::Output),
            _ => None,
        })
    }
}

/// The names of those that are on, in their order.
impl Wire for Readings {
    fn put(&self, out: &mut Vec<u8>) {
        self.on().len().put(out);
        for name in self.on() {
            put_name(name, out);
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, String> {
        let mut this = Self::default();
        for at in 0..u64::take(from)? {
            named(from, "the reading", |name| this.named(name).map(|on| *on = true))?;
            if this.on().len() as u64 != at + 1 {
                return Err("a reading twice".to_owned());
            }
        }
        Ok(this)
    }
}

/// There are none, see [`State::to_bytes`].
impl Wire for Processor {
    fn put(&self, _: &mut Vec<u8>) {}

    fn take(_: &mut Reader<'_>) -> Result<Self, String> {
        Err("processors, which are code".to_owned())
    }
}

/// A structure is its fields.
macro_rules! records {
    ($($record:ident { $($field:ident),* })*) => {$(
        impl Wire for $record {
            fn put(&self, out: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($field.put(out);)*
            }

            fn take(from: &mut Reader<'_>) -> Result<Self, String> {
                Ok(Self { $($field: Wire::take(from)?),* })
            }
        }
    )*};
}

records! {
    Reach { scope, window, exclude }
    Dry { base, allowed_length, window, breakers }
    Params {
        temperature, dynatemp_range, dynatemp_exponent, smoothing_factor, smoothing_curve, top_n_sigma, min_k, top_k,
        typical_p, top_p, min_p, p_less, epsilon, eta, top_a, tfs, top_h, xtc_probability, xtc_threshold, xtc_protect,
        mirostat, mirostat_tau, mirostat_eta, adaptive_target, adaptive_decay, repetition_penalty, repetition,
        frequency_penalty, frequency, presence_penalty, presence, no_repeat_ngram, dry_multiplier, dry, processors,
        logit_bias, suppress, allowed_ids, bad_words, min_tokens, min_keep, order, readings, seed
    }
    State { params, prompt, output, stop_tokens, vocab_size, stream, memories }
}
