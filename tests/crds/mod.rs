//! The CustomResourceDefinitions: the files, what they accept, and that they and the rules agree.

pub mod agreement;
pub mod evaluator;
pub mod upstream;

use std::collections::BTreeSet;
use std::path::Path;

use fhpa::api::crd;

#[test]
fn the_files_are_what_the_code_makes() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let made = crd::files().unwrap();
    for (name, text) in &made {
        let file = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        assert!(file == *text, "crds/{name} is missing or out of date: run `fhpa crds --output crds`");
    }
    let names: BTreeSet<_> = made.iter().map(|(name, _)| (*name).to_owned()).collect();
    let present: BTreeSet<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(present, names);
}
