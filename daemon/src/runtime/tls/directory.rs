//! Certificate and key from a directory. Reads files.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{Error, Pair};

/// Most bytes of a file; a certificate chain has far fewer.
const LIMIT: u64 = 1 << 20;

/// Reads the pair in `directory`.
///
/// The kubelet replaces all files of a Secret at once by pointing the link `..data` to another directory. Both files
/// are read from its current target, so that they belong together.
pub(super) fn read(directory: &Path) -> Result<Pair, Error> {
    let settled = settled(directory);
    let pair = read_from(&settled);
    let moved = settled_again(directory, &settled);
    match moved {
        // The link changed while the files were read.
        Some(now) => read_from(&now),
        None => pair,
    }
}

fn read_from(directory: &Path) -> Result<Pair, Error> {
    Ok(Pair { certificates: file(&directory.join("tls.crt"))?, key: file(&directory.join("tls.key"))? })
}

fn settled(directory: &Path) -> PathBuf {
    fs::canonicalize(directory.join("..data")).unwrap_or_else(|_| directory.to_owned())
}

fn settled_again(directory: &Path, before: &Path) -> Option<PathBuf> {
    let now = settled(directory);
    (now != before).then_some(now)
}

/// The content of a file of bounded size.
pub(super) fn file(path: &Path) -> Result<Vec<u8>, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let mut content = Vec::new();
    let opened = fs::File::open(path).map_err(unreadable)?;
    opened.take(LIMIT.saturating_add(1)).read_to_end(&mut content).map_err(unreadable)?;
    if u64::try_from(content.len()).is_ok_and(|bytes| bytes <= LIMIT) {
        Ok(content)
    } else {
        Err(Error::TooLarge { path: path.to_owned(), limit: LIMIT })
    }
}
