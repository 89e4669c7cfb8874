//! How the next token is chosen: plain values, and the check that each is in its range.

use crate::error::Error;
use crate::processor::Processor;
use crate::profile::Readings;
use crate::stage::{Stage, ordered};

/// Which part of the context a penalty counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Prompt and output.
    #[default]
    All,
    /// The output only.
    Output,
}

/// The tokens that a penalty counts: the last `window` tokens of a scope, without the excluded ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    /// Prompt and output, or the output only.
    pub scope: Scope,
    /// How many tokens back; `None` for all.
    pub window: Option<usize>,
    /// Ids that are not counted.
    pub exclude: Vec<u32>,
}

/// What the DRY penalty counts as a repeat, and how it grows.
#[derive(Debug, Clone, PartialEq)]
pub struct Dry {
    /// The penalty grows by this factor with each token of the repeat. Finite, at least 1.
    pub base: f64,
    /// The shortest repeat that is penalised, at least 1.
    pub allowed_length: u64,
    /// How many tokens back, at least 1; `None` for the whole context.
    pub window: Option<usize>,
    /// Sequences of tokens that end a repeat, none of them empty. A token that is one by itself is never penalised.
    pub breakers: Vec<Vec<u32>>,
}

impl Default for Dry {
    fn default() -> Self {
        Self { base: 1.75, allowed_length: 2, window: None, breakers: Vec::new() }
    }
}

