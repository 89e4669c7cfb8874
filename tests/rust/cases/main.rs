//! The cases in `tests/data`, held against the crate: a test for every expectation of every case.
//!
//! `tests/python/test_cases.py` holds the reference and the package to the same files; what the fields mean is said at the
//! top of each file. What Rust has no part in (text, beams, Python's own) is ignored by name, with its reason. A field, a
//! parameter or an expectation that is not known here fails.

#![expect(clippy::disallowed_methods, reason = "what is right comes from elsewhere than what is tested")]

mod batch;
mod case;
mod expect;
mod params;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Trial};

use case::Case;

fn main() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let trials: Vec<_> = files(&data).iter().flat_map(|path| trials(path)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// The files of cases, in folders as well, sorted.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of cases");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let found: Vec<_> = paths
        .into_iter()
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    assert!(!found.is_empty(), "no cases in {}", folder.display());
    found
}

fn trials(path: &Path) -> Vec<Trial> {
    let text = fs::read_to_string(path).expect("a readable file");
    let cases = case::load(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = path.file_stem().expect("a name").to_string_lossy();
    cases.into_iter().map(Arc::new).flat_map(|case| trials_of(&file, &case)).collect()
}

fn trials_of(file: &str, case: &Arc<Case>) -> Vec<Trial> {
    assert!(!case.expect.is_empty(), "{file}: {}: nothing is expected", case.id);
    let trial = |name: &String| {
        let (case, name) = (Arc::clone(case), name.clone());
        Trial::ignorable_test(format!("{file}::{}::{name}", case.id), move || {
            if let Some(reason) = expect::elsewhere(&case, &name) {
                return Ok(Completion::ignored_with(reason));
            }
            expect::hold(&case, &name);
            Ok(Completion::Completed)
        })
    };
    case.expect.keys().map(trial).collect()
}
