//! How the next token is chosen: plain values, and the check that each is in its range.

use crate::error::Error;

/// Which part of the context a penalty counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Prompt and output.
    #[default]
    All,
    /// The output only.
    Output,
}

/// The tokens that a penalty counts: a scope, the last `window` tokens of it, without the excluded ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    /// Prompt and output, or the output only.
    pub scope: Scope,
    /// How many tokens back; `None` for all.
    pub window: Option<usize>,
    /// Ids that are not counted.
    pub exclude: Vec<u32>,
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
    /// 0 picks the best score; above 0, scores are divided by it. Finite.
    pub temperature: f64,
    /// Keep the `k` best, at least 1.
    pub top_k: Option<u64>,
    /// Keep the shortest prefix of this mass, in (0, 1].
    pub top_p: Option<f64>,
    /// Keep what has at least this share of the best one's probability, in [0, 1].
    pub min_p: Option<f64>,
    /// Divides scores above zero, multiplies those below, once per token seen. Above 0.
    pub repetition_penalty: Option<f64>,
    /// What the repetition penalty has seen.
    pub repetition: Reach,
    /// Subtracted once for every time a token was seen. Finite.
    pub frequency_penalty: Option<f64>,
    /// What the frequency penalty has seen.
    pub frequency: Reach,
    /// Subtracted once from a token that was seen. Finite.
    pub presence_penalty: Option<f64>,
    /// What the presence penalty has seen.
    pub presence: Reach,
    /// Added to the score of an id: finite, or -inf to ban it.
    pub logit_bias: Vec<(u32, f64)>,
    /// Ids that are impossible.
    pub suppress: Vec<u32>,
    /// The only ids that are possible.
    pub allowed_ids: Option<Vec<u32>>,
    /// Stop tokens are impossible before that many outputs.
    pub min_tokens: u64,
    /// Every cut keeps at least that many candidates.
    pub min_keep: u64,
    /// The seed of all coins.
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Self {
        let output = Reach { scope: Scope::Output, ..Reach::default() };
        Self {
            temperature: 1.0,
            top_k: None,
            top_p: None,
            min_p: None,
            repetition_penalty: None,
            repetition: Reach::default(),
            frequency_penalty: None,
            frequency: output.clone(),
            presence_penalty: None,
            presence: output,
            logit_bias: Vec::new(),
            suppress: Vec::new(),
            allowed_ids: None,
            min_tokens: 0,
            min_keep: 1,
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
        number("temperature", "finite and at least 0", self.temperature, |x| x.is_finite() && x >= 0.0)?;
        at_least_one("top_k", self.top_k)?;
        optional("top_p", "in (0, 1]", self.top_p, |x| x > 0.0 && x <= 1.0)?;
        optional("min_p", "in [0, 1]", self.min_p, |x| (0.0..=1.0).contains(&x))?;
        optional("repetition_penalty", "finite and above 0", self.repetition_penalty, |x| x.is_finite() && x > 0.0)?;
        optional("frequency_penalty", "finite", self.frequency_penalty, f64::is_finite)?;
        optional("presence_penalty", "finite", self.presence_penalty, f64::is_finite)?;
        for (name, reach) in [
            ("repetition_window", &self.repetition),
            ("frequency_window", &self.frequency),
            ("presence_window", &self.presence),
        ] {
            at_least_one(name, reach.window.map(|window| window as u64))?;
        }
        for &(id, bias) in &self.logit_bias {
            if !(bias.is_finite() || bias == f64::NEG_INFINITY) {
                let value = format!("{bias} for token {id}");
                return Err(Error::Range { name: "logit_bias", range: "finite or -inf", value });
            }
        }
        at_least_one("min_keep", Some(self.min_keep))
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
        match biased.chain(suppressed).chain(allowed).find(|&(_, &id)| id as usize >= vocab) {
            Some((name, &id)) => Err(Error::UnknownToken { name, id, vocab }),
            None => Ok(()),
        }
    }
}

fn number(name: &'static str, range: &'static str, x: f64, legal: impl Fn(f64) -> bool) -> Result<(), Error> {
    if legal(x) { Ok(()) } else { Err(Error::Range { name, range, value: x.to_string() }) }
}

fn optional(name: &'static str, range: &'static str, x: Option<f64>, legal: impl Fn(f64) -> bool) -> Result<(), Error> {
    x.map_or(Ok(()), |x| number(name, range, x, legal))
}

fn at_least_one(name: &'static str, x: Option<u64>) -> Result<(), Error> {
    match x {
        Some(0) => {
            let range = if name == "min_keep" { "at least 1" } else { "at least 1 (None switches it off)" };
            Err(Error::Range { name, range, value: "0".to_owned() })
        }
        _ => Ok(()),
    }
}
