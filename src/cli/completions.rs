//! A shell -> its completion script for the command. Writes to standard output.

use std::process::ExitCode;

use clap_complete::Shell;

use super::output;

/// Arguments of `fhpa completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell to write for.
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  Bash, for this session and for good:
    source <(fhpa completions bash)
    fhpa completions bash > ~/.local/share/bash-completion/completions/fhpa
  Zsh, in a directory of $fpath:
    fhpa completions zsh > ~/.zfunc/_fhpa
  Fish:
    fhpa completions fish > ~/.config/fish/completions/fhpa.fish
  PowerShell, in the profile:
    fhpa completions powershell | Out-String | Invoke-Expression";

impl Args {
    /// Writes the script that completes `command`.
    pub(super) fn run(self, mut command: clap::Command) -> ExitCode {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "fhpa", &mut script);
        output::print("completions", &mut std::io::stdout(), &String::from_utf8_lossy(&script), 0)
    }
}
