"""Exact, reproducible token sampling for language models: from scores to tokens, in SIMD Rust."""
