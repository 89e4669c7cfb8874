//! A sampler as bytes and back: see [`crate::state`] for the format.

use super::Sampler;
use crate::error::Error;
use crate::state::{State, refused};

impl Sampler {
    /// Everything that decides which tokens come next, as bytes, for [`Self::from_bytes`]: parameters, prompt, output, seed,
    /// stream, stop tokens, the size of the vocabulary, and what a policy remembers.
    ///
    /// ```
    /// use sortition::{Params, Sampler};
    /// let mut sampler = Sampler::new(Params { seed: 7, ..Params::default() }, &[3, 1], None, &[], 0)?;
    /// sampler.sample(&[0.0, 1.0, 2.0, 3.0], None)?;
    /// let mut twin = Sampler::from_bytes(&sampler.to_bytes()?)?;
    /// assert_eq!(sampler.output(), twin.output());
    /// let row = [0.0; 4];
    /// assert_eq!(sampler.sample(&row, None)?, twin.sample(&row, None)?);
    /// # Ok::<(), sortition::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Range`] if there are processors, which are code.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let state = State {
            params: self.params.clone(),
            prompt: self.prompt().to_vec(),
            output: self.output().to_vec(),
            stop_tokens: self.stop_tokens.clone(),
            vocab_size: self.vocab_size,
            stream: self.stream,
            memories: self.memories.iter().skip(1).copied().collect(),
        };
        state.to_bytes()
    }

    /// The sampler that [`Self::to_bytes`] was called on: it draws the same tokens.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] if the bytes are damaged, of another version, or hold what no sampler can;
    /// [`Error::UnknownToken`] as [`Self::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let State { params, prompt, output, stop_tokens, vocab_size, stream, memories } = State::from_bytes(bytes)?;
        let mut this = Self::new(params, &prompt, vocab_size, &stop_tokens, stream)?;
        let remembered = this.plan.policy.map_or(0, |_| output.len());
        if memories.len() != remembered {
            return Err(refused(format!("{} memories where there must be {remembered}", memories.len())));
        }
        if let Some(policy) = this.plan.policy
            && let Some([first, second]) = memories.iter().find(|memory| !policy.may_remember(**memory))
        {
            return Err(refused(format!("a memory of {first} and {second}")));
        }
        for token in output {
            this.history.push(token);
        }
        this.memories.extend(memories);
        Ok(this)
    }
}
