//! Exact, reproducible token sampling for language models: everything between a row of scores and a token.
//!
//! ```
//! use sortition::{Params, Sampler};
//!
//! let params = Params { temperature: 0.8, top_p: Some(0.95), seed: 7, ..Params::default() };
//! let mut sampler = Sampler::new(params, &[], None, &[], 0)?;
//! let scores = [0.5, 2.0, -1.0, 1.5];
//! let token = sampler.sample(&scores, None)?;
//! assert!(token < 4);
//! # Ok::<(), sortition::Error>(())
//! ```
//!
//! The same scores, parameters, seed and position give the same token, to the bit, on every instruction set. `kernels`
//! says how; `rng` where the coins come from; `stages` what happens to the scores, in which order.

mod batch;
mod candidates;
mod error;
mod functions;
mod history;
pub mod kernels;
mod math;
mod params;
mod processor;
mod profile;
pub mod rng;
mod sampler;
mod scores;
mod stage;
mod stages;
mod state;
mod threads;
mod trace;

pub use batch::{Request, draw_batch, draw_each, sample_batch, sample_each, sample_rows};
pub use error::Error;
pub use functions::{argmax, entropy, log_softmax, logsumexp, softmax, top_k, top_p};
pub use params::{Dry, Params, Reach, Scope};
pub use processor::{Failure, Processor};
pub use profile::{Profile, Readings};
pub use sampler::{Draw, Sampler};
pub use scores::Scores;
pub use stage::Stage;
pub use threads::{num_threads, set_num_threads};
pub use trace::{Fate, Step, Trace};

#[cfg(feature = "python")]
mod py;