/// Sampling parameters. `None` and an empty list switch a stage off.
///
/// ```
/// use sortition::{Params, Sampler};
/// let params = Params { temperature: 0.8, top_k: Some(50), seed: 7, ..Params::default() };
/// assert!(params.check().is_ok());
/// let wrong = Params { top_p: Some(1.5), ..Params::default() };
/// assert_eq!("top_p must be in (0, 1], got 1.5", wrong.check().unwrap_err().to_string());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Divides the scores; 0 picks the best. Finite, at least 0.
    pub temperature: f64,
    /// The temperature follows the entropy, from this much below `temperature` to this much above it. Finite, above 0.
    pub dynatemp_range: Option<f64>,
    /// The power to which the entropy, as a share of the largest possible, is raised for that. Finite, at least 0.
    pub dynatemp_exponent: f64,
    /// Quadratic smoothing: what the temperature leaves comes to this times the square of its distance from the best below it.
    /// Finite, above 0.
    pub smoothing_factor: Option<f64>,
    /// How much of that is the cube of the distance: nothing at 1, all at 3; outside of that, ranks change. Finite.
    pub smoothing_curve: f64,
    /// Keep scores within this many standard deviations of the best. Finite, above 0.
    pub top_n_sigma: Option<f64>,
    /// Keep the candidates before the steepest drop of the sorted scores, and at least this number divided by the range of
    /// the scores. Finite, at least 0.
    pub min_k: Option<f64>,
    /// Keep this many of the best, at least 1.
    pub top_k: Option<u64>,
    /// Keep the candidates whose surprise is closest to the entropy, up to this total probability, in (0, 1].
    pub typical_p: Option<f64>,
    /// Keep the fewest of the best whose total probability reaches this, in (0, 1].
    pub top_p: Option<f64>,
    /// Keep probabilities of at least this share of the best one, in [0, 1].
    pub min_p: Option<f64>,
    /// Keep probabilities of at least `(Σ P^q)^(1/(q-1))`, where `q` is this order, finite, above 1.
    pub p_less: Option<f64>,
    /// Keep probabilities of at least this, in (0, 1).
    pub epsilon: Option<f64>,
    /// Keep probabilities of at least this, or of less where the entropy is high, in (0, 1).
    pub eta: Option<f64>,
    /// Keep probabilities of at least this times the square of the best one. Finite, above 0.
    pub top_a: Option<f64>,
    /// Keep candidates up to this share of the bends in the curve of sorted probabilities, in (0, 1].
    pub tfs: Option<f64>,
    /// Keep the longest prefix of the best whose entropy is at most this share of the whole. Finite, above 0.
    pub top_h: Option<f64>,
    /// How often XTC excludes all likely candidates except the least likely of them, in [0, 1].
    pub xtc_probability: Option<f64>,
    /// The probability from which XTC calls a candidate likely, in (0, 1]; above 1/2 it does nothing.
    pub xtc_threshold: f64,
    /// Ids that XTC never excludes.
    pub xtc_protect: Vec<u32>,
    /// Version 1 or 2 of mirostat, which replaces the cuts and steers the surprise.
    pub mirostat: Option<u32>,
    /// The average surprise that mirostat aims at, in bits. Finite, above 0.
    pub mirostat_tau: f64,
    /// How fast mirostat adapts. Finite, above 0.
    pub mirostat_eta: f64,
    /// Prefer tokens whose probability is near this, so that the average of those drawn comes to it, in [0, 1].
    pub adaptive_target: Option<f64>,
    /// How slowly adaptive-p forgets the tokens drawn, in [0, 1).
    pub adaptive_decay: f64,
    /// Divides the positive scores of tokens already seen and multiplies the negative ones. Above 0.
    pub repetition_penalty: Option<f64>,
    /// Which tokens the repetition penalty counts.
    pub repetition: Reach,
    /// Subtracted from the score of a token once for every time it was seen. Finite.
    pub frequency_penalty: Option<f64>,
    /// Which tokens the frequency penalty counts.
    pub frequency: Reach,
    /// Subtracted once from the score of a token that was seen. Finite.
    pub presence_penalty: Option<f64>,
    /// Which tokens the presence penalty counts.
    pub presence: Reach,
    /// No sequence of this many tokens may occur twice in the context, at least 1.
    pub no_repeat_ngram: Option<u64>,
    /// The DRY penalty of a token that would repeat a sequence of `dry.allowed_length` tokens. Finite.
    pub dry_multiplier: Option<f64>,
    /// Which repeats the DRY penalty counts, and how it grows.
    pub dry: Dry,
    /// Functions of the context and the scores, in the order in which they run.
    pub processors: Vec<Processor>,
    /// Added to the score of an id: finite, or -inf to ban it.
    pub logit_bias: Vec<(u32, f64)>,
    /// Ids that are impossible.
    pub suppress: Vec<u32>,
    /// The only ids that are possible.
    pub allowed_ids: Option<Vec<u32>>,
    /// Sequences of tokens that must not occur, none of them empty: the last id is banned when the context ends with the
    /// rest.
    pub bad_words: Vec<Vec<u32>>,
    /// Stop tokens are impossible until this many tokens are in the output.
    pub min_tokens: u64,
    /// Every cut keeps at least this many candidates.
    pub min_keep: u64,
    /// Every soft stage once, in the order in which they run; `None` for the default.
    pub order: Option<Vec<Stage>>,
    /// The variant definitions of other stacks that are in force.
    pub readings: Readings,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Self {
        let output = Reach { scope: Scope::Output, ..Reach::default() };
        Self {
            temperature: 1.0,
            dynatemp_range: None,
            dynatemp_exponent: 1.0,
            smoothing_factor: None,
            smoothing_curve: 1.0,
            top_n_sigma: None,
            min_k: None,
            top_k: None,
            typical_p: None,
            top_p: None,
            min_p: None,
            p_less: None,
            epsilon: None,
            eta: None,
            top_a: None,
            tfs: None,
            top_h: None,
            xtc_probability: None,
            xtc_threshold: 0.1,
            xtc_protect: Vec::new(),
            mirostat: None,
            mirostat_tau: 5.0,
            mirostat_eta: 0.1,
            adaptive_target: None,
            adaptive_decay: 0.9,
            repetition_penalty: None,
            repetition: Reach::default(),
            frequency_penalty: None,
            frequency: output.clone(),
            presence_penalty: None,
            presence: output,
            no_repeat_ngram: None,
            dry_multiplier: None,
            dry: Dry::default(),
            processors: Vec::new(),
            logit_bias: Vec::new(),
            suppress: Vec::new(),
            allowed_ids: None,
            bad_words: Vec::new(),
            min_tokens: 0,
            min_keep: 1,
            order: None,
            readings: Readings::default(),
            seed: 0,
        }
    }
}

