//! The build of the image has each file that the code includes.

use std::fs;
use std::path::PathBuf;

use super::sources::{program, root};

#[test]
fn what_the_code_includes_is_copied_into_the_build_of_the_image() {
    let dockerfile = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let copies = dockerfile.lines().take_while(|line| !line.starts_with("FROM scratch"));
    let copies = copies.filter_map(|line| line.strip_prefix("COPY "));
    // The last word is where they are put.
    let copied = copies.flat_map(|line| line.split(' ').rev().skip(1)).map(|path| root().join(path).canonicalize());
    let copied: Vec<PathBuf> = copied.map(Result::unwrap).collect();
    let mut included = 0;
    for source in program() {
        let folder = root().join(&source.path).parent().unwrap().to_owned();
        for (_, line) in source.code() {
            let Some((_, rest)) = line.split_once("include_str!(\"") else { continue };
            let file = folder.join(rest.split_once('"').unwrap().0).canonicalize().unwrap();
            let inside = copied.iter().any(|copied| file.starts_with(copied));
            assert!(inside, "{} includes {}: the Dockerfile does not copy it", source.path.display(), file.display());
            included += 1;
        }
    }
    assert!(included > 10, "{included}");
}

#[test]
fn the_script_that_says_how_to_link_is_copied_into_the_build_of_the_image() {
    let dockerfile = fs::read_to_string(root().join("Dockerfile")).unwrap();
    // Without it Cargo builds, too: a larger binary.
    assert!(dockerfile.lines().any(|line| line.starts_with("COPY ") && line.contains(" build.rs ")), "{dockerfile}");
    assert!(root().join("build.rs").exists());
}
