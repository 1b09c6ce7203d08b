//! `fhpa install --output`: prints the manifests, or writes them to files.

use std::path::Path;
use std::process::ExitCode;

use super::super::output;
use super::{name, notes};
use crate::install::manifests::{self, Part, Settings};

/// Prints manifests, or writes them to files.
pub(super) fn render(settings: &Settings, output: &Path, member_rbac: bool) -> Result<ExitCode, String> {
    let manifests = if member_rbac {
        manifests::member_roles(settings)
    } else {
        let mut all = manifests::all(settings).map_err(|error| error.to_string())?;
        // The webhooks to disable depend on those that Karmada has; the leader disables them. Whether the API server
        // supports policies is not known here; the webhook does the same.
        all.retain(|manifest| !matches!(manifest.part, Part::SetAside(_) | Part::Policy));
        all
    };
    let standard = output == Path::new("-");
    if !standard {
        std::fs::create_dir_all(output).map_err(|error| format!("{}: {error}", output.display()))?;
    }
    let mut out = std::io::stdout().lock();
    for manifest in &manifests {
        let yaml = serde_saphyr::to_string(&manifest.object).map_err(|error| error.to_string())?;
        if standard {
            output::put(&mut out, &format!("---\n{yaml}")).map_err(|error| format!("standard output: {error}"))?;
        } else {
            let path = output.join(format!("{}.yaml", name(manifest).to_lowercase().replace(' ', "-")));
            std::fs::write(&path, yaml).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    for note in notes(settings) {
        anstream::eprintln!("{note}");
    }
    Ok(ExitCode::SUCCESS)
}