impl Params {
    /// Checks every value against its range.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] with the name, the range and the value of the first that is outside.
    pub fn check(&self) -> Result<(), Error> {
        number("temperature", NOT_NEGATIVE, self.temperature, not_negative)?;
        optional("dynatemp_range", POSITIVE, self.dynatemp_range, positive)?;
        number("dynatemp_exponent", NOT_NEGATIVE, self.dynatemp_exponent, not_negative)?;
        optional("smoothing_factor", POSITIVE, self.smoothing_factor, positive)?;
        number("smoothing_curve", "finite", self.smoothing_curve, f64::is_finite)?;
        self.check_cuts()?;
        self.check_policies()?;
        optional("repetition_penalty", POSITIVE, self.repetition_penalty, positive)?;
        optional("frequency_penalty", "finite", self.frequency_penalty, f64::is_finite)?;
        optional("presence_penalty", "finite", self.presence_penalty, f64::is_finite)?;
        for (name, reach) in [
            ("repetition_window", &self.repetition),
            ("frequency_window", &self.frequency),
            ("presence_window", &self.presence),
        ] {
            at_least_one(name, reach.window.map(|window| window as u64))?;
        }
        self.check_repeats()?;
        for &(id, bias) in &self.logit_bias {
            if !(bias.is_finite() || bias == f64::NEG_INFINITY) {
                let value = format!("{bias} for token {id}");
                return Err(Error::Range { name: "logit_bias", range: "finite or -inf", value });
            }
        }
        at_least_one("min_keep", Some(self.min_keep))?;
        self.order.as_ref().map_or(Ok(()), |order| ordered(order.iter().map(|stage| stage.name())).map(drop))
    }

    fn check_repeats(&self) -> Result<(), Error> {
        at_least_one("no_repeat_ngram", self.no_repeat_ngram)?;
        optional("dry_multiplier", "finite", self.dry_multiplier, f64::is_finite)?;
        number("dry_base", "finite and at least 1", self.dry.base, |x| x.is_finite() && x >= 1.0)?;
        at_least_one("dry_allowed_length", Some(self.dry.allowed_length))?;
        at_least_one("dry_window", self.dry.window.map(|window| window as u64))?;
        for (name, runs) in [("bad_words", &self.bad_words), ("dry_breakers", &self.dry.breakers)] {
            if runs.iter().any(Vec::is_empty) {
                let value = "an empty one".to_owned();
                return Err(Error::Range { name, range: "sequences of at least one token", value });
            }
        }
        Ok(())
    }

    fn check_cuts(&self) -> Result<(), Error> {
        let share = |x| x > 0.0 && x <= 1.0;
        let inside = |x| x > 0.0 && x < 1.0;
        let closed = |x| (0.0..=1.0).contains(&x);
        optional("top_n_sigma", POSITIVE, self.top_n_sigma, positive)?;
        optional("min_k", NOT_NEGATIVE, self.min_k, not_negative)?;
        at_least_one("top_k", self.top_k)?;
        optional("typical_p", "in (0, 1]", self.typical_p, share)?;
        optional("top_p", "in (0, 1]", self.top_p, share)?;
        optional("min_p", "in [0, 1]", self.min_p, closed)?;
        optional("p_less", "finite and above 1", self.p_less, |x| x.is_finite() && x > 1.0)?;
        optional("epsilon", "in (0, 1)", self.epsilon, inside)?;
        optional("eta", "in (0, 1)", self.eta, inside)?;
        optional("top_a", POSITIVE, self.top_a, positive)?;
        optional("tfs", "in (0, 1]", self.tfs, share)?;
        optional("top_h", POSITIVE, self.top_h, positive)?;
        optional("xtc_probability", "in [0, 1]", self.xtc_probability, closed)?;
        number("xtc_threshold", "in (0, 1]", self.xtc_threshold, share)
    }

