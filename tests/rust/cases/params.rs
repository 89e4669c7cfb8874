//! Parameters by the names that Python gives them.

use std::fmt;

use serde::de::DeserializeOwned;
use sortition::{Params, Profile, Reach, Scope, Stage};
use toml::{Table, Value};

/// Why a table is no `Params`.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// There is no such parameter.
    Unknown(String),
    /// The type of the parameter does not hold the value.
    Type(String),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "no such parameter: {name}"),
            Self::Type(what) => write!(f, "no value of Rust's type: {what}"),
        }
    }
}

/// The parameters of these tables, later ones first; of this seed unless they have their own.
pub(crate) fn read(tables: &[&Table], seed: u64) -> Result<Params, Unfit> {
    let named = tables.iter().rev().find_map(|table| table.get("profile"));
    let mut params = match named {
        Some(name) => Profile::named(&plain::<String>("profile", name)?)
            .ok_or_else(|| Unfit::Type(format!("profile = {name}")))?
            .params(),
        None => Params::default(),
    };
    params.seed = seed;
    for (name, value) in tables.iter().flat_map(|table| table.iter()) {
        set(&mut params, name, value)?;
    }
    Ok(params)
}

fn set(params: &mut Params, name: &str, value: &Value) -> Result<(), Unfit> {
    match name {
        "profile" => {}
        "temperature" => params.temperature = plain(name, value)?,
        "dynatemp_range" => params.dynatemp_range = plain(name, value)?,
        "dynatemp_exponent" => params.dynatemp_exponent = plain(name, value)?,
        "smoothing_factor" => params.smoothing_factor = plain(name, value)?,
        "smoothing_curve" => params.smoothing_curve = plain(name, value)?,
        "top_n_sigma" => params.top_n_sigma = plain(name, value)?,
        "min_k" => params.min_k = plain(name, value)?,
        "top_k" => params.top_k = plain(name, value)?,
        "typical_p" => params.typical_p = plain(name, value)?,
        "top_p" => params.top_p = plain(name, value)?,
        "min_p" => params.min_p = plain(name, value)?,
        "p_less" => params.p_less = plain(name, value)?,
        "epsilon" => params.epsilon = plain(name, value)?,
        "eta" => params.eta = plain(name, value)?,
        "top_a" => params.top_a = plain(name, value)?,
        "tfs" => params.tfs = plain(name, value)?,
        "top_h" => params.top_h = plain(name, value)?,
        "xtc_probability" => params.xtc_probability = plain(name, value)?,
        "xtc_threshold" => params.xtc_threshold = plain(name, value)?,
        "xtc_protect" => params.xtc_protect = plain(name, value)?,
        "mirostat" => params.mirostat = plain(name, value)?,
        "mirostat_tau" => params.mirostat_tau = plain(name, value)?,
        "mirostat_eta" => params.mirostat_eta = plain(name, value)?,
        "adaptive_target" => params.adaptive_target = plain(name, value)?,
        "adaptive_decay" => params.adaptive_decay = plain(name, value)?,
        "min_tokens" => params.min_tokens = plain(name, value)?,
        "min_keep" => params.min_keep = plain(name, value)?,
        "seed" => params.seed = plain(name, value)?,
        "order" => params.order = Some(stages(value)?),
        "readings" => {
            for reading in plain::<Vec<String>>(name, value)? {
                *params.readings.named(&reading).ok_or(Unfit::Type(reading))? = true;
            }
        }
        _ => return set_by_history(params, name, value),
    }
    Ok(())
}

fn set_by_history(params: &mut Params, name: &str, value: &Value) -> Result<(), Unfit> {
    match name {
        "repetition_penalty" => params.repetition_penalty = plain(name, value)?,
        "frequency_penalty" => params.frequency_penalty = plain(name, value)?,
        "presence_penalty" => params.presence_penalty = plain(name, value)?,
        "no_repeat_ngram" => params.no_repeat_ngram = plain(name, value)?,
        "dry_multiplier" => params.dry_multiplier = plain(name, value)?,
        "dry_base" => params.dry.base = plain(name, value)?,
        "dry_allowed_length" => params.dry.allowed_length = plain(name, value)?,
        "dry_window" => params.dry.window = plain(name, value)?,
        "dry_breakers" => params.dry.breakers = plain(name, value)?,
        "bad_words" => params.bad_words = plain(name, value)?,
        "suppress" => params.suppress = plain(name, value)?,
        "allowed_ids" => params.allowed_ids = plain(name, value)?,
        "logit_bias" => {
            let bias = plain::<Table>(name, value)?;
            let pair = |(id, bias): (&String, &Value)| Ok((parsed(id)?, plain(name, bias)?));
            params.logit_bias = bias.iter().map(pair).collect::<Result<_, _>>()?;
        }
        _ => return set_reach(params, name, value),
    }
    Ok(())
}

fn set_reach(params: &mut Params, name: &str, value: &Value) -> Result<(), Unfit> {
    let unknown = || Unfit::Unknown(name.to_owned());
    let (penalty, part) = name.rsplit_once('_').ok_or_else(unknown)?;
    let reach: &mut Reach = match penalty {
        "repetition" => &mut params.repetition,
        "frequency" => &mut params.frequency,
        "presence" => &mut params.presence,
        _ => return Err(unknown()),
    };
    match part {
        "window" => reach.window = plain(name, value)?,
        "exclude" => reach.exclude = plain(name, value)?,
        "scope" => {
            reach.scope = match value.as_str() {
                Some("all") => Scope::All,
                Some("output") => Scope::Output,
                _ => return Err(Unfit::Type(format!("{name} = {value}"))),
            }
        }
        _ => return Err(unknown()),
    }
    Ok(())
}

fn stages(value: &Value) -> Result<Vec<Stage>, Unfit> {
    let names: Vec<String> = plain("order", value)?;
    names.into_iter().map(|name| Stage::named(&name).ok_or(Unfit::Type(name))).collect()
}

fn parsed(id: &str) -> Result<u32, Unfit> {
    id.parse().map_err(|_| Unfit::Type(format!("id {id}")))
}

fn plain<T: DeserializeOwned>(name: &str, value: &Value) -> Result<T, Unfit> {
    value.clone().try_into().map_err(|_| Unfit::Type(format!("{name} = {value}")))
}
