//! What a command prints, and what becomes of its exit code where it cannot be printed. Writes to streams.

use std::io::{ErrorKind, Result, Write};
use std::process::ExitCode;

/// The output could not be written.
pub(super) const UNWRITTEN: u8 = 2;

/// Writes all of `text`. A reader that exits early (`| head`) has seen enough: false.
pub(super) fn put(out: &mut impl Write, text: &str) -> Result<bool> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

/// Writes the result of `command`, which then ends with `code`.
pub(super) fn print(command: &str, out: &mut impl Write, text: &str, code: u8) -> ExitCode {
    match put(out, text) {
        Ok(_) => ExitCode::from(code),
        Err(error) => {
            anstream::eprintln!("{} {command}: standard output: {error}", super::program::name());
            ExitCode::from(UNWRITTEN)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind, Result, Write};

    use super::put;

    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> Result<usize> {
            Err(Error::from(self.0))
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_exits_early_is_no_failure_and_a_full_disk_is_one() {
        assert!(!put(&mut Broken(ErrorKind::BrokenPipe), "text").unwrap());
        assert!(put(&mut Vec::new(), "text").unwrap());
        assert!(put(&mut Broken(ErrorKind::StorageFull), "text").is_err());
    }
}
