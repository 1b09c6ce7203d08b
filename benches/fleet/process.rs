//! A child process: started, told to stop, and what the kernel says of its memory and time.

#[path = "../../tests/rig/proc.rs"]
mod proc;

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// A run of this program in another role.
pub struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(if std::env::var_os("FHPA_BENCH_LOG").is_some() { Stdio::inherit() } else { Stdio::null() })
            // As with musl in the image, blocks of this size go back to the system when they are freed. glibc keeps
            // them by default, once it has seen some.
            .env("MALLOC_MMAP_THRESHOLD_", "131072")
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits for a line that begins so, and gives the rest of it.
    pub async fn told(&mut self, begin: &str) -> String {
        loop {
            let line = self.lines.next_line().await.unwrap().unwrap_or_else(|| panic!("ended before it told {begin}"));
            if let Some(rest) = line.strip_prefix(begin) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Tells it to stop, and gives what it says at the end.
    pub async fn stop(mut self) -> String {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.lines.into_inner().read_to_string(&mut rest).await.unwrap();
        assert!(self.child.wait().await.unwrap().success());
        rest
    }

    fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Resident memory in MiB.
    pub fn resident(&self) -> f64 {
        f64::from(proc::memory(self.pid(), proc::RESIDENT)) / 1024.0
    }

    /// The most that was resident since [`Self::forget_peak`], in MiB.
    pub fn peak(&self) -> f64 {
        f64::from(proc::memory(self.pid(), proc::PEAK)) / 1024.0
    }

    pub fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    pub fn forget_peak(&self) {
        fs::write(format!("/proc/{}/clear_refs", self.pid()), "5").unwrap();
    }

    /// Processor time so far.
    pub fn cpu(&self) -> Duration {
        proc::cpu(self.pid())
    }
}
