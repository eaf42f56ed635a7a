//! qlog files of the stacks themselves, beside those of the simulator.
//!
//! A stack that writes qlog gets a file for each end of a connection in the folder that the environment variable
//! [`FOLDER`] names, as in the interoperability tests of QUIC. Names contain the scheme, the simulated time of the opening, a
//! number from its random numbers, and the side: two runs write the same files. Times in them are simulated.

use crate::stack_trait::Side;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use thalweg_proto::units::Time;

/// Environment variable with the folder of the files.
pub const FOLDER: &str = "QLOGDIR";

/// Maximum size of a file, in bytes. Later records are left out.
pub const MAX_SIZE: u64 = 64 << 20;

/// Returns the folder, if one is set.
fn qlog_folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Creates the folder, if one is set.
///
/// # Errors
///
/// A message if that fails.
pub fn create_qlog_folder() -> Result<(), String> {
    let Some(folder) = qlog_folder() else { return Ok(()) };
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("the folder `{}` of {FOLDER} cannot be created: {error}", folder.display()))
}

/// Creates the file of an end that is opened now; `None` if no folder is set. `number` comes from the random numbers of the end.
///
/// # Panics
///
/// If the file cannot be created: the run ends with the reason.
pub fn create_endpoint_qlog(
    scheme: &str,
    side: Side,
    number: u64,
    now: Time,
) -> Option<Box<dyn Write + Send + Sync>> {
    let folder = qlog_folder()?;
    let side = match side {
        Side::Client => "client",
        Side::Server => "server",
    };
    let path = folder.join(format!("{scheme}-{}ns-{number:016x}-{side}.sqlog", now.as_picos() / 1000));
    Some(Box::new(create_limited_file(&path)))
}

fn create_limited_file(path: &Path) -> SizeLimitedFile {
    match File::create(path) {
        Ok(file) => SizeLimitedFile { file: BufWriter::new(file), left: MAX_SIZE },
        Err(error) => panic!("the qlog file `{}` cannot be created: {error}", path.display()),
    }
}

/// A file with a maximum size.
struct SizeLimitedFile {
    file: BufWriter<File>,
    /// Bytes that may still be written.
    left: u64,
}

impl Write for SizeLimitedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len() as u64;
        if length > self.left {
            self.left = 0;
            return Ok(bytes.len());
        }
        self.left -= length;
        self.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // The buffer is written when it is full, and at the end: stacks flush after each record.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_end_at_their_maximum_size() {
        let path = std::env::temp_dir().join(format!("thalweg-{}.sqlog", std::process::id()));
        let mut file = create_limited_file(&path);
        file.left = 10;
        for _ in 0..3 {
            file.write_all(b"record").unwrap();
        }
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), b"record");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    #[should_panic(expected = "cannot be created")]
    fn a_file_that_cannot_be_created_ends_the_run() {
        create_limited_file(Path::new("/nowhere/file.sqlog"));
    }
}
