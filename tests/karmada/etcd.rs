//! The etcd of one control plane, which can be copied and go back. I/O: processes, files.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::assets::Assets;
use crate::rig::program::{self, Program, free_ports, home};

/// A store with one member.
pub struct Etcd {
    pub url: String,
    executable: PathBuf,
    /// Its data outlive the process.
    data: PathBuf,
    running: PathBuf,
    peer: u16,
    program: Option<Program>,
}

impl Etcd {
    pub fn start(assets: &Assets, directory: &Path, name: &str) -> Self {
        let [client, peer] = free_ports();
        let mut etcd = Self {
            url: format!("http://127.0.0.1:{client}"),
            executable: assets.program("etcd"),
            data: directory.join(name),
            running: directory.join(format!("{name}-process")),
            peer,
            program: None,
        };
        etcd.serve();
        etcd
    }

    /// Starts it, unless it runs.
    pub fn serve(&mut self) {
        if self.program.is_some() {
            return;
        }
        let mut arguments = program::etcd(&self.data, &self.url, self.peer);
        arguments.push("--unsafe-no-fsync=true".into());
        std::fs::create_dir_all(&self.running).unwrap();
        self.program = Some(Program::start(&self.running, &self.executable, &arguments));
    }

    /// Ends it as a crash does.
    pub fn kill(&mut self) {
        self.program = None;
    }

    /// Copies the data of this moment, as a snapshot of the volume does: the process is halted meanwhile.
    pub fn snapshot(&self, to: &Path) {
        let program = self.program.as_ref().expect("it runs");
        program.signal("STOP");
        let state = format!("/proc/{}/stat", program.pid());
        while !std::fs::read_to_string(&state).unwrap().contains(") T ") {
            std::thread::yield_now();
        }
        copy(&self.data, to);
        program.signal("CONT");
    }

    /// Takes back the data of a snapshot, while it does not run.
    pub fn restore(&mut self, from: &Path) {
        assert!(self.program.is_none(), "etcd is ended first");
        std::fs::remove_dir_all(&self.data).unwrap();
        copy(from, &self.data);
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["-a", "--sparse=always"]).args([from, to]).status().unwrap();
    assert!(copied.success(), "{} is copied", from.display());
}