    /// Mirostat replaces the cuts, and adaptive-p runs after them. At most one of the two may be set.
    fn check_policies(&self) -> Result<(), Error> {
        if let Some(version) = self.mirostat.filter(|version| ![1, 2].contains(version)) {
            let range = "1 or 2";
            return Err(Error::Range { name: "mirostat", range, value: version.to_string() });
        }
        number("mirostat_tau", POSITIVE, self.mirostat_tau, positive)?;
        number("mirostat_eta", POSITIVE, self.mirostat_eta, positive)?;
        optional("adaptive_target", "in [0, 1]", self.adaptive_target, |x| (0.0..=1.0).contains(&x))?;
        number("adaptive_decay", "in [0, 1)", self.adaptive_decay, |x| (0.0..1.0).contains(&x))?;
        if self.mirostat.is_none() {
            return Ok(());
        }
        if let Some(target) = self.adaptive_target {
            let (range, value) = ("None beside mirostat, which takes its place", target.to_string());
            return Err(Error::Range { name: "adaptive_target", range, value });
        }
        let range = "None beside mirostat, which takes the place of the cuts";
        self.first_cut().map_or(Ok(()), |(name, value)| Err(Error::Range { name, range, value }))
    }

    /// The first cut that is set, and its value.
    fn first_cut(&self) -> Option<(&'static str, String)> {
        if let Some(k) = self.top_k {
            return Some(("top_k", k.to_string()));
        }
        let cuts = [
            ("top_n_sigma", self.top_n_sigma),
            ("min_k", self.min_k),
            ("typical_p", self.typical_p),
            ("top_p", self.top_p),
            ("min_p", self.min_p),
            ("p_less", self.p_less),
            ("epsilon", self.epsilon),
            ("eta", self.eta),
            ("top_a", self.top_a),
            ("tfs", self.tfs),
            ("top_h", self.top_h),
            ("xtc_probability", self.xtc_probability),
        ];
        cuts.into_iter().find_map(|(name, value)| value.map(|value| (name, value.to_string())))
    }

    /// Checks that every id that a parameter names is in a vocabulary of `vocab` tokens.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownToken`] with the parameter and the id.
    pub fn check_ids(&self, vocab: usize) -> Result<(), Error> {
        let biased = self.logit_bias.iter().map(|(id, _)| ("logit_bias", id));
        let suppressed = self.suppress.iter().map(|id| ("suppress", id));
        let allowed = self.allowed_ids.iter().flatten().map(|id| ("allowed_ids", id));
        let protected = self.xtc_protect.iter().map(|id| ("xtc_protect", id));
        let words = self.bad_words.iter().flatten().map(|id| ("bad_words", id));
        let breakers = self.dry.breakers.iter().flatten().map(|id| ("dry_breakers", id));
        let named = biased.chain(suppressed).chain(allowed).chain(protected).chain(words).chain(breakers);
        match named.into_iter().find(|&(_, &id)| id as usize >= vocab) {
            Some((name, &id)) => Err(Error::UnknownToken { row: None, name, id, vocab }),
            None => Ok(()),
        }
    }
}

const POSITIVE: &str = "finite and above 0";
const NOT_NEGATIVE: &str = "finite and at least 0";

fn positive(x: f64) -> bool {
    x.is_finite() && x > 0.0
}

fn not_negative(x: f64) -> bool {
    x.is_finite() && x >= 0.0
}

fn number(name: &'static str, range: &'static str, x: f64, legal: impl Fn(f64) -> bool) -> Result<(), Error> {
    if legal(x) { Ok(()) } else { Err(Error::Range { name, range, value: x.to_string() }) }
}

fn optional(name: &'static str, range: &'static str, x: Option<f64>, legal: impl Fn(f64) -> bool) -> Result<(), Error> {
    x.map_or(Ok(()), |x| number(name, range, x, legal))
}

fn at_least_one(name: &'static str, x: Option<u64>) -> Result<(), Error> {
    match x {
        Some(0) => Err(Error::Range { name, range: "at least 1", value: "0".to_owned() }),
        _ => Ok(()),
    }
}
