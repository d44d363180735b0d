//! Files of a channel: for their owner alone, and replaced whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a file of at most `most` bytes; nothing where there is none.
pub(crate) fn read(file: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut content = Vec::new();
    opened.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it is larger than {most} bytes")));
    }
    Ok(Some(content))
}

/// Random bytes from the operating system.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Now, for people and files.
pub(crate) fn now() -> String {
    format!("{:.0}", jiff::Timestamp::now())
}
