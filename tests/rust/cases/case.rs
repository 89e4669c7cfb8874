//! A case: the table of a file, and the rows and samplers that it describes.

use std::collections::BTreeMap;

use half::{bf16, f16};
use serde::Deserialize;
use sortition::{Error, Params, Sampler, Scores};
use toml::{Table, Value};

use crate::params::{self, Unfit};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

/// A long row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fill {
    count: usize,
    value: f32,
    #[serde(default)]
    except: BTreeMap<String, f32>,
}

/// A long prompt.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptFill {
    pattern: Vec<u32>,
    times: usize,
}

/// One table of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "a field is known although Rust has no use for it")]
pub(crate) struct Case {
    pub(crate) id: String,
    why: String,
    source: String,
    logits: Option<Vec<f32>>,
    probs: Option<Vec<f64>>,
    fill: Option<Fill>,
    dtype: Option<String>,
    pub(crate) rows: Option<Vec<Vec<f32>>>,
    #[serde(default)]
    params: Table,
    row_params: Option<Vec<Table>>,
    row_outputs: Option<Vec<Vec<u32>>>,
    pub(crate) on_error: Option<String>,
    vocab_size: Option<usize>,
    mask: Option<Vec<i64>>,
    masks: Option<Vec<Vec<i64>>>,
    mask_dtype: Option<String>,
    #[serde(default)]
    stop_tokens: Vec<u32>,
    #[serde(default)]
    prompt: Vec<u32>,
    prompt_fill: Option<PromptFill>,
    #[serde(default)]
    pub(crate) output: Vec<u32>,
    rollback: Option<usize>,
    pub(crate) fork: Option<u32>,
    steps: Option<usize>,
    pub(crate) draws: Option<usize>,
    pub(crate) logprobs: Option<usize>,
    pub(crate) call: Option<String>,
    #[serde(default)]
    pub(crate) args: Table,
    pub(crate) draft: Option<Vec<u32>>,
    pub(crate) draft_probs: Option<Vec<f64>>,
    pub(crate) table: Option<Value>,
    width: Option<Value>,
    alpha: Option<Value>,
    max_tokens: Option<Value>,
    pub(crate) pieces: Option<Value>,
    pub(crate) byte_pieces: Option<Value>,
    stop: Option<Value>,
    eos_from: Option<Value>,
    eos_count: Option<Value>,
    raises_at: Option<Value>,
    pub(crate) expect: Table,
}

/// The cases of a file.
pub(crate) fn load(text: &str) -> Result<Vec<Case>, toml::de::Error> {
    Ok(toml::from_str::<File>(text)?.case)
}

/// One row, in the type that is handed over.
pub(crate) enum Row {
    F32(Vec<f32>),
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
}

impl Row {
    pub(crate) fn scores(&self) -> Scores<'_> {
        match self {
            Self::F32(xs) => xs.into(),
            Self::F16(xs) => xs.into(),
            Self::Bf16(xs) => xs.into(),
        }
    }

    /// The bits of each score, of a wider type where its own has fewer.
    pub(crate) fn bits(&self) -> Vec<u32> {
        match self {
            Self::F32(xs) => xs.iter().map(|x| x.to_bits()).collect(),
            Self::F16(xs) => xs.iter().map(|x| x.to_bits().into()).collect(),
            Self::Bf16(xs) => xs.iter().map(|x| x.to_bits().into()).collect(),
        }
    }
}

impl Case {
    /// The scores of a case of one row.
    pub(crate) fn row(&self) -> Row {
        let row = if let Some(fill) = &self.fill {
            let mut row = vec![fill.value; fill.count];
            for (id, &score) in &fill.except {
                row[id.parse::<usize>().expect("an id")] = score;
            }
            row
        } else if let Some(probs) = &self.probs {
            #[expect(clippy::cast_possible_truncation, reason = "scores are float32")]
            probs.iter().map(|p| p.ln() as f32).collect()
        } else {
            self.logits.clone().expect("scores")
        };
        match self.dtype.as_deref() {
            None | Some("float32") => Row::F32(row),
            Some("float16") => Row::F16(row.into_iter().map(f16::from_f32).collect()),
            Some("bfloat16") => Row::Bf16(row.into_iter().map(bf16::from_f32).collect()),
            Some(other) => panic!("no such dtype: {other}"),
        }
    }

    /// The parameters, of this seed unless they have their own.
    pub(crate) fn params(&self, seed: u64) -> Result<Params, Unfit> {
        params::read(&[&self.params], seed)
    }

    /// The prompt.
    fn prompt(&self) -> Vec<u32> {
        self.prompt_fill.as_ref().map_or_else(|| self.prompt.clone(), |fill| fill.pattern.repeat(fill.times))
    }

    /// How many tokens are drawn, one after another.
    pub(crate) fn steps(&self) -> usize {
        self.steps.unwrap_or(1)
    }

    pub(crate) fn mask(&self) -> Option<Vec<u32>> {
        self.mask.as_deref().map(|words| self.words(words))
    }

    /// Packed words; those of a signed type are written as negative numbers.
    fn words(&self, words: &[i64]) -> Vec<u32> {
        assert!(matches!(self.mask_dtype.as_deref(), None | Some("uint32" | "int32")));
        let word = |&word: &i64| u32::try_from(word).or_else(|_| i32::try_from(word).map(i32::cast_unsigned));
        words.iter().map(|x| word(x).expect("32 bits")).collect()
    }

    /// A sampler in the state that the case describes.
    pub(crate) fn sampler(&self, seed: u64) -> Result<Sampler, Error> {
        let params = self.params(seed).unwrap_or_else(|unfit| panic!("{unfit}"));
        let mut sampler = Sampler::new(params, &self.prompt(), self.vocab_size, &self.stop_tokens, 0)?;
        for &token in &self.output {
            sampler.accept(token);
        }
        sampler.rollback(self.rollback.unwrap_or(0))?;
        Ok(sampler)
    }

    /// One sampler for each row of a batch, in the state that the case describes.
    pub(crate) fn row_samplers(&self) -> Vec<Sampler> {
        let sampler = |(row, output): (usize, Vec<u32>)| {
            let params = self.row_params(row).unwrap_or_else(|unfit| panic!("{unfit}"));
            let mut sampler = Sampler::new(params, &[], None, &[], 0).expect("legal parameters");
            for token in output {
                sampler.accept(token);
            }
            sampler
        };
        self.outputs_by_row().into_iter().enumerate().map(sampler).collect()
    }

    /// What each row of a batch has put out.
    pub(crate) fn outputs_by_row(&self) -> Vec<Vec<u32>> {
        let rows = self.rows.as_ref().expect("rows").len();
        self.row_outputs.clone().unwrap_or_else(|| vec![Vec::new(); rows])
    }

    fn row_params(&self, row: usize) -> Result<Params, Unfit> {
        let none = Table::new();
        let own = self.row_params.as_ref().map_or(&none, |own| &own[row]);
        params::read(&[&self.params, own], row as u64)
    }

    pub(crate) fn row_masks(&self) -> Vec<Option<Vec<u32>>> {
        let rows = self.rows.as_ref().expect("rows");
        self.masks
            .as_ref()
            .map_or_else(|| vec![None; rows.len()], |masks| masks.iter().map(|words| Some(self.words(words))).collect())
    }
}
