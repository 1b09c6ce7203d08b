//! A mounted Secret or projected volume. Writes files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Exchanges all files at once, as the kubelet does: by moving the link `..data`.
pub fn publish(directory: &Path, version: &str, files: &[(&str, &str)]) {
    let data = directory.join(format!("..{version}"));
    fs::create_dir_all(&data).unwrap();
    for (name, content) in files {
        fs::write(data.join(name), content).unwrap();
    }
    let link = directory.join("..data_tmp");
    symlink(format!("..{version}"), &link).unwrap();
    fs::rename(link, directory.join("..data")).unwrap();
    for (name, _) in files {
        let _ = symlink(format!("..data/{name}"), directory.join(name));
    }
}
